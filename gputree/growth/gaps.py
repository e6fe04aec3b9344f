"""Thresholds between values that are far enough apart, as C4.5 wants them.

Backends know codes, not values. The few features that have neighbours closer than the least gap
are rated here, from the sums that a backend hands over.
"""

from dataclasses import fields

import numpy as np

from gputree import formulas
from gputree.backends.contract import NO_SPLIT, Rates, Search
from gputree.data.bins import Bins, FeatureBins
from gputree.data.target import Channels
from gputree.dtypes import HostArray
from gputree.formulas import HOST


def tight_features(bins: Bins, least_gap: float) -> HostArray:
    """The features with neighbouring values that are too close."""
    return np.array(
        [
            at
            for at, feature in enumerate(bins.features)
            if feature.categories is None and (feature.below + least_gap >= feature.above).any()
        ],
        np.int64,
    )


def rate_with_gaps(
    cells: HostArray,
    feature: FeatureBins,
    channels: Channels,
    search: Search,
    least_gap: float,
) -> tuple[HostArray, ...]:
    """The fields of `Rates` for one feature, from sums of (nodes, codes, channels)."""
    known = cells[:, : feature.n_values]
    left = np.cumsum(known, axis=1)
    total = left[:, -1]
    part, whole = channels.weight_of(left), channels.weight_of(total)[:, None]
    rows, all_rows = channels.rows_of(left), channels.rows_of(total)[:, None]
    is_present = channels.weight_of(known) > 0
    following = _following(is_present)
    least = np.maximum(
        max(1, search.min_weight), np.minimum(whole * search.least_share, search.most_least_weight)
    )
    allowed = is_present & _is_apart(feature, following, least_gap)
    allowed &= (rows >= search.min_rows) & (all_rows - rows >= search.min_rows)
    allowed &= (part >= least) & (whole - part >= least)
    score = np.full(allowed.shape, NO_SPLIT)
    node, code = np.nonzero(allowed)
    first = channels.scored.start
    lefts = [left[node, code, first + c].astype(np.float64) for c in range(channels.n_scored)]
    totals = [total[node, first + c].astype(np.float64) for c in range(channels.n_scored)]
    weights = part[node, code].astype(np.float64), whole[node, 0].astype(np.float64)
    score[node, code] = formulas.score(search.criterion, lefts, totals, *weights)
    with np.errstate(invalid="ignore"):
        best = np.argmax(np.where(allowed, HOST.trim(score), NO_SPLIT), axis=1)
    at = np.arange(len(best)), best
    return score[at], best, following[at], part[at], whole[:, 0], allowed.sum(axis=1)


def _following(is_present: HostArray) -> HostArray:
    """The next code that occurs after each one, -1 if there is none."""
    n = is_present.shape[1]
    own = np.where(is_present, np.arange(n), n)
    least = np.minimum.accumulate(own[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([least[:, 1:], np.full((len(own), 1), n)], axis=1)
    return np.where(following < n, following, -1)


def _is_apart(feature: FeatureBins, following: HostArray, least_gap: float) -> HostArray:
    """Whether the next value of the node is far enough above the last one of each code."""
    below = np.append(feature.below, np.inf)
    above = np.concatenate([[-np.inf], feature.above])
    return np.asarray((following >= 0) & (below + least_gap < above[following]))


def put_rates(rates: Rates, feature: int, found: tuple[HostArray, ...]) -> None:
    """Write what was found for one feature."""
    for field, values in zip(fields(Rates), found, strict=True):
        getattr(rates, field.name)[:, feature] = values
