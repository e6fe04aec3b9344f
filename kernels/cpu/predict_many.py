"""Rows of values to the leaves of many trees that compare with thresholds.

A value takes part in all trees only by how many of their thresholds lie below it. So rows are coded
once, a block at a time, and trees are walked with 16-bit codes while the block is in the cache. A
node is one word: its column, then its threshold's number, then its first child. `code > number`
goes to the second child; a leaf is its own child and has a number that no code exceeds. So a step
has no branch, and rows are walked LANES at a time, each waiting for memory while others compute.
"""

import numpy as np
from numba import njit

from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.predict import walk

LANES = 8
BLOCK_ROWS = 256  # with 56 columns their codes take 28 KB, the cache nearest to a core
# Of trees that are too large for that cache, so that each is read by many rows once it has come.
LARGE_BLOCK_ROWS = 16_384
HIGHEST = np.uint16(65_535)  # above all thresholds: missing values that go to the second child
COLUMN = np.uint64(0xFFFF)
NUMBER_BITS = np.uint64(16)
CHILD_BITS = np.uint64(32)


@njit(nogil=True, inline="always")
def step(word, codes):
    """The node to which the node of a word sends a row of codes."""
    number = np.uint16(word >> NUMBER_BITS)
    return (word >> CHILD_BITS) + np.uint64(codes[word & COLUMN] > number)


@inner
def code_rows(matrix, feature, is_high, first_cut, n_steps, cut, reached, code):
    """Codes (rows, columns) of a block: how many cuts of a column's feature lie below a value.

    Columns of one feature are neighbours and differ in the code of a missing value: the lowest, or
    the highest if is_high. The cuts of a feature go on with infinities to a power of two less one.
    """
    n_rows = matrix.shape[0]
    for column in range(feature.shape[0]):
        line = matrix[:, feature[column]]
        if column == 0 or feature[column] != feature[column - 1]:
            cuts = cut[first_cut[column] :]
            reached[:n_rows] = 0
            half = np.int32(1 << n_steps[column]) >> 1
            while half > 0:
                for row in range(n_rows):
                    is_above = line[row] > cuts[reached[row] + half - 1]
                    reached[row] += half if is_above else np.int32(0)
                half >>= 1
        for row in range(n_rows):
            code[row, column] = reached[row]
        if is_high[column]:
            for row in range(n_rows):
                if line[row] != line[row]:
                    code[row, column] = HIGHEST


@kernel
def lay_out(first_child, n_rows, position):
    """Where each node of a tree goes, so that a row finds its next nodes near by.

    Two children lie side by side, and behind them what is below the one that more rows go to; the
    position after the root stays empty, so that no pair is on two lines of the cache.
    """
    n_nodes = first_child.shape[0]
    todo = np.empty(n_nodes, np.int64)
    todo[0], position[0] = 0, 0
    n_todo, at = 1, 2
    while n_todo > 0:
        n_todo -= 1
        child = first_child[todo[n_todo]]
        if child < 0:
            continue
        position[child], position[child + 1] = at, at + 1
        at += 2
        heavier = child if n_rows[child] >= n_rows[child + 1] else child + 1
        todo[n_todo], todo[n_todo + 1] = 2 * child + 1 - heavier, heavier
        n_todo += 2


@inner
def descend(word, least_depth, code, n_rows, node):
    """The leaf of each row of codes; none is less than `least_depth` splits away from the root.

    Rows beyond `n_rows`, up to a multiple of LANES, have any codes and end anywhere.
    """
    for row in range(0, n_rows, LANES):
        a = b = c = d = e = f = g = h = np.uint64(0)
        for _ in range(least_depth):
            a, b = step(word[a], code[row]), step(word[b], code[row + 1])
            c, d = step(word[c], code[row + 2]), step(word[d], code[row + 3])
            e, f = step(word[e], code[row + 4]), step(word[f], code[row + 5])
            g, h = step(word[g], code[row + 6]), step(word[h], code[row + 7])
        moved = np.uint64(1)
        while moved:
            i, j = step(word[a], code[row]), step(word[b], code[row + 1])
            k, q = step(word[c], code[row + 2]), step(word[d], code[row + 3])
            m, n = step(word[e], code[row + 4]), step(word[f], code[row + 5])
            o, p = step(word[g], code[row + 6]), step(word[h], code[row + 7])
            moved = (a ^ i) | (b ^ j) | (c ^ k) | (d ^ q) | (e ^ m) | (f ^ n) | (g ^ o) | (h ^ p)
            a, b, c, d, e, f, g, h = i, j, k, q, m, n, o, p
        node[row], node[row + 1], node[row + 2], node[row + 3] = a, b, c, d
        node[row + 4], node[row + 5], node[row + 6], node[row + 7] = e, f, g, h


