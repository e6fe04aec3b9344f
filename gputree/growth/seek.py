"""The search for the best split of each node of a frontier.

Thresholds are searched by the backend. Categories are searched here, from sums that the backend
hands over, and so is the choice among features where it is not simply the best score.
"""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.candidates import among_drawn, first_best, put_rates, trimmed
from gputree.backends.contract import (
    NO_SPLIT,
    Backend,
    CategoryRules,
    Hist,
    Rates,
    Search,
    Splits,
)
from gputree.backends.seen import OTHERS, Seen, has_code_for_missing
from gputree.backends.whole import CategoryLists
from gputree.data.bins import Bins
from gputree.data.table import Kind
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, STAY, HostArray
from gputree.formulas import branch_bits, penalty
from gputree.growth.constraints import MeanConstraints, NodeConstraints
from gputree.growth.gaps import rate_with_gaps, tight_features
from gputree.growth.random_splits import RandomSearch, RandomSplits
from gputree.growth.ratio import Rated, RatioRules, choose_by_ratio
from gputree.runs import begins, first_largest, owners
from gputree.sampling import drawn_features

# So few categories have few groups to choose from, which need no more proof than thresholds.
FEW_CATEGORIES = 4


@dataclass(frozen=True)
class TableSplits:
    """Splits whose children do not follow from a threshold alone, and the sums of these."""

    place: HostArray  # (tables,) of the node in the frontier
    n_children: HostArray  # (tables,)
    sums: HostArray  # (children, channels), table by table
    categories: CategoryLists  # of those that test categories; a node is its place in the frontier


@dataclass(frozen=True)
class Found:
    """The best splits of a frontier."""

    splits: Splits
    tables: TableSplits | None  # of the nodes whose children do not follow from `splits`
    heuristic: frozenset[int] = frozenset()  # features where a better subset may have been missed
    threshold: HostArray | None = None  # (nodes,) where drawn; NaN, or None for all: midway


