"""One random split a feature of a node, as extremely randomized trees draw them.

What is drawn depends on the key of the node and the number of the feature alone, and is scored
here from the sums of the node, so that it is the same on every backend.

- Ordered feature: a value, uniformly between the largest value of the node's lowest bin and the
  smallest value of its highest bin; codes up to there go to child 0. With infinities at an end, a
  code instead of a value. The value is the threshold of the finished tree; where it lies within a
  bin, whose rows cannot be divided, or is no number, the threshold is midway between the two values
  of the node that are separated, as in other trees. A node that knows one value only divides it
  from missing ones: every known value goes to child 0.
- Nominal feature: each category of the node goes to child 0 or 1 by a random bit. If all go the
  same way, the one with the smallest random number changes sides.
- Rows whose value is missing go to a random side, all of them to the same; with
  `missing="category"` they are a category of a nominal feature; where they are to be divided or
  follow surrogates, they have no say.

The best split is taken; of equal ones that of the feature that comes first in the node's draw. One
that breaks a constraint is none: another feature is tried where no other can be split.
"""

from dataclasses import dataclass, fields

import numpy as np

from gputree.backends.candidates import scores
from gputree.backends.contract import NO_SPLIT, Backend, Hist, Search, Splits
from gputree.backends.seen import Seen, has_code_for_missing
from gputree.data.bins import Bins
from gputree.data.table import Kind
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, STAY, SUM, HostArray
from gputree.growth.constraints import MeanConstraints
from gputree.runs import begins, owners, pieces
from gputree.sampling import mix, shares

CELLS_AT_ONCE = 2**20  # sums of codes that are looked at together


@dataclass(frozen=True)
class RandomSearch(Search):
    """A search among splits that are drawn."""

    key: HostArray | None = None  # (nodes,) of the draws

    @classmethod
    def like(cls, search: Search, key: HostArray) -> "RandomSearch":
        """The same search with draws."""
        return cls(**{each.name: getattr(search, each.name) for each in fields(Search)}, key=key)


@dataclass(frozen=True)
class Drawn:
    """The drawn splits of some pairs of a node and a feature, by the codes that occur there.

    In a small node few of a feature's codes occur, so only these are looked at.
    """

    score: HostArray  # (pairs,)
    code: HostArray  # (pairs,) the largest code of child 0, for thresholds
    next_code: HostArray  # (pairs,) the smallest code of child 1
    threshold: HostArray  # (pairs,) NaN where it lies midway between these codes
    at: HostArray  # (occurring codes,) which of those that were seen
    child: HostArray  # (occurring codes,) STAY where that is not known
    seen: Seen
    left: HostArray  # (pairs, channels) sums of child 0


