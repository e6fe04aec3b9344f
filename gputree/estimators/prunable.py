"""Estimators whose trees can be pruned: at fit, or later into another estimator."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from gputree import sampling
from gputree.arrays import cuda_number, to_numpy
from gputree.backends.registry import choose
from gputree.data.inputs import read_table
from gputree.data.table import Table
from gputree.data.target import weights_of, without_rows
from gputree.data.weights import read_weights
from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.estimators.growing import Growing
from gputree.fit.dataset import Dataset
from gputree.pruning.by_hand import cut_by_hand, merge_alike
from gputree.pruning.cost_complexity import CostComplexity
from gputree.pruning.errors import by_impurity
from gputree.pruning.methods import method_of
from gputree.pruning.path import path_of
from gputree.pruning.report import PruningReport
from gputree.pruning.task import Method, Pruned, Sample, Task, needed
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends, Walk

UNPRUNED: dict[str, Any] = {"pruning": None, "validation_fraction": None, "ccp_alpha": 0.0}


class Prunable(BaseEstimator):
    """What is the same for all estimators about pruning."""

    pruning: Any = None
    validation_fraction: float | None = None
    ccp_alpha: float = 0.0
    nodes_: Tree
    schema_: Any
    missing_: str
    missing: str
    unknown_category: str
    device: str
    backend: str | None
    n_jobs: int | None

    def prune(
        self,
        method: Any = None,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        nodes: Any = None,
        **options: Any,
    ) -> Self:
        """A new estimator with a pruned tree; this one stays as it is.

        Parameters
        ----------
        method : str or object of `gputree.pruning`
            'cost_complexity', 'reduced_error', 'pessimistic', 'minimum_error', 'error_based',
            'critical_value' or 'pre'; `docs/pruning.md` explains them.
        X : array-like or data frame, optional
            Validation rows; for 'cost_complexity' without `alpha` the training rows.
        y : array-like, optional
            Their targets.
        sample_weight : array-like, optional
            Their weights.
        nodes : array-like of int, optional
            The nodes to turn into leaves, instead of a method.
        **options
            The options of a method that is given by name.

        Returns
        -------
        estimator
            A fitted estimator with `pruning_report_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gputree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = DecisionTreeClassifier().fit(X, y)
        >>> small = tree.prune("cost_complexity", alpha=0.02)
        >>> tree.get_n_leaves(), small.get_n_leaves()
        (9, 3)
        >>> print(tree.prune(nodes=[2]).pruning_report_)
        method   by hand
        nodes    17 before, 3 after
        leaves   9 before, 2 after
        error    0 before, 0.333333 after (training rows)
        pruned   1 node: chosen by hand
          node 2: leaf 50, subtree 0
        """
        check_is_fitted(self)
        if nodes is not None:
            if method is not None or options:
                raise ValueError(
                    "with nodes the tree is pruned by hand; leave out method and its options"
                )
            return self._with(cut_by_hand(self._bare_task(), nodes))
        if method is None:
            raise ValueError("give a pruning method, or the nodes to turn into leaves")
        chosen = method_of(method, **options)
        self._check_method(chosen)
        return self._with(chosen.prune(self._task(chosen, X, y, sample_weight)))

    def simplify(self) -> Self:
        """A new estimator without splits whose branches all give the same prediction.

        Predictions do not change, except for rows that are divided among leaves; class
        probabilities may change.

        Examples
        --------
        >>> from gputree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=1).fit([[0], [1], [2]], [0, 0, 0])
        >>> tree.simplify().get_n_leaves()
        1
        """
        check_is_fitted(self)
        return self._with(merge_alike(self._bare_task()))

    def cost_complexity_pruning_path(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow a tree and prune its weakest links one after another, as in scikit-learn.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or Dataset
            The training rows.
        y : array-like
            Their targets.
        sample_weight : array-like, optional
            Their weights.

        Returns
        -------
        Bunch
            `ccp_alphas`, and the `impurities` and `n_leaves` of the trees from each alpha on.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gputree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
        >>> path.n_leaves
        array([9, 7, 5, 4, 3, 2, 1])
        >>> path.ccp_alphas.round(3)
        array([0.   , 0.007, 0.009, 0.013, 0.03 , 0.26 , 0.333])
        """
        plain = clone(self)
        known = plain.get_params(deep=False)
        plain.set_params(**{name: value for name, value in UNPRUNED.items() if name in known})
        tree = plain.fit(X, y, sample_weight).nodes_
        path = path_of(tree, by_impurity(tree))
        return Bunch(ccp_alphas=path.alpha, impurities=path.risk, n_leaves=path.n_leaves)

    # What estimators fill in.

    def _ends(self, tree: Tree, table: Table, missing: str) -> Ends:
        """Where the rows of a table end."""
        raise NotImplementedError

    def _answers(self, y: Any, n_rows: int, learned: dict[str, Any]) -> HostArray:
        """A target for a fitted tree: numbers of its classes, or (rows, outputs)."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        """X, if it fits the columns of the training."""
        raise NotImplementedError

    def _check_method(self, method: Method) -> None:
        """Refuse a method by which trees of this kind cannot be pruned."""

    def _walker(self, table: Table) -> Walk:
        """How the rows of a table walk from any node of a tree on."""
        n_cells = table.n_rows * table.n_features
        place = cuda_number(table.columns[0].values)
        where = self.device, self.backend
        choice = choose(*where, n_jobs=self.n_jobs, n_cells=n_cells, data_on=place)
        return choice.backend.walker(table)

    # Pruning of a fitted tree.

    def _bare_task(self) -> Task:
        return Task(self.nodes_, hasattr(self, "classes_"))

    def _task(self, method: Method, X: Any, y: Any, sample_weight: Any) -> Task:
        """What the method needs, made of the rows that were given."""
        needs, bare = method.needs_now(), self._bare_task()
        if X is None or needs == "nothing":
            if X is not None or y is not None:
                raise ValueError(f"pruning by {method.name!r} uses no rows; leave out X and y")
            return bare
        if needs == "folds":
            growing = Growing(self, X, y, sample_weight)
            self._check_same(growing)
            return self._fold_task(bare.tree, growing, self.missing_)
        sample = self._sample(X, y, sample_weight)
        if needs == "training":
            return Task(bare.tree, bare.is_classes, training=sample)
        return Task(bare.tree, bare.is_classes, validation=sample)

    def _sample(self, X: Any, y: Any, sample_weight: Any) -> Sample:
        """Rows that a user brings to a fitted tree."""
        table = read_table(self._checked(X), like=self.schema_)
        return self._sample_of(table, y, sample_weight, dict(vars(self)), self.missing_)

    def _sample_of(
        self, table: Table, y: Any, sample_weight: Any, learned: dict[str, Any], missing: str
    ) -> Sample:
        n_rows = table.n_rows
        weight = read_weights(sample_weight, n_rows)
        if weight is None:
            weight = np.ones(n_rows)
        return Sample(
            self._answers(y, n_rows, learned),
            weight,
            ends=lambda tree: self._ends(tree, table, missing),
            read=lambda column: to_numpy(table.columns[column].values),
            walker=lambda: self._walker(table),
        )

    def _fold_task(self, tree: Tree, growing: Growing, missing: str) -> Task:
        """A task with trees grown without a part of the rows."""
        weight, is_in = weights_of(growing.target), growing.counts

        def folds(cv: int | tuple[int, ...]) -> Iterator[tuple[Tree, Sample]]:
            for is_out in drawn_folds(cv, is_in, growing.rules.seed):
                grown = growing.grow(without_rows(growing.target, is_out))
                yield grown, self._rows_of(growing, is_out, missing, weight)

        training = self._rows_of(growing, is_in, missing, weight)
        return Task(tree, growing.target.label is not None, training=training, folds=folds)

    def _rows_of(
        self, growing: Growing, is_in: HostArray, missing: str, weight: HostArray | None
    ) -> Sample:
        """Some rows of a fit, to judge trees by; others stay, with a weight of 0."""
        dataset = growing.dataset
        weight = np.where(is_in, 1.0 if weight is None else weight, 0.0)
        return Sample(
            growing.answers,
            weight,
            ends=lambda tree: self._ends_in_parts(tree, dataset, missing),
            read=lambda column: to_numpy(dataset.table.columns[column].values),
            walker=lambda: self._walker(dataset.table),
        )

    def _ends_in_parts(self, tree: Tree, dataset: Dataset, missing: str) -> Ends:
        """Where the rows of a fit end, wherever their values are."""
        found, first = [], 0
        for part in dataset.parts():
            row, node, share = self._ends(tree, part, missing)
            found.append((row + first, node, share))
            first += part.n_rows
        row, node, share = (np.concatenate(each) for each in zip(*found, strict=True))
        return row, node, share

    def _check_same(self, growing: Growing) -> None:
        """Refuse other classes or outputs than those of the fitted tree."""
        for name, value in growing.learned.items():
            if not np.array_equal(getattr(self, name), value):
                raise ValueError(
                    f"X and y have to be the training rows: {name} was "
                    f"{getattr(self, name)}, and is {value}"
                )

    def _with(self, pruned: Pruned) -> Self:
        other = copy.copy(self)
        other.nodes_, other.pruning_report_ = pruned.tree, pruned.report
        return other

    # Pruning in a fit.

    def _grown_and_pruned(
        self, growing: Growing, method: Method | None, X_val: Any, y_val: Any
    ) -> tuple[Tree, PruningReport | None]:
        """The tree of a fit."""
        target, is_out = growing.target, None
        if self.validation_fraction is not None:
            is_out = held_out(self.validation_fraction, growing.counts, growing.rules.seed)
            target = without_rows(target, is_out)
        tree = growing.grow(target)
        if method is None:
            return tree, None
        task = self._fold_task(tree, growing, self.missing)
        if X_val is not None:
            schema = replace(growing.dataset.schema, unknown=self.unknown_category)
            table = read_table(not_coded(X_val), like=schema)
            other = self._sample_of(table, y_val, None, growing.learned, self.missing)
            task = replace(task, validation=other)
        elif is_out is not None:
            other = self._rows_of(growing, is_out, self.missing, growing.weight)
            task = replace(task, validation=other)
        pruned = method.prune(task)
        return pruned.tree, pruned.report

    def _method(self, has_validation: bool) -> Method | None:
        """How to prune, if at all; refuses what does not go together."""
        alpha = parameters.real("ccp_alpha", self.ccp_alpha, 0.0)
        share = self.validation_fraction
        if share is not None:
            parameters.open_share("validation_fraction", share)
            if has_validation:
                raise ValueError("give validation_fraction, or X_val and y_val, not both")
        if self.pruning is not None and alpha > 0.0:
            raise ValueError("ccp_alpha and pruning both prune; give one of them")
        method: Method | None = None
        if self.pruning is not None:
            method = method_of(self.pruning)
            self._check_method(method)
        elif alpha > 0.0:
            method = CostComplexity(alpha=alpha, risk="impurity")
        has_validation = has_validation or share is not None
        needs = "nothing" if method is None else method.needs_now()
        if needs == "validation" and not has_validation:
            assert method is not None
            needed(None, method.name)
        if has_validation and needs not in ("validation", "folds"):
            raise ValueError(
                f"pruning={self.pruning!r} does not use validation rows; leave them out, or "
                "prune by 'reduced_error', 'cost_complexity' or 'pre'"
            )
        return method


def not_coded(X: Any) -> Any:
    """X, unless it is a Dataset."""
    if isinstance(X, Dataset):
        raise TypeError(
            "predictions need a table of values; a Dataset holds only the bins of its rows"
        )
    return X


def held_out(share: float, is_in: HostArray, seed: int) -> HostArray:
    """Which rows are kept for validation: a share of those that count, at least one."""
    row = np.flatnonzero(is_in)
    n_out = min(max(1, round(share * len(row))), len(row) - 1)
    if n_out < 1:
        raise ValueError("validation_fraction needs at least two rows, one on each side")
    is_out = np.zeros(len(is_in), bool)
    is_out[row[sampling.shuffled(seed, len(row))[:n_out]]] = True
    return is_out


def drawn_folds(cv: int | tuple[int, ...], is_in: HostArray, seed: int) -> Iterator[HostArray]:
    """The rows of each fold, of those that count."""
    row = np.flatnonzero(is_in)
    if isinstance(cv, tuple):
        if len(cv) != len(is_in):
            raise ValueError(f"cv has the folds of {len(cv)} rows, but there are {len(is_in)} rows")
        fold = np.asarray(cv)[row]
    else:
        fold = np.empty(len(row), np.int64)
        fold[sampling.shuffled(seed, len(row))] = np.arange(len(row)) % cv
    for number in np.unique(fold) if len(row) > 1 else ():
        is_out = np.zeros(len(is_in), bool)
        is_out[row[fold == number]] = True
        yield is_out
