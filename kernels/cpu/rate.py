"""The best threshold of each feature of each node, from its histogram or straight from its rows.

Rows whose value is missing are left out, so every feature has its own weight and its own sums. What
remains is the search of `split` in a node of one feature.
"""

import math

import numpy as np

from gputree.kernels.cpu.histogram import add_rows, fetch
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.split import (
    clear,
    consider,
    fetch_codes,
    list_codes,
    list_present,
    make_rows_room,
    measure,
    weight_at,
)
from gputree.kernels.cpu.winner import CODE, N_ENTRIES, NEXT, SCORE, forget

# Columns of `found`: whole numbers of a rate.
FOUND_CODE, FOUND_NEXT, FOUND_WEIGHT, FOUND_KNOWN, FOUND_CUTS = 0, 1, 2, 3, 4
N_FOUND = 5


@inner
def least_weight(weight, limits):
    """What a child of a node of this weight must weigh."""
    _, _, min_weight, share, most = limits
    least = np.float64(weight) * share
    if least > most:
        least = np.float64(most)
    return max(min_weight, np.int64(math.ceil(least)))


@inner
def rate_feature(
    node, feature, cells, base, seen, n_seen, sums, total_real, shape, limits, unit, best, score,
    found,
):  # fmt: skip
    """Rate one feature of one node; the sums of code `k` begin at cells[base + k * n_channels].

    `limits`: the criterion, least rows, least weight, least share of the known weight, and the most
    that this may ask for. `sums` is scratch memory, `found` has a line of whole numbers per rate.
    """
    is_classes, n_scored, _, n_channels = shape
    running, left, total = sums[0], sums[1], sums[2]
    score[node, feature] = -np.inf
    found[node, feature, FOUND_CODE] = 0
    found[node, feature, FOUND_NEXT] = -1
    found[node, feature, FOUND_WEIGHT] = 0
    found[node, feature, FOUND_KNOWN] = 0
    found[node, feature, FOUND_CUTS] = 0
    if n_seen < 2:
        return
    total[:] = 0
    for i in range(n_seen):
        at = base + seen[i] * n_channels
        for c in range(n_channels):
            total[c] += cells[at + c]
    weight, n_rows = measure(total, shape, unit, total_real)
    rules = limits[0], limits[1], least_weight(weight, limits), 0.0
    forget(best, left)
    n_cuts = consider(
        feature, cells, base, seen, n_seen, -1, running, total_real, weight, n_rows, shape, rules,
        unit, best, left,
    )  # fmt: skip
    if n_cuts == 0:
        return
    score[node, feature] = best[SCORE]
    found[node, feature, FOUND_CODE] = np.int64(best[CODE])
    found[node, feature, FOUND_NEXT] = np.int64(best[NEXT])
    found[node, feature, FOUND_WEIGHT] = weight_at(left, 0, is_classes, n_scored)
    found[node, feature, FOUND_KNOWN] = weight
    found[node, feature, FOUND_CUTS] = n_cuts


@kernel
def rate_hist(
    begin, end, node, place, hist, offset, n_values, is_ordered, shape, limits, unit, score, found
):  # fmt: skip
    """The rates of node[i] from its histogram hist[place[i]], (bins * channels,).

    `limits` and `found` are as in `rate_feature`.
    """
    is_classes, n_scored, _, n_channels = shape
    seen = np.empty(most_of(n_values), np.int64)
    sums = np.empty((3, n_channels), np.int64)
    total_real = np.empty(n_scored)
    best = np.empty(N_ENTRIES)
    for i in range(begin, end):
        cells = hist[place[i]]
        for feature in range(n_values.shape[0]):
            n_seen = 0
            base = offset[feature] * n_channels
            if is_ordered[feature]:
                n_seen = list_present(
                    cells[base:], n_values[feature], n_channels, is_classes, n_scored, seen
                )
            rate_feature(
                node[i], feature, cells, base, seen, n_seen, sums, total_real, shape, limits, unit,
                best, score, found,
            )  # fmt: skip


@kernel
def rate_rows(
    begin, end, node, most_rows, start, n_rows, order, label, value, weight_of, code, by_row, spot,
    n_codes, n_values, is_ordered, shape, limits, unit, score, found,
):  # fmt: skip
    """The rates of node[i], of at most `most_rows` rows, straight from its rows.

    The codes of row r are code[:, r] and, where they are laid out, by_row[spot[r]].
    `limits` and `found` are as in `rate_feature`.
    """
    _, n_scored, _, n_channels = shape
    is_weighted = weight_of.shape[0] > 0
    n_features = n_values.shape[0]
    seen, words, cells, local, row, channel, amount, values, every_row = make_rows_room(
        most_of(n_codes), most_rows, n_channels, code, value
    )
    sums = np.empty((3, n_channels), np.int64)
    total_real = np.empty(n_scored)
    best = np.empty(N_ENTRIES)
    for i in range(begin, end):
        n = n_rows[i]
        fetch(start[i], n, order, label, value, weight_of, row, channel, amount, values)
        fetch_codes(code, by_row, spot, n, row, local)
        for feature in range(n_features):
            codes = local[feature]
            n_seen = 0
            if is_ordered[feature]:
                n_seen = list_codes(codes, n, n_codes[feature], words, seen)
            n_known = n_seen
            if n_seen > 0 and seen[n_seen - 1] >= n_values[feature]:
                n_known -= 1
            if n_known > 1:
                add_rows(
                    cells, 0, codes, n, every_row, channel, amount, values, is_weighted, n_channels
                )
            rate_feature(
                node[i], feature, cells, 0, seen, n_known, sums, total_real, shape, limits, unit,
                best, score, found,
            )  # fmt: skip
            if n_known > 1:
                clear(cells, seen, n_seen, n_channels)
