"""Rows of values to leaves, for one tree or many."""

import numpy as np

from gputree.kernels.cuda.gpu import cuda, kernel


def make_apply(has_levels, stay):
    """Walk rows down trees that compare with thresholds and perhaps look levels up.

    A slot of `stay` says that the row ends where it is.
    """

    @kernel
    def apply(
        n_trees, n_rows, values, root, column, threshold, missing_slot, first_child, level_start,
        level_slot, leaf,
    ):  # fmt: skip
        """leaf[tree * n_rows + row]; column[node] is the block of values that a node tests."""
        row = np.int64(cuda.grid(1))
        while row < n_rows:
            for tree in range(n_trees):
                start = root[tree]
                node = np.int64(0)
                child = first_child[start]
                while child >= 0:
                    at = start + node
                    value = values[column[at] * n_rows + row]
                    slot = 1 if value > threshold[at] else 0
                    is_known = value == value
                    if has_levels and is_known and level_start[at] >= 0:
                        slot = int(level_slot[level_start[at] + np.int64(value)])
                        is_known = slot != stay
                    if not is_known:
                        slot = int(missing_slot[at])
                    if slot == stay:
                        child = -1
                    else:
                        node = np.int64(child + slot)
                        child = first_child[start + node]
                leaf[tree * n_rows + row] = node
            row += cuda.gridsize(1)

    return apply
