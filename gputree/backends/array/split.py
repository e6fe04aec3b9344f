"""The search for the best split of every node, in array-API code.

Only codes that occur in a node are candidates, so a run of empty codes is one candidate and the
lowest code stands for it. Nodes are taken a few at a time, to stay within the cache.
"""

import numpy as np

from gputree.backends.array.search import ArraySearch
from gputree.backends.candidates import joined
from gputree.backends.contract import Splits
from gputree.dtypes import Array, HostArray

CELLS_AT_ONCE = 2**18  # 2 MiB of int64 sums: scores and their temporaries stay in the cache


def best_splits(search: ArraySearch, sums: Array) -> Splits:
    """The best splits of nodes, from sums of (nodes, channels, bins)."""
    n_nodes = sums.shape[0]
    step = max(1, CELLS_AT_ONCE // (search.bins.width * search.channels.n))
    parts = []
    for first in range(0, n_nodes, step):
        part = slice(first, min(first + step, n_nodes))
        parts.append(_Scan(search.of_nodes(part), sums[part, ...]).winners())
    return joined(parts)


class _Scan:
    """The search in a few nodes."""

    def __init__(self, search: ArraySearch, sums: Array) -> None:
        self.search, self.lib, self.here = search, search.lib, sums
        bins, xp = search.bins, self.lib.xp
        self.n_nodes, self.width = sums.shape[0], bins.width
        self.total = xp.sum(sums[:, :, : int(bins.n_codes[0])], axis=2)
        self.feature_of = self.lib.from_host(bins.feature_of.astype(np.int64))
        # Every feature sums to the node's total, so the sum over the features before is known.
        before = self.total[:, :, None] * self.feature_of[None, None, :]
        self.left = xp.cumulative_sum(sums, axis=2) - before
        self.is_here = search.weight_of(_by_channel(sums)) > 0

    def winners(self) -> Splits:
        """The best candidate of each node."""
        xp, search = self.lib.xp, self.search
        sides = [self._candidates(self.left, self.is_here & self._is_value()[None, :])]
        if search.has_missing.any():
            sides.append(self._missing_left())
        if search.rules.rank is not None:
            sides = self._drawn(sides)
        # Candidates that send missing values right come before those that send them left.
        place = xp.concat([at * 2 + side for side, (_, at, _) in enumerate(sides)])
        node, _, score = map(xp.concat, zip(*sides, strict=True))
        won, score = search.first_of_highest(node, score, place, self.n_nodes)
        return self._splits(score, np.maximum(won, 0) // 2 % self.width, won % 2)

    def _candidates(self, left: Array, may: Array) -> tuple[Array, Array, Array]:
        """The admissible candidates: their nodes, which node * bins + bin, and their scores."""
        xp, search = self.lib.xp, self.search
        lefts, totals = _by_channel(left), _by_channel(self.total)
        left_weight, weight = search.weight_of(lefts), search.weight_of(totals)
        totals_of_bins = [channel[:, None] for channel in totals]
        may = may & search.are_admissible(lefts, totals_of_bins, left_weight, weight[:, None])
        at = xp.nonzero(xp.reshape(may, (-1,)))[0]
        node = at // self.width

        def taken(sums: Array) -> Array:
            return xp.take(xp.reshape(sums, (-1,)), at)

        scored = search.channels.scored
        whole = [xp.take(channel, node) for channel in totals[scored]]
        of_at = [taken(channel) for channel in lefts[scored]]
        score = search.scores(of_at, whole, taken(left_weight), xp.take(weight, node))
        return node, at, score

    def _missing_left(self) -> tuple[Array, Array, Array]:
        """The candidates that send missing values left, where there are some."""
        xp, bins, put = self.lib.xp, self.search.bins, self.lib.from_host
        missing = put((bins.offset[1:] - 1)[bins.feature_of])  # for each bin, that of its feature
        has_missing = put(self.search.has_missing[bins.feature_of])
        sums = xp.take(self.here, missing, axis=2)
        left = self.left + xp.where(has_missing[None, None, :], sums, 0)
        may = self.is_here & xp.take(self.is_here, missing, axis=1)
        return self._candidates(left, may & (self._is_value() & has_missing)[None, :])

    def _drawn(self, sides: list[tuple[Array, ...]]) -> list[tuple[Array, ...]]:
        """Keep the features drawn for each node, or the first drawn that can be split at all."""
        xp, n_features = self.lib.xp, len(self.search.bins.features)
        pairs = [
            node * n_features + xp.take(self.feature_of, at - node * self.width)
            for node, at, _ in sides
        ]
        is_tried = self.lib.from_host(self.search.tried_features(pairs, self.n_nodes).ravel())
        keep = [xp.take(is_tried, pair) for pair in pairs]
        return [tuple(part[own] for part in side) for own, side in zip(keep, sides, strict=True)]

    def _splits(self, score: HostArray, at: HostArray, side: HostArray) -> Splits:
        """The winners, which are bins of their nodes; only they leave the device."""
        bins, to_host = self.search.bins, self.lib.to_host
        feature = bins.feature_of[at]
        end = bins.offset[feature] + bins.n_values[feature]  # the missing code, if there is one
        has_missing = (bins.n_codes > bins.n_values)[feature, None]
        return self.search.splits(
            score,
            feature,
            at - bins.offset[feature],
            self._next_code(at, end, bins.offset[feature]),
            side,
            self._at(self.left, at),
            np.where(has_missing, self._at(self.here, np.minimum(end, self.width - 1)), 0),
            to_host(self.total),
        )

    def _at(self, sums: Array, at: HostArray) -> HostArray:
        """Sums of one bin per node, (nodes, channels)."""
        xp, n = self.lib.xp, self.search.channels.n
        row = np.arange(self.n_nodes * n).reshape(self.n_nodes, n)
        index = self.lib.from_host((row * self.width + at[:, None]).ravel())
        return self.lib.to_host(xp.take(xp.reshape(sums, (-1,)), index)).reshape(row.shape)

    def _next_code(self, at: HostArray, end: HostArray, offset: HostArray) -> HostArray:
        """The next code that occurs in the node after the bin that won, -1 if there is none."""
        xp, put = self.lib.xp, self.lib.from_host
        inside = self.lib.numbers(self.width)[None, :]
        is_later = (inside > put(at)[:, None]) & (inside < put(end)[:, None])
        following = xp.min(xp.where(is_later & self.is_here, inside, self.width), axis=1)
        found = self.lib.to_host(following)
        return np.where(found < self.width, found - offset, -1)

    def _is_value(self) -> Array:
        """Bins that stand for values of features with thresholds, not for missing ones."""
        bins = self.search.bins
        is_value = self.search.has_thresholds[bins.feature_of]
        is_value[(bins.offset[1:] - 1)[bins.n_codes > bins.n_values]] = False
        return self.lib.from_host(is_value)


def _by_channel(sums: Array) -> list[Array]:
    return [sums[:, channel, ...] for channel in range(sums.shape[1])]
