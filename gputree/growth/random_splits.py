"""One random split a feature of a node, as extremely randomized trees draw them.

What is drawn depends on the key of the node and the number of the feature alone, and is scored
here from the sums of the node, so that it is the same on every backend.

- Ordered feature: a value, uniformly between the largest value of the node's lowest bin and the
  smallest value of its highest bin; codes up to there go to child 0. With infinities at an end, a
  code instead of a value. The threshold of the finished tree lies midway between the two values of
  the node that the draw separates, as in other trees.
- Nominal feature: each level of the node goes to child 0 or 1 by a random bit. If all go the same
  way, the one with the smallest random number changes sides.
- Rows whose value is missing go to the side that scores higher, child 1 if both do alike; with
  `missing="category"` they are a level of a nominal feature; where they are to be divided or follow
  surrogates, they have no say.
"""

from dataclasses import dataclass, fields

import numpy as np

from gputree.backends.contract import NO_SPLIT, Backend, Hist, Search, Splits
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Kind
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, STAY, SUM, HostArray
from gputree.formulas import HOST
from gputree.runs import begins, spread_out
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
    """The drawn split of one feature in some nodes."""

    score: HostArray  # (nodes,)
    slot: HostArray  # (nodes, codes)
    code: HostArray  # (nodes,) the largest code of child 0 that occurs, for thresholds
    next_code: HostArray  # (nodes,) the smallest code of child 1 that occurs


@dataclass(frozen=True)
class Present:
    """The codes of a feature that occur in some nodes: of small nodes few of many."""

    node: HostArray  # (pairs,) node by node
    code: HostArray  # (pairs,)
    sums: HostArray  # (pairs, channels)
    n: HostArray  # (nodes,) pairs of each

    @classmethod
    def of(cls, cells: HostArray, is_present: HostArray) -> "Present":
        """Those of sums by (nodes, codes, channels)."""
        node, code = np.nonzero(is_present)
        return cls(node, code, cells[node, code], is_present.sum(axis=1))

    def sums_where(self, is_in: HostArray) -> HostArray:
        """The sums of each node over some of the pairs, (nodes, channels)."""
        some = np.where(is_in[:, None], self.sums, 0)
        reached = np.concatenate([np.zeros((1, some.shape[1]), SUM), np.cumsum(some, axis=0)])
        end = np.cumsum(self.n)
        return reached[end] - reached[end - self.n]


