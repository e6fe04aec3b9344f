"""Sums of single features of nodes, copied from histograms or counted from rows."""

import numpy as np

from gputree.kernels.cpu.jit import kernel


@kernel
def gather(
    begin, end, place, feature, start, n_rows, order, label, value, weight, code, by_row, spot,
    hist, offset, n_channels, first, cells,
):  # fmt: skip
    """cells[first[i]:] of each pair of a node and a feature, (codes * channels,), which are 0.

    hist[place[i]] is the node's histogram; where it has none, place[i] is -1, and its rows are
    order[start[i]:][:n_rows[i]]. Codes of row r are code[:, r] or by_row[spot[r]], as in `split`.
    """
    is_laid_out = spot.shape[0] > 0
    for i in range(begin, end):
        own = feature[i]
        target = cells[first[i] :]
        if place[i] >= 0:
            base = offset[own] * n_channels
            for at in range((offset[own + 1] - offset[own]) * n_channels):
                target[at] = hist[place[i], base + at]
            continue
        for at in range(start[i], start[i] + n_rows[i]):
            row = order[at]
            own_code = by_row[spot[row], own] if is_laid_out else code[own, row]
            add_row(row, label, value, weight, target, np.int64(own_code) * n_channels, n_channels)


@kernel
def add_row(row, label, value, weight, cells, at, n_channels):
    """Add one row to the sums that begin at cells[at]."""
    channel = np.int64(label[row]) if label.shape[0] > 0 else np.int64(0)
    cells[at + channel] += weight[row] if weight.shape[0] > 0 else 1
    for output in range(value.shape[0]):
        cells[at + 1 + output] += value[output, row]
    if weight.shape[0] > 0:
        cells[at + n_channels - 1] += 1
