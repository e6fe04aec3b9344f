"""What dividing the categories of nodes in two groups is worth.

A block takes a pair of a node and a nominal feature: it lists the categories that the node has,
puts them in order and scores the cuts of that order, or scores all divisions of a few. The rules,
and the order of operations, are those of `kernels.cpu.groups`; of equal scores the one wins whose
missing values go to child 1, then the earlier cut or division.
"""

import numpy as np
from numba import int64

from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    block_scan,
    cuda,
    float_of,
    formulas,
    function,
    kernel,
    multiply,
    other_lane,
)
from gputree.kernels.cuda.split import better, weight_at

# What is known of a pair: the bits of a score and of what it takes to tell the branches, and
# whether a better division may have been missed.
SCORE, BITS, IS_HEURISTIC, RATED_COLUMNS = 0, 1, 2, 3
# Words of shared memory by which the warps of a block add up and compare; the sums of all known
# categories, of those that are rare, and of those below the cuts at hand come after them. Where
# principal components are asked for: a square of scored channels and three lines of it after that.
BOARD, SUMS, LINES = 4 * 32, 3, 3
NO_KEY = 2**62  # above the key of every candidate: loses all ties
POWERS = 64  # steps towards the first principal component


@function
def rows_at(sums, at, weight, counts_rows, n_channels):
    """How many rows the sums of one code are of, whose weight is known."""
    return np.int64(sums[at + n_channels - 1]) if counts_rows else weight


@function
def sum_of(hist, base, board, pool_of, code, n_categories, n_channels, c):
    """The sum of an item in one channel: of a category, or of the pool, which follows them."""
    if code == n_categories:
        return np.int64(board[pool_of + c])
    return np.int64(hist[base + code * n_channels + c])


@function
def weight_of(hist, base, board, pool_of, code, n_categories, n_channels, is_classes, n_scored):
    """The weight of an item."""
    if code == n_categories:
        return weight_at(board, pool_of, is_classes, n_scored)
    return weight_at(hist, base + code * n_channels, is_classes, n_scored)


@function
def find_components(
    hist, base, board, pool_of, known_of, n_categories, n_channels, is_classes, n_scored, unit,
    item_key, item_code, room, n_items,
):  # fmt: skip
    """The first principal component of class shares, or of means, at each item, as its key.

    All sums are made one item after another, or one channel after another.
    """
    thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
    first = 0 if is_classes else 1
    square = pool_of + 2 * n_channels
    mean = square + n_scored * n_scored
    direction, other = mean + n_scored, mean + 2 * n_scored
    whole = np.float64(max(np.int64(1), weight_at(board, known_of, is_classes, n_scored)))
    c = thread
    while c < n_scored:
        board[mean + c] = bits_of(
            multiply(np.float64(board[known_of + first + c]), unit[c]) / whole
        )
        c += n_threads
    cuda.syncthreads()
    cell = thread
    while cell < n_scored * n_scored:
        a, b = cell // n_scored, cell % n_scored
        found = 0.0
        for i in range(n_items):
            code = np.int64(item_code[room + i])
            weight = np.float64(
                weight_of(
                    hist, base, board, pool_of, code, n_categories, n_channels, is_classes, n_scored
                )
            )
            own = sum_of(hist, base, board, pool_of, code, n_categories, n_channels, first + a)
            along_a = multiply(np.float64(own), unit[a]) / weight - float_of(board[mean + a])
            own = sum_of(hist, base, board, pool_of, code, n_categories, n_channels, first + b)
            along_b = multiply(np.float64(own), unit[b]) / weight - float_of(board[mean + b])
            term = multiply(multiply(weight, along_a), along_b)
            found = term if i == 0 else found + term
        board[square + cell] = bits_of(found)
        cell += n_threads
    cuda.syncthreads()
    # From its longest row on, the matrix turns any vector towards the component.
    widest = np.int64(0)
    for a in range(1, n_scored):
        own = float_of(board[square + a * n_scored + a])
        if own > float_of(board[square + widest * n_scored + widest]):
            widest = np.int64(a)
    c = thread
    while c < n_scored:
        board[direction + c] = board[square + widest * n_scored + c]
        c += n_threads
    for _ in range(POWERS):
        cuda.syncthreads()
        largest = 0.0
        for a in range(n_scored):
            largest = max(abs(float_of(board[direction + a])), largest)
        c = thread
        while c < n_scored:
            own = float_of(board[direction + c]) / (largest if largest > 0.0 else 1.0)
            board[other + c] = bits_of(own)
            c += n_threads
        cuda.syncthreads()
        c = thread
        while c < n_scored:
            found = 0.0
            for b in range(n_scored):
                turned = float_of(board[square + c * n_scored + b])
                term = multiply(turned, float_of(board[other + b]))
                found = term if b == 0 else found + term
            board[direction + c] = bits_of(found)
            c += n_threads
    cuda.syncthreads()
    i = thread
    while i < n_items:
        code, key = np.int64(item_code[room + i]), 0.0
        weight = np.float64(
            weight_of(
                hist, base, board, pool_of, code, n_categories, n_channels, is_classes, n_scored
            )
        )
        for a in range(n_scored):
            own = sum_of(hist, base, board, pool_of, code, n_categories, n_channels, first + a)
            along = multiply(np.float64(own), unit[a]) / weight - float_of(board[mean + a])
            term = multiply(along, float_of(board[direction + a]))
            key = term if a == 0 else key + term
        item_key[room + i] = key
        i += n_threads
    cuda.syncthreads()


