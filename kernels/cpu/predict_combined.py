"""Rows of values to the leaves of trees whose nodes may test combinations of columns.

A combination is worked out where a row comes to its node: terms are multiplied and added one after
another, as in training. Rows go in groups, a step each by turns: none waits while memory answers
another.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.predict import GROUP, slot_of
from gputree.kernels.cpu.predict_many import BLOCK_ROWS, add_values


@inner
def walk_combined(block, nodes, root, node):
    """The node where each row of a block ends in the tree of this root."""
    station, column, weight, category, category_slot = nodes
    own = station[root:]
    group = np.empty(GROUP, np.int64)
    for first in range(0, block.shape[0], GROUP):
        n = min(GROUP, block.shape[0] - first)
        for i in range(n):
            group[i] = first + i
            node[first + i] = 0
        while n > 0:
            n_left = 0
            for i in range(n):
                row = group[i]
                here = own[node[row]]
                if here.n_children == 0:
                    continue
                if here.n_terms > 0:
                    at = here.term_at
                    value = block[row, column[at]] * weight[at]
                    for term in range(at + 1, at + here.n_terms):
                        value += block[row, column[term]] * weight[term]
                    slot = np.int64(value > here.threshold)
                    if np.isnan(value):
                        slot = np.int64(here.missing_slot)
                else:
                    slot = slot_of(
                        block[row, here.column], here.threshold, here.category_start, category,
                        category_slot, here.n_children, here.missing_slot,
                    )  # fmt: skip
                node[row] = here.first_child + slot
                group[n_left] = row
                n_left += 1
            n = n_left


@kernel
def combined_leaves_of(begin, end, matrix, nodes, root, leaf):
    """leaf[row, tree], for rows of a matrix (rows, columns)."""
    node = np.empty(BLOCK_ROWS, np.int64)
    for first in range(begin, end, BLOCK_ROWS):
        block = matrix[first : min(first + BLOCK_ROWS, end)]
        for tree in range(root.shape[0]):
            walk_combined(block, nodes, root[tree], node)
            for row in range(block.shape[0]):
                leaf[first + row, tree] = node[row]


@kernel
def combined_sum_leaves(begin, end, matrix, nodes, root, first_node, value, output, total):
    """Add value[first_node[tree] + leaf] to total[row, output[tree]:], tree after tree."""
    node = np.empty(BLOCK_ROWS, np.int64)
    for first in range(begin, end, BLOCK_ROWS):
        block = matrix[first : min(first + BLOCK_ROWS, end)]
        sums = total[first : min(first + BLOCK_ROWS, end)]
        for tree in range(root.shape[0]):
            walk_combined(block, nodes, root[tree], node)
            add_values(node, value[first_node[tree] :], output[tree], sums)
