"""Sums of nodes over the rows of all ranks: whole on each of them, or a share of the columns each.

Where there is little to add up, every rank gets all sums and searches all columns: one message.
Otherwise a rank gets the sums of its own columns, derives those of siblings and searches there,
and the ranks tell one another the best of each node. So neither what a rank sends nor what it
searches or keeps grows with the number of ranks.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from gputree.backends.candidates import trimmed
from gputree.backends.contract import (
    NO_SPLIT,
    Backend,
    CategoryRates,
    CategoryRules,
    Rates,
    Rows,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.seen import Seen
from gputree.cluster.comm import Ranks
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, Array, HostArray

SHARED_BYTES = 2**18  # sums of a frontier from which on columns are shared out
RATES = {"score": np.float64, "bits": np.float64, "is_heuristic": np.bool_}
SCORE, TURN, FEATURE_AT, CODE, NEXT, MISSING, LEFT = range(7)  # of what is told of a winner


@dataclass(frozen=True)
class Columns:
    """Which columns of a table each rank sums and searches."""

    bins: Bins
    comm: Ranks

    @cached_property
    def first(self) -> HostArray:
        """The first feature of each part, and at last how many there are; parts have equal bins."""
        share = np.arange(self.comm.size + 1) * self.bins.width / self.comm.size
        return np.searchsorted(self.bins.offset, share)

    @cached_property
    def bounds(self) -> HostArray:
        """Where the bins of each part begin, and at last where all end."""
        return self.bins.offset[self.first]

    @cached_property
    def own(self) -> slice:
        """The features of this rank."""
        at = self.comm.order.index(self.comm.rank)
        return slice(int(self.first[at]), int(self.first[at + 1]))

    @cached_property
    def own_bins(self) -> Bins:
        return Bins(self.bins.features[self.own])

    @cached_property
    def owner(self) -> HostArray:
        """The rank that has each feature."""
        return np.repeat(np.array(self.comm.order), np.diff(self.first))


@dataclass
class SpreadHist:
    """Sums of some nodes of all ranks; they are added up when they are first needed."""

    local: Backend
    columns: Columns
    rows: Rows
    channels: Channels
    sums: Array  # (nodes, bins, numbers) of the rows here, of all ranks, or those of a share
    is_added: bool = False
    is_shared: bool = False

    @property
    def bins(self) -> Bins:
        return self.columns.bins

    @property
    def n_nodes(self) -> int:
        return len(self.sums)

    def add(self, is_shared: bool | None = None) -> None:
        """Add up the sums of all ranks, if that has not been done."""
        if self.is_added:
            return
        comm, is_on_host = self.columns.comm, isinstance(self.sums, np.ndarray)
        if is_shared is None:
            is_shared = self.sums.nbytes >= SHARED_BYTES
        self.is_added, self.is_shared = True, bool(is_shared) and comm.size > 1 and is_on_host
        if self.is_shared:
            self.sums = comm.add_parts(self.sums, self.columns.bounds)
        else:
            comm.add(self.sums)

    def derived(self, siblings: Siblings, above: "SpreadHist | None") -> "SpreadHist":
        """The sums of a frontier from those tallied and those of the parents."""
        self.add(True if above is not None and above.is_shared else None)
        sums = self.sums[siblings.built]
        if above is not None:
            parents = above.sums
            if self.is_shared and not above.is_shared:
                own = self.columns.own
                parents = parents[:, self.bins.offset[own.start] : self.bins.offset[own.stop]]
            at = np.flatnonzero(siblings.parent >= 0)
            sums[at] = parents[siblings.parent[at]] - sums[at]
        return replace(self, sums=sums)

    def whole(self) -> "SpreadHist":
        """The same with the sums of all columns on each rank."""
        self.add(False)
        if self.is_shared:
            columns = self.columns
            self.sums = columns.comm.gather_parts(self.sums, columns.bounds)
            self.is_shared = False
        return self

    @property
    def here(self) -> Any:
        """The sums of this rank as the local backend knows them."""
        bins = self.columns.own_bins if self.is_shared else self.bins
        return self.local.hist_of(self.rows, self.sums, bins)

    # The search.

    def best_splits(self, search: Search) -> Splits:
        """The best split of each node among those that all ranks have found."""
        self.add()
        if not self.is_shared:
            return self.local.best_splits(self.here, search)
        winner = self._own_winners(search)
        return _as_splits(self.columns.comm.join("best", winner, _better))

    def _own_winners(self, search: Search) -> HostArray:
        """The best of each node among the own columns, as numbers that are told."""
        own, n_channels = self.columns.own, self.channels.n
        told = np.zeros((self.n_nodes, LEFT + n_channels), np.int64)
        told[:, SCORE] = np.full(self.n_nodes, NO_SPLIT).view(np.int64)
        if own.start == own.stop:
            return told
        found = self.local.best_splits(self.here, search_of(search, own))
        feature = found.feature + own.start
        told[:, SCORE] = np.asarray(found.score, np.float64).view(np.int64)
        if search.rank is not None:
            # What was drawn is better than what was not, and then what comes sooner in the draw.
            turn = search.rank[np.arange(self.n_nodes), feature]
            told[:, TURN] = np.where(turn < search.n_drawn, 0, turn)
        told[:, FEATURE_AT], told[:, CODE], told[:, NEXT] = feature, found.code, found.next_code
        told[:, MISSING], told[:, LEFT:] = found.missing_slot, found.left
        return told

    def rate(self, search: Search) -> Rates:
        """The best threshold of each feature of each node, by those who have the feature."""
        self.add()
        if not self.is_shared:
            return self.local.rate(self.here, search)
        own, told = self.columns.own, None
        if own.start < own.stop:
            told = self.local.rate(self.here, search_of(search, own))
        parts = [each for each in self._told(told, self.columns.comm.order) if each is not None]
        names = [field.name for field in fields(Rates)]
        return Rates(*(np.concatenate([getattr(p, name) for p in parts], axis=1) for name in names))

    def rate_categories(
        self, place: HostArray, feature: HostArray, rules: CategoryRules, most_seen: HostArray
    ) -> CategoryRates:
        """What splits of pairs of a node and a feature are worth, by those who have the feature."""
        self.add()
        if not self.is_shared:
            return self.local.rate_categories(self.here, place, feature, rules, most_seen)
        owner, rank = self.columns.owner[feature], self.columns.comm.rank
        at, told = np.flatnonzero(owner == rank), None
        if at.size:
            pairs = place[at], feature[at] - self.columns.own.start
            told = self.local.rate_categories(self.here, *pairs, rules, most_seen[at])
        found: dict[str, HostArray] = {
            name: np.empty(len(place), dtype) for name, dtype in RATES.items()
        }
        for rank, rates in enumerate(self._told(told)):
            for name, values in found.items():
                if rates is not None:
                    values[owner == rank] = getattr(rates, name)
        return CategoryRates(**found)

    def seen(self, place: HostArray, feature: HostArray) -> Seen:
        """What pairs have seen, told by those who have their features."""
        self.add()
        if not self.is_shared:
            return self.local.seen(self.here, place, feature)
        owner, rank = self.columns.owner[feature], self.columns.comm.rank
        at, told = np.flatnonzero(owner == rank), None
        if at.size:
            told = self.local.seen(self.here, place[at], feature[at] - self.columns.own.start)
        parts = [each for each in self._told(told) if each is not None]
        every = Seen.joined(parts) if parts else self.local.seen(self.here, place, feature)
        # Those of one rank come after those of another; they go back to where they were asked for.
        return every.in_order(np.argsort(np.argsort(owner, kind="stable")))

    def _told(self, own: Any, order: Sequence[int] | None = None) -> list[Any]:
        """What each rank has found."""
        told = [pickle.loads(each) for each in self.columns.comm.gather(pickle.dumps(own))]
        return told if order is None else [told[rank] for rank in order]


def search_of(search: Search, own: slice) -> Search:
    """The search among some of the features.

    Of those that are drawn there all are tried; of the others, where none can be split, the first
    one in the order of the draw.
    """
    is_ordered, rank = search.is_ordered, search.rank
    if is_ordered is not None:
        is_ordered = is_ordered[..., own]
    if rank is None:
        return replace(search, is_ordered=is_ordered)
    is_drawn = rank[:, own] < search.n_drawn
    order = np.argsort(np.where(is_drawn, rank.shape[1], rank[:, own]), axis=1, kind="stable")
    turn = np.empty_like(order)
    np.put_along_axis(turn, order, np.arange(order.shape[1])[None, :], axis=1)
    turn[is_drawn] = -1
    return replace(search, is_ordered=is_ordered, rank=turn, n_drawn=0)


def _better(one: HostArray, other: HostArray) -> HostArray:
    """The better winner of each node: scores as they are compared, then the lower feature."""
    turns = one[:, TURN], other[:, TURN]
    scores = [
        trimmed(np.ascontiguousarray(told[:, SCORE]).view(np.float64)) for told in (one, other)
    ]
    is_found = [score > NO_SPLIT for score in scores]
    is_tie = (scores[0] == scores[1]) & (turns[0] == turns[1])
    is_first = np.where(
        is_tie,
        one[:, FEATURE_AT] <= other[:, FEATURE_AT],
        np.where(turns[0] == turns[1], scores[0] > scores[1], turns[0] < turns[1]),
    )
    is_first = np.where(is_found[0] & is_found[1], is_first, is_found[0])
    return np.where(is_first[:, None], one, other)


def _scores(told: HostArray) -> HostArray:
    return np.ascontiguousarray(told[:, SCORE]).view(np.float64)


def _as_splits(told: HostArray) -> Splits:
    return Splits(
        score=_scores(told),
        feature=told[:, FEATURE_AT].astype(FEATURE),
        code=told[:, CODE].copy(),
        next_code=told[:, NEXT].copy(),
        missing_slot=told[:, MISSING].astype(SLOT),
        left=told[:, LEFT:].copy(),
    )
