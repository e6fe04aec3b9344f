"""One fit: its table and target, and the trees that are grown on all of the rows or on some."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gputree.backends.timed import Timed
from gputree.data.dataset import Dataset
from gputree.data.target import Target, weights_of
from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.tree.tree import Tree

if TYPE_CHECKING:
    from gputree.estimators.base import TreeEstimator


class Growing:
    """What an estimator makes of the arguments of `fit`, before any tree is grown."""

    def __init__(self, estimator: "TreeEstimator", X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator = estimator
        self._formula, self._impurity = parameters.one_of(
            "criterion", estimator.criterion, estimator.CRITERIA
        )
        estimator._check_ways()
        budget = parameters.budget(estimator.histogram_budget)
        self.dataset, self.weight = estimator._read(X, sample_weight)
        self._y = self.dataset.y if y is None else y
        self.target, self.learned = estimator._target(self._y, self.dataset.n_rows, self.weight)
        estimator._check_table(self.dataset)
        self.rules = estimator._rules(self._formula, self.target, self.dataset, self._y)
        self.backend = Timed(self.dataset.backend)
        self._budget = min(budget, self.backend.room_for_hists() or budget)
        self._compiled_before = self.backend.compile_seconds
        self.peak_bytes = 0
        self.heuristic: set[int] = set()  # columns whose levels were divided by a heuristic

    @property
    def compile_seconds(self) -> float:
        """Seconds spent compiling since the first tree."""
        return self.backend.compile_seconds - self._compiled_before

    @property
    def answers(self) -> HostArray:
        """The target as trees answer it: numbers of classes, or (rows, outputs)."""
        if self.target.label is not None:
            return self.target.label
        return self._estimator._answers(self._y, self.dataset.n_rows, self.learned)

    @property
    def counts(self) -> HostArray:
        """Which rows have a weight."""
        return np.asarray(weights_of(self.target) > 0)

    def weighed(self, weight: HostArray) -> Target:
        """The target of the same rows with other weights."""
        return self._estimator._weighed(self.answers, self.learned, weight)

    def on(self, dataset: Dataset) -> Self:
        """The same fit on other columns of its rows."""
        other = copy.copy(self)
        other.dataset, other.heuristic = dataset, set()
        other.rules = self._estimator._rules(self._formula, self.target, dataset, self._y)
        return other

    def learn_from(self, other: "Growing", columns: HostArray) -> None:
        """Take in what was noted while a tree was grown on some of the columns."""
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        self.heuristic |= set(columns[sorted(other.heuristic)].tolist())

    def grow_all(self, targets: Iterable[Target], seeds: Iterable[int]) -> Iterator[Tree]:
        """A tree for each target, by the random draws of its seed, in their order."""
        for target, seed in zip(targets, seeds, strict=True):
            yield self.grow(target, seed)

    def grow(self, target: Target, seed: int | None = None) -> Tree:
        """A tree on the rows that have a weight in the target."""
        estimator, dataset, backend = self._estimator, self.dataset, self.backend
        rules = self.rules
        if target is not self.target:  # shares of the weight are of another total
            rules = estimator._rules(self._formula, target, dataset, self._y)
        rules = replace(rules, seed=self.rules.seed if seed is None else seed)
        grown = grow(backend, dataset.data, dataset.bins, target, rules, self._budget)
        leaf = np.empty(0) if target.label is not None else backend.leaves(grown.rows)
        at_values = estimator.thresholds == "value"
        how = Finish(self._impurity, rules.is_multiway, rules.missing, at_values)
        held = backend.bytes_held(dataset.data, grown.rows) + grown.peak_bytes
        self.peak_bytes = max(self.peak_bytes, held)
        self.heuristic |= set(grown.draft.heuristic)
        return finish(grown, target, leaf, how)
