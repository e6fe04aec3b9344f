"""Rows of values to leaves."""

import numpy as np
from numba import njit

from gputree.kernels import categories
from gputree.kernels.cpu.jit import kernel

place_of = njit(nogil=True, inline="always")(categories.place_of)

GROUP = 64  # rows


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
def slot_of(
    value, threshold, category_start, category, category_slot, n_children, missing_slot
):  # fmt: skip
    """The child to which a value leads; a slot that no child has, where the node cannot tell.

    The node may not know a category, and have no child for missing values. Where there is no
    `category`, `category_slot` holds tables, as `tree.categories.quick` makes them.
    """
    slot = np.int64(n_children)
    if not np.isnan(value):
        if category_start >= 0:
            at = category_start + np.int64(value)
            if category.shape[0] > 0:
                at = place_of(np.int64(value), np.int64(category_start), category)
            slot = np.int64(category_slot[at])
        else:
            slot = np.int64(value > threshold)
    return slot if slot < n_children else np.int64(missing_slot)


@kernel
def walk(
    begin, end, matrix, column, threshold, missing_slot, first_child, n_children, category_start,
    category, category_slot, leaf,
):  # fmt: skip
    """The same where a node may test categories, and a row may stop at a node that cannot tell.

    Nodes are as in `Stack`; `column` is that of the matrix a node tests. leaf[row] is the end.
    """
    for row in range(begin, end):
        node = 0
        while n_children[node] > 0:
            value = matrix[row, column[node]]
            slot = slot_of(
                value, threshold[node], category_start[node], category, category_slot,
                n_children[node], missing_slot[node],
            )  # fmt: skip
            if slot >= n_children[node]:
                break
            node = first_child[node] + slot
        leaf[row] = node


@kernel
def descend(begin, end, row, matrix, station, category, category_slot, node):
    """Some rows further down from the nodes where they are; `node` is then where they end.

    Rows go in groups, a step each by turns: no row waits while memory answers another.
    """
    group = np.empty(GROUP, np.int64)
    for first in range(begin, end, GROUP):
        n = min(GROUP, end - first)
        for i in range(n):
            group[i] = first + i
        while n > 0:
            n_left = 0
            for i in range(n):
                at = group[i]
                here = station[node[at]]
                slot = np.int64(here.n_children)
                if slot > 0:
                    slot = slot_of(
                        matrix[row[at], here.feature], here.threshold, here.category_start,
                        category, category_slot, here.n_children, here.missing_slot,
                    )  # fmt: skip
                if slot < here.n_children:
                    node[at] = here.first_child + slot
                    group[n_left] = at
                    n_left += 1
            n = n_left
