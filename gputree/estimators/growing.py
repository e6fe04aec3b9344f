"""A fit of trees: its target, its rules, and the trees on all of the rows or on some."""

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from gputree.data.target import Target, has_weight
from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.fit.dataset import Dataset, read_dataset
from gputree.fit.fit import Fit
from gputree.growth.builder import Grown
from gputree.growth.choose_loop import grow_trees, trees_at_once
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.tree.tree import Tree

if TYPE_CHECKING:
    from gputree.estimators.base import TreeEstimator
    from gputree.growth.combining import Combinations


Finished: TypeAlias = tuple[Tree, int, set[int]]  # the bytes it held, and divided by a heuristic


class Growing(Fit):
    """What an estimator makes of the arguments of `fit`, before any tree is grown."""

    def __init__(
        self, estimator: "TreeEstimator", X: Any, y: Any, sample_weight: Any, model: Any = None
    ) -> None:
        """`model` is what is fitted, where that is more than one tree of the estimator."""
        self._estimator = estimator
        _check_criterion(estimator)
        self._criterion = parameters.criterion(estimator.criterion, estimator.CRITERIA)
        estimator._check_ways(self._criterion)
        budget = parameters.budget(estimator.histogram_budget)
        given = X, y, sample_weight
        n_trees = estimator._n_trees
        dataset, self.weight = read_dataset(
            estimator, *given, n_trees, estimator if model is None else model
        )
        self._y = dataset.y if y is None else y
        answers = self._y, dataset.n_rows, self.weight, dataset.comm
        self.target, self.learned = estimator._target(*answers)
        estimator._check_table(dataset)
        self.rules = estimator._rules(self._criterion, self.target, dataset, self._y)
        self._combinations: Combinations | None = None  # made for the first tree
        super().__init__(dataset, budget)

    @property
    def answers(self) -> HostArray:
        """The target as trees answer it: numbers of classes, or (rows, outputs)."""
        if self.target.label is not None:
            return self.target.label
        return self._estimator._answers(self._y, self.dataset.n_rows, self.learned)

    @property
    def counts(self) -> HostArray:
        """Which rows have a weight."""
        return has_weight(self.target)

    def weighed(self, weight: HostArray) -> Target:
        """The target of the same rows with other weights."""
        return self._estimator._weighed(self.answers, self.learned, weight, self.dataset.comm)

    def on(self, dataset: Dataset) -> Self:
        """The same fit on other columns of its rows."""
        other = copy.copy(self)
        other.dataset, other.heuristic, other._combinations = dataset, set(), None
        other.rules = self._estimator._rules(self._criterion, self.target, dataset, self._y)
        return other

    def grow_all(self, targets: Iterable[Target], seeds: Iterable[int]) -> Iterator[Tree]:
        """A tree for each target, by the random draws of its seed, in their order."""
        pairs = zip(targets, seeds, strict=True)
        backend, dataset = self.backend, self.dataset
        n_rows = dataset.n_everywhere
        n_bytes = n_rows * dataset.n_features * dataset.bins.code_bytes
        for n in trees_at_once(backend, n_rows, n_bytes, self.budget):
            self.go_over()
            batch = list(itertools.islice(pairs, n))
            if not batch:
                return
            own = [target for target, _ in batch]
            rules = [self._rules_of(target, seed) for target, seed in batch]
            then = partial(self._finished, own, rules)
            for done in grow_trees(
                backend, dataset.data, dataset.bins, own, rules, self.budget, then
            ):
                yield self._noted(*done)

    def grow(self, target: Target, seed: int | None = None) -> Tree:
        """A tree on the rows that have a weight in the target."""
        self.go_over()
        rules = self._rules_of(target, seed)
        grown = self._estimator._grow(self.backend, self.dataset, target, rules, self.budget)
        return self._noted(*self._finished([target], [rules], 0, grown))

    def _rules_of(self, target: Target, seed: int | None) -> Rules:
        rules = self.rules
        if target is not self.target:  # shares of the weight are of another total
            rules = self._estimator._rules(self._criterion, target, self.dataset, self._y)
        if self._combinations is None and self._estimator.combines_columns:
            self._combinations = self._estimator._combinations(self.dataset)
        seed = self.rules.seed if seed is None else seed
        return replace(rules, seed=seed, combinations=self._combinations)

    def _finished(
        self, targets: Sequence[Target], all_rules: Sequence[Rules], number: int, grown: Grown
    ) -> Finished:
        """One of several trees; several threads may ask at once."""
        # Times of verbs that are part of others count in these.
        backend, estimator = self.dataset.backend, self._estimator
        target, rules = targets[number], all_rules[number]
        leaf, there = None, None
        if target.label is None and backend.measures_there:
            there = partial(backend.apart, grown.rows)
        elif target.label is None:
            leaf = backend.leaves(grown.rows) if grown.leaf is None else grown.leaf
        at_values = estimator.thresholds == "value"
        how = Finish(rules.criterion, rules.is_multiway, rules.missing, at_values)
        held = backend.bytes_held(self.dataset.data, grown.rows) + grown.peak_bytes
        return finish(grown, target, leaf, how, there), held, grown.draft.heuristic

    def _noted(self, tree: Tree, held: int, heuristic: set[int]) -> Tree:
        self.holds(held)
        self.heuristic |= heuristic
        return tree


def _check_criterion(estimator: "TreeEstimator") -> None:
    """Tell programs of scikit-learn of a criterion that is not there."""
    criterion = estimator.criterion
    if not isinstance(criterion, str) or "squared_error" not in estimator.CRITERIA:
        return
    if criterion == "absolute_error":
        raise ValueError(
            "criterion='absolute_error' needs medians, which histograms of sums cannot give; use "
            "criterion='squared_error', or GradientBoostingRegressor(loss='absolute_error')"
        )
