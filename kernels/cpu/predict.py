"""Rows of values to leaves."""

import numpy as np
from numba import njit

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


@njit(nogil=True, inline="always")
def slot_of(value, node, threshold, missing_slot, n_children, level_start, level_slot):
    """The child to which a node sends a value.

    A slot that no child has says that the node does not know the level, or has no child for
    missing values.
    """
    told = n_children[node]
    if not np.isnan(value):
        if level_start[node] >= 0:
            told = level_slot[level_start[node] + np.int64(value)]
        else:
            told = np.uint16(value > threshold[node])
    return missing_slot[node] if told >= n_children[node] else told


@kernel
def walk(
    begin, end, matrix, column, threshold, missing_slot, first_child, n_children, level_start,
    level_slot, leaf,
):  # fmt: skip
    """The same where a node may test levels, and a row may stop at a node that cannot tell.

    A slot that no child has says so.
    """
    for row in range(begin, end):
        node = 0
        while first_child[node] >= 0:
            value = matrix[row, column[node]]
            slot = slot_of(
                value, node, threshold, missing_slot, n_children, level_start, level_slot
            )
            if slot >= n_children[node]:
                break
            node = first_child[node] + slot
        leaf[row] = node
