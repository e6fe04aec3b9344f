"""Leaves of losses that look at the rank of residuals, from rows that are sorted by these.

Sums of weights are rounded, and their bits must be those of every backend: one thread adds the rows
of a node in their order.
"""

import numpy as np
from numba import int64, uint32, uint64

from gputree.kernels.cuda.gpu import bits_of, cuda, function, kernel, multiply
from gputree.kernels.cuda.route import LARGEST


@function
def ordered(x):
    """A whole number that is below that of another float where this is below the other."""
    bits = np.int64(bits_of(x + 0.0))  # 0.0 and -0.0 are one number
    return bits if bits >= 0 else bits ^ np.int64(LARGEST)


@kernel
def order_points(n, point, key):
    """Whole numbers in the order of targets."""
    i = uint64(cuda.grid(1))
    while i < uint64(n):
        key[i] = ordered(point[i])
        i = uint64(i + uint64(cuda.gridsize(1)))


@kernel
def take_residuals(n_rows, row, y, raw, residual, key):
    """What targets are above predictions, row by row of a list, and keys to sort them by."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = uint32(row[i])
        apart = y[own] - raw[own] + 0.0
        residual[i], key[i] = apart, ordered(apart)
        i = uint32(i + cuda.gridsize(1))


@kernel
def take_clipped(n_rows, row, y, raw, leaf, middle, farthest, residual, key):
    """The same of what residuals are above the middle of their node, up to `farthest`."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = uint32(row[i])
        apart = y[own] - raw[own] + 0.0 - middle[leaf[own]]
        apart = min(max(apart, -farthest), farthest)
        residual[i], key[i] = apart, ordered(apart)
        i = uint32(i + cuda.gridsize(1))


@kernel
def take_weights(n_rows, row, weight, taken, key):
    """The weights of the rows of a list, and keys to sort them by."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = weight[uint32(row[i])]
        taken[i], key[i] = own, ordered(own)
        i = uint32(i + cuda.gridsize(1))


@kernel
def take_leaves(n_rows, row, leaf, key):
    """The nodes of the rows of a list."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        key[i] = leaf[uint32(row[i])]
        i = uint32(i + cuda.gridsize(1))


@kernel
def pick_each(n, at, value, picked):
    """Some values, by their places."""
    i = uint32(cuda.grid(1))
    while i < n:
        picked[i] = value[at[i]]
        i = uint32(i + cuda.gridsize(1))


@kernel
def reach(n_nodes, share, start, n_rows, value, weight, picked):
    """The first value of each node up to which the weights reach a share of their sum."""
    node = np.int64(cuda.grid(1))
    while node < n_nodes:
        first, last = np.int64(start[node]), np.int64(start[node] + n_rows[node])
        total = 0.0
        for i in range(first, last):
            total += weight[i]
        least = multiply(share, total)
        least = multiply(least, 1.0 - 1e-12)
        running, at = 0.0, first
        while at < last:
            running += weight[at]
            if running >= least:
                break
            at += np.int64(1)
        picked[node] = value[min(at, last - 1)] if last > first else 0.0
        node += np.int64(cuda.gridsize(1))


@kernel
def add_in_order(n_nodes, start, n_rows, value, weight, total, moved):
    """The weights of each node, and its values times these, added up; one weight stands for all."""
    last_weight = np.int64(weight.shape[0] - 1)
    node = np.int64(cuda.grid(1))
    while node < n_nodes:
        first, last = np.int64(start[node]), np.int64(start[node] + n_rows[node])
        whole, apart = 0.0, 0.0
        for i in range(first, last):
            own = weight[min(int64(i), last_weight)]
            whole += own
            apart += multiply(own, value[i])
        total[node], moved[node] = whole, apart
        node += np.int64(cuda.gridsize(1))