class Seeker:
    """Finds splits for one tree."""

    def __init__(
        self,
        backend: Backend,
        bins: Bins,
        channels: Channels,
        categories: CategoryRules,
        ratio: RatioRules | None,
        *,
        is_rated: bool,
        lets_stay: bool,
        ridges: tuple[float, float] = (0.0, 0.0),
        most_whole: int = 0,
        constraints: NodeConstraints | None = None,
    ) -> None:
        """`ridges` are those of thresholds and of categories.

        In columns of up to `most_whole` categories none is too rare to be told from others.
        """
        self.backend, self.bins, self.channels = backend, bins, channels
        self.categories, self.ratio, self.is_rated = categories, ratio, is_rated
        self.constraints = constraints
        self.ridges = ridges
        self.lets_stay = lets_stay  # rows whose value is missing stay at a node that was rated
        is_nominal = np.array([feature.kind is Kind.NOMINAL for feature in bins.features])
        self.nominal = np.flatnonzero(is_nominal)
        self.is_ordered = ~is_nominal
        self.has_many = bins.n_categories > FEW_CATEGORIES
        self.alike = alike(categories, bins, ridges[0], most_whole)
        least_gap = 0.0 if ratio is None else ratio.least_gap
        self.tight = tight_features(bins, least_gap) if least_gap > 0.0 else np.empty(0, np.int64)

    def seek(self, hist: Hist, search: Search, sums: HostArray, nodes: HostArray) -> Found:
        """The best splits of the nodes of a frontier, whose sums and numbers are given."""
        may_test = search.is_ordered
        if self.nominal.size:
            is_ordered = self.is_ordered if may_test is None else self.is_ordered & may_test
            search = replace(search, is_ordered=is_ordered)
        if isinstance(search, RandomSearch):
            return self._random(hist, search, nodes, self._most_seen(sums))
        if self.is_rated:
            return self._rated(hist, search, sums)
        if self.constraints is None:
            splits = self.backend.best_splits(hist, search)
        else:
            splits = self.constraints.best_splits(
                self.backend, hist, self.bins, search, nodes, sums
            )
            may_test = self._also_allowed(may_test, nodes)
        if not self.nominal.size:
            return Found(splits, None)
        return self._with_categories(hist, search, splits, sums, may_test)

    # The backend chose among thresholds; categories may be better.

    def _with_categories(
        self,
        hist: Hist,
        search: Search,
        splits: Splits,
        sums: HostArray,
        may_test: HostArray | None,
    ) -> Found:
        n_nodes = len(sums)
        nodes = np.arange(n_nodes)
        score = np.full((n_nodes, len(self.bins.features)), NO_SPLIT)
        score[nodes, splits.feature] = splits.score
        of_categories, _, heuristic = self._rate_categories(hist, search, sums, score, may_test)
        ordered, many = self.ridges
        if ordered != many:
            # Each ridge takes its own part of the gain; what is left compares.
            less = penalty(sums, ordered) - penalty(sums, many)
            of_categories += np.where(self.has_many[self.nominal], less[:, None], 0.0)
        score[:, self.nominal] = of_categories
        feature = self._highest(score, search)
        best = score[nodes, feature]
        place = np.flatnonzero(~self.is_ordered[feature] & (best > NO_SPLIT))
        if not place.size:
            return Found(splits, None, heuristic)
        new = {name: getattr(splits, name).copy() for name in ("score", "feature", "missing_slot")}
        new["score"][place], new["feature"][place] = best[place], feature[place]
        splits = replace(splits, **new)
        return Found(splits, self._tables(hist, place, splits), heuristic)

    def _also_allowed(self, may_test: HostArray | None, nodes: HostArray) -> HostArray | None:
        """Which features may be tested, by the tree and by each node."""
        assert self.constraints is not None
        allowed = self.constraints.allowed(nodes)
        if allowed is None or may_test is None:
            return may_test if allowed is None else allowed
        return allowed & may_test

    # The backend rated every feature.

    def _rated(self, hist: Hist, search: Search, sums: HostArray) -> Found:
        n_nodes, weight = len(sums), self.channels.weight_of(sums)
        nodes = np.arange(n_nodes)
        rates = self._rates(hist, search, n_nodes)
        score = rates.score.copy()
        found = self._rate_categories(hist, search, sums, score, None)
        score[:, self.nominal], bits, heuristic = found
        if self.ratio is None:
            feature = self._highest(score, search)
            is_found = score[nodes, feature] > NO_SPLIT
        else:
            info = self._split_info(rates, bits, weight)
            rated = Rated(among_drawn(score, search), info, rates.n_cuts)
            unit = float(np.ldexp(1.0, -self.channels.weight_shift))
            feature, is_found = choose_by_ratio(rated, weight, unit, self.ratio)
        splits = Splits(
            score=np.where(is_found, score[nodes, feature], NO_SPLIT),
            feature=feature.astype(FEATURE),
            code=rates.code[nodes, feature],
            next_code=rates.next_code[nodes, feature],
            missing_slot=np.full(n_nodes, STAY, SLOT),
            left=np.zeros((n_nodes, self.channels.n), np.int64),
        )
        return Found(splits, self._tables(hist, np.flatnonzero(is_found), splits), heuristic)

    def _rates(self, hist: Hist, search: Search, n_nodes: int) -> Rates:
        """The best threshold of every feature."""
        if not self.tight.size:
            return self.backend.rate(hist, search)
        is_ordered = self.is_ordered.copy()
        is_ordered[self.tight] = False
        rates = self.backend.rate(hist, replace(search, is_ordered=is_ordered))
        assert self.ratio is not None
        for feature in self.tight.tolist():
            own = self.backend.cells(hist, np.arange(n_nodes), np.full(n_nodes, feature))
            cells = own.reshape(n_nodes, int(self.bins.n_codes[feature]), -1)
            found = rate_with_gaps(
                cells, self.bins.features[feature], self.channels, search, self.ratio.least_gap
            )
            put_rates(rates, (slice(None), feature), found)
        return rates

    def _split_info(self, rates: Rates, bits: HostArray, weight: HostArray) -> HostArray:
        """Weight times the bits that tell a row's branch, (nodes, features)."""
        whole = weight.astype(np.float64)[:, None]
        left, known = rates.left_weight, rates.known_weight
        info = np.zeros(left.shape)
        for part in (left, known - left, weight[:, None] - known):
            info = info + branch_bits(part.astype(np.float64), whole)
        info[:, self.nominal] = bits
        return info

    # One split a feature was drawn.

    def _random(
        self, hist: Hist, search: RandomSearch, nodes: HostArray, most_seen: HostArray
    ) -> Found:
        assert self.constraints is None or isinstance(self.constraints, MeanConstraints)
        missing = self.categories.missing
        draw = RandomSplits(
            self.backend, self.bins, self.channels, missing, nodes, most_seen, self.constraints
        )
        score = draw.scores(hist, search)
        feature = self._first_highest(score, search)
        best = score[np.arange(len(nodes)), feature]
        place = np.flatnonzero(best > NO_SPLIT)
        splits, threshold = draw.splits(hist, search, best, feature, place)
        place = place[draw.tabled(feature[place])]
        if not place.size:
            return Found(splits, None, threshold=threshold)
        seen, slot = draw.tables(hist, search, feature, place)
        n_children = np.full(len(place), 2)
        tables = self._tables_of(place, feature[place], seen, slot, n_children)
        return Found(splits, tables, threshold=threshold)

    def _first_highest(self, score: HostArray, search: RandomSearch) -> HostArray:
        """The feature of the best score, the first in the node's draw on ties.

        Whatever divides two rows is worth the same: the lower feature would be taken again and
        again where most nodes are.
        """
        assert search.rank is not None
        compared = trimmed(among_drawn(score, search))
        ties = compared == compared.max(axis=1, keepdims=True)
        return np.asarray(np.argmin(np.where(ties, search.rank, score.shape[1]), axis=1))

    # All of them.

    def _highest(self, score: HostArray, search: Search) -> HostArray:
        """The feature of the best score, the lowest on ties, among those drawn."""
        return first_best(among_drawn(score, search))

    def _rate_categories(
        self,
        hist: Hist,
        search: Search,
        sums: HostArray,
        ordered: HostArray,
        may_test: HostArray | None,
    ) -> tuple[HostArray, HostArray, frozenset[int]]:
        """Scores and bits of nominal features, (nodes, features), and which were not exact.

        `ordered` has the scores of thresholds. Where features are drawn, others are looked at only
        in nodes in which nothing that was drawn can be split.
        """
        score = np.full((len(sums), len(self.nominal)), NO_SPLIT)
        bits, is_heuristic = np.zeros_like(score), np.zeros(score.shape, bool)
        wanted, most = self._may_divide(sums), self._most_seen(sums)
        if may_test is not None:
            wanted &= may_test[..., self.nominal]
        if search.rank is not None:
            is_drawn = search.rank < search.n_drawn
            own = wanted & is_drawn[:, self.nominal]
            self._rate_pairs(hist, own, most, score, bits, is_heuristic)
            can_split = np.any((ordered > NO_SPLIT) & is_drawn, axis=1, keepdims=True)
            can_split |= np.any(score > NO_SPLIT, axis=1, keepdims=True)
            wanted &= ~own & ~can_split
        self._rate_pairs(hist, wanted, most, score, bits, is_heuristic)
        if search.rank is not None:
            found = ordered > NO_SPLIT
            found[:, self.nominal] = score > NO_SPLIT
            is_heuristic &= drawn_features(search.rank, search.n_drawn, found)[:, self.nominal]
        return score, bits, frozenset(self.nominal[is_heuristic.any(axis=0)].tolist())

    def _rate_pairs(
        self,
        hist: Hist,
        is_wanted: HostArray,
        most_seen: HostArray,
        score: HostArray,
        bits: HostArray,
        is_heuristic: HostArray,
    ) -> None:
        """Rate wanted pairs of a node and a nominal feature."""
        for rules, is_alike in self.alike:
            pair = np.nonzero(is_wanted & is_alike[self.nominal])
            if len(pair[0]):
                place, feature = pair[0], self.nominal[pair[1]]
                n_seen = np.minimum(self.bins.n_codes[feature], most_seen[place])
                rates = self.backend.rate_categories(hist, place, feature, rules, n_seen)
                score[pair], bits[pair] = rates.score, rates.bits
                is_heuristic[pair] = rates.is_heuristic

    def _most_seen(self, sums: HostArray) -> HostArray:
        """The most entries that nodes have of what they have seen: no more codes than rows."""
        if self.channels.hides_rows:
            return np.full(len(sums), self.bins.width)
        return self.channels.rows_of(sums) + 2

    def _may_divide(self, sums: HostArray) -> HostArray:
        """Which nodes may have a category with rows enough, (nodes, nominal features).

        Without one, nothing but missing values can be told from the others.
        """
        least = np.ones(len(self.bins.features), np.int64)
        for rules, is_alike in self.alike:
            least[is_alike] = rules.min_category
        may = self.channels.rows_of(sums)[:, None] >= least
        if self.categories.missing == "direction":
            may |= self.bins.n_codes > self.bins.n_values
        return np.asarray(may[:, self.nominal] | self.categories.is_multiway)

    def _split_categories(
        self, hist: Hist, seen: Seen, feature: HostArray, slot: HostArray, n_children: HostArray
    ) -> None:
        """Tell where splits of nominal features send what nodes have seen of these."""
        for rules, is_alike in self.alike:
            is_in = is_alike[feature]
            if is_in.any():
                own = seen.of_pairs(is_in)
                found = self.backend.split_categories(hist, own, feature[is_in], rules)
                n_children[is_in], slot[np.repeat(is_in, seen.n)] = found.n_children, found.slot

    def _tables(self, hist: Hist, place: HostArray, splits: Splits) -> TableSplits:
        """The tables of some nodes, by what they split; tells these where missing values go."""
        feature = splits.feature[place].astype(np.int64)
        seen = self.backend.seen(hist, place, feature)
        slot = (seen.code > np.repeat(splits.code[place], seen.n)).astype(SLOT)
        has_missing = has_code_for_missing(self.bins, feature)
        last = np.cumsum(seen.n) - 1
        slot[last[has_missing]] = STAY
        n_children = np.full(len(place), 2)
        self._split_categories(hist, seen, feature, slot, n_children)
        if self.is_rated and not self.lets_stay:
            slot = self._to_largest(slot, n_children, seen, has_missing)
        splits.missing_slot[place] = np.where(has_missing, slot[last], STAY)
        return self._tables_of(place, feature, seen, slot, n_children)

    def _tables_of(
        self,
        place: HostArray,
        feature: HostArray,
        seen: Seen,
        slot: HostArray,
        n_children: HostArray,
    ) -> TableSplits:
        """TableSplits from what nodes have seen of the features they test, and where that goes."""
        sums = _child_sums(slot, n_children, seen)
        of_categories = ~self.is_ordered[feature]
        return TableSplits(place, n_children, sums, _lists_of(place, of_categories, seen, slot))

    def _to_largest(
        self, slot: HostArray, n_children: HostArray, seen: Seen, has_missing: HostArray
    ) -> HostArray:
        """The slots with missing values sent to the largest child."""
        weight = self.channels.weight_of(_child_sums(slot, n_children, seen))
        largest = first_largest(weight, n_children)
        last = np.cumsum(seen.n) - 1
        is_missing = has_missing & (slot[last] == STAY)
        slot = slot.copy()
        slot[last[is_missing]] = largest[is_missing]
        return slot


