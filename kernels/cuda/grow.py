"""Trees that grow level by level on the device, without the host between the steps of a level.

A level is searched (`split`). Then `decide` chooses which of its nodes are split and cuts their
rows into tiles, `route` finds the side of each row, and `settle` makes the children: where their
rows will be, which of them are searched next, and the tiles to sum for that. The host is told a few
counts. These kernels are one block each, whose threads stride over nodes and tiles.
"""

import numpy as np
from numba import int64, uint64

from gputree.kernels.cuda import histogram, route, split
from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    block_scan,
    cuda,
    float_of,
    formulas,
    function,
    kernel,
    mixed,
)
from gputree.kernels.cuda.route import owner_of
from gputree.kernels.cuda.split import weight_at

# Columns of the table of nodes: where the rows of each begin in the order, how many there are, its
# first child (-1 at a leaf), its best split as `split` tells it, and its sums.
START, N_ROWS, FIRST_CHILD, SPLIT = 0, 1, 2, 3
SUMS = SPLIT + split.LEFT
# What the host is told of a level: how many nodes are split, into how many tiles their rows are
# cut, how many children are searched next, how many rows those have, how many of them are searched
# by their sums, how many rows these have, how many nodes are tallied for that, and into how many
# tiles their rows are cut.
N_SPLIT, N_TILES, N_NEXT, NEXT_ROWS, N_SUMMED, SUMMED_ROWS, N_TALLIED, TALLIED_TILES = range(8)
N_COUNTS = 8


@function
@function
def line_of(seat, n_summed):
    """The line of a node among the winners: nodes without sums come after the others.

    The seat of a node is its place among those with sums, or the complement of that among those
    without.
    """
    return np.int64(seat) if seat >= 0 else np.int64(n_summed) + ~np.int64(seat)


@function
def n_tiles_of(n_rows, step):
    """Into how many tiles of `step` rows some rows are cut."""
    return (n_rows + step - 1) // step


@function
def cut_rows(owner, n, nodes, width, first_tile, n_tiles, most_tiles, step, tile):
    """Write the route table of some nodes, whose rows are cut, and empty tiles up to the most."""
    number = np.int64(cuda.threadIdx.x)
    while number < most_tiles:
        begin, end, own, own_first = np.int64(0), np.int64(0), np.int64(0), number
        if number < n_tiles:
            own = owner_of(number, first_tile, n)
            own_first = np.int64(first_tile[own])
            at = np.int64(owner[own]) * width
            begin = nodes[at + START] + (number - own_first) * step
            end = min(begin + step, nodes[at + START] + nodes[at + N_ROWS])
        out = number * route.TILE_COLUMNS
        tile[out + route.FIRST], tile[out + route.LAST] = begin, end
        tile[out + route.MOVE], tile[out + route.MOVE_TILE] = own, own_first
        number += np.int64(cuda.blockDim.x)


@function
def cut_tallied(tallied, first, n, nodes, width, step, first_tile, tile, count, board):
    """Write the tiles of nodes from `first` on that are tallied, each to its own place."""
    thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
    n_tiles, chunk = np.int64(0), np.int64(0)
    while chunk < n:
        place = chunk + thread
        n_own = np.int64(0)
        if place < n:
            at = np.int64(tallied[first + place]) * width
            n_own = n_tiles_of(np.int64(nodes[at + N_ROWS]), step)
        up_to, whole = block_scan(n_own, board)
        if place < n:
            first_tile[place] = n_tiles + up_to - n_own
        n_tiles += whole
        chunk += n_threads
    cuda.syncthreads()
    number = thread
    while number < n_tiles:
        place = owner_of(number, first_tile, n)
        at = np.int64(tallied[first + place]) * width
        begin = nodes[at + START] + (number - first_tile[place]) * step
        out = number * histogram.TILE_COLUMNS
        tile[out + histogram.FIRST] = begin
        tile[out + histogram.LAST] = min(begin + step, nodes[at + START] + nodes[at + N_ROWS])
        tile[out + histogram.PLACE] = place
        number += n_threads
    if thread == 0:
        count[TALLIED_TILES] = n_tiles


def make_list_tallied(threads):
    """Tiles of a part of some nodes, which all are tallied."""
    n_warps = threads // WARP

    @kernel
    def list_tallied(summed, first, n, nodes, n_channels, tile_rows, first_tile, tile, count):
        board = cuda.shared.array(n_warps, int64)
        cut_tallied(
            summed, first, n, nodes, SUMS + n_channels, tile_rows, first_tile, tile, count, board
        )

    return list_tallied


