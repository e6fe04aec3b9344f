"""The search for the best split of every node, in array-API code.

Only codes that occur in a node are candidates, so a run of empty codes is one candidate and the
lowest code stands for it. Nodes are taken a few at a time, to stay within the cache.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.array.scores import Scoring
from gputree.backends.candidates import have_enough, joined, missing_slots, tried_features
from gputree.backends.contract import NO_SPLIT, Search, Splits
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SUM, Array, HostArray

CELLS_AT_ONCE = 2**18  # 2 MiB of int64 sums: scores and their temporaries stay in the cache


@dataclass(frozen=True)
class _Candidates:
    """Splits that satisfy every rule; `side` 1 sends missing values left."""

    at: Array  # (candidates,) node * bins + bin
    side: int
    score: Array  # (candidates,)


def best_splits(
    lib: Library,
    formulas: SimpleNamespace,
    sums: Array,
    bins: Bins,
    channels: Channels,
    search: Search,
) -> Splits:
    """The best splits of nodes, from sums of (nodes, channels, bins)."""
    n_nodes = sums.shape[0]
    step = max(1, CELLS_AT_ONCE // (bins.width * channels.n))
    parts = []
    for first in range(0, n_nodes, step):
        part = slice(first, min(first + step, n_nodes))
        own = search.of_nodes(part)
        parts.append(_Scan(lib, formulas, sums[part, ...], bins, channels, own).winners())
    return joined(parts)


class _Scan:
    """The search in a few nodes."""

    def __init__(
        self,
        lib: Library,
        formulas: SimpleNamespace,
        sums: Array,
        bins: Bins,
        channels: Channels,
        search: Search,
    ) -> None:
        self.lib, self.formulas = lib, formulas
        self.bins, self.channels, self.search = bins, channels, search
        self.scoring = Scoring(self.lib, self.formulas, channels, search)
        xp = self.lib.xp
        self.n_nodes = sums.shape[0]
        first_feature = sums[:, :, : int(bins.n_codes[0])]
        self.here = sums
        self.total = xp.sum(first_feature, axis=2)
        self.feature_of = self.lib.from_host(bins.feature_of.astype(np.int64))
        # Every feature sums to the node's total, so the sum over the features before is known.
        before = self.total[:, :, None] * self.feature_of[None, None, :]
        self.left = xp.cumulative_sum(sums, axis=2) - before
        self.weight_here = self._weight(sums)

    def winners(self) -> Splits:
        """The best candidate of each node."""
        xp, width = self.lib.xp, self.bins.width
        sides = [self._candidates(self.left, 0)]
        if (self.bins.n_codes > self.bins.n_values).any():
            sides.append(self._candidates(self._left_with_missing(), 1))
        if self.search.rank is not None:
            sides = self._drawn(sides)
        n_places = self.n_nodes * width * len(sides)
        lowest = self.lib.from_host(np.full(n_places, NO_SPLIT))
        score = trimmed = lowest
        for side in sides:
            place = side.at * len(sides) + side.side
            score = self.lib.replaced(score, place, side.score)
            trimmed = self.lib.replaced(trimmed, place, self.formulas.trim(side.score))
        flat = xp.argmax(xp.reshape(trimmed, (self.n_nodes, width * len(sides))), axis=1)
        node = self.lib.from_host(np.arange(self.n_nodes))
        best = xp.take(score, node * (width * len(sides)) + flat)
        return self._splits(best, flat // len(sides), self.lib.to_host(flat % len(sides)))

    def _candidates(self, left: Array, side: int) -> _Candidates:
        """The admissible candidates and their scores."""
        xp, search = self.lib.xp, self.search
        left_weight = self._weight(left)
        left_rows = left[:, -1, :] if self.channels.counts_rows else left_weight
        weight = self._weight(self.total[:, :, None])
        rows = self.total[:, -1:] if self.channels.counts_rows else weight
        least = max(1, search.min_weight)
        allowed = self._is_value()[None, :] & (self.weight_here > 0)
        allowed = allowed & have_enough(
            left_rows, rows, left_weight, weight, search.min_rows, least
        )
        if side:
            allowed = allowed & (self._missing_weight() > 0)
        at = xp.nonzero(xp.reshape(allowed, (-1,)))[0]
        return _Candidates(at, side, self._score(left, left_weight, weight, at))

    def _score(self, left: Array, left_weight: Array, weight: Array, at: Array) -> Array:
        xp, scored = self.lib.xp, self.channels.scored
        node = at // self.bins.width

        def taken(sums: Array, index: Array) -> Array:
            return xp.take(xp.reshape(sums, (-1,)), index)

        lefts = [taken(left[:, c, :], at) for c in range(scored.start, scored.stop)]
        totals = [taken(self.total[:, c], node) for c in range(scored.start, scored.stop)]
        return self.scoring.scores(lefts, totals, taken(left_weight, at), taken(weight, node))

    def _drawn(self, sides: list[_Candidates]) -> list[_Candidates]:
        """Keep the features drawn for each node, or the first drawn that can be split at all."""
        xp, lib = self.lib.xp, self.lib
        n_features = len(self.bins.features)
        pairs = [
            (side.at // self.bins.width) * n_features
            + xp.take(self.feature_of, side.at % self.bins.width)
            for side in sides
        ]
        is_tried = tried_features(lib, self.search, pairs, self.n_nodes, n_features)
        drawn = lib.from_host(is_tried.ravel())
        kept = []
        for side, pair in zip(sides, pairs, strict=True):
            keep = xp.take(drawn, pair)
            kept.append(_Candidates(side.at[keep], side.side, side.score[keep]))
        return kept

    def _splits(self, score: Array, won: Array, side: HostArray) -> Splits:
        """The winners, which are bins of their nodes; only they leave the device."""
        bins, channels, to_host = self.bins, self.channels, self.lib.to_host
        at = to_host(won)
        feature = bins.feature_of[at].astype(FEATURE)
        end = bins.offset[feature] + bins.n_values[feature]  # the missing code, if there is one
        has_missing = (bins.n_codes > bins.n_values)[feature, None]
        last = self.lib.from_host(np.minimum(end, bins.width - 1))
        missing = np.where(has_missing, to_host(self._at(self.here, last)), 0)
        left = to_host(self._at(self.left, won)) + np.where(side[:, None] == 1, missing, 0)
        right = to_host(self.total) - left
        return Splits(
            score=to_host(score),
            feature=feature,
            code=at - bins.offset[feature],
            next_code=self._next_code(won, end, bins.offset[feature]),
            missing_slot=missing_slots(channels, left, right, missing, side),
            left=left.astype(SUM),
        )

    def _at(self, sums: Array, bins: Array) -> Array:
        """Sums of one bin per node, (nodes, channels)."""
        xp, n = self.lib.xp, self.channels.n
        row = self.lib.from_host(np.arange(self.n_nodes * n).reshape(self.n_nodes, n))
        index = xp.reshape(row * self.bins.width + bins[:, None], (-1,))
        return xp.reshape(xp.take(xp.reshape(sums, (-1,)), index), (self.n_nodes, n))

    def _next_code(self, won: Array, end: HostArray, offset: HostArray) -> HostArray:
        """The next code that occurs in the node after the bin that won, -1 if there is none."""
        xp, width = self.lib.xp, self.bins.width
        inside = self.lib.from_host(np.arange(width))[None, :]
        is_later = (inside > won[:, None]) & (inside < self.lib.from_host(end)[:, None])
        following = xp.min(xp.where(is_later & (self.weight_here > 0), inside, width), axis=1)
        found = self.lib.to_host(following)
        return np.where(found < width, found - offset, -1)

    def _weight(self, sums: Array) -> Array:
        """Weights of sums with channels on axis 1."""
        if not self.channels.is_classes:
            return sums[:, 0, :]
        return self.lib.xp.sum(sums[:, : self.channels.n_scored, :], axis=1)

    def _is_value(self) -> Array:
        """Places that stand for values, not for missing ones."""
        is_value = np.ones(self.bins.width, bool)
        has_missing = self.bins.n_codes > self.bins.n_values
        is_value[(self.bins.offset[1:] - 1)[has_missing]] = False
        if self.search.is_ordered is not None:
            is_value &= self.search.is_ordered[self.bins.feature_of]
        return self.lib.from_host(is_value)

    def _missing_bin(self) -> tuple[Array, Array]:
        """For each bin, that of its feature's missing code, and whether there is one."""
        has_missing = (self.bins.n_codes > self.bins.n_values)[self.bins.feature_of]
        missing = (self.bins.offset[1:] - 1)[self.bins.feature_of]
        return self.lib.from_host(missing), self.lib.from_host(has_missing)

    def _missing_weight(self) -> Array:
        missing, has_missing = self._missing_bin()
        weight = self.lib.xp.take(self.weight_here, missing, axis=1)
        return self.lib.xp.where(has_missing[None, :], weight, 0)

    def _left_with_missing(self) -> Array:
        missing, has_missing = self._missing_bin()
        missing = self.lib.xp.take(self.here, missing, axis=2)
        return self.left + self.lib.xp.where(has_missing[None, None, :], missing, 0)
