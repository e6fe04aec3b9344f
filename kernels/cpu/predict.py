"""Rows of values to leaves."""

import numpy as np

from gputree.kernels.cpu.jit import kernel


@kernel
def apply(begin, end, matrix, column, threshold, missing_slot, first_child, leaf):
    """The leaf of each row of a matrix (rows, columns); `column[node]` is the one tested."""
    for row in range(begin, end):
        node = 0
        child = first_child[0]
        while child >= 0:
            value = matrix[row, column[node]]
            slot = missing_slot[node] if np.isnan(value) else np.uint8(value > threshold[node])
            node = child + slot
            child = first_child[node]
        leaf[row] = node
