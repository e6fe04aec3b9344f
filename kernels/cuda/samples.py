"""Samples of rows: how often each is drawn, and what it then adds to sums."""

import numpy as np
from numba import int64, uint32, uint64

from gputree.kernels.cuda.gpu import (
    MOST_WARPS,
    block_largest,
    block_total,
    cuda,
    kernel,
    mixed,
    multiply,
)

LOW_BITS = np.uint64(11)  # of a random number that are no part of its share
LEAST_SHARE = 2.0**-53
N_INSIDE, LARGEST_COUNT, N_FOUND = 0, 1, 2  # of what is found out about a sample
TOTAL, MAGNITUDE, N_OF_AMOUNT = 0, 1, 2  # and about each amount


@kernel
def number_rows(n_rows, row):
    """The numbers of all rows."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        row[i] = i
        i = uint32(i + cuda.gridsize(1))


@kernel
def draw_with_replacement(n_drawn, draw_key, n_all, reached, row, counts):
    """Draw numbers below `n_all`, and count how often the row of each is drawn.

    A number is the place of a row in a list, or below what the weights up to it have `reached`.
    """
    n_places = np.int64(reached.shape[0])
    own_key = draw_key[0]
    i = uint64(cuda.grid(1))
    while i < uint64(n_drawn):
        share = multiply(np.float64(mixed(own_key, i) >> LOW_BITS), LEAST_SHARE)
        number = np.int64(multiply(share, np.float64(n_all)))
        number = min(number, np.int64(n_all) - np.int64(1))
        place = number
        if n_places > 1:
            place, beyond = np.int64(0), n_places - 1
            while place < beyond:
                middle = (place + beyond) // 2
                if reached[middle] > number:
                    beyond = middle
                else:
                    place = middle + np.int64(1)
        cuda.atomic.add(counts, uint64(row[place]), 1)
        i = uint64(i + uint64(cuda.gridsize(1)))


@kernel
def mix_numbers(n, draw_key, bits):
    """A random number for each whole one."""
    own_key = draw_key[0]
    i = uint32(cuda.grid(1))
    while i < n:
        bits[i] = mixed(own_key, uint64(i))
        i = uint32(i + cuda.gridsize(1))


@kernel
def count_once(n_drawn, place, row, counts):
    """Count the rows at some places of a list, each place once."""
    i = uint32(cuda.grid(1))
    while i < n_drawn:
        counts[uint32(row[uint32(place[i])])] = 1
        i = uint32(i + cuda.gridsize(1))


@kernel
def mark_drawn(n_rows, counts, mark, sums):
    """Mark the rows that are drawn; how many there are, and how often one is drawn at most."""
    board = cuda.shared.array(MOST_WARPS, int64)
    n_inside, most = np.int64(0), np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = np.int64(counts[i])
        mark[i] = min(own, np.int64(1))
        n_inside += min(own, np.int64(1))
        most = max(most, own)
        i = uint32(i + cuda.gridsize(1))
    n_inside, most = block_total(n_inside, board), block_largest(most, board)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, N_INSIDE, n_inside)
        cuda.atomic.max(sums, LARGEST_COUNT, most)


@kernel
def sum_amounts(n_rows, counts, each, begin, at, sums):
    """The sum of amounts, as often as rows are drawn, and the largest magnitude.

    One amount may stand for those of all rows.
    """
    board = cuda.shared.array(MOST_WARPS, int64)
    last = uint64(each.shape[0] - 1)
    whole, most = np.int64(0), np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = np.int64(counts[i]) * np.int64(each[min(uint64(begin) + uint64(i), last)])
        whole += own
        most = max(most, abs(own))
        i = uint32(i + cuda.gridsize(1))
    whole, most = block_total(whole, board), block_largest(most, board)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, at + TOTAL, whole)
        cuda.atomic.max(sums, at + MAGNITUDE, most)


@kernel
def sum_classes(n_rows, counts, each, label, n_classes, n_copies, at, sums):
    """The same of each class; in several copies, so that few threads wait for one another."""
    last = uint32(each.shape[0] - 1)
    own_copy = uint64(at) + uint64(cuda.blockIdx.x % n_copies) * uint64(n_classes)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = np.int64(counts[i])
        if own != 0:
            own *= np.int64(each[min(i, last)])
            cuda.atomic.add(sums, own_copy + uint64(label[i]), own)
        i = uint32(i + cuda.gridsize(1))


@kernel
def take_amounts(n, is_listed, row, counts, label, unit, each, begin, amount):
    """What rows add to a sum: of a list of them, or of all.

    Each is counted as often as it is drawn, by the unit of its class; one entry may stand for all.
    """
    last_count, last_label = uint32(counts.shape[0] - 1), uint32(label.shape[0] - 1)
    last_unit, last = uint32(unit.shape[0] - 1), uint64(each.shape[0] - 1)
    i = uint32(cuda.grid(1))
    while i < n:
        own_row = uint32(row[i]) if is_listed else i
        own = np.int64(counts[min(own_row, last_count)])
        own *= unit[min(uint32(label[min(own_row, last_label)]), last_unit)]
        amount[i] = own * np.int64(each[min(uint64(begin) + uint64(own_row), last)])
        i = uint32(i + cuda.gridsize(1))
