"""What rows hold, which ones take part in a round, and where the others end in its tree."""

import numpy as np
from numba import uint32, uint64

from gputree.kernels.cuda.gpu import WARP, cuda, kernel, mixed, total


@kernel
def mix_codes(n_rows, row, n_features, code, row_step, feature_step, offset, number, content):
    """Keys of the rows of a list, from the numbers of the bins that they are in."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        at, own = uint64(row[i]) * uint64(row_step), uint64(0)
        for feature in range(n_features):
            own_code = code[at + uint64(feature) * uint64(feature_step)]
            own = mixed(own, number[uint64(offset[feature]) + uint64(own_code)])
        content[i] = own
        i = uint32(i + cuda.gridsize(1))


@kernel
def mix_bits(n_rows, row, bits, content):
    """The same keys with another 64 bits of each row."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        content[i] = mixed(content[i], bits[uint32(row[i])])
        i = uint32(i + cuda.gridsize(1))


@kernel
def take_keys(n_rows, row, amount, key):
    """Whole numbers of the rows of a list."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        key[i] = amount[uint32(row[i])]
        i = uint32(i + cuda.gridsize(1))


@kernel
def draw_rows(n_rows, draw_key, rank, may_be, has_weight, is_taken, is_inside, sums):
    """Mark the rows that are taken, and those of them that have a weight; and count the latter.

    `draw_key` has the key of the draw, and below what its numbers are those of rows that are taken.
    One rank stands for the numbers of the rows, one mark for all of them.
    """
    last_rank = uint32(rank.shape[0] - 1)
    last_may, last_weight = uint32(may_be.shape[0] - 1), uint32(has_weight.shape[0] - 1)
    own_key, below = draw_key[0], draw_key[1]
    n_inside = np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        number = uint64(rank[i]) if last_rank > 0 else uint64(i)
        taken = np.int64(0)
        if may_be[min(i, last_may)] != 0 and mixed(own_key, number) < below:
            taken = np.int64(1)
        inside = taken if has_weight[min(i, last_weight)] != 0 else np.int64(0)
        is_taken[i], is_inside[i] = taken, inside
        n_inside += inside
        i = uint32(i + cuda.gridsize(1))
    n_inside = total(n_inside)
    if cuda.threadIdx.x % WARP == 0:
        cuda.atomic.add(sums, 0, n_inside)


@kernel
def pass_on(
    n_rows, is_taken, code, row_step, feature_step, tested, first_child, slots, table, stay, step,
    begin, raw,
):  # fmt: skip
    """Walk the rows that are not taken down a tree; add the step of the node where each ends.

    `slots[node]` is where the part of the table begins that has the child of each code.
    """
    i = uint32(cuda.grid(1))
    while i < n_rows:
        if is_taken[i] == 0:
            node = np.int64(0)
            goes_on = tested[0] >= 0
            while goes_on:
                column = uint64(tested[node]) * uint64(feature_step)
                own_code = code[uint64(i) * uint64(row_step) + column]
                slot = np.int64(table[uint64(slots[node]) + uint64(own_code)])
                goes_on = slot != stay
                if goes_on:
                    node = np.int64(first_child[node]) + slot
                    goes_on = tested[node] >= 0
            raw[uint64(begin) + uint64(i)] += step[node]
        i = uint32(i + cuda.gridsize(1))