def make_sufficient():
    """Whether the best split of a node is good enough."""
    penalty = formulas().penalty

    @function
    def is_sufficient(score, at, nodes, ridge, least_worth):
        worth = score
        if ridge != 0.0:
            weight, gradient = np.float64(nodes[at + SUMS]), np.float64(nodes[at + SUMS + 1])
            worth = score - penalty(gradient, weight, ridge)
        return least_worth <= worth < np.inf

    return is_sufficient


def make_doubt(threads):
    """Which nodes may be pure, though sums do not tell: no split of those gains anything.

    Weighted targets are rounded, so that a split may seem to gain a little.
    """
    n_warps, is_sufficient = threads // WARP, make_sufficient()

    @kernel
    def doubt(
        frontier, seat, n_frontier, n_summed, winner, nodes, n_channels, ridge, least_worth,
        is_weighted, n_outputs, route_rows, most_tiles, doubtful, place_of, first_tile, tile, low,
        high,
    ):  # fmt: skip
        """`place_of[place]` is where a node of the frontier is among the doubtful ones, or -1."""
        thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
        board = cuda.shared.array(n_warps, int64)
        width = np.int64(SUMS + n_channels)
        n_doubtful, n_tiles, chunk = np.int64(0), np.int64(0), np.int64(0)
        while chunk < n_frontier:
            place = chunk + thread
            is_doubtful, n_own, own = np.int64(0), np.int64(0), np.int64(0)
            if place < n_frontier:
                own = np.int64(frontier[place])
                at = own * width
                line = line_of(seat[place], n_summed)
                score = float_of(winner[line * (split.LEFT + n_channels) + split.SCORE])
                is_close = score == 0.0 or is_weighted
                if is_close and is_sufficient(score, at, nodes, ridge, least_worth):
                    is_doubtful = np.int64(1)
                    n_own = n_tiles_of(np.int64(nodes[at + N_ROWS]), route_rows)
            doubtful_to, all_doubtful = block_scan(is_doubtful, board)
            tiles_to, all_tiles = block_scan(n_own, board)
            to = n_doubtful + doubtful_to - 1
            if place < n_frontier:
                place_of[place] = to if is_doubtful > 0 else -1
            if is_doubtful > 0:
                doubtful[to] = own
                first_tile[to] = n_tiles + tiles_to - n_own
                for output in range(n_outputs):
                    low[to * n_outputs + output] = np.int64(route.LARGEST)
                    high[to * n_outputs + output] = ~np.int64(route.LARGEST)
            n_doubtful, n_tiles = n_doubtful + all_doubtful, n_tiles + all_tiles
            chunk += n_threads
        cuda.syncthreads()
        cut_rows(
            doubtful, n_doubtful, nodes, width, first_tile, n_tiles, most_tiles, route_rows, tile
        )

    return doubt


