"""Sums over the rows of nodes, by feature, code and channel.

An item is a pair of a node and a block of features. Rows are taken a chunk at a time: their
classes or values are fetched once, then used for every feature of the block.
"""

import numpy as np

from gputree.kernels.cpu.jit import kernel

CHUNK_ROWS = 2048  # row numbers, classes and one column's codes of a chunk stay in the L1 cache


@kernel
def tally_classes(
    begin, end, n_blocks, block, start, n_rows, order, label, weight, code, offset, hist
):
    """hist[node, place, class] += weight; the last channel counts rows where rows are weighted."""
    is_weighted = weight.shape[0] > 0
    last = hist.shape[2] - 1
    row = np.empty(CHUNK_ROWS, np.int64)
    channel = np.empty(CHUNK_ROWS, np.int64)
    amount = np.empty(CHUNK_ROWS, np.int64)
    for item in range(begin, end):
        node = item // n_blocks
        feature_begin = (item % n_blocks) * block
        feature_end = min(feature_begin + block, code.shape[0])
        stop = start[node] + n_rows[node]
        for chunk in range(start[node], stop, CHUNK_ROWS):
            n = min(CHUNK_ROWS, stop - chunk)
            for i in range(n):
                row[i] = order[chunk + i]
                channel[i] = label[row[i]]
                if is_weighted:
                    amount[i] = weight[row[i]]
            for feature in range(feature_begin, feature_end):
                codes = code[feature]
                cells = hist[node, offset[feature] :]
                if is_weighted:
                    for i in range(n):
                        at = codes[row[i]]
                        cells[at, channel[i]] += amount[i]
                        cells[at, last] += 1
                else:
                    for i in range(n):
                        cells[codes[row[i]], channel[i]] += 1


@kernel
def tally_values(
    begin, end, n_blocks, block, start, n_rows, order, value, weight, code, offset, hist
):
    """hist[node, place] += weight, values, and a count where rows are weighted."""
    is_weighted = weight.shape[0] > 0
    n_outputs = value.shape[0]
    last = hist.shape[2] - 1
    row = np.empty(CHUNK_ROWS, np.int64)
    amount = np.ones(CHUNK_ROWS, np.int64)
    values = np.empty((n_outputs, CHUNK_ROWS), np.int64)
    for item in range(begin, end):
        node = item // n_blocks
        feature_begin = (item % n_blocks) * block
        feature_end = min(feature_begin + block, code.shape[0])
        stop = start[node] + n_rows[node]
        for chunk in range(start[node], stop, CHUNK_ROWS):
            n = min(CHUNK_ROWS, stop - chunk)
            for i in range(n):
                row[i] = order[chunk + i]
                if is_weighted:
                    amount[i] = weight[row[i]]
                for output in range(n_outputs):
                    values[output, i] = value[output, row[i]]
            for feature in range(feature_begin, feature_end):
                codes = code[feature]
                cells = hist[node, offset[feature] :]
                for i in range(n):
                    at = codes[row[i]]
                    cells[at, 0] += amount[i]
                    for output in range(n_outputs):
                        cells[at, 1 + output] += values[output, i]
                    if is_weighted:
                        cells[at, last] += 1


@kernel
def derive(begin, end, built, built_place, above, above_place, hist_place, hist):
    """hist[hist_place] is a tallied one, or, where there is a parent, the parent's less that."""
    for i in range(begin, end):
        own = built[built_place[i]]
        target = hist[hist_place[i]]
        if above_place[i] < 0:
            target[:] = own
        else:
            parent = above[above_place[i]]
            for place in range(own.shape[0]):
                for channel in range(own.shape[1]):
                    target[place, channel] = parent[place, channel] - own[place, channel]