def alike(
    categories: CategoryRules, bins: Bins, ridge: float, most_whole: int
) -> list[tuple[CategoryRules, HostArray]]:
    """Rules for categories, each with the nominal features that go by them.

    Few categories have the ridge of thresholds; up to `most_whole` of them are told from one
    another however few rows they have.
    """
    few, whole = bins.n_categories <= FEW_CATEGORIES, bins.n_categories <= most_whole
    found: dict[CategoryRules, HostArray] = {}
    for is_few, is_whole in ((False, False), (False, True), (True, False), (True, True)):
        rules = categories
        if is_few:
            rules = replace(rules, ridge=ridge)
        if is_whole:
            rules = replace(rules, min_category=1)
        found[rules] = found.get(rules, False) | ((few == is_few) & (whole == is_whole))
    nominal = [(rules, own & bins.is_nominal) for rules, own in found.items()]
    return [(rules, own) for rules, own in nominal if own.any()]


def _lists_of(place: HostArray, is_in: HostArray, seen: Seen, slot: HostArray) -> CategoryLists:
    """Where some of the nodes send the codes that they have seen, and all others."""
    is_own = np.repeat(is_in, seen.n)
    owner, code, slot = owners(seen.n[is_in]), seen.code[is_own], slot[is_own]
    absent = np.full(int(is_in.sum()), STAY, SLOT)
    others = np.flatnonzero(code == OTHERS)
    absent[owner[others]] = slot[others]
    is_listed = code != OTHERS
    n = np.bincount(owner[is_listed], minlength=len(absent))
    return CategoryLists(place[is_in], n, absent, code[is_listed], slot[is_listed])


def _child_sums(slot: HostArray, n_children: HostArray, seen: Seen) -> HostArray:
    known = slot != STAY
    child = (np.repeat(begins(n_children), seen.n) + slot)[known]
    sums = np.empty((int(n_children.sum()), seen.cells.shape[1]), np.int64)
    for channel, own in enumerate(seen.cells.T):
        # Sums stay below 2**53, so that adding them up as floats is exact, and far quicker.
        sums[:, channel] = np.bincount(child, own[known], minlength=len(sums))
    return sums