def make_decide(threads):
    """Choose the nodes of a frontier that are split, and cut their rows into tiles."""
    n_warps, is_sufficient = threads // WARP, make_sufficient()

    @function
    def differs(place, place_of, n_outputs, low, high):
        """Whether the targets of a node differ; where it is not in doubt, they do."""
        if n_outputs == 0 or place_of[place] < 0:
            return True
        at, found = np.int64(place_of[place]) * n_outputs, False
        for output in range(n_outputs):
            found = found or low[at + output] < high[at + output]
        return found

    @function
    def note_child(child, base, side, n_channels, own, winner, nodes, draw_key, parent):
        """Write the sums of a child, and what its draws follow from."""
        width = np.int64(SUMS + n_channels)
        at = child * width
        nodes[at + FIRST_CHILD] = -1
        for word in range(split.LEFT):
            nodes[at + SPLIT + word] = 0
        nodes[at + SPLIT + split.SCORE] = bits_of(-np.inf)
        nodes[at + SPLIT + split.FEATURE] = -1
        for c in range(n_channels):
            left = winner[base + split.LEFT + c]
            nodes[at + SUMS + c] = left if side == 0 else nodes[own + SUMS + c] - left
        if draw_key.shape[0] > 1:
            draw_key[child] = mixed(draw_key[parent], uint64(side))

    @kernel
    def decide(
        frontier, seat, n_frontier, n_summed, n_nodes, winner, nodes, n_channels, ridge,
        least_worth, n_outputs, place_of, low, high, n_values, draw_key, route_rows, most_tiles,
        moved, from_seat, first_tile, tile, test, count,
    ):  # fmt: skip
        """Children are numbered from `n_nodes` on. For each node that is split: `moved` is its
        number and `from_seat` its seat; `n_outputs` is 0 where none is in doubt.
        """
        thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
        board = cuda.shared.array(n_warps, int64)
        width = np.int64(SUMS + n_channels)
        n_split, n_tiles, chunk = np.int64(0), np.int64(0), np.int64(0)
        while chunk < n_frontier:
            place = chunk + thread
            is_split, n_own = np.int64(0), np.int64(0)
            own, base, parent = np.int64(0), np.int64(0), np.int64(0)
            if place < n_frontier:
                parent = np.int64(frontier[place])
                line = line_of(seat[place], n_summed)
                own, base = parent * width, line * (split.LEFT + n_channels)
                for word in range(split.LEFT):
                    nodes[own + SPLIT + word] = winner[base + word]
                score = float_of(winner[base + split.SCORE])
                is_mixed = differs(place, place_of, n_outputs, low, high)
                if is_mixed and is_sufficient(score, own, nodes, ridge, least_worth):
                    is_split = np.int64(1)
                    n_own = n_tiles_of(np.int64(nodes[own + N_ROWS]), route_rows)
            split_to, all_split = block_scan(is_split, board)
            tiles_to, all_tiles = block_scan(n_own, board)
            if is_split > 0:
                to = n_split + split_to - 1
                first_child = n_nodes + 2 * to
                nodes[own + FIRST_CHILD] = first_child
                note_child(first_child, base, 0, n_channels, own, winner, nodes, draw_key, parent)
                note_child(
                    first_child + 1, base, 1, n_channels, own, winner, nodes, draw_key, parent
                )
                moved[to], from_seat[to] = parent, seat[place]
                first_tile[to] = n_tiles + tiles_to - n_own
                feature = winner[base + split.FEATURE]
                own_test = to * route.THRESHOLD_COLUMNS
                test[own_test + route.FEATURE] = feature
                test[own_test + route.CODE] = winner[base + split.CODE]
                test[own_test + route.OTHER] = n_values[feature]
                test[own_test + route.SLOT] = winner[base + split.SLOT]
            n_split, n_tiles = n_split + all_split, n_tiles + all_tiles
            chunk += n_threads
        cuda.syncthreads()
        if thread == 0:
            count[N_SPLIT], count[N_TILES] = n_split, n_tiles
            if (
                n_split == 0
            ):  # tiles without rows belong to the first move, even where there is none
                test[route.FEATURE] = 0
        cut_rows(moved, n_split, nodes, width, first_tile, n_tiles, most_tiles, route_rows, tile)

    return decide


