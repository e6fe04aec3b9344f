"""Thresholds between values that are far enough apart, as C4.5 wants them.

Backends know codes, not values. The few features that have neighbours closer than the least gap
are rated here, from the sums that a backend hands over.
"""

import numpy as np

from gputree.backends.candidates import first_best, following, least_of_share, scores
from gputree.backends.contract import NO_SPLIT, Rates, Search
from gputree.data.bins import Bins, FeatureBins
from gputree.data.target import Channels
from gputree.dtypes import HostArray


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
) -> Rates:
    """Rates of one feature, (nodes,), from sums of (nodes, codes, channels)."""
    known = cells[:, : feature.n_values]
    left = np.cumsum(known, axis=1)
    total = left[:, -1:]
    part, whole = channels.weight_of(left), channels.weight_of(total)
    is_present = channels.weight_of(known) > 0
    next_code = following(is_present)
    least = least_of_share(np, whole.astype(np.float64), search)
    is_candidate = is_present & _is_apart(feature, next_code, least_gap)
    score = scores(channels, left, total, search, is_candidate, least)
    best = first_best(score)
    at = np.arange(len(best)), best
    n_cuts = (score > NO_SPLIT).sum(axis=1)
    return Rates(score[at], best, next_code[at], part[at], whole[:, 0], n_cuts)


def _is_apart(feature: FeatureBins, next_code: HostArray, least_gap: float) -> HostArray:
    """Whether the next value of the node is far enough above the last one of each code."""
    below = np.append(feature.below, np.inf)
    above = np.concatenate([[-np.inf], feature.above])
    return np.asarray((next_code >= 0) & (below + least_gap < above[next_code]))
