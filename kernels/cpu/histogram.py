"""Sums over the rows of nodes, by feature, code and channel.

A few large nodes are summed together, a feature at a time, over their rows in ascending order: the
codes of a feature are read one after another, and the sums of all nodes stay in the cache. Many
smaller nodes are summed one by one, from codes laid out node by node.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel, step


@kernel
def mark(begin, end, chunk_node, first, last, order, place):
    """Write the place of its node to every row of the chunks."""
    for chunk in range(begin, end):
        for i in range(first[chunk], last[chunk]):
            place[order[i]] = chunk_node[chunk]


@kernel
def count_marked(begin, end, step, place, n_marked):
    """How many rows of each range of `step` rows have a place."""
    for part in range(begin, end):
        n = 0
        for row in range(part * step, min((part + 1) * step, place.shape[0])):
            n += place[row] >= 0
        n_marked[part] = n


@kernel
def list_marked(begin, end, step, place, begins_at, stride, label, row_list, cell):
    """The rows that have a place, in ascending order, and where the sums of each one's node begin.

    The class of a row is added to that, where there are classes.
    """
    has_classes = label.shape[0] > 0
    own_row = np.empty(step + 1, np.uint32)
    own_cell = np.empty(step + 1, np.uint32)
    for part in range(begin, end):
        # Without a branch, as half of the rows have a place: what is not kept is overwritten.
        n = 0
        for row in range(part * step, min((part + 1) * step, place.shape[0])):
            own_row[n] = row
            own_cell[n] = place[row] * stride + (label[row] if has_classes else 0)
            n += place[row] >= 0
        first = begins_at[part]
        for i in range(n):
            row_list[first + i] = own_row[i]
            cell[first + i] = own_cell[i]


@kernel
def list_nodes(begin, end, at, start, n_rows, stride, order, label, row_list, cell):
    """The rows of nodes, one node after another, and cells as in `list_marked`."""
    has_classes = label.shape[0] > 0
    for node in range(begin, end):
        for i in range(n_rows[node]):
            row = order[start[node] + i]
            row_list[at[node] + i] = row
            cell[at[node] + i] = node * stride + (label[row] if has_classes else 0)


@kernel
def tally(begin, end, row, cell, amount, values, code, offset, n_channels, cells):
    """Add listed rows to the sums of some features.

    Without weights and values, one is added to the class. Indices are unsigned, which spares the
    test for negative ones.
    """
    feature = begin
    if values.shape[0] == 0 and amount.shape[0] == 0:
        while feature + 4 <= end:
            count_four(row, cell, code, feature, offset, n_channels, cells)
            feature += 4
        while feature + 2 <= end:
            count_two(row, cell, code, feature, offset, n_channels, cells)
            feature += 2
        while feature < end:
            count_one(row, cell, code[feature], offset[feature] * n_channels, n_channels, cells)
            feature += 1
        return
    if values.shape[0] == 1 and amount.shape[0] == 0:
        while feature + 2 <= end:
            add_two(row, cell, values[0], code, feature, offset, cells)
            feature += 2
        while feature < end:
            add_one(row, cell, values[0], code[feature], offset[feature], cells)
            feature += 1
        return
    is_weighted = amount.shape[0] > 0
    n_outputs = values.shape[0]
    width = np.uint64(n_channels)
    last = np.uint64(n_channels - 1)
    one = np.uint64(1)
    for feature in range(begin, end):
        codes = code[feature]
        base = np.uint64(offset[feature])
        for i in range(row.shape[0]):
            at = (base + np.uint64(codes[row[i]])) * width + np.uint64(cell[i])
            cells[at] += amount[i] if is_weighted else 1
            for output in range(n_outputs):
                cells[at + one + np.uint64(output)] += values[output, i]
            if is_weighted:
                # The cell of a class is not the first of its code; the count is in the last.
                first = at - np.uint64(cell[i]) % width
                cells[first + last] += 1


@inner
def add_one(row, cell, value, codes, base, cells):
    """Count listed rows and add up one value for one feature."""
    begin, two, one = np.uint64(base), np.uint64(2), np.uint64(1)
    for i in range(row.shape[0]):
        at = (begin + np.uint64(codes[row[i]])) * two + np.uint64(cell[i])
        cells[at] += 1
        cells[at + one] += value[i]


@inner
def add_two(row, cell, value, code, feature, offset, cells):
    """The same for two features at once: what a row needs is loaded once."""
    two, one = np.uint64(2), np.uint64(1)
    base0, base1 = np.uint64(offset[feature]), np.uint64(offset[feature + 1])
    codes0, codes1 = code[feature], code[feature + 1]
    for i in range(row.shape[0]):
        at = row[i]
        own = np.uint64(cell[i])
        amount = value[i]
        at0 = (base0 + np.uint64(codes0[at])) * two + own
        at1 = (base1 + np.uint64(codes1[at])) * two + own
        cells[at0] += 1
        cells[at0 + one] += amount
        cells[at1] += 1
        cells[at1 + one] += amount


@inner
def count_one(row, cell, codes, base, n_channels, cells):
    """Count the classes of listed rows for one feature."""
    begin, width = np.uint64(base), np.uint64(n_channels)
    for i in range(row.shape[0]):
        cells[begin + np.uint64(codes[row[i]]) * width + np.uint64(cell[i])] += 1


@inner
def count_two(row, cell, code, feature, offset, n_channels, cells):
    """Count for two features at once: what a row needs is loaded once."""
    width = np.uint64(n_channels)
    base0, base1 = np.uint64(offset[feature]), np.uint64(offset[feature + 1])
    codes0, codes1 = code[feature], code[feature + 1]
    for i in range(row.shape[0]):
        at = row[i]
        own = np.uint64(cell[i])
        cells[(base0 + np.uint64(codes0[at])) * width + own] += 1
        cells[(base1 + np.uint64(codes1[at])) * width + own] += 1


@inner
def count_four(row, cell, code, feature, offset, n_channels, cells):
    """Count for four features at once."""
    width = np.uint64(n_channels)
    base0, base1 = np.uint64(offset[feature]), np.uint64(offset[feature + 1])
    base2, base3 = np.uint64(offset[feature + 2]), np.uint64(offset[feature + 3])
    codes0, codes1, codes2, codes3 = (
        code[feature], code[feature + 1], code[feature + 2], code[feature + 3],
    )  # fmt: skip
    for i in range(row.shape[0]):
        at = row[i]
        own = np.uint64(cell[i])
        cells[(base0 + np.uint64(codes0[at])) * width + own] += 1
        cells[(base1 + np.uint64(codes1[at])) * width + own] += 1
        cells[(base2 + np.uint64(codes2[at])) * width + own] += 1
        cells[(base3 + np.uint64(codes3[at])) * width + own] += 1


@step
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


@step
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
def turn(begin, end, code, by_row):
    """Codes (features, rows) as (rows, features), a few rows at a time: both stay in the cache."""
    for first in range(begin, end, 64):
        last = min(first + 64, end)
        for feature in range(code.shape[0]):
            codes = code[feature]
            for row in range(first, last):
                by_row[row, feature] = codes[row]


@kernel
def lay_out(begin, end, order, code, by_row, spot):
    """Codes (features, rows) as (rows, features) in the order of the rows, and where each is."""
    for i in range(begin, end):
        row = order[i]
        spot[row] = i
        for feature in range(code.shape[0]):
            by_row[i, feature] = code[feature, row]


@kernel
def tally_nodes(
    begin, end, n_blocks, block, start, n_rows, order, label, value, weight, by_row, spot, offset,
    n_channels, hist,
):  # fmt: skip
    """hist[node, bin * n_channels + channel] for pairs of a node and a block of features.

    Features are divided into `n_blocks` blocks of `block` each.
    """
    is_weighted = weight.shape[0] > 0
    n_outputs = value.shape[0]
    width = np.uint64(n_channels)
    last = np.uint64(n_channels - 1)
    for item in range(begin, end):
        node = item // n_blocks
        cells = hist[node]
        feature_begin = (item % n_blocks) * block
        feature_end = min(feature_begin + block, by_row.shape[1])
        for i in range(start[node], start[node] + n_rows[node]):
            row = order[i]
            at_row = spot[row]
            channel = np.uint64(label[row]) if label.shape[0] > 0 else np.uint64(0)
            amount = weight[row] if is_weighted else 1
            # Unsigned: a number that may be negative is tested each time.
            for feature in range(np.uint64(feature_begin), np.uint64(feature_end)):
                at = (np.uint64(offset[feature]) + np.uint64(by_row[at_row, feature])) * width
                cells[at + channel] += amount
                for output in range(n_outputs):
                    cells[at + np.uint64(1 + output)] += value[output, row]
                if is_weighted:
                    cells[at + last] += 1


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
