"""Rows to children: a stable partition of the rows of each node, in tiles.

The first kernel finds the child of every row, keeps it as a bit and counts; the second adds counts
up over tiles; the third moves rows. A row number is read once more, a code never. Where there are
more than two ways to go, rows are sorted by their numbers, a bit at a time from the lowest up.
"""

import numpy as np
from numba import int32, int64, uint32, uint64

from gputree.kernels import categories
from gputree.kernels.cuda.gpu import WARP, ballot, cuda, function, kernel, lanes_below, scan

# Columns of the table of tiles: its rows in the order, its move, and the first tile of that.
FIRST, LAST, MOVE, MOVE_TILE, TILE_COLUMNS = 0, 1, 2, 3, 4
# Columns of the table of tests: the feature, and where its part of the slot table begins.
FEATURE, SLOTS, TEST_COLUMNS = 0, 1, 2
# Columns of the table of thresholds: the feature, up to which code rows go left, and another code,
# that of missing values, with the side where that one goes.
CODE, OTHER, SLOT, THRESHOLD_COLUMNS = 1, 2, 3, 4
# Columns of the table of bounds: where the rows of a move will begin, and how many go left.
START, N_LEFT, BOUND_COLUMNS = 0, 1, 2
# Columns of the table of ways: where the counts of a move begin, and the last of them.
COUNTS, LAST_WAY, WAY_COLUMNS = 0, 1, 2
# Columns of the table of pieces: where they are, where they go, and how long they are.
FROM, TO, LENGTH, PIECE_COLUMNS = 0, 1, 2, 3

LARGEST = 0x7FFFFFFFFFFFFFFF

place_of = function(categories.place_of)


