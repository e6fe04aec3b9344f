"""Samples of the rows that trees are grown on, one a tree: on the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gputree import sampling
from gputree.comm import ALONE, Comm, total
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
    place: HostArray | slice  # of each among those of all ranks
    n: int  # how many there are
    comm: Comm

    @classmethod
    def alone(cls, row: HostArray) -> "ContentOrder":
        """The order of rows that are all here."""
        return cls(row, slice(None), len(row), ALONE)

    def all_of(self, values: HostArray) -> HostArray:
        """The integers that all ranks have for their rows, from those of the rows here."""
        every = np.zeros(self.n, SUM)
        every[self.place] = values
        self.comm.add(every)
        return every


@dataclass(frozen=True, eq=False)
class Draws:
    """Samples of the rows, one a tree."""

    seed: int
    n_drawn: int  # rows of each sample
    replaces: bool  # whether a row may be drawn more than once
    order: ContentOrder
    weight: HostArray | None  # (rows of all ranks,) integers, in that order; None: all alike
    n_rows: int  # that are here

    def counts(self, tree: int) -> HostArray:
        """How often each row is drawn for a tree, (rows,)."""
        seed, order = sampling.tree_seed(self.seed, tree), self.order
        counts = np.zeros(self.n_rows, SUM)
        if self.replaces and self.weight is not None:
            reached = np.cumsum(self.weight)
            number = sampling.drawn_with_replacement(seed, self.n_drawn, int(reached[-1]))
            drawn = np.searchsorted(reached, number, side="right")
        elif self.replaces:
            drawn = sampling.drawn_with_replacement(seed, self.n_drawn, order.n)
        else:
            drawn = sampling.drawn_without_replacement(seed, self.n_drawn, order.n)
        counts[order.row] = np.bincount(drawn, minlength=order.n)[order.place]
        return counts

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