@function
def is_after(key, code, other_key, other_code):
    """Whether an item belongs behind another one; of equal keys, the lower code comes first."""
    return key > other_key or (key == other_key and code > other_code)


@function
def put_in_order(item_key, item_code, first, n):
    """Sort items by their keys, all threads of a block together, from `first` on.

    As if there were more items behind all others, up to a power of two: those never move.
    """
    thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
    length = np.int64(2)
    while length < 2 * n:
        # First the mirror image in each run of this length, then partners ever closer.
        half, mirrors = length // 2, True
        while half > 0:
            number = thread
            while number // half * (2 * half) < n:
                run = number // half * (2 * half)
                within = number % half
                low = first + run + within
                high = first + run + (2 * half - 1 - within if mirrors else half + within)
                if high < first + n:
                    key, code = item_key[low], item_code[low]
                    other_key, other_code = item_key[high], item_code[high]
                    if is_after(key, code, other_key, other_code):
                        item_key[low], item_code[low] = other_key, other_code
                        item_key[high], item_code[high] = key, code
                number += n_threads
            cuda.syncthreads()
            half, mirrors = half // 2, False
        length *= 2


@function
def best_of_block(trimmed, score, key, part, board):
    """The best candidate of all threads of a block: its trimmed score, score and left weight."""
    distance = 1
    while distance < WARP:
        other_trimmed, other_score = other_lane(trimmed, distance), other_lane(score, distance)
        other_key, other_part = other_lane(key, distance), other_lane(part, distance)
        if better(trimmed, key, other_trimmed, other_key):
            trimmed, score, key, part = other_trimmed, other_score, other_key, other_part
        distance *= 2
    n_warps = cuda.blockDim.x // WARP
    if cuda.threadIdx.x % WARP == 0:
        at = cuda.threadIdx.x // WARP * 4
        board[at], board[at + 1] = bits_of(trimmed), bits_of(score)
        board[at + 2], board[at + 3] = key, part
    cuda.syncthreads()
    for warp in range(n_warps):
        other_trimmed, other_key = float_of(board[4 * warp]), board[4 * warp + 2]
        if better(trimmed, key, other_trimmed, other_key):
            trimmed, score, key = other_trimmed, float_of(board[4 * warp + 1]), other_key
            part = board[4 * warp + 3]
    cuda.syncthreads()
    return trimmed, score, part


def make_branch_bits():
    """Weight times the bits that tell of a row that it took a branch."""
    log2 = formulas().log2

    @function
    def branch_bits(weight, whole):
        return multiply(weight, log2(whole / weight)) if weight > 0.0 else 0.0

    return branch_bits


