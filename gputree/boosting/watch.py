"""The loss on rows that no tree has seen, round after round."""

from collections.abc import Callable

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.tree import Tree


class Watch:
    """Keeps losses, and tells when they have not become smaller for too long."""

    def __init__(
        self,
        mean: Callable[[HostArray, HostArray, HostArray], float],
        y: HostArray,
        weight: HostArray,
        sums: Callable[[list[Tree]], HostArray],
        patience: int | None,
        tol: float,
    ) -> None:
        """`sums` gives what all trees add up to, (outputs, rows), once some more are there."""
        self._mean, self._y, self._weight, self._sums = mean, y, weight, sums
        self._patience, self._tol = patience, tol
        self._best = np.inf
        self._rounds_since = 0
        self.errors: list[float] = []

    def after(self, trees: list[Tree]) -> float:
        """The loss after one more round."""
        error = self._mean(self._y, self._weight, self._sums(trees))
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
