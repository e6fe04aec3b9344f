"""The loss on rows that no tree has seen, round after round."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gputree.backends.contract import Backend
from gputree.backends.watched import add_values
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.tree.tree import Tree

# How far off predictions are: of target, weights and what trees add up to, (outputs, rows).
Measure: TypeAlias = Callable[[HostArray, HostArray, HostArray], float]


class RunningScores:
    """What trees add up to on the rows of tables, (outputs, rows)."""

    def __init__(self, backend: Backend, tables: Sequence[Table], start: HostArray) -> None:
        """`start` has what the sums begin with, (outputs, rows)."""
        self._backend, self._tables, self._raw = backend, tables, start

    def add(self, trees: Sequence[Tree]) -> HostArray:
        """The sums with the trees of one more round."""

        def ends(tree: Tree) -> HostArray:
            leaf = [self._backend.apply(tree, table) for table in self._tables]
            return np.concatenate([np.empty(0, np.int64), *leaf])  # there may be no rows here

        add_values(self._raw, trees, ends)
        return self._raw


def has_ended(watch: "Watch | None") -> bool:
    """Whether somebody watches, and sees no hope left."""
    return watch is not None and watch.has_ended


class Watch:
    """Keeps losses, and tells when they have not become smaller for too long."""

    def __init__(
        self,
        mean: Measure,
        y: HostArray,
        weight: HostArray,
        patience: int | None,
        tol: float,
    ) -> None:
        self._mean, self._y, self._weight = mean, y, weight
        self._patience, self._tol = patience, tol
        self._best = np.inf
        self._rounds_since = 0
        self.errors: list[float] = []

    def after(self, raw: HostArray) -> float:
        """The loss after one more round, with what all trees add up to, (outputs, rows)."""
        return self.note(self._mean(self._y, self._weight, raw))

    def note(self, error: float) -> float:
        """Keep the loss after one more round."""
        self.errors.append(error)
        if error < self._best - self._tol:
            self._best, self._rounds_since = error, 0
        else:
            self._rounds_since += 1
        return error

    @property
    def has_ended(self) -> bool:
        """Whether there is no hope left."""
        return self._patience is not None and self._rounds_since >= self._patience
