"""The splits of one feature of a node, from the codes of its rows."""

import numpy as np

from gputree.kernels.cpu import words
from gputree.kernels.cpu.grow_categories import LISTED_ROWS
from gputree.kernels.cpu.histogram import add_rows
from gputree.kernels.cpu.jit import step
from gputree.kernels.cpu.split import clear, consider, list_codes, list_present, weight_at


@step
def try_words(
    feature, codes, at, word, n, n_codes, n_values, own, ridge, least, times, near, bits, cells,
    seen, scratch, best, left,
):  # fmt: skip
    """Try the splits of one feature by words; returns the weight of missing values.

    The rows are at[:n], and word[:n] theirs. `least` is the least weight of a child; scores count
    `times`.
    """
    if n > LISTED_ROWS:
        for i in range(n):
            cells[np.uint64(codes[at[i]])] += word[i]
        lost = cells[n_values] if n_codes > n_values else np.int64(0)
        if lost == 0:
            words.consider_codes(
                feature, cells, 0, n_values, own, ridge, least, times, scratch, best, left
            )
        else:
            n_known = 0
            for code in range(n_values):
                if cells[code] & words.LOWER > 0:
                    seen[n_known] = code
                    n_known += 1
            words.consider_seen(
                feature, cells, 0, seen, n_known, lost, own, ridge, least, times, scratch, best,
                left,
            )  # fmt: skip
        cells[:n_codes] = 0
        return lost & words.LOWER
    for i in range(n):
        near[i] = codes[at[i]]
    n_seen = list_codes(near, n, n_codes, bits, seen)
    if n_seen <= 1:
        return np.int64(0)
    for i in range(n):
        cells[np.uint64(near[i])] += word[i]
    lost = np.int64(0)
    n_known = n_seen
    if seen[n_seen - 1] >= n_values:
        lost = cells[seen[n_seen - 1]]
        n_known -= 1
    words.consider_seen(
        feature, cells, 0, seen, n_known, lost, own, ridge, least, times, scratch, best, left
    )
    for i in range(n_seen):
        cells[seen[i]] = 0
    return lost & words.LOWER


@step
def try_cells(
    feature, codes, at, n, channel, amount, values, is_weighted, n_codes, n_values, total_real,
    weight, n_rows, shape, rules, unit, near, every, bits, cells, seen, running, best, left,
):  # fmt: skip
    """Try the splits of one feature by sums of all channels; returns that of missing values.

    The rows are at[:n]; `weight` and `n_rows` are those of the node.
    """
    is_classes, n_scored, _, n_channels = shape
    is_listed = n <= LISTED_ROWS
    n_seen = 0
    if is_listed:
        for i in range(n):
            near[i] = codes[at[i]]
        n_seen = list_codes(near, n, n_codes, bits, seen)
        if n_seen <= 1:
            return np.int64(0)
        add_rows(cells, 0, near, n, every, channel, amount, values, is_weighted, n_channels)
    else:
        add_rows(cells, 0, codes, n, at, channel, amount, values, is_weighted, n_channels)
    lost = np.int64(0)
    missing_code = -1
    if n_codes > n_values:
        lost = weight_at(cells, n_values * n_channels, is_classes, n_scored)
        if lost > 0:
            missing_code = n_values
    n_known = n_seen - (1 if lost > 0 else 0)
    if not is_listed:
        n_known = list_present(cells, n_values, n_channels, is_classes, n_scored, seen)
    consider(
        feature, cells, 0, seen, n_known, missing_code, running, total_real, weight, n_rows, shape,
        rules, unit, best, left,
    )  # fmt: skip
    if is_listed:
        clear(cells, seen, n_seen, n_channels)
    else:
        cells[: n_codes * n_channels] = 0
    return lost