def make_choose(tile_rows, by_threshold=False):
    """Find children; tiles of `tile_rows` rows at most, a multiple of the warp.

    By thresholds, tests are a table of these, and no table has a slot for each code.
    """
    tile_words = tile_rows // WARP
    columns = THRESHOLD_COLUMNS if by_threshold else TEST_COLUMNS

    @function
    def side_of(own_code, own_test, test, table):
        """Whether a code goes right."""
        if by_threshold:
            if own_code == test[own_test + OTHER]:
                return uint32(test[own_test + SLOT])
            return uint32(own_code > test[own_test + CODE])
        return uint32(table[uint64(test[own_test + SLOTS]) + uint64(own_code)])

    @kernel
    def choose(tile, test, table, order, code, row_step, feature_step, flags, n_right):
        thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        found = cuda.shared.array(1, int32)
        if thread == 0:
            found[0] = 0
        cuda.syncthreads()
        own_tile = block * TILE_COLUMNS
        first = uint32(tile[own_tile + FIRST])
        n_rows = uint32(tile[own_tile + LAST] - tile[own_tile + FIRST])
        own_test = uint32(tile[own_tile + MOVE]) * columns
        column = uint64(test[own_test + FEATURE]) * uint64(feature_step)
        first_word = uint64(block) * uint64(tile_words)
        n_found = int32(0)
        i = thread
        while i < tile_rows:
            to = uint32(0)
            if i < n_rows:
                row = uint64(order[first + i])
                own_code = code[row * uint64(row_step) + column]
                to = side_of(own_code, own_test, test, table)
            word = ballot(to > 0)
            if i % WARP == 0:
                flags[first_word + uint64(i // WARP)] = word
                n_found += cuda.popc(word)
            i = uint32(i + cuda.blockDim.x)
        if thread % WARP == 0:
            cuda.atomic.add(found, 0, n_found)
        cuda.syncthreads()
        if thread == 0:
            n_right[block] = found[0]

    return choose


def make_add_up(threads):
    """Add counts up over tiles, in one block."""

    @kernel
    def add_up(n, n_right, before):
        """before[i] is the sum of n_right[:i]."""
        thread = cuda.threadIdx.x
        sums = cuda.shared.array(threads, int64)
        share = (n + threads - 1) // threads
        first = thread * share
        last = min(first + share, n)
        own = np.int64(0)
        for i in range(first, last):
            own += n_right[i]
        sums[thread] = own
        distance = 1
        while distance < threads:
            cuda.syncthreads()
            below = sums[thread - distance] if thread >= distance else np.int64(0)
            cuda.syncthreads()
            sums[thread] += below
            distance *= 2
        running = sums[thread] - own
        for i in range(first, last):
            before[i] = running
            running += n_right[i]

    return add_up


def make_move(tile_rows):
    """Move rows to their children; rows of a child keep their order.

    All tiles of a move but the last have `tile_rows` rows.
    """
    tile_words = tile_rows // WARP

    @kernel
    def move_rows(tile, bound, flags, before, order, moved):
        thread, n_threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        block = uint32(cuda.blockIdx.x)
        within = cuda.shared.array(tile_words, int32)
        earlier = cuda.shared.array(tile_words, int32)
        own_tile = block * TILE_COLUMNS
        first = uint32(tile[own_tile + FIRST])
        n_rows = uint32(tile[own_tile + LAST] - tile[own_tile + FIRST])
        own_bound = uint32(tile[own_tile + MOVE]) * BOUND_COLUMNS
        first_word = uint64(block) * uint64(tile_words)
        # Rows to the right up to each word: of the words of a warp, then of the warps before.
        chunk = uint32(0)
        while chunk < tile_words:
            i = uint32(chunk + thread)
            n_own = cuda.popc(flags[first_word + i]) if i < tile_words else 0
            n_within = scan(n_own)
            if i < tile_words:
                within[i] = n_within
                earlier[i] = n_within - n_own
            chunk = uint32(chunk + n_threads)
        cuda.syncthreads()
        i = thread
        while i < tile_words:
            last_of_warp = uint32(WARP - 1)
            while last_of_warp < i - i % WARP:
                earlier[i] += within[last_of_warp]
                last_of_warp = uint32(last_of_warp + WARP)
            i = uint32(i + n_threads)
        cuda.syncthreads()
        right_before = uint32(before[block] - before[uint32(tile[own_tile + MOVE_TILE])])
        rows_before = uint32((block - uint32(tile[own_tile + MOVE_TILE])) * uint32(tile_rows))
        left_at = uint32(uint32(uint32(bound[own_bound + START]) + rows_before) - right_before)
        right_at = uint32(bound[own_bound + START] + bound[own_bound + N_LEFT] + right_before)
        i = thread
        while i < n_rows:
            at_word, lane = uint32(i // WARP), uint32(i % WARP)
            word = flags[first_word + at_word]
            n_right = uint32(earlier[at_word] + cuda.popc(uint32(word & lanes_below(lane))))
            is_right = uint32(uint32(word >> lane) & uint32(1)) != 0
            at = uint32(right_at + n_right) if is_right else uint32(uint32(left_at + i) - n_right)
            moved[at] = order[first + i]
            i = uint32(i + n_threads)

    return move_rows


@kernel
def count_ways(tile, test, way, numbers, order, code, row_step, feature_step, n_found):
    """How many rows of each move go which way; a number beyond the last way means the last."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    move = uint32(tile[own_tile + MOVE])
    own_test, own_way = move * TEST_COLUMNS, move * WAY_COLUMNS
    column = uint64(test[own_test + FEATURE]) * uint64(feature_step)
    slots, last_way = uint64(test[own_test + SLOTS]), uint64(way[own_way + LAST_WAY])
    counts = uint64(way[own_way + COUNTS])
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        own_code = uint64(code[uint64(order[i]) * uint64(row_step) + column])
        to = min(uint64(numbers[slots + own_code]), last_way)
        cuda.atomic.add(n_found, counts + to, 1)
        i = uint32(i + cuda.blockDim.x)


@function
def owner_of(tile, first_tile, n):
    """Whose a tile is: the last of `n` owners whose first tile is not above it."""
    low, high = np.int64(0), np.int64(n)
    while high - low > 1:
        middle = (low + high) // 2
        if first_tile[middle] <= tile:
            low = middle
        else:
            high = middle
    return low


@kernel
def list_tiles(n_owners, n_tiles, tile_rows, start, n_rows, first_tile, tile):
    """Write the table of tiles of `tile_rows` rows into which the rows of some owners are cut."""
    number = np.int64(cuda.grid(1))
    while number < n_tiles:
        own = owner_of(number, first_tile, n_owners)
        begin = start[own] + (number - first_tile[own]) * tile_rows
        out = number * TILE_COLUMNS
        tile[out + FIRST], tile[out + LAST] = (
            begin,
            min(begin + tile_rows, start[own] + n_rows[own]),
        )
        tile[out + MOVE], tile[out + MOVE_TILE] = own, first_tile[own]
        number += np.int64(cuda.gridsize(1))


@kernel
def collect(tile, ahead, order, collected):
    """Rows of tiles without those between them: each tile's owner tells how far ahead they come."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    by = ahead[uint32(tile[own_tile + MOVE])]
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        collected[i - by] = order[i]
        i = uint32(i + cuda.blockDim.x)


def make_detour(stay):
    """Rows that have stayed, by tests that are tried in turn; a slot of `stay` is not known."""

    @kernel
    def detour(
        tile, first_test, otherwise, feature, n_values, last_low, low_slot, category_start,
        category, category_slot, order, code, row_step, feature_step, way, n_found,
    ):  # fmt: skip
        """way[row] is 0 or 1 for a child and 2 for none; n_found[3 * move + way] of each.

        A move has three lists of rows, the tiles of which have the numbers 3 * move, for those at
        the first child, and so on: those of the third have stayed.
        """
        own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
        own_list = np.int64(tile[own_tile + MOVE])
        move, place = own_list // 3, own_list % 3
        i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
        while i < last:
            row = np.int64(order[i])
            to = np.int64(place)
            if place == 2:
                to = np.int64(stay)
                test, end = first_test[move], first_test[move + 1]
                while test < end and to == stay:
                    own = np.int64(code[row * row_step + feature[test] * feature_step])
                    start = category_start[test]
                    if start >= 0:
                        to = np.int64(category_slot[place_of(own, start, category)])
                    elif own < n_values[test]:
                        low = low_slot[test]
                        to = np.int64(low if own <= last_low[test] else 1 - low)
                    test += 1
                to = min(otherwise[move] if to == stay else to, np.int64(2))
            cuda.atomic.add(n_found, 3 * move + to, 1)
            way[row] = to
            i = uint32(i + cuda.blockDim.x)

    return detour


@kernel
def pick(piece, source, picked):
    """Copy pieces of an array; a block has one."""
    own_piece = uint32(cuda.blockIdx.x) * PIECE_COLUMNS
    first, out = uint64(piece[own_piece + FROM]), uint64(piece[own_piece + TO])
    n = uint32(piece[own_piece + LENGTH])
    i = uint32(cuda.threadIdx.x)
    while i < n:
        picked[out + uint64(i)] = source[first + uint64(i)]
        i = uint32(i + cuda.blockDim.x)


@kernel
def read_codes(n, row, feature, code, row_step, feature_step, found):
    """The code of a feature in a row, for each pair of them."""
    i = uint32(cuda.grid(1))
    while i < n:
        at = uint64(row[i]) * uint64(row_step) + uint64(feature[i]) * uint64(feature_step)
        found[i] = code[at]
        i = uint32(i + cuda.gridsize(1))


@kernel
def copy_rows(n_words, n_rows, row, row_words, words, longer):
    """The words of all rows, and after them once more those of some rows."""
    at, width = uint64(cuda.grid(1)), uint64(row_words)
    n_before = uint64(n_words)
    n = n_before + uint64(n_rows) * width
    while at < n:
        source = at
        if at >= n_before:
            copy = (at - n_before) // width
            source = uint64(row[copy]) * width + (at - n_before - copy * width)
        longer[at] = words[source]
        at += uint64(cuda.gridsize(1))


@kernel
def fill(n, value, out):
    """Write one number everywhere."""
    i = uint32(cuda.grid(1))
    while i < n:
        out[i] = value
        i = uint32(i + cuda.gridsize(1))


@kernel
def mark(tile, node, order, leaf):
    """Write the number of each tile's node to its rows."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    number = node[uint32(tile[own_tile + MOVE])]
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        leaf[uint32(order[i])] = number
        i = uint32(i + cuda.blockDim.x)


@kernel
def span(tile, order, n_outputs, n_rows, key, low, high):
    """Smallest and largest key of each tile's node and output; keys are ordered integers."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    first, last = uint32(tile[own_tile + FIRST]), uint32(tile[own_tile + LAST])
    first_of_node = uint64(tile[own_tile + MOVE]) * uint64(n_outputs)
    output = uint32(0)
    while output < n_outputs:
        column = uint64(output) * uint64(n_rows)
        i = uint32(first + cuda.threadIdx.x)
        if i < last:
            least = most = key[column + uint64(order[i])]
            while i < last:
                value = key[column + uint64(order[i])]
                least, most = min(least, value), max(most, value)
                i = uint32(i + cuda.blockDim.x)
            cuda.atomic.min(low, first_of_node + output, least)
            cuda.atomic.max(high, first_of_node + output, most)
        output = uint32(output + 1)