class RandomSplits:
    """Draws and scores splits for one tree."""

    def __init__(
        self,
        backend: Backend,
        bins: Bins,
        channels: Channels,
        missing: str,
        nodes: HostArray,
        most_seen: HostArray,
        constraints: MeanConstraints | None,
    ) -> None:
        """Numbers of the nodes of a frontier, and how many entries each may have of a feature."""
        self.backend, self.bins, self.channels = backend, bins, channels
        self.missing = missing  # direction, category or known
        self.nodes, self.most_seen, self.constraints = nodes, most_seen, constraints
        self.is_nominal = np.array([each.kind is Kind.NOMINAL for each in bins.features])

    def scores(self, hist: Hist, search: RandomSearch) -> HostArray:
        """The score of each feature's split, (nodes, features); NO_SPLIT for those not tried."""
        score = np.full((len(self.nodes), len(self.bins.features)), NO_SPLIT)
        assert search.rank is not None
        drawn = search.rank < search.n_drawn
        self._score(hist, search, drawn, score)
        # More features are tried only where none of those drawn can be split.
        stuck = (score == NO_SPLIT).all(axis=1, keepdims=True)
        self._score(hist, search, stuck & ~drawn, score)
        return score

    def _score(self, hist: Hist, search: RandomSearch, wanted: HostArray, score: HostArray) -> None:
        place, feature = np.nonzero(wanted)
        for some in self._pieces(place, feature):
            own = place[some], feature[some]
            score[own] = self._draw(hist, search, *own).score

    def splits(
        self,
        hist: Hist,
        search: RandomSearch,
        score: HostArray,
        feature: HostArray,
        place: HostArray,
    ) -> tuple[Splits, HostArray]:
        """The splits of the chosen features of the nodes at `place`, and their thresholds."""
        n_nodes = len(score)
        code, next_code = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
        missing_slot, threshold = np.full(n_nodes, STAY, SLOT), np.full(n_nodes, np.nan)
        left = np.zeros((n_nodes, self.channels.n), SUM)
        for some in self._pieces(place, feature[place]):
            own = place[some]
            drawn = self._draw(hist, search, own, feature[own])
            code[own], next_code[own] = drawn.code, drawn.next_code
            threshold[own], left[own] = drawn.threshold, drawn.left
            last = np.cumsum(drawn.seen.n) - 1
            has_missing = has_code_for_missing(self.bins, feature[own])
            slot = self._slots(drawn, feature[own])
            missing_slot[own] = np.where(has_missing, slot[last], STAY)
        feature = feature.astype(FEATURE)
        return Splits(score, feature, code, next_code, missing_slot, left), threshold

    def tabled(self, feature: HostArray) -> HostArray:
        """Where threshold and side of missing values are not all: categories, rows that stay."""
        return np.asarray(self.is_nominal[feature] | (self.missing == "known"))

    def tables(
        self, hist: Hist, search: RandomSearch, feature: HostArray, place: HostArray
    ) -> tuple[Seen, HostArray]:
        """What the nodes at `place` have of the chosen features, and the slot of each entry."""
        seen, slots = [], []
        for some in self._pieces(place, feature[place]):
            own = place[some]
            drawn = self._draw(hist, search, own, feature[own])
            slots.append(self._slots(drawn, feature[own]))
            seen.append(drawn.seen)
        return Seen.joined(seen), np.concatenate(slots)

    def _slots(self, drawn: Drawn, feature: HostArray) -> HostArray:
        """The child of every entry; STAY for categories that do not occur in the node."""
        pair, code = owners(drawn.seen.n), drawn.seen.code
        slot = (code > drawn.code[pair]).astype(SLOT)
        slot[self.is_nominal[feature][pair] | (code >= self.bins.n_values[feature][pair])] = STAY
        slot[drawn.at] = drawn.child
        return slot

    def _pieces(self, place: HostArray, feature: HostArray) -> list[slice]:
        """Pairs whose sums are looked at together."""
        n_seen = np.minimum(self.bins.n_codes[feature], self.most_seen[place])
        return pieces(n_seen * self.channels.n, CELLS_AT_ONCE)

    def _draw(
        self, hist: Hist, search: RandomSearch, place: HostArray, feature: HostArray
    ) -> Drawn:
        """The splits of some pairs."""
        assert search.key is not None
        seen = self.backend.seen(hist, place, feature)
        at = np.flatnonzero(self.channels.weight_of(seen.cells) > 0)
        pair, code = owners(seen.n)[at], seen.code[at].astype(np.int64)
        n_own = self.bins.n_values[feature]
        if self.missing == "category":
            n_own = np.where(self.is_nominal[feature], self.bins.n_codes[feature], n_own)
        known = np.flatnonzero(code < n_own[pair])
        codes = Codes(pair[known], code[known], len(place))
        # The first draws of a node are for its features.
        number = (len(self.bins.features) + feature).astype(np.uint64)
        key = mix(~search.key[place], number)
        value, upper = self._cut(key, codes, feature)
        in_groups = self.is_nominal[feature][codes.pair]
        if in_groups.any():
            own = self.bins.number[self.bins.offset[feature[codes.pair]] + codes.code]
            upper = np.where(in_groups, _random_groups(key, codes, own), upper)
        child = np.full(len(at), STAY, SLOT)
        if self.missing != "known":
            child[:] = _side_of_missing(key, codes, upper)[pair]
        child[known] = upper
        n = np.bincount(pair, minlength=len(place))
        total, left = (_sums_of(seen.cells[at], is_in, n) for is_in in (child != STAY, child == 0))
        score = scores(self.channels, left, total, search)
        if self.constraints is not None:
            are_kept = self.constraints.are_kept(self.nodes[place], feature, left, total)
            score = np.where(are_kept, score, NO_SPLIT)
        lower, higher = codes.around(upper)
        threshold = self._threshold(value, feature, lower, higher)
        return Drawn(score, lower, higher, threshold, at, child, seen, left)

    def _cut(
        self, key: HostArray, codes: "Codes", feature: HostArray
    ) -> tuple[HostArray, HostArray]:
        """A value that is drawn between those of the node, and which codes lie above it."""
        share = shares(key)
        low, high = codes.lowest, codes.highest
        # Missing values as a category have a code beyond all values; categories are not cut.
        last = self.bins.n_values[feature] - 1
        begin = self.bins.below(feature, np.minimum(low, last))
        end = self.bins.above(feature, np.maximum(high - 1, 0))
        with np.errstate(invalid="ignore"):
            value = begin * (1.0 - share) + end * share
        own = codes.pair
        by_value = self.bins.below(feature[own], np.minimum(codes.code, last[own])) > value[own]
        by_code = codes.code > (low + np.floor(share * (high - low)))[own]
        upper = np.where(np.isfinite(value)[own], by_value, by_code)
        # Rounding must not leave a side empty; one value alone is on the side below.
        return value, (upper | (codes.code == high[own])) & (codes.code > low[own])

    def _threshold(
        self, value: HostArray, feature: HostArray, lower: HostArray, higher: HostArray
    ) -> HostArray:
        """The values drawn where they divide two codes, otherwise NaN."""
        last = self.bins.n_values[feature] - 1
        below = self.bins.below(feature, np.minimum(lower, last))
        above = self.bins.above(feature, np.clip(higher - 1, 0, last))
        divides = (below <= value) & (value < above) & (higher >= 0)
        # -0.0 and 0.0 separate alike; keep one of them.
        return np.where(divides & ~self.is_nominal[feature], value + 0.0, np.nan)


