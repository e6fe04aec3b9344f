"""The best split of unordered categories, from how often each category comes with each class.

What has been summed for a nominal feature is a small table, categories by channels. It is searched
here, on the host, for every backend that has no search of its own. Two ways to split:

- multiway: a child for each category that the node has; categories that it has not share an
  empty one;
- a subset: some categories to child 0, the others to child 1. `exact` tries all divisions.
  `ordered` sorts the categories by their share of the first class, or by their mean, and tries
  the cuts of that order; for two classes and for one output no other division is better, if the
  impurity is strictly concave. `principal` sorts by the first principal component of the class
  shares (Coppersmith, Hong and Hosking), `greedy` collects categories one by one.

Child 0 of a subset takes the first category that the node has. Categories that have fewer rows in a
node than `min_category` are searched there as if they were one category, the last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gputree.backends.candidates import first_best, missing_slots, scores, trimmed
from gputree.backends.contract import NO_SPLIT, CategoryRules, CategorySplits
from gputree.backends.seen import Seen, has_code_for_missing
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import SLOT, STAY, HostArray
from gputree.formulas import HOST, branch_bits
from gputree.kernels.criteria import Criterion
from gputree.runs import begins, owners, within

SUMS_AT_ONCE = 2**21  # sums of subsets that are made together
POWERS = 64  # steps towards the first principal component
FEW_CATEGORIES = 8  # nodes with no more categories are searched apart from those with more

Candidates: TypeAlias = tuple[HostArray, HostArray]  # scores (nodes,), subsets (nodes, categories)


@dataclass(frozen=True)
class CategoryTables:
    """What backends summed for pairs of a node and a nominal feature, one pair after another.

    The codes of a pair are numbered anew where they are those that its node has seen.
    """

    cells: HostArray  # (codes, channels)
    n_codes: HostArray  # (pairs,)
    # (pairs,) how many codes are categories; one more stands for missing values.
    n_values: HostArray

    @property
    def start(self) -> HostArray:
        """Where the codes of each pair begin."""
        return begins(self.n_codes)

    @property
    def owner(self) -> HostArray:
        """The pair of each code."""
        return owners(self.n_codes)


def tables_of(bins: Bins, seen: Seen, feature: HostArray) -> CategoryTables:
    """What was seen of some features as tables; categories that a node has not are one there."""
    return CategoryTables(seen.cells, seen.n, seen.n - has_code_for_missing(bins, feature))


def is_one_dimensional(channels: Channels) -> bool:
    """Whether one number tells what rows are like: a share, or a mean."""
    return channels.n_scored <= (2 if channels.is_classes else 1)


def split_categories(
    tables: CategoryTables, channels: Channels, rules: CategoryRules
) -> CategorySplits:
    """The best splits of pairs of a node and a feature."""
    n_values = tables.n_codes if rules.missing == "category" else tables.n_values
    tables = CategoryTables(tables.cells, tables.n_codes, n_values)
    owner = tables.owner
    is_category = within(tables.n_codes) < n_values[owner]
    # A small node has few of many categories: those it has are put side by side, in their order.
    present = np.flatnonzero(is_category & (channels.weight_of(tables.cells) > 0))
    is_rare = np.zeros(len(present), bool)
    if rules.min_category > 1 and not rules.is_multiway:
        is_rare = channels.rows_of(tables.cells[present]) < rules.min_category
    n_listed = np.bincount(owner[present[~is_rare]], minlength=len(n_values))
    has_pool = np.bincount(owner[present[is_rare]], minlength=len(n_values)) > 0
    n_present = n_listed + has_pool
    splits = CategorySplits(
        score=np.full(len(n_values), NO_SPLIT),
        bits=np.zeros(len(n_values)),
        is_heuristic=np.zeros(len(n_values), bool),
        n_children=n_present + (n_present < n_values) if rules.is_multiway else 0 * n_values + 2,
        n_seen=tables.n_codes,
        slot=np.full(len(owner), STAY, SLOT),
    )
    if rules.is_multiway:  # categories that the node has not share the last child
        splits.slot[is_category] = n_present[owner[is_category]]
    # Those with too few rows are one together, the entry after all others.
    entry = np.empty(len(present), np.int64)
    entry[~is_rare] = within(n_listed)
    entry[is_rare] = n_listed[owner[present[is_rare]]]
    for few in (True, False):
        pairs = np.flatnonzero((n_present <= FEW_CATEGORIES) == few)
        if pairs.size:
            of_pairs = np.flatnonzero((n_present <= FEW_CATEGORIES)[owner[present]] == few)
            some = pairs, present[of_pairs], entry[of_pairs]
            _split_some(tables, owner, some, channels, rules, splits)
    if has_pool.any():
        of_pool = np.full(len(n_values), STAY, SLOT)
        of_pool[owner[present[is_rare]]] = splits.slot[present[is_rare]]
        is_absent = is_category & has_pool[owner]
        is_absent[present] = False
        splits.slot[is_absent] = of_pool[owner[is_absent]]
    return splits


def _split_some(
    tables: CategoryTables,
    owner: HostArray,
    some: tuple[HostArray, HostArray, HostArray],
    channels: Channels,
    rules: CategoryRules,
    splits: CategorySplits,
) -> None:
    """Split some pairs, whose present codes are given, and which entry of its pair each is."""
    pairs, code, entry = some
    line = np.zeros(len(tables.n_codes), np.int64)
    line[pairs] = np.arange(len(pairs))
    line = line[owner[code]]
    known = np.zeros((len(pairs), int(entry.max(initial=0)) + 1, channels.n), np.int64)
    np.add.at(known, (line, entry), tables.cells[code])
    has_missing = tables.n_codes[pairs] > tables.n_values[pairs]
    last = (tables.start + tables.n_codes - 1)[pairs]
    missing = np.where(has_missing[:, None], tables.cells[last], 0)
    split = _multiway if rules.is_multiway else _subset
    found = split(known, missing, channels, rules)
    splits.score[pairs], splits.is_heuristic[pairs] = found.score, found.is_heuristic
    splits.slot[code] = found.slot[line, entry]
    if rules.missing == "direction":
        splits.slot[last[has_missing]] = found.missing_slot[has_missing]
    whole = (known.sum(axis=1) + missing)[:, None]
    branches = np.concatenate([found.branches, missing[:, None]], axis=1)
    weight, total = channels.weight_of(branches), channels.weight_of(whole)
    splits.bits[pairs] = in_turn(branch_bits(weight.astype(np.float64), total.astype(np.float64)))


@dataclass(frozen=True)
class _Outcome:
    score: HostArray  # (nodes,)
    slot: HostArray  # (nodes, categories)
    missing_slot: HostArray  # (nodes,) as learnt, or the larger child
    branches: HostArray  # (nodes, branches, channels) sums of known categories
    is_heuristic: HostArray  # (nodes,)


def _subset(
    known: HostArray, missing: HostArray, channels: Channels, rules: CategoryRules
) -> _Outcome:
    search = _Search(known, missing, channels, rules)
    score, is_left, side = search.best()
    left = np.where(is_left[:, :, None], known, 0).sum(axis=1)
    right = known.sum(axis=1) - left
    missing_slot = missing_slots(channels, left, right, missing, side)
    branches = np.stack([left, right], axis=1)
    return _Outcome(score, np.where(is_left, 0, 1), missing_slot, branches, search.is_heuristic)


def _multiway(
    known: HostArray, missing: HostArray, channels: Channels, rules: CategoryRules
) -> _Outcome:
    """A child for each category; missing values go to the largest."""
    weight = channels.weight_of(known)
    is_large = (weight >= max(1, rules.min_weight)) & (channels.rows_of(known) >= rules.min_rows)
    score = multiway_score(known, channels, rules.criterion)
    score = np.where(is_large.sum(axis=1) >= 2, score, NO_SPLIT)
    slot = np.broadcast_to(np.arange(known.shape[1]), weight.shape)
    is_exact = np.zeros(len(known), bool)
    return _Outcome(score, slot, np.argmax(weight, axis=1), known, is_exact)


def multiway_score(known: HostArray, channels: Channels, criterion: Criterion) -> HostArray:
    """What a child per category gains, in the units of all scores; (nodes,)."""
    sums = known[..., channels.scored].astype(np.float64) * np.array(channels.units)
    total = known.sum(axis=1)[..., channels.scored].astype(np.float64) * np.array(channels.units)
    part = channels.weight_of(known).astype(np.float64)
    # A node of which no value is known has no categories, and gains nothing.
    whole = np.maximum(channels.weight_of(known).sum(axis=1), 1).astype(np.float64)
    if criterion.user is not None:
        return np.asarray(criterion.user.of_children(sums, part))
    branch = HOST.by_source[criterion.formulas].branch
    if criterion.sums_by_branch:
        of_branch, of_node = np.zeros(part.shape), np.zeros(len(known))
        for c in range(sums.shape[2]):
            of_branch, of_node = branch(of_branch, sums[:, :, c]), branch(of_node, total[:, c])
        return np.asarray(in_turn(of_branch) - of_node)
    is_there = part > 0.0
    part = np.where(is_there, part, 1.0)
    score = np.zeros(len(known))
    for c in range(sums.shape[2]):
        terms = branch(sums[:, :, c], total[:, c, None], part, whole[:, None])
        score = score + in_turn(np.where(is_there, terms, 0.0))
    return np.maximum(score, 0.0)


def in_turn(terms: HostArray) -> HostArray:
    """The sum along the last axis, one after another: the same on every machine."""
    return np.asarray(np.add.accumulate(terms, axis=-1)[..., -1])


class _Search:
    """The search for the best subset of one feature in some nodes."""

    def __init__(
        self, known: HostArray, missing: HostArray, channels: Channels, rules: CategoryRules
    ) -> None:
        self.known, self.channels, self.rules = known, channels, rules
        self.missing = missing if rules.missing == "direction" else np.zeros_like(missing)
        self.is_present = channels.weight_of(known) > 0
        self.total = known.sum(axis=1) + self.missing
        self.is_heuristic = np.zeros(len(known), bool)

    def best(self) -> tuple[HostArray, HostArray, HostArray]:
        """Score, categories of child 0, and whether it takes missing values, for each node."""
        n_nodes, n_categories = self.is_present.shape
        score = np.full(n_nodes, NO_SPLIT)
        is_left = np.zeros((n_nodes, n_categories), bool)
        side = np.zeros(n_nodes, np.int64)
        for nodes, method in self._methods():
            part = self._of(nodes)
            score[nodes], is_left[nodes], side[nodes] = part._search(method)
        # A subset and its complement are one split; child 0 has the first category.
        first = self.is_present.argmax(axis=1)
        swaps = ~is_left[np.arange(n_nodes), first] & (score > NO_SPLIT)
        is_left[swaps] = self.is_present[swaps] & ~is_left[swaps]
        side[swaps] = 1 - side[swaps]
        return score, is_left, side

    def _of(self, nodes: HostArray) -> "_Search":
        return _Search(self.known[nodes], self.missing[nodes], self.channels, self.rules)

    def _methods(self) -> Iterator[tuple[HostArray, str]]:
        """Which nodes to search by which method."""
        rules, n_present = self.rules, self.is_present.sum(axis=1)
        order = "ordered" if is_one_dimensional(self.channels) else "principal"
        is_optimal = is_one_dimensional(self.channels) and rules.criterion.is_concave
        can_split = n_present + (self.channels.weight_of(self.missing) > 0) >= 2
        if rules.method != "auto":
            by_hand = np.flatnonzero(can_split)
            method = order if rules.method == "ordered" else rules.method
            is_exact = method == "exact" or (is_optimal and method == "ordered")
            self.is_heuristic[by_hand] = not is_exact
            yield by_hand, method
        elif is_optimal:
            yield np.flatnonzero(can_split), order
        else:
            few = n_present <= rules.most_exact
            yield np.flatnonzero(can_split & few), "exact"
            many = np.flatnonzero(can_split & ~few)
            self.is_heuristic[many] = True
            yield many, order

    def _search(self, method: str) -> tuple[HostArray, HostArray, HostArray]:
        """The better of both sides for missing values; to child 1 where they tie."""
        find = getattr(self, f"_{method}")
        if not len(self.known):
            return np.empty(0), np.empty(self.is_present.shape, bool), np.empty(0, np.int64)
        score, is_left = find(0 * self.missing)
        side = np.zeros(len(score), np.int64)
        if self.channels.weight_of(self.missing).any():
            with_missing = self._of(np.arange(len(score)))
            other, other_left = getattr(with_missing, f"_{method}")(self.missing)
            wins = trimmed(other) > trimmed(score)
            wins &= self.channels.weight_of(self.missing) > 0
            score, side = np.where(wins, other, score), np.where(wins, 1, 0)
            is_left = np.where(wins[:, None], other_left, is_left)
        return score, is_left, side

    # Each finds scores and subsets, with `extra` sums in child 0.

    def _exact(self, extra: HostArray) -> Candidates:
        n_nodes, n_categories = self.is_present.shape
        score, is_left = np.full(n_nodes, NO_SPLIT), np.zeros((n_nodes, n_categories), bool)
        n_present = self.is_present.sum(axis=1)
        for n in np.unique(n_present).tolist():
            alike = np.flatnonzero(n_present == n)
            step = max(1, (SUMS_AT_ONCE >> max(0, n - 1)) // self.channels.n)
            for first in range(0, len(alike), step):
                nodes = alike[first : first + step]
                category = np.nonzero(self.is_present[nodes])[1].reshape(-1, n)
                own = np.take_along_axis(self.known[nodes], category[:, :, None], axis=1)
                found, subset = self._all_subsets(own, extra[nodes], self.total[nodes])
                bits = subset[:, None] >> np.arange(max(n - 1, 0)) & 1 > 0
                chosen = np.concatenate([np.ones((len(nodes), min(n, 1)), bool), bits], axis=1)
                score[nodes] = found
                is_left[nodes[:, None], category] = chosen
        return score, is_left

    def _all_subsets(
        self, own: HostArray, extra: HostArray, total: HostArray
    ) -> tuple[HostArray, HostArray]:
        """The best score and subset of categories that join category 0; each is one addition."""
        left = extra[:, None] + own[:, :1].sum(axis=1, keepdims=True)
        for category in range(1, own.shape[1]):
            left = np.concatenate([left, left + own[:, category : category + 1]], axis=1)
        return self._first_best(left, total)

    def _ordered(self, extra: HostArray) -> Candidates:
        """By the share of the first class, the largest first; by the mean."""
        weight = np.maximum(self.channels.weight_of(self.known), 1) + self.rules.ridge
        first = self.known[..., self.channels.scored][..., 0] / weight
        return self._cuts(-first if self.channels.is_classes else first, extra)

    def _principal(self, extra: HostArray) -> Candidates:
        return self._cuts(self._component(), extra)

    def _component(self) -> HostArray:
        """The first principal component of class shares, or of means, at each category."""
        weight = self.channels.weight_of(self.known).astype(np.float64)
        some = np.where(weight > 0.0, weight, 1.0)[:, :, None]
        whole = np.maximum(self.channels.weight_of(self.known).sum(axis=1), 1).astype(np.float64)
        units = np.array(self.channels.units)
        sums = self.known[..., self.channels.scored].astype(np.float64) * units
        total = self.known.sum(axis=1)[..., self.channels.scored].astype(np.float64) * units
        apart = sums / some - (total / whole[:, None])[:, None]
        apart = np.where(weight[:, :, None] > 0.0, apart, 0.0)
        n = apart.shape[2]
        spread = np.empty((len(apart), n, n))
        for a in range(n):
            for b in range(n):
                spread[:, a, b] = in_turn(weight * apart[:, :, a] * apart[:, :, b])
        # From its longest row on, the matrix turns any vector towards the component.
        widest = np.argmax(np.diagonal(spread, axis1=1, axis2=2), axis=1)
        direction = spread[np.arange(len(spread)), widest]
        for _ in range(POWERS):
            largest = np.abs(direction).max(axis=1, keepdims=True)
            direction = direction / np.where(largest > 0.0, largest, 1.0)
            direction = in_turn(spread * direction[:, None])
        return in_turn(apart * direction[:, None])

    def _cuts(self, key: HostArray, extra: HostArray) -> Candidates:
        """The best cut of the categories in the order of a key."""
        order = np.argsort(np.where(self.is_present, key, np.inf), axis=1, kind="stable")
        own = np.take_along_axis(self.known, order[:, :, None], axis=1)
        left = extra[:, None] + np.cumsum(own, axis=1)
        is_end = np.take_along_axis(self.is_present, order, axis=1)
        score, last = self._first_best(left, self.total, is_end)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
        return score, (rank <= last[:, None]) & self.is_present

    def _greedy(self, extra: HostArray) -> Candidates:
        """For each class, or for the rarer of two: collect categories that have much of it."""
        if not self.channels.is_classes:
            raise ValueError("the greedy search is for classes")
        total = self.known.sum(axis=1)[:, self.channels.scored]
        if self.channels.n_scored == 2:
            return self._collect(np.argmin(total, axis=1), 0.5, extra)
        share = total / np.maximum(self.channels.weight_of(self.known).sum(axis=1), 1)[:, None]
        best: Candidates | None = None
        for c in range(self.channels.n_scored):
            found, is_left = self._collect(np.full(len(total), c), share[:, c, None], extra)
            if best is None:
                best = found, is_left
                continue
            wins = trimmed(found) > trimmed(best[0])
            best = np.where(wins, found, best[0]), np.where(wins[:, None], is_left, best[1])
        assert best is not None
        return best

    def _collect(
        self, wanted: HostArray, least_share: float | HostArray, extra: HostArray
    ) -> Candidates:
        """Move categories to child 0, each time the best of the next few; the best state wins."""
        n_nodes, n_categories = self.is_present.shape
        nodes = np.arange(n_nodes)
        weight = np.maximum(self.channels.weight_of(self.known), 1)
        share = self.known[nodes[:, None], np.arange(n_categories), wanted[:, None]] / weight
        order = np.argsort(np.where(self.is_present, -share, np.inf), axis=1, kind="stable")
        own = np.take_along_axis(self.known, order[:, :, None], axis=1)
        share = np.take_along_axis(share, order, axis=1)
        is_open = np.take_along_axis(self.is_present, order, axis=1)
        left = extra.copy()
        taken = np.zeros((n_nodes, n_categories), bool)
        score, best = np.full(n_nodes, NO_SPLIT), np.zeros((n_nodes, n_categories), bool)
        for step in range(n_categories):
            is_next = is_open & (np.cumsum(is_open, axis=1) <= self.rules.list_length)
            if step:  # the first category is taken whatever its share: a node needs a candidate
                is_next &= share >= least_share
            if not is_next.any():
                break
            found, at = self._first_best(left[:, None] + own, self.total, is_next)
            moves = np.asarray(is_next.any(axis=1))
            # Where no state is admissible yet, go on with the first category in line.
            at = np.where(np.isfinite(found), at, is_next.argmax(axis=1))
            left = np.where(moves[:, None], left + own[nodes, at], left)
            is_open[nodes[moves], at[moves]] = False
            taken[nodes[moves], at[moves]] = True
            wins = moves & (trimmed(found) > trimmed(score))
            score = np.where(wins, found, score)
            best = np.where(wins[:, None], taken, best)
        is_left = np.zeros_like(best)
        np.put_along_axis(is_left, order, best, axis=1)
        return score, is_left

    def _first_best(
        self, left: HostArray, total: HostArray, is_candidate: HostArray | bool = True
    ) -> tuple[HostArray, HostArray]:
        """The best score among sums of child 0, (nodes, candidates, channels), and its number."""
        score = scores(self.channels, left, total[:, None], self.rules, is_candidate)
        best = first_best(score)
        return score[np.arange(len(best)), best], best
