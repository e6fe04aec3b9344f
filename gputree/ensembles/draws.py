"""Which rows each tree of an ensemble is grown on.

Draws depend on the seed, the number of the tree and what the rows hold, never on the order of
execution or of the rows. A row of weight 2 has twice the chance of one of weight 1: that of two
rows that are alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree import sampling
from gputree.comm import ALONE, Comm, largest, total
from gputree.data.target import LARGEST_COUNT, Target
from gputree.dtypes import SUM, HostArray
from gputree.ensembles.places import Places, Reach, least
from gputree.estimators import parameters
from gputree.estimators.growing import Growing
from gputree.fit.fit import Fit


@dataclass(frozen=True, eq=False)
class ContentOrder:
    """An order of the rows that count, which depends on what they hold alone.

    Rows that agree in all of it are alike to every tree; they keep their order.
    """

    row: HostArray  # those that are here, sorted by what they hold
    n: int  # how many there are on all ranks
    comm: Comm
    places: Places | None = None  # where several ranks have some

    @classmethod
    def alone(cls, row: HostArray) -> "ContentOrder":
        """The order of rows that are all here."""
        return cls(row, len(row), ALONE)

    @property
    def place(self) -> HostArray:
        """The place of each row among those of all ranks."""
        return np.arange(self.n) if self.places is None else self.places.own

    def drawn_by_group(self, seed: int, group: HostArray, n: int) -> HostArray:
        """Which rows are drawn, as by `sampling.drawn_by_group`; `group` has that of each row."""
        if self.places is None:
            return sampling.drawn_by_group(seed, group, n)
        n_groups = int(largest(self.comm, group.max(initial=-1))) + 1
        n_each = total(self.comm, np.bincount(group, minlength=n_groups))
        number = sampling.numbers_to_shuffle(seed, self.place)
        is_drawn = np.zeros(len(group), bool)
        for at, n_own in enumerate(sampling.divided(n, n_each).tolist()):
            own = np.flatnonzero(group == at)
            if n_own:
                is_drawn[own] = least(self.comm, number[own], self.place[own], n_own)
        return is_drawn


@dataclass(frozen=True, eq=False)
class Draws:
    """Samples of the rows, one a tree."""

    seed: int
    n_drawn: int  # rows of each sample
    replaces: bool  # whether a row may be drawn more than once
    order: ContentOrder
    weight: HostArray | None  # integers, of the rows here in that order; None: all alike
    n_rows: int  # that are here

    def counts(self, tree: int) -> HostArray:
        """How often each row is drawn for a tree, (rows,)."""
        seed, order = sampling.tree_seed(self.seed, tree), self.order
        counts = np.zeros(self.n_rows, SUM)
        counts[order.row] = self._in_order(seed) if order.places is None else self._spread(seed)
        return counts

    def _in_order(self, seed: int) -> HostArray:
        """How often each is, in their order, where all rows are here."""
        n = self.order.n
        if self.replaces and self.weight is not None:
            reached = np.cumsum(self.weight)
            number = sampling.drawn_with_replacement(seed, self.n_drawn, int(reached[-1]))
            drawn = np.searchsorted(reached, number, side="right")
        elif self.replaces:
            drawn = sampling.drawn_with_replacement(seed, self.n_drawn, n)
        else:
            drawn = sampling.drawn_without_replacement(seed, self.n_drawn, n)
        return np.bincount(drawn, minlength=n)

    def _spread(self, seed: int) -> HostArray:
        """The same of rows on several ranks, of which each draws a share."""
        if self.replaces:
            return self._reach.counts(seed, self.n_drawn)
        place = self.order.place
        number = sampling.numbers_without_replacement(seed, place)
        return least(self.order.comm, number, place, self.n_drawn)

    @property
    def _reach(self) -> Reach:
        # Until Python 3.12 a `cached_property` has one lock for all, and ranks that are threads
        # wait for one another here.
        known = vars(self)
        if "_known_reach" not in known:
            assert self.order.places is not None
            known["_known_reach"] = Reach.of(self.order.places, self.weight)
        reach: Reach = known["_known_reach"]
        return reach

    def samples(self, tree: int) -> HostArray:
        """The rows drawn for a tree, those drawn twice being there twice."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), self.counts(tree))


def content_order(growing: Growing) -> ContentOrder:
    """The rows that count, in an order that depends on what they hold."""
    return order_of(growing, growing.counts, growing.answers, growing.target.weight)


def order_of(
    fit: Fit, is_in: HostArray, answers: HostArray, weight: HostArray | None
) -> ContentOrder:
    """Some rows, in an order that depends on their codes, answers and weights alone."""
    dataset = fit.dataset
    table = dataset.data, dataset.bins, is_in
    row = fit.backend.row_order(*table, answers, weight)
    if dataset.comm.size == 1:
        return ContentOrder.alone(row)
    key = np.zeros(dataset.n_rows, np.uint64)
    key[is_in] = sampling.with_answers(fit.backend.row_keys(*table), answers[is_in])
    own = np.ones(len(row), SUM) if weight is None else weight[row]
    places = Places.of(dataset.comm, key[row], own)
    return ContentOrder(row, int(places.first[-1]), dataset.comm, places)


def draws_of(growing: Growing, seed: int, max_samples: Any, *, replaces: bool) -> Draws:
    """The samples that the parameters of an ensemble ask for."""
    order = content_order(growing)
    weight = growing.target.weight
    n_drawn = n_samples(max_samples, growing.target, order.n, replaces=replaces)
    own = None if weight is None or not replaces else weight[order.row]
    return Draws(seed, n_drawn, replaces, order, own, growing.dataset.n_rows)


def n_samples(max_samples: Any, target: Target, n_counted: int, *, replaces: bool) -> int:
    """How many rows to draw for each tree, of so many that have a weight."""
    n_all = n_counted
    if replaces and target.weight is not None and target.channels.weight_shift == 0:
        held = int(total(target.comm, target.weight.sum()))
        if held <= LARGEST_COUNT:  # whole weights that small are counts of rows
            n_all = held
    if max_samples is None:
        return n_all
    if parameters.is_whole(max_samples):
        parameters.whole("max_samples", max_samples, 1)
        n_drawn = int(max_samples)
    else:
        n_drawn = max(1, int(parameters.share_above_zero("max_samples", max_samples) * n_all))
    if not replaces and n_drawn > n_counted:
        raise ValueError(
            f"max_samples={max_samples!r}: {n_drawn} rows are to be drawn without replacement from "
            f"{n_counted} that have a weight; draw fewer, or set bootstrap=True"
        )
    return n_drawn