class RandomSplits:
    """Draws and scores splits for one tree."""

    def __init__(self, backend: Backend, bins: Bins, channels: Channels, missing: str) -> None:
        self.backend, self.bins, self.channels = backend, bins, channels
        self.missing = missing  # direction, category or known

    def scores(self, hist: Hist, search: RandomSearch, n_nodes: int) -> HostArray:
        """The score of each feature's split, (nodes, features); NO_SPLIT for those not tried."""
        n_features = len(self.bins.features)
        score = np.full((n_nodes, n_features), NO_SPLIT)
        wanted = np.ones(score.shape, bool) if search.rank is None else search.rank < search.n_drawn
        self._score(hist, search, wanted, score)
        # More features are tried only where none of those drawn can be split.
        stuck = ~(score > NO_SPLIT).any(axis=1)
        if search.rank is not None and stuck.any():
            self._score(hist, search, stuck[:, None] & ~wanted, score)
        return score

    def _score(self, hist: Hist, search: RandomSearch, wanted: HostArray, score: HostArray) -> None:
        for feature in np.flatnonzero(wanted.any(axis=0)).tolist():
            for place in self._pieces(np.flatnonzero(wanted[:, feature]), feature):
                score[place, feature] = self._drawn(hist, search, place, feature)[0].score

    def splits(
        self,
        hist: Hist,
        search: RandomSearch,
        score: HostArray,
        feature: HostArray,
        place: HostArray,
    ) -> tuple[Splits, HostArray, HostArray]:
        """The splits of the chosen features; slots and sums of codes of the nodes at `place`."""
        n_nodes = len(score)
        code, next_code = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
        n_codes = self.bins.n_codes[feature[place]]
        begin, n_all = begins(n_codes), int(n_codes.sum())
        slot, cells = np.empty(n_all, SLOT), np.empty((n_all, self.channels.n), np.int64)
        missing_slot = np.full(n_nodes, STAY, SLOT)
        for each in np.unique(feature[place]).tolist():
            for some in self._pieces(np.flatnonzero(feature[place] == each), each):
                own = place[some]
                drawn, sums = self._drawn(hist, search, own, each)
                code[own], next_code[own] = drawn.code, drawn.next_code
                at = spread_out(begin[some], n_codes[some])
                slot[at], cells[at] = drawn.slot.ravel(), sums.reshape(-1, self.channels.n)
                if self.bins.features[each].has_missing:
                    missing_slot[own] = drawn.slot[:, -1]
        left = np.zeros((n_nodes, self.channels.n), np.int64)
        splits = Splits(score, feature.astype(FEATURE), code, next_code, missing_slot, left)
        return splits, slot, cells

    def _pieces(self, nodes: HostArray, feature: int) -> list[HostArray]:
        """Nodes whose sums of a feature are looked at together."""
        width = int(self.bins.n_codes[feature]) * self.channels.n
        step = max(1, CELLS_AT_ONCE // width)
        return [nodes[first : first + step] for first in range(0, len(nodes), step)]

    def _drawn(
        self, hist: Hist, search: RandomSearch, place: HostArray, feature: int
    ) -> tuple[Drawn, HostArray]:
        """The split of one feature in some nodes, and the sums of its codes there."""
        assert search.key is not None
        bins = self.bins.features[feature]
        own = self.backend.cells(hist, place, np.full(len(place), feature))
        cells = own.reshape(len(place), bins.n_codes, self.channels.n)
        # The first draws of a node are for its features.
        key = mix(~search.key[place], np.uint64(len(self.bins.features) + feature))
        is_present = self.channels.weight_of(cells) > 0
        by_levels = bins.kind is Kind.NOMINAL
        n_own = bins.n_values
        if by_levels and self.missing == "category":
            n_own = bins.n_codes
        known = is_present[:, :n_own]
        if by_levels:
            upper = _random_groups(key, known)
            code = next_code = np.zeros(len(place), np.int64)
        else:
            code, next_code = _random_cuts(key, known, bins)
            upper = np.arange(n_own) > code[:, None]
        slot = np.full(is_present.shape, STAY, SLOT)
        slot[:, :n_own] = np.where(known | (not by_levels), upper, STAY)
        present = Present.of(cells, is_present)
        score = self._score_of(search, present, slot)
        has_others = is_present[:, n_own:].any(axis=1)
        if self.missing != "known" and has_others.any():
            slot, score = self._with_missing(search, present, slot, has_others)
        return Drawn(score, slot, code, next_code), cells

    def _with_missing(
        self, search: Search, present: Present, slot: HostArray, has_missing: HostArray
    ) -> tuple[HostArray, HostArray]:
        """Slots and scores with missing values, which have the last code, on their better side."""
        sides = []
        for side in (1, 0):
            own = slot.copy()
            own[has_missing, -1] = side
            sides.append((own, self._score_of(search, present, own)))
        (high, of_high), (low, of_low) = sides
        takes_low = _trimmed(of_low) > _trimmed(of_high)
        return (
            np.where(takes_low[:, None], low, high),
            np.where(takes_low, of_low, of_high),
        )

    def _score_of(self, search: Search, present: Present, slot: HostArray) -> HostArray:
        """The score of a table of slots in each node; NO_SPLIT where a child is too small."""
        channels = self.channels
        child = slot[present.node, present.code]
        total, left = present.sums_where(child != STAY), present.sums_where(child == 0)
        part, whole = channels.weight_of(left), channels.weight_of(total)
        rows, all_rows = channels.rows_of(left), channels.rows_of(total)
        least = max(1, search.min_weight)
        allowed = (part >= least) & (whole - part >= least)
        allowed &= (rows >= search.min_rows) & (all_rows - rows >= search.min_rows)
        score = np.full(len(slot), NO_SPLIT)
        at = np.flatnonzero(allowed)
        lefts, totals = (
            list((sums[at, channels.scored].astype(np.float64) * np.array(channels.units)).T)
            for sums in (left, total)
        )
        weights = part[at].astype(np.float64), whole[at].astype(np.float64)
        formula = getattr(HOST, search.formula)
        score[at] = formula(lefts, totals, *weights, channels.n_scored)
        return score


def _random_cuts(
    key: HostArray, is_present: HostArray, bins: FeatureBins
) -> tuple[HostArray, HostArray]:
    """Codes of the node on both sides of a drawn value; the same code where there is one only."""
    n = is_present.shape[1]
    low = is_present.argmax(axis=1)
    high = n - 1 - is_present[:, ::-1].argmax(axis=1)
    share = shares(key)
    last = np.maximum(high - 1, low)  # the highest code that the cut may come after
    if n == 1:
        return low, np.full(len(low), -1)
    below, above = bins.below, bins.above
    begin, end = below[np.minimum(low, n - 2)], above[np.maximum(high, 1) - 1]
    with np.errstate(invalid="ignore"):
        value = begin * (1.0 - share) + end * share
    cut = np.searchsorted(below, value, side="right") - 1
    by_code = low + np.floor(share * (high - low)).astype(np.int64)
    cut = np.clip(np.where(np.isfinite(value), cut, by_code), low, last)
    place = np.arange(n)
    code = np.where(is_present & (place <= cut[:, None]), place, 0).max(axis=1)
    next_code = np.where(is_present & (place > cut[:, None]), place, n).min(axis=1)
    return code, np.where(next_code < n, next_code, -1)


def _random_groups(key: HostArray, is_present: HostArray) -> HostArray:
    """Which levels of each node go to child 1."""
    number = mix(key[:, None], np.arange(is_present.shape[1], dtype=np.uint64)[None, :])
    upper = (number >> np.uint64(63)).astype(bool)
    n, n_upper = is_present.sum(axis=1), (is_present & upper).sum(axis=1)
    alike = np.flatnonzero((n_upper == 0) | (n_upper == n))
    # The highest bit tells the side; the others, which of the levels changes it.
    order = np.where(is_present, number << np.uint64(1), np.uint64(2**64 - 1))
    one = order[alike].argmin(axis=1)
    upper[alike, one] = ~upper[alike, one]
    return upper


def _trimmed(score: HostArray) -> HostArray:
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(score), HOST.trim(score), NO_SPLIT)
