"""Rows to children: a stable partition of the rows of each node, in chunks."""

import numpy as np

from gputree.kernels.cpu.jit import kernel


@kernel
def choose(begin, end, move, first, last, feature, table_start, table, order, code, slot, n_left):
    """The child of every row of the chunks, and how many rows of each chunk go left."""
    for chunk in range(begin, end):
        codes = code[feature[move[chunk]]]
        base = table_start[move[chunk]]
        left = 0
        for i in range(first[chunk], last[chunk]):
            to = table[base + codes[order[i]]]
            slot[i] = to
            left += 1 - to
        n_left[chunk] = left


@kernel
def scatter(begin, end, first, last, left_at, right_at, slot, order, moved):
    """Rows of the chunks to their places; rows of a child keep their order."""
    for chunk in range(begin, end):
        left = left_at[chunk]
        right = right_at[chunk]
        for i in range(first[chunk], last[chunk]):
            # Without a branch: which child a row goes to cannot be predicted.
            to = np.int64(slot[i])
            moved[left + to * (right - left)] = order[i]
            left += 1 - to
            right += to


@kernel
def mark(begin, end, node, start, n_rows, order, leaf):
    """Write the number of each node to its rows."""
    for i in range(begin, end):
        for at in range(start[i], start[i] + n_rows[i]):
            leaf[order[at]] = node[i]


@kernel
def span(begin, end, start, n_rows, order, point, low_high):
    """Smallest and largest target of each node and output."""
    for node in range(begin, end):
        for output in range(point.shape[0]):
            low = point[output, order[start[node]]]
            high = low
            for at in range(start[node], start[node] + n_rows[node]):
                value = point[output, order[at]]
                low = min(low, value)
                high = max(high, value)
            low_high[node, output, 0] = low
            low_high[node, output, 1] = high
