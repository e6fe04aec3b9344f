"""The best threshold of every feature of every node, in array-API code.

Rows whose value is missing take no part. What a node does with the rates, whether it compares
gains or their ratios, is decided by those who asked.
"""

from types import SimpleNamespace

import numpy as np

from gputree.backends.contract import NO_SPLIT, Rates, Search
from gputree.backends.libraries import Library
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import Array


def rate(
    lib: Library,
    formulas: SimpleNamespace,
    sums: Array,
    bins: Bins,
    channels: Channels,
    search: Search,
) -> Rates:
    """Rates from sums of (nodes, channels, places)."""
    shape = (sums.shape[0], len(bins.features))
    rates = Rates(
        score=np.full(shape, NO_SPLIT),
        code=np.zeros(shape, np.int64),
        next_code=np.full(shape, -1),
        left_weight=np.zeros(shape, np.int64),
        known_weight=np.zeros(shape, np.int64),
        n_cuts=np.zeros(shape, np.int64),
    )
    for feature, first in enumerate(bins.offset[:-1].tolist()):
        n_values = int(bins.n_values[feature])
        if n_values < 2 or (search.is_ordered is not None and not search.is_ordered[feature]):
            continue
        known = sums[:, :, first : first + n_values]
        _rate_feature(lib, formulas, known, channels, search, rates, feature)
    return rates


def _rate_feature(
    lib: Library,
    formulas: SimpleNamespace,
    known: Array,
    channels: Channels,
    search: Search,
    rates: Rates,
    feature: int,
) -> None:
    xp = lib.xp
    n_nodes, _, n_values = known.shape
    left = xp.cumulative_sum(known, axis=2)
    total = left[:, :, -1:]
    left_weight, weight, own = (_weight(lib, channels, part) for part in (left, total, known))
    rows, all_rows = left_weight, weight
    if channels.counts_rows:
        rows, all_rows = left[:, -1, :], total[:, -1, :]
    least = xp.astype(weight, xp.float64) * search.least_share
    least = xp.where(least > search.most_least_weight, float(search.most_least_weight), least)
    floor = float(max(1, search.min_weight))
    least = xp.where(least < floor, floor, least)
    allowed = (
        (own > 0)
        & (rows >= search.min_rows)
        & (all_rows - rows >= search.min_rows)
        & (left_weight > 0)
        & (weight - left_weight > 0)
        & (xp.astype(left_weight, xp.float64) >= least)
        & (xp.astype(weight - left_weight, xp.float64) >= least)
    )
    at = xp.nonzero(xp.reshape(allowed, (-1,)))[0]
    if not at.shape[0]:
        return
    node = at // n_values

    def real(matrix: Array, index: Array, unit: float = 1.0) -> Array:
        return xp.astype(xp.take(xp.reshape(matrix, (-1,)), index), xp.float64) * unit

    start, units = channels.scored.start, channels.units
    n_scored = channels.n_scored
    lefts = [real(left[:, start + c, :], at, units[c]) for c in range(n_scored)]
    totals = [real(total[:, start + c, :], node, units[c]) for c in range(n_scored)]
    formula = getattr(formulas, search.formula)
    found = formula(lefts, totals, real(left_weight, at), real(weight, node), n_scored)
    none = lib.from_host(np.full(n_nodes * n_values, NO_SPLIT))
    score = lib.replaced(none, at, found)
    trimmed = xp.reshape(lib.replaced(none, at, formulas.trim(found)), (n_nodes, n_values))
    code = xp.argmax(trimmed, axis=1)
    place = lib.from_host(np.arange(n_nodes) * n_values) + code
    number = lib.from_host(np.arange(n_values))[None, :]
    is_later = (number > code[:, None]) & (own > 0)
    following = xp.min(xp.where(is_later, number, n_values), axis=1)
    rates.score[:, feature] = lib.to_host(xp.take(score, place))
    rates.code[:, feature] = lib.to_host(code)
    found_next = lib.to_host(following)
    rates.next_code[:, feature] = np.where(found_next < n_values, found_next, -1)
    rates.left_weight[:, feature] = lib.to_host(xp.take(xp.reshape(left_weight, (-1,)), place))
    rates.known_weight[:, feature] = lib.to_host(weight[:, 0])
    rates.n_cuts[:, feature] = lib.to_host(xp.sum(xp.astype(allowed, xp.int64), axis=1))


def _weight(lib: Library, channels: Channels, sums: Array) -> Array:
    """Weights of sums with channels on axis 1."""
    if not channels.is_classes:
        return sums[:, 0, :]
    return lib.xp.sum(sums[:, : channels.n_scored, :], axis=1)