@inner
def add_values(node, value, output, total):
    """Add value[node[row]] to total[row, output:]."""
    for row in range(total.shape[0]):
        for at in range(value.shape[1]):
            total[row, output + at] += value[node[row], at]


@kernel
def leaves_of(begin, end, matrix, block, columns, word, number, root, least_depth, leaf):
    """leaf[row, tree], for rows of a matrix (rows, features), a block of rows at a time.

    The node of a word is number[word].
    """
    block = min(block, -(-(end - begin) // LANES) * LANES)
    code = np.empty((block, columns[0].shape[0]), np.uint16)
    reached = np.empty(block, np.int32)
    node = np.empty(block, np.uint64)
    for first in range(begin, end, block):
        n_rows = min(block, end - first)
        code_rows(matrix[first : first + n_rows], *columns, reached, code)
        for tree in range(root.shape[0]):
            descend(word[root[tree] :], least_depth[tree], code, n_rows, node)
            numbers = number[root[tree] :]
            for row in range(n_rows):
                leaf[first + row, tree] = numbers[node[row]]


@kernel
def sum_leaves(
    begin, end, matrix, block, columns, word, number, root, least_depth, first_node, value, output,
    total,
):  # fmt: skip
    """Add value[first_node[tree] + leaf] to total[row, output[tree]:], tree after tree.

    `columns` are the arguments of `code_rows`, `word` and `number` the packed trees, which begin at
    `root` and have leaves from `least_depth` on.
    """
    block = min(block, -(-(end - begin) // LANES) * LANES)
    code = np.empty((block, columns[0].shape[0]), np.uint16)
    reached = np.empty(block, np.int32)
    node = np.empty(block, np.uint64)
    for first in range(begin, end, block):
        n_rows = min(block, end - first)
        code_rows(matrix[first : first + n_rows], *columns, reached, code)
        for tree in range(root.shape[0]):
            descend(word[root[tree] :], least_depth[tree], code, n_rows, node)
            numbers = number[root[tree] :]
            for row in range(n_rows):
                node[row] = numbers[node[row]]
            sums = total[first : first + n_rows]
            add_values(node, value[first_node[tree] :], output[tree], sums)


@inner
def walk_tree(root, block, nodes, node):
    """The node where each row of a block ends in the tree of this root, as `predict.walk` finds."""
    column, threshold, missing_slot, first_child, n_children, category_start = nodes[:6]
    category, category_slot = nodes[6:]
    walk(
        0, block.shape[0], block, column[root:], threshold[root:], missing_slot[root:],
        first_child[root:], n_children[root:], category_start[root:], category,
        category_slot, node,
    )  # fmt: skip


@kernel
def walked_leaves_of(begin, end, matrix, nodes, root, leaf):
    """The same as `leaves_of` for trees of any kind."""
    node = np.empty(BLOCK_ROWS, np.int64)
    for first in range(begin, end, BLOCK_ROWS):
        block = matrix[first : min(first + BLOCK_ROWS, end)]
        for tree in range(root.shape[0]):
            walk_tree(root[tree], block, nodes, node)
            for row in range(block.shape[0]):
                leaf[first + row, tree] = node[row]


@kernel
def walked_sum_leaves(begin, end, matrix, nodes, root, first_node, value, output, total):
    """The same as `sum_leaves` for trees of any kind."""
    node = np.empty(BLOCK_ROWS, np.int64)
    for first in range(begin, end, BLOCK_ROWS):
        block = matrix[first : min(first + BLOCK_ROWS, end)]
        sums = total[first : min(first + BLOCK_ROWS, end)]
        for tree in range(root.shape[0]):
            walk_tree(root[tree], block, nodes, node)
            add_values(node, value[first_node[tree] :], output[tree], sums)
