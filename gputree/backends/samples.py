"""Samples of the rows that trees are grown on, one a tree: on the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gputree import sampling
from gputree.backends.places import Places, Reach, least
from gputree.comm import ALONE, Comm, largest, total
from gputree.data.bins import Bins
from gputree.data.target import Target, drawn_target, without_rows
from gputree.dtypes import SUM, HostArray

Sampler: TypeAlias = Any  # a handle of a backend, which callers pass on and never open


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


@dataclass(frozen=True, eq=False)
class Samples:
    """The targets of samples of the rows."""

    target: Target  # of all rows
    draws: Draws
    # What the rows of each class count in a sample that has so many of each; None for 1.
    factor: Callable[[HostArray], HostArray] | None = None

    def of(self, tree: int) -> Target:
        """The target of the sample of one tree."""
        target, counts = self.target, self.draws.counts(tree)
        if not self.draws.replaces:
            return without_rows(target, counts == 0)
        factor = None
        if self.factor is not None:
            assert target.label is not None
            here = np.bincount(target.label, counts, minlength=target.channels.n_scored)
            factor = self.factor(total(target.comm, here))
        return drawn_target(target, counts, self.draws.n_drawn, factor)


class Sampling(Protocol):
    """What a backend says of the rows of the trees of an ensemble."""

    def sampler(self, samples: Samples) -> Sampler:
        """The rows that samples are drawn from, where the backend computes."""
        ...

    def sampled(self, sampler: Sampler, tree: int) -> Target:
        """The target of the sample of one tree, as `Samples.of` finds it."""
        ...

    def begin_together(self, data: Any, bins: Bins, targets: Sequence[Target]) -> Any:
        """The rows of several targets, each at a root of its own.

        The codes of the rows that take part lie side by side, tree after tree. All targets have the
        same channels.
        """
        ...
