"""Sums of single features of nodes, copied from histograms or counted from rows."""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of


@kernel
def gather(
    begin, end, place, feature, start, n_rows, order, label, value, weight, code, by_row, spot,
    hist, offset, n_channels, first, cells,
):  # fmt: skip
    """cells[first[i]:] of each pair of a node and a feature, (codes * channels,), which are 0.

    hist[place[i]] is the node's histogram; where it has none, place[i] is -1, and its rows are
    order[start[i]:][:n_rows[i]]. Codes of row r are code[:, r] or by_row[spot[r]], as in `split`.
    `first` says where the sums of each pair begin.
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


@inner
def add_row(row, label, value, weight, cells, at, n_channels):
    """Add one row to the sums that begin at cells[at]."""
    channel = np.int64(label[row]) if label.shape[0] > 0 else np.int64(0)
    cells[at + channel] += weight[row] if weight.shape[0] > 0 else 1
    for output in range(value.shape[0]):
        cells[at + 1 + output] += value[output, row]
    if weight.shape[0] > 0:
        cells[at + n_channels - 1] += 1


@inner
def occurs(hist, at, n_channels):
    """Whether any of the sums that begin at hist[at] is not 0."""
    found = False
    for c in range(n_channels):
        found |= hist[at + c] != 0
    return found


@kernel
def count_seen(
    begin, end, place, feature, start, n_rows, order, code, by_row, spot, hist, offset, n_values,
    n_channels, n_known,
):  # fmt: skip
    """How many values occur in each pair of a node and a feature, given as to `gather`.

    n_known[i] is what is found.
    """
    is_laid_out = spot.shape[0] > 0
    met = np.full(most_of(n_values), -1)  # the last pair in which a code was met
    for i in range(begin, end):
        own, n = feature[i], 0
        if place[i] >= 0:
            sums = hist[place[i]]
            for known in range(n_values[own]):
                if occurs(sums, (offset[own] + known) * n_channels, n_channels):
                    n += 1
        else:
            for at in range(start[i], start[i] + n_rows[i]):
                row = order[at]
                known = np.int64(by_row[spot[row], own] if is_laid_out else code[own, row])
                if known < n_values[own] and met[known] != i:
                    met[known] = i
                    n += 1
        n_known[i] = n


@kernel
def gather_seen(
    begin, end, place, feature, start, n_rows, order, code, by_row, spot, hist, offset, n_values,
    n_channels, label, value, weight, first, n_known, n_entries, seen, cells,
):  # fmt: skip
    """Codes and sums of the values that `count_seen` counts, and the sums of missing ones.

    The entries of pair `i` begin at first[i]; its last one is that of missing values, if its
    feature has any.
    `seen` has the codes; n_entries[i] and n_known[i] are as `count_seen` has found them.
    """
    is_laid_out = spot.shape[0] > 0
    met = np.full(most_of(n_values), -1)
    entry = np.empty(most_of(n_values), np.int64)  # of each code of a pair
    for i in range(begin, end):
        own, n = feature[i], 0
        last = first[i] + n_entries[i] - 1
        codes = seen[first[i] : first[i] + n_known[i]]
        if place[i] >= 0:
            sums = hist[place[i]]
            for known in range(offset[own + 1] - offset[own]):
                at = (offset[own] + known) * n_channels
                is_value = known < n_values[own]
                if is_value and not occurs(sums, at, n_channels):
                    continue
                to = first[i] + n if is_value else last
                for c in range(n_channels):
                    cells[to * n_channels + c] = sums[at + c]
                if is_value:
                    codes[n] = known
                    n += 1
            continue
        for at in range(start[i], start[i] + n_rows[i]):
            row = order[at]
            known = np.int64(by_row[spot[row], own] if is_laid_out else code[own, row])
            if known < n_values[own] and met[known] != i:
                met[known] = i
                codes[n] = known
                n += 1
        codes.sort()
        for j in range(n):
            entry[codes[j]] = first[i] + j
        for at in range(start[i], start[i] + n_rows[i]):
            row = order[at]
            known = np.int64(by_row[spot[row], own] if is_laid_out else code[own, row])
            to = entry[known] if known < n_values[own] else last
            add_row(row, label, value, weight, cells, to * n_channels, n_channels)
