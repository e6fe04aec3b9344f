"""Samples of the rows that trees are grown on, one a tree: on the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gputree.comm import total
from gputree.data.bins import Bins
from gputree.data.target import Target, drawn_target, without_rows
from gputree.dtypes import HostArray

Sampler: TypeAlias = Any  # a handle of a backend, which callers pass on and never open


class Order(Protocol):
    """An order of the rows that count."""

    @property
    def row(self) -> HostArray:
        """Those that are here, in that order."""
        ...

    @property
    def n(self) -> int:
        """How many there are."""
        ...


class Draws(Protocol):
    """Which rows are drawn for each tree, as `gputree.ensembles.draws` tells."""

    @property
    def seed(self) -> int: ...

    @property
    def n_drawn(self) -> int: ...

    @property
    def replaces(self) -> bool: ...

    @property
    def order(self) -> Order: ...

    @property
    def weight(self) -> HostArray | None: ...

    def counts(self, tree: int) -> HostArray:
        """How often each row is drawn for a tree, (rows,)."""
        ...


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