class Codes:
    """The codes that occur in some pairs, pair by pair and ascending."""

    def __init__(self, pair: HostArray, code: HostArray, n_pairs: int) -> None:
        self.pair, self.code = pair, code
        self.n = np.bincount(pair, minlength=n_pairs)
        self.begin = begins(self.n)
        self._some = np.flatnonzero(self.n)

    @property
    def lowest(self) -> HostArray:
        return self._take(self.begin)

    @property
    def highest(self) -> HostArray:
        return self._take(self.begin + self.n - 1)

    def around(self, upper: HostArray) -> tuple[HostArray, HostArray]:
        """The codes on both sides of a cut; the higher one is -1 where there is none."""
        n_lower = np.bincount(self.pair[~upper], minlength=len(self.n))
        higher = self._take(self.begin + np.minimum(n_lower, self.n - 1))
        return (
            self._take(self.begin + np.maximum(n_lower - 1, 0)),
            np.where(n_lower < self.n, higher, -1),
        )

    def _take(self, at: HostArray) -> HostArray:
        """A code of each pair, 0 for pairs without any."""
        found = np.zeros(len(self.n), np.int64)
        found[self._some] = self.code[at[self._some]]
        return found


def _random_groups(key: HostArray, codes: Codes, own: HostArray) -> HostArray:
    """Which categories go to child 1, by the number of each among its own."""
    number = mix(key[codes.pair], own.astype(np.uint64))
    upper = (number >> np.uint64(63)).astype(bool)
    n_upper = np.bincount(codes.pair[upper], minlength=len(codes.n))
    alike = (n_upper == 0) | (n_upper == codes.n)
    # The highest bit tells the side; the others, which of the categories changes it.
    order = np.lexsort((number << np.uint64(1), codes.pair))
    first = order[codes.begin[alike & (codes.n > 0)]]
    upper[first] = ~upper[first]
    return upper


def _side_of_missing(key: HostArray, codes: Codes, upper: HostArray) -> HostArray:
    """The child that takes missing values: either alike; the other one where all codes are in one.

    The better of both sides would favour features that have missing values.
    """
    drawn = (mix(~key, np.uint64(0)) >> np.uint64(63)).astype(SLOT)
    n_upper = np.bincount(codes.pair[upper], minlength=len(codes.n))
    return np.where(n_upper == 0, 1, np.where(n_upper == codes.n, 0, drawn))


def _sums_of(sums: HostArray, is_in: HostArray, n: HostArray) -> HostArray:
    """The sums of each pair over some of its codes, (pairs, channels)."""
    some = np.where(is_in[:, None], sums, 0)
    reached = np.concatenate([np.zeros((1, some.shape[1]), SUM), np.cumsum(some, axis=0)])
    end = np.cumsum(n)
    return np.asarray(reached[end] - reached[end - n])