def make_settle(threads):
    """Place the rows of children, and choose those that are searched next."""
    n_warps = threads // WARP

    @function
    def may_split(at, nodes, is_classes, n_scored, min_rows, min_weight, goes_deeper):
        """Whether a node is worth a search."""
        if not goes_deeper or nodes[at + N_ROWS] < min_rows:
            return np.int64(0)
        n_present = np.int64(2)
        if is_classes:
            n_present = np.int64(0)
            for c in range(n_scored):
                n_present += 1 if nodes[at + SUMS + c] > 0 else 0
        weight = weight_at(nodes, at + SUMS, is_classes, n_scored)
        return np.int64(1) if n_present > 1 and weight >= min_weight else np.int64(0)

    @kernel
    def settle(
        nodes, n_channels, is_classes, n_scored, min_rows, min_weight, goes_deeper, few_rows,
        half, derives, tile_rows, most_tiles, moved, from_seat, first_tile, n_right, before, bound,
        frontier, seat, summed, few, own_place, above_place, tallied, first_tallied, large, count,
    ):  # fmt: skip
        """`before[tile]` becomes how many rows of all tiles below it go right. Where sums are
        derived, the smaller child of each parent is tallied, and the other has what is left.
        Children of at most `few_rows` rows have no sums. Rows go to the other half of the list.
        """
        thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
        board = cuda.shared.array(n_warps, int64)
        width = np.int64(SUMS + n_channels)
        n_split, n_tiles = np.int64(count[N_SPLIT]), np.int64(count[N_TILES])
        running, chunk = np.int64(0), np.int64(0)
        while chunk < most_tiles:
            tile = chunk + thread
            own = np.int64(n_right[tile]) if tile < most_tiles else np.int64(0)
            up_to, whole = block_scan(own, board)
            if tile < most_tiles:
                before[tile] = running + up_to - own
            running += whole
            chunk += n_threads
        if thread == 0:
            before[most_tiles] = running
            # Tiles without rows belong to the first move, even where there is none.
            bound[route.START], bound[route.N_LEFT] = 0, 0
        cuda.syncthreads()
        n_next, n_summed, n_tallied = np.int64(0), np.int64(0), np.int64(0)
        next_rows, summed_rows, chunk = np.int64(0), np.int64(0), np.int64(0)
        while chunk < n_split:
            move = chunk + thread
            child, small_side = np.int64(0), np.int64(0)
            may_left, may_right, sum_left, sum_right = (
                np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            )  # fmt: skip
            left_rows, right_rows = np.int64(0), np.int64(0)
            if move < n_split:
                at = np.int64(moved[move]) * width
                end_tile = first_tile[move + 1] if move + 1 < n_split else n_tiles
                start, n_rows = np.int64(nodes[at + START]), np.int64(nodes[at + N_ROWS])
                right_rows = before[end_tile] - before[first_tile[move]]
                left_rows = n_rows - right_rows
                start += half if start < half else -half
                bound[move * route.BOUND_COLUMNS + route.START] = start
                bound[move * route.BOUND_COLUMNS + route.N_LEFT] = left_rows
                child = np.int64(nodes[at + FIRST_CHILD])
                left, right = child * width, (child + 1) * width
                nodes[left + START], nodes[left + N_ROWS] = start, left_rows
                nodes[right + START], nodes[right + N_ROWS] = start + left_rows, right_rows
                # Where a side has no rows, sums are wrong; that shall not go on for ever.
                deeper = goes_deeper and 0 < right_rows < n_rows
                may_left = may_split(
                    left, nodes, is_classes, n_scored, min_rows, min_weight, deeper
                )
                may_right = may_split(
                    right, nodes, is_classes, n_scored, min_rows, min_weight, deeper
                )
                sum_left = may_left if left_rows > few_rows else np.int64(0)
                sum_right = may_right if right_rows > few_rows else np.int64(0)
                small_side = np.int64(1) if right_rows < left_rows else np.int64(0)
            is_tallied = np.int64(1) if sum_left + sum_right > 0 else np.int64(0)
            next_to, all_next = block_scan(may_left + may_right, board)
            summed_to, all_summed = block_scan(sum_left + sum_right, board)
            tallied_to, all_tallied = block_scan(is_tallied, board)
            _, all_rows = block_scan(may_left * left_rows + may_right * right_rows, board)
            _, rows_of_summed = block_scan(sum_left * left_rows + sum_right * right_rows, board)
            family = n_tallied + tallied_to - 1
            if is_tallied > 0 and derives:
                tallied[family] = child + small_side
            place = n_next + next_to - may_left - may_right
            own_summed = n_summed + summed_to - sum_left - sum_right
            for side in range(2):
                is_next, is_summed = may_left, sum_left
                if side == 1:
                    is_next, is_summed = may_right, sum_right
                if is_next > 0:
                    frontier[place] = child + side
                    if is_summed > 0:
                        seat[place], summed[own_summed] = own_summed, child + side
                        own_place[own_summed] = family
                        above_place[own_summed] = -1 if side == small_side else from_seat[move]
                        own_summed += 1
                    else:
                        seat[place] = ~(place - own_summed)
                        few[place - own_summed] = child + side
                    place += 1
            n_next, n_summed = n_next + all_next, n_summed + all_summed
            n_tallied += all_tallied
            next_rows, summed_rows = next_rows + all_rows, summed_rows + rows_of_summed
            chunk += n_threads
        cuda.syncthreads()
        if thread == 0:
            count[N_NEXT], count[NEXT_ROWS] = n_next, next_rows
            count[N_SUMMED], count[SUMMED_ROWS] = n_summed, summed_rows
            count[N_TALLIED] = n_tallied
        if derives:
            cut_tallied(
                tallied, 0, n_tallied, nodes, width, tile_rows, first_tallied, large, count, board
            )

    return settle


@kernel
def rank_features(drawing, n_drawing, n_features, draw_key, by_rank, rank):
    """The place of each feature in each node's draw, as `gputree.sampling.feature_ranks` has it.

    Or, `by_rank`, the features of each node in the order of its draw.
    """
    item = np.int64(cuda.grid(1))
    while item < n_drawing * n_features:
        place = item // n_features
        feature = item - place * n_features
        own_key = ~draw_key[drawing[place]]
        own, found = mixed(own_key, uint64(feature)), 0
        for other in range(n_features):
            number = mixed(own_key, uint64(other))
            if number < own or (number == own and other < feature):
                found += 1
        if by_rank:
            rank[item - feature + found] = feature
        else:
            rank[item] = found
        item += np.int64(cuda.gridsize(1))


@kernel
def copy(n, source, out):
    """The first `n` entries of an array."""
    i = np.int64(cuda.grid(1))
    while i < n:
        out[i] = source[i]
        i += np.int64(cuda.gridsize(1))
