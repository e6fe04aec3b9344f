"""Rows to children: a stable partition of the rows of each node, in tiles.

The first kernel finds the child of every row, keeps it as a bit and counts; the second adds counts
up over tiles; the third moves rows. A row number is read once more, a code never.
"""

import numpy as np
from numba import int32, int64

from gputree.kernels.cuda.gpu import WARP, ballot, cuda, kernel, lanes_below

# Columns of the table of tiles: its rows in the order, its move, and the first tile of that.
FIRST, LAST, MOVE, MOVE_TILE, TILE_COLUMNS = 0, 1, 2, 3, 4
# Columns of the table of tests: the feature, and where its part of the slot table begins.
FEATURE, SLOTS, TEST_COLUMNS = 0, 1, 2
# Columns of the table of bounds: where the rows of a move begin, and how many go left.
START, N_LEFT, BOUND_COLUMNS = 0, 1, 2


def make_choose(tile_rows):
    """Find children; tiles of `tile_rows` rows at most, a multiple of the warp."""
    tile_words = tile_rows // WARP

    @kernel
    def choose(tile, test, table, order, code, row_step, feature_step, flags, n_right):
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        block = cuda.blockIdx.x
        found = cuda.shared.array(1, int32)
        if thread == 0:
            found[0] = 0
        cuda.syncthreads()
        own_tile = block * TILE_COLUMNS
        first, last = tile[own_tile + FIRST], tile[own_tile + LAST]
        own_test = tile[own_tile + MOVE] * TEST_COLUMNS
        feature, slots = test[own_test + FEATURE], test[own_test + SLOTS]
        i = thread
        while i < tile_rows:
            to = 0
            if first + i < last:
                row = np.int64(order[first + i])
                to = np.int32(table[slots + code[row * row_step + feature * feature_step]])
            word = ballot(to > 0)
            if i % WARP == 0:
                flags[np.int64(block) * tile_words + i // WARP] = word
                cuda.atomic.add(found, 0, np.int32(cuda.popc(word)))
            i += n_threads
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
    """Move rows to their children; rows of a child keep their order."""
    tile_words = tile_rows // WARP

    @kernel
    def move_rows(tile, bound, flags, before, order, moved):
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        block = cuda.blockIdx.x
        own = cuda.shared.array(tile_words, int32)
        earlier = cuda.shared.array(tile_words, int32)
        own_tile = block * TILE_COLUMNS
        first, last = tile[own_tile + FIRST], tile[own_tile + LAST]
        own_bound = tile[own_tile + MOVE] * BOUND_COLUMNS
        start, n_left = bound[own_bound + START], bound[own_bound + N_LEFT]
        i = thread
        while i < tile_words:
            own[i] = cuda.popc(flags[np.int64(block) * tile_words + i])
            i += n_threads
        cuda.syncthreads()
        i = thread
        while i < tile_words:
            running = int32(0)
            for k in range(i):
                running += own[k]
            earlier[i] = running
            i += n_threads
        cuda.syncthreads()
        right_before = before[block] - before[tile[own_tile + MOVE_TILE]]
        left_at = first - right_before
        right_at = start + n_left + right_before
        i = thread
        while first + i < last:
            at_word = i // WARP
            lane = i % WARP
            word = flags[np.int64(block) * tile_words + at_word]
            n_right = np.int64(earlier[at_word])
            n_right += cuda.popc(np.uint32(word & lanes_below(lane)))
            if (word >> np.uint32(lane)) & np.uint32(1):
                moved[right_at + n_right] = order[first + i]
            else:
                moved[left_at + i - n_right] = order[first + i]
            i += n_threads

    return move_rows


@kernel
def mark(tile, node, order, leaf):
    """Write the number of each tile's node to its rows."""
    block = cuda.blockIdx.x
    i = tile[block * TILE_COLUMNS + FIRST] + cuda.threadIdx.x
    while i < tile[block * TILE_COLUMNS + LAST]:
        leaf[order[i]] = node[tile[block * TILE_COLUMNS + MOVE]]
        i += cuda.blockDim.x


@kernel
def span(tile, order, n_outputs, n_rows, key, low, high):
    """Smallest and largest key of each tile's node and output; keys are ordered integers."""
    block = cuda.blockIdx.x
    place = tile[block * TILE_COLUMNS + MOVE]
    for output in range(n_outputs):
        i = tile[block * TILE_COLUMNS + FIRST] + cuda.threadIdx.x
        if i < tile[block * TILE_COLUMNS + LAST]:
            least = most = key[output * n_rows + order[i]]
            while i < tile[block * TILE_COLUMNS + LAST]:
                value = key[output * n_rows + order[i]]
                least, most = min(least, value), max(most, value)
                i += cuda.blockDim.x
            cuda.atomic.min(low, place * n_outputs + output, least)
            cuda.atomic.max(high, place * n_outputs + output, most)
