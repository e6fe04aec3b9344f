"""The rows of a table in chunks, each of which lists its rows node by node.

Chunks have `step` rows, so that 16 bits number them. The rows of node v in chunk c are
order[c, start[v, c] : start[v, c] + count[v, c]], in ascending order. Dividing a node touches its
own rows only, and those of a chunk lie near each other in every column. Numbers are unsigned where
much is counted: they are never taken from the end of an array, and need no test for that.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import ask_for

AHEAD = 16  # rows that are asked for before their turn


@kernel
def list_all(begin, end, step, n_rows, order, start, count):
    """Every row is at node 0."""
    for chunk in range(begin, end):
        n = min(step, n_rows - chunk * step)
        for i in range(n):
            order[chunk, i] = i
        start[0, chunk], count[0, chunk] = 0, n


@kernel
def list_some(begin, end, step, is_inside, order, start, count):
    """Some rows are at node 0, the others nowhere."""
    for chunk in range(begin, end):
        marks, listed = is_inside[chunk * step : (chunk + 1) * step], order[chunk]
        n = 0
        for i in range(marks.shape[0]):
            listed[n] = i
            n += marks[i]
        start[0, chunk], count[0, chunk] = 0, n


@kernel
def divide(begin, end, step, node, child, feature, cut, exception, code, order, start, count):
    """Rows of divided nodes to children child[k] and child[k] + 1.

    Codes up to cut[k] go left, and so does the code exception[k].
    A chunk has `step` rows; those of a node are order[chunk, start[node, chunk]:][:count[node,
    chunk]].
    """
    aside = np.empty(step, order.dtype)
    for chunk in range(begin, end):
        for k in range(node.shape[0]):
            first, n = start[node[k], chunk], count[node[k], chunk]
            listed = order[chunk, first : first + n]
            codes = code[feature[k], chunk * step : (chunk + 1) * step]
            most, other = cut[k], exception[k]
            n_left, n_right = np.uint64(0), np.uint64(0)
            # Without a branch: where a row goes cannot be predicted.
            for i in range(n):
                at = listed[i]
                here = np.int64(codes[at])
                goes_right = np.uint64((here > most) & (here != other))
                listed[n_left] = at
                aside[n_right] = at
                n_left += np.uint64(1) - goes_right
                n_right += goes_right
            for i in range(n_right):
                listed[n_left + i] = aside[i]
            left = child[k]
            start[left, chunk], count[left, chunk] = first, n_left
            start[left + 1, chunk], count[left + 1, chunk] = first + n_left, n_right


@kernel
def divide_by_sides(begin, end, step, node, child, feature, side, code, order, start, count):
    """The same where side[k] has the child of each code that node[k] has, 0 or 1."""
    aside = np.empty(step, order.dtype)
    for chunk in range(begin, end):
        for k in range(node.shape[0]):
            first, n = start[node[k], chunk], count[node[k], chunk]
            listed, side_of = order[chunk, first : first + n], side[k]
            codes = code[feature[k], chunk * step : (chunk + 1) * step]
            n_left, n_right = np.uint64(0), np.uint64(0)
            for i in range(n):
                at = listed[i]
                goes_right = np.uint64(side_of[codes[at]])
                listed[n_left] = at
                aside[n_right] = at
                n_left += np.uint64(1) - goes_right
                n_right += goes_right
            for i in range(n_right):
                listed[n_left + i] = aside[i]
            left = child[k]
            start[left, chunk], count[left, chunk] = first, n_left
            start[left + 1, chunk], count[left + 1, chunk] = first + n_left, n_right


@kernel
def tally(
    begin, end, step, block, node, order, start, count, word, by_row, offset, first_chunk, sums,
):  # fmt: skip
    """sums[part, k] of pairs of a part of the chunks and a block of features: words of node[k].

    Part p has the chunks from first_chunk[p] to first_chunk[p + 1]. A chunk has its turn with all
    nodes before the next one, while it is in the cache.
    Chunks are as in `divide`, features are divided into blocks of `block` each.
    """
    n_features = by_row.shape[1]
    n_blocks = (n_features + block - 1) // block
    for item in range(begin, end):
        part, low = item // n_blocks, item % n_blocks * block
        high = min(low + block, n_features)
        for k in range(node.shape[0]):
            sums[part, k, offset[low] : offset[high]] = 0
        for chunk in range(first_chunk[part], first_chunk[part + 1]):
            words = word[chunk * step : (chunk + 1) * step]
            codes = by_row[chunk * step : (chunk + 1) * step]
            for k in range(node.shape[0]):
                first = start[node[k], chunk]
                listed = order[chunk, first : first + count[node[k], chunk]]
                add_rows(low, high, listed, words, codes, offset, sums[part, k])


@inner
def add_rows(low, high, listed, words, by_row, offset, cells):
    """Add the words of listed rows to the sums of some features.

    Rows may lie far apart. They are asked for before their turn, so that memory answers for many of
    them at once.
    """
    n, n_features = listed.shape[0], by_row.shape[1]
    for i in range(n):
        ahead = np.int64(listed[min(i + AHEAD, n - 1)])
        ask_for(words, ahead)
        ask_for(by_row, ahead * n_features + low)
        ask_for(by_row, ahead * n_features + high - 1)
        own, codes = words[listed[i]], by_row[listed[i]]
        for feature in range(np.uint64(low), np.uint64(high)):
            cells[np.uint64(offset[feature]) + np.uint64(codes[feature])] += own


@kernel
def settle_sums(begin, end, sums, place, above, hist):
    """Put parts of sums together at place[k], and take them from those at above[k]."""
    for k in range(begin, end):
        own, rest = hist[place[k]], hist[above[k]]
        for cell in range(own.shape[0]):
            total = sums[0, k, cell]
            for part in range(1, sums.shape[0]):
                total += sums[part, k, cell]
            own[cell] = total
            rest[cell] -= total


@kernel
def name_rows(begin, end, step, node, order, start, count, node_of):
    """Give each row the number of the node at which it is."""
    for chunk in range(begin, end):
        names = node_of[chunk * step : (chunk + 1) * step]
        for k in range(node.shape[0]):
            first = start[node[k], chunk]
            for i in range(first, first + count[node[k], chunk]):
                names[order[chunk, i]] = node[k]
