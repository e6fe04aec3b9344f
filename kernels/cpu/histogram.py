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
            cells[begin + np.uint64(codes[row[i]]) * width + np.uint64(channel[i])] += 1
        return
    last = np.uint64(n_channels - 1)
    for i in range(n):
        at = begin + np.uint64(codes[row[i]]) * width
        cells[at + np.uint64(channel[i])] += amount[i]
        for output in range(n_outputs):
            cells[at + np.uint64(1 + output)] += values[output, i]
        if is_weighted:
            cells[at + last] += 1


@kernel
def count_four(cells, base, code, feature, n, row, channel, n_channels):
    """Count the classes of fetched rows for four features at once.

    What a row needs is loaded once for the four; with one feature at a time loading is the limit.
    """
    width = np.uint64(n_channels)
    base0, base1 = np.uint64(base[feature]), np.uint64(base[feature + 1])
    base2, base3 = np.uint64(base[feature + 2]), np.uint64(base[feature + 3])
    codes0, codes1, codes2, codes3 = (
        code[feature], code[feature + 1], code[feature + 2], code[feature + 3],
    )  # fmt: skip
    for i in range(n):
        at = row[i]
        c = np.uint64(channel[i])
        cells[(base0 + np.uint64(codes0[at])) * width + c] += 1
        cells[(base1 + np.uint64(codes1[at])) * width + c] += 1
        cells[(base2 + np.uint64(codes2[at])) * width + c] += 1
        cells[(base3 + np.uint64(codes3[at])) * width + c] += 1


@kernel
def tally(
    begin, end, n_blocks, block, start, n_rows, order, label, value, weight, code, offset,
    n_channels, hist,
):  # fmt: skip
    """hist[node, place * n_channels + channel] for pairs of a node and a block of features."""
    is_weighted = weight.shape[0] > 0
    row = np.empty(CHUNK_ROWS, np.uint32)
    channel = np.zeros(CHUNK_ROWS, np.uint32)
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
            rest = feature_begin
            if value.shape[0] == 0 and not is_weighted:
                while rest + 4 <= feature_end:
                    count_four(cells, offset, code, rest, n, row, channel, n_channels)
                    rest += 4
            for feature in range(rest, feature_end):
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
