"""Rows of values to leaves, for one tree or many."""

import numpy as np

from gputree.kernels.cuda.gpu import cuda, kernel


@kernel
def apply(
    n_trees, n_rows, values, root, column, threshold, missing_slot, first_child, leaf
):  # fmt: skip
    """leaf[tree * n_rows + row]; column[node] is the block of values that a node tests."""
    row = np.int64(cuda.grid(1))
    while row < n_rows:
        for tree in range(n_trees):
            start = root[tree]
            node = np.int64(0)
            child = first_child[start]
            while child >= 0:
                value = values[column[start + node] * n_rows + row]
                slot = 1 if value > threshold[start + node] else 0
                if value != value:
                    slot = missing_slot[start + node]
                node = np.int64(child + slot)
                child = first_child[start + node]
            leaf[tree * n_rows + row] = node
        row += cuda.gridsize(1)
