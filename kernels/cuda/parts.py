"""Parts of rows to children: whole where the code of a row is known, and divided elsewhere."""

import numpy as np
from numba import uint32, uint64

from gputree.kernels.cuda.gpu import cuda, function, kernel, multiply, nearest
from gputree.kernels.cuda.route import FIRST, LAST, MOVE, TILE_COLUMNS

FEATURE, SLOTS, TEST_COLUMNS = 0, 1, 2  # of the table of tests


@function
def slot_of(own_row, move, test, table, code, row_step, feature_step):
    """The child that the code of a row goes to."""
    own_test = move * uint64(TEST_COLUMNS)
    column = uint64(test[own_test + uint64(FEATURE)]) * uint64(feature_step)
    own_code = uint64(code[own_row * uint64(row_step) + column])
    return np.int64(table[uint64(test[own_test + uint64(SLOTS)]) + own_code])


@function
def given_up_to(weight, share):
    """What has been given away of a weight up to a child; so the whole is given away exactly."""
    return np.int64(nearest(multiply(np.float64(weight), share)))


@kernel
def count_parts(
    tile, test, first_child, share, table, stay, row, weight, code, row_step, feature_step, label,
    n_channels, n_children, sums,
):  # fmt: skip
    """How many parts each child gets, and behind that the sums of those that are divided."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    move = uint64(tile[own_tile + MOVE])
    first, end = np.int64(first_child[move]), np.int64(first_child[move + uint64(1)])
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        own_row = uint64(row[i])
        slot = slot_of(own_row, move, test, table, code, row_step, feature_step)
        if slot != stay:
            cuda.atomic.add(sums, first + slot, 1)
        else:
            before, child = np.int64(0), first
            while child < end:
                given = given_up_to(weight[i], share[child])
                if given > before:
                    at = np.int64(n_children) + child * np.int64(n_channels)
                    cuda.atomic.add(sums, child, 1)
                    cuda.atomic.add(sums, at + np.int64(label[own_row]), given - before)
                    cuda.atomic.add(sums, at + np.int64(n_channels) - np.int64(1), 1)
                before = given
                child += np.int64(1)
        i = uint32(i + cuda.blockDim.x)


@kernel
def move_parts(
    tile, test, first_child, share, table, stay, row, weight, code, row_step, feature_step,
    next_place, row_out, weight_out,
):  # fmt: skip
    """Write the parts of each child to the next of its places; in any order."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    move = uint64(tile[own_tile + MOVE])
    first, end = np.int64(first_child[move]), np.int64(first_child[move + uint64(1)])
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        own_row = uint64(row[i])
        slot = slot_of(own_row, move, test, table, code, row_step, feature_step)
        if slot != stay:
            to = cuda.atomic.add(next_place, first + slot, 1)
            row_out[to], weight_out[to] = row[i], weight[i]
        else:
            before, child = np.int64(0), first
            while child < end:
                given = given_up_to(weight[i], share[child])
                if given > before:
                    to = cuda.atomic.add(next_place, child, 1)
                    row_out[to], weight_out[to] = row[i], given - before
                before = given
                child += np.int64(1)
        i = uint32(i + cuda.blockDim.x)
