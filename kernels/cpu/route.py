"""Rows to children: a stable partition of the rows of each node, in chunks."""

import numpy as np

from gputree.kernels.cpu.jit import kernel


@kernel
def part(begin, end, move, first, last, feature, table_start, table, order, code, spare, n_left):
    """Rows of each chunk to its own part of `spare`: left ones first, right ones from the end on.

    Counts those that go left.
    Rows order[first:last] of a chunk are of a node that is divided by move[chunk]: by `feature`,
    whose codes have their slots in `table` from table_start[move] on.
    """
    for chunk in range(begin, end):
        codes = code[feature[move[chunk]]]
        base = table_start[move[chunk]]
        left, right = first[chunk], last[chunk] - 1
        for i in range(first[chunk], last[chunk]):
            # Without a branch: which child a row goes to cannot be predicted.
            row = order[i]
            to = np.int64(table[base + codes[row]])
            spare[left + to * (right - left)] = row
            left += 1 - to
            right -= to
        n_left[chunk] = left - first[chunk]


@kernel
def put_back(begin, end, first, last, n_left, left_at, right_at, spare, order):
    """The parted rows of chunks to their children; rows of a child keep their order."""
    for chunk in range(begin, end):
        for i in range(n_left[chunk]):
            order[left_at[chunk] + i] = spare[first[chunk] + i]
        for i in range(last[chunk] - first[chunk] - n_left[chunk]):
            order[right_at[chunk] + i] = spare[last[chunk] - 1 - i]


@kernel
def sort_out(
    begin, end, move, first, last, feature, table_start, n_children, table, order, code, count_at,
    group, count,
):  # fmt: skip
    """The group of every row of the chunks, and how many rows of each group a chunk has.

    A node has a group a child and, after them, one of the rows that stay. The counts of a chunk
    begin at count[count_at[chunk]].
    Chunks and tables are as in `part`.
    """
    for chunk in range(begin, end):
        own = move[chunk]
        codes = code[feature[own]]
        base = table_start[own]
        counts = count[count_at[chunk] :]
        for i in range(first[chunk], last[chunk]):
            # What stands for staying is larger than the number of any child.
            to = min(np.int64(table[base + codes[order[i]]]), n_children[own])
            group[i] = to
            counts[to] += 1


@kernel
def place_groups(
    begin, end, chunk_at, count_at, start, group_at, count, group_start, n_group
):  # fmt: skip
    """Where the groups of each node begin, and in place of each count where its rows go.

    Groups lie one after another, and in a group the rows of one chunk after those of another.
    """
    for move in range(begin, end):
        at = start[move]
        for group in range(group_at[move], group_at[move + 1]):
            group_start[group] = at
            for chunk in range(chunk_at[move], chunk_at[move + 1]):
                cell = count_at[chunk] + group - group_at[move]
                n = count[cell]
                count[cell] = at
                at += n
            n_group[group] = at - group_start[group]


@kernel
def scatter_groups(begin, end, first, last, count_at, target, group, order, moved):
    """Rows of the chunks to their places; rows of a group keep their order."""
    for chunk in range(begin, end):
        targets = target[count_at[chunk] :]
        for i in range(first[chunk], last[chunk]):
            to = group[i]
            moved[targets[to]] = order[i]
            targets[to] += 1


@kernel
def copy_lists(begin, end, start, n_rows, target, order, moved):
    """The rows of each list to where it shall begin."""
    for i in range(begin, end):
        apart = target[i] - start[i]
        for at in range(start[i], start[i] + n_rows[i]):
            moved[apart + at] = order[at]


@kernel
def append(row, node, end_of, moved):
    """Put each row behind the last one of its node; `end_of` tells where that is."""
    for i in range(row.shape[0]):
        moved[end_of[node[i]]] = row[i]
        end_of[node[i]] += 1


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
