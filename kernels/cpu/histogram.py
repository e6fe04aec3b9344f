"""Sums over the rows of nodes, by feature, code and channel.

An item is a pair of a node and a block of features. Rows are taken a chunk at a time: their
classes or values are fetched once, then used for every feature of the block.
"""

import numpy as np

from gputree.kernels.cpu.jit import kernel

CHUNK_ROWS = 2048  # row numbers, classes and one column's codes of a chunk stay in the L1 cache


@kernel
def fetch(first, n, order, label, value, weight, row, channel, amount, values):
    """The row numbers, classes, weights and values of `n` rows, put side by side."""
    for i in range(n):
        row[i] = order[first + i]
    if label.shape[0] > 0:
        for i in range(n):
            channel[i] = label[row[i]]
    if weight.shape[0] > 0:
        for i in range(n):
            amount[i] = weight[row[i]]
    for output in range(value.shape[0]):
        for i in range(n):
            values[output, i] = value[output, row[i]]


@kernel
def add_rows(cells, base, codes, n, row, channel, amount, values, is_weighted, n_channels):
    """Add fetched rows to the sums of one feature, which begin at cells[base].

    Indices are unsigned, which spares the test for negative ones.
    """
    n_outputs = values.shape[0]
    begin = np.uint64(base)
    width = np.uint64(n_channels)
    if n_outputs == 0 and not is_weighted:
        for i in range(n):
            cells[begin + np.uint64(codes[row[i]]) * width + channel[i]] += 1
        return
    last = np.uint64(n_channels - 1)
    for i in range(n):
        at = begin + np.uint64(codes[row[i]]) * width
        cells[at + channel[i]] += amount[i]
        for output in range(n_outputs):
            cells[at + np.uint64(1 + output)] += values[output, i]
        if is_weighted:
            cells[at + last] += 1


@kernel
def tally(
    begin, end, n_blocks, block, start, n_rows, order, label, value, weight, code, offset,
    n_channels, hist,
):  # fmt: skip
    """hist[node, place * n_channels + channel] for pairs of a node and a block of features."""
    is_weighted = weight.shape[0] > 0
    row = np.empty(CHUNK_ROWS, np.uint32)
    channel = np.zeros(CHUNK_ROWS, np.uint64)
    amount = np.ones(CHUNK_ROWS, np.int64)
    values = np.empty((value.shape[0], CHUNK_ROWS), np.int64)
    for item in range(begin, end):
        node = item // n_blocks
        cells = hist[node]
        feature_begin = (item % n_blocks) * block
        feature_end = min(feature_begin + block, code.shape[0])
        stop = start[node] + n_rows[node]
        for chunk in range(start[node], stop, CHUNK_ROWS):
            n = min(CHUNK_ROWS, stop - chunk)
            fetch(chunk, n, order, label, value, weight, row, channel, amount, values)
            for feature in range(feature_begin, feature_end):
                base = offset[feature] * n_channels
                add_rows(
                    cells, base, code[feature], n, row, channel, amount, values, is_weighted,
                    n_channels,
                )  # fmt: skip


@kernel
def derive(begin, end, built, built_place, above, above_place, hist_place, hist):
    """hist[hist_place] is a tallied one, or, where there is a parent, the parent's less that."""
    for i in range(begin, end):
        own = built[built_place[i]]
        target = hist[hist_place[i]]
        if above_place[i] < 0:
            for cell in range(own.shape[0]):
                target[cell] = own[cell]
        else:
            parent = above[above_place[i]]
            for cell in range(own.shape[0]):
                target[cell] = parent[cell] - own[cell]