def make_rate_categories(source, only_by_means):
    """Score divisions of categories: `only_by_means` knows the cuts in the order of means alone."""
    forms, branch_bits = formulas(), make_branch_bits()
    trim = forms.trim
    step, score_of = forms.by_source[source].step, forms.by_source[source].score

    @kernel
    def rate_categories(
        n_pairs, place, feature, hist, stride, offset, n_values, counts_missing, learns_side,
        min_category, is_classes, n_scored, counts_rows, n_channels, unit, min_rows, min_weight,
        ridge, most_exact, is_principal, is_optimal, most_items, item_key, item_code, rated,
    ):  # fmt: skip
        """`rated` gets what is known of each pair.

        Each block has room for `most_items`: the categories with rows enough, and the pool of all
        others. `counts_missing` takes missing values for a category; `learns_side` gives them the
        better child. Of up to `most_exact` items all divisions are tried.
        """
        thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
        board = cuda.shared.array(0, int64)
        known_of, pool_of = np.int64(BOARD), np.int64(BOARD) + n_channels
        carry = pool_of + n_channels
        first = 0 if is_classes else 1
        room = np.int64(cuda.blockIdx.x) * most_items
        pair = np.int64(cuda.blockIdx.x)
        while pair < n_pairs:
            own = np.int64(feature[pair])
            base = np.int64(place[pair]) * stride + offset[own] * n_channels
            n_codes = np.int64(offset[own + 1] - offset[own])
            n_categories = n_codes if counts_missing else np.int64(n_values[own])
            n_items, chunk = np.int64(0), np.int64(0)
            while chunk < n_categories:
                code = chunk + thread
                at = base + code * n_channels
                weight, is_listed = np.int64(0), np.int64(0)
                if code < n_categories:
                    weight = weight_at(hist, at, is_classes, n_scored)
                    n_rows = rows_at(hist, at, weight, counts_rows, n_channels)
                    is_rare = min_category > 1 and n_rows < min_category
                    is_listed = np.int64(1) if weight > 0 and not is_rare else np.int64(0)
                up_to, n_more = block_scan(is_listed, board)
                if is_listed > 0:
                    share = np.float64(hist[at + first]) / (np.float64(weight) + ridge)
                    item_key[room + n_items + up_to - 1] = -share if is_classes else share
                    item_code[room + n_items + up_to - 1] = code
                n_items += n_more
                chunk += n_threads
            cuda.syncthreads()
            # The pool, and what all of them have.
            for c in range(n_channels):
                of_items, of_pool, i = np.int64(0), np.int64(0), thread
                while i < n_items:
                    of_items += hist[base + item_code[room + i] * n_channels + c]
                    i += n_threads
                code = thread
                while min_category > 1 and code < n_categories:
                    at = base + code * n_channels
                    weight = weight_at(hist, at, is_classes, n_scored)
                    if rows_at(hist, at, weight, counts_rows, n_channels) < min_category:
                        of_pool += hist[at + c]
                    code += n_threads
                _, of_items = block_scan(of_items, board)
                _, of_pool = block_scan(of_pool, board)
                if thread == 0:
                    board[known_of + c], board[pool_of + c] = of_items + of_pool, of_pool
                    board[carry + c] = 0
            cuda.syncthreads()
            pooled = weight_at(board, pool_of, is_classes, n_scored)
            if pooled > 0:
                if thread == 0:
                    share = np.float64(board[pool_of + first]) / (np.float64(pooled) + ridge)
                    item_key[room + n_items] = -share if is_classes else share
                    item_code[room + n_items] = n_categories
                n_items += 1
                cuda.syncthreads()
            is_exact = not only_by_means and n_items <= most_exact
            if not is_exact:
                if not only_by_means and is_principal:
                    find_components(
                        hist, base, board, pool_of, known_of, n_categories, n_channels, is_classes,
                        n_scored, unit, item_key, item_code, room, n_items,
                    )  # fmt: skip
                put_in_order(item_key, item_code, room, n_items)
            # Candidates with missing values in child 1 and, where there are any, in child 0.
            missing = base + n_categories * n_channels
            known, lost, lost_rows = weight_at(board, known_of, is_classes, n_scored), 0, 0
            known_rows = rows_at(board, known_of, known, counts_rows, n_channels)
            if n_codes > n_categories:
                lost = weight_at(hist, missing, is_classes, n_scored)
                lost_rows = rows_at(hist, missing, lost, counts_rows, n_channels)
            has_sides = learns_side and lost > 0
            weight = known + lost if has_sides else known
            n_rows = known_rows + lost_rows if has_sides else known_rows
            whole = np.float64(weight) + (ridge + ridge)  # nothing is rounded that could be fused
            best_trimmed, best_score = -np.inf, -np.inf
            best_key, best_part = np.int64(NO_KEY), np.int64(0)
            n_sets = np.int64(1) << (n_items - 1) if is_exact and n_items > 0 else np.int64(0)
            number = thread
            while number < n_sets * (2 if has_sides else 1):
                # Item i > 0 is bit i - 1 of a set; child 0 always has item 0.
                side, chosen = number // n_sets, 2 * (number % n_sets) + 1
                part, rows = np.int64(0), np.int64(0)
                for i in range(n_items):
                    if chosen >> i & 1:
                        code = np.int64(item_code[room + i])
                        own_weight = weight_of(
                            hist, base, board, pool_of, code, n_categories, n_channels, is_classes,
                            n_scored,
                        )  # fmt: skip
                        part += own_weight
                        rows += (
                            sum_of(
                                hist, base, board, pool_of, code, n_categories, n_channels,
                                n_channels - 1,
                            )
                            if counts_rows else own_weight
                        )  # fmt: skip
                own_weight, own_rows = part + side * lost, rows + side * lost_rows
                left, x, y, z = np.float64(own_weight) + ridge, 0.0, 0.0, 0.0
                for s in range(n_scored):
                    c = first + s
                    own_sum, lost_sum = np.int64(0), np.int64(0)
                    for i in range(n_items):
                        if chosen >> i & 1:
                            code = np.int64(item_code[room + i])
                            own_sum += sum_of(
                                hist, base, board, pool_of, code, n_categories, n_channels, c
                            )
                    if has_sides:
                        lost_sum = np.int64(hist[missing + c])
                    total = multiply(np.float64(board[known_of + c] + lost_sum), unit[s])
                    own_part = multiply(np.float64(own_sum + side * lost_sum), unit[s])
                    if 0.0 < left < whole:  # otherwise a child is empty
                        x, y, z = step(x, y, z, own_part, total, left, whole)
                has_rows = own_rows >= min_rows and n_rows - own_rows >= min_rows
                if has_rows and own_weight >= min_weight and weight - own_weight >= min_weight:
                    found = score_of(x, y, z, left, whole)
                    if better(best_trimmed, best_key, trim(found), number):
                        best_trimmed, best_score = trim(found), found
                        best_key, best_part = number, part
                number += n_threads
            below, below_rows, chunk = np.int64(0), np.int64(0), np.int64(0)
            while chunk < n_items and not is_exact:
                i = chunk + thread
                is_item, is_pool, at = i < n_items, False, np.int64(0)
                own_weight, own_rows = np.int64(0), np.int64(0)
                if is_item:
                    code = np.int64(item_code[room + i])
                    is_pool, at = code == n_categories, base + code * n_channels
                    if is_pool:
                        own_weight = pooled
                        own_rows = rows_at(board, pool_of, pooled, counts_rows, n_channels)
                    else:
                        own_weight = weight_at(hist, at, is_classes, n_scored)
                        own_rows = rows_at(hist, at, own_weight, counts_rows, n_channels)
                up_to, more = block_scan(own_weight, board)
                part, below = below + up_to, below + more
                rows = part
                if counts_rows:
                    up_to, more = block_scan(own_rows, board)
                    rows, below_rows = below_rows + up_to, below_rows + more
                right, left = np.float64(part) + ridge, np.float64(part + lost) + ridge
                x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for s in range(n_scored):
                    c = first + s
                    own_sum, lost_sum = np.int64(0), np.int64(0)
                    if is_item:
                        own_sum = np.int64(board[pool_of + c] if is_pool else hist[at + c])
                    up_to, more = block_scan(own_sum, board)
                    running = board[carry + c] + up_to
                    if has_sides:
                        lost_sum = np.int64(hist[missing + c])
                    total = multiply(np.float64(board[known_of + c] + lost_sum), unit[s])
                    cuda.syncthreads()
                    if thread == 0:
                        board[carry + c] += more
                    if 0.0 < right < whole:  # otherwise a child is empty
                        own_part = multiply(np.float64(running), unit[s])
                        x, y, z = step(x, y, z, own_part, total, right, whole)
                    if has_sides and 0.0 < left < whole:
                        own_part = multiply(np.float64(running + lost_sum), unit[s])
                        u, v, w = step(u, v, w, own_part, total, left, whole)
                if is_item:
                    has_rows = rows >= min_rows and n_rows - rows >= min_rows
                    if has_rows and part >= min_weight and weight - part >= min_weight:
                        found = score_of(x, y, z, right, whole)
                        if better(best_trimmed, best_key, trim(found), i):
                            best_trimmed, best_score = trim(found), found
                            best_key, best_part = i, part
                if is_item and has_sides:
                    rows, own_weight = rows + lost_rows, part + lost
                    has_rows = rows >= min_rows and n_rows - rows >= min_rows
                    if has_rows and own_weight >= min_weight and weight - own_weight >= min_weight:
                        found = score_of(u, v, w, left, whole)
                        if better(best_trimmed, best_key, trim(found), most_items + i):
                            best_trimmed, best_score = trim(found), found
                            best_key, best_part = most_items + i, part
                chunk += n_threads
            _, best_score, best_part = best_of_block(
                best_trimmed, best_score, best_key, best_part, board
            )
            if thread == 0:
                every = np.float64(known + lost)
                told = branch_bits(np.float64(best_part), every)
                told = told + branch_bits(np.float64(known - best_part), every)
                told = told + branch_bits(np.float64(lost), every)
                can_split = n_items + (1 if has_sides else 0) >= 2
                out = pair * RATED_COLUMNS
                rated[out + SCORE] = bits_of(best_score)
                rated[out + BITS] = bits_of(told)
                may_miss = can_split and not is_exact and not is_optimal
                rated[out + IS_HEURISTIC] = 1 if may_miss else 0
            cuda.syncthreads()
            pair += np.int64(cuda.gridDim.x)

    return rate_categories
