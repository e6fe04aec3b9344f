"""What all single trees share: fitting, walking, storing."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import array_api_compat
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from gputree.arrays import cuda_number, is_foreign
from gputree.backends.contract import Backend
from gputree.backends.registry import choose
from gputree.comm import Comm, total
from gputree.data.inputs import read_table, refuse_collection
from gputree.data.table import Kind, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import STAY, Array, HostArray
from gputree.estimators import model_file, parameters
from gputree.estimators.constraints import read_ways
from gputree.estimators.explainable import Explainable
from gputree.estimators.exportable import Exportable
from gputree.estimators.growing import Growing
from gputree.estimators.partitioned import Partitioned
from gputree.estimators.prunable import Prunable, not_coded
from gputree.estimators.readable import Readable
from gputree.estimators.reported import Reported
from gputree.export.plan import Plan
from gputree.fit.dataset import Dataset
from gputree.growth.builder import Grown
from gputree.growth.choose_loop import grow_tree
from gputree.growth.constraints import Constraints
from gputree.growth.ratio import MANY_CATEGORIES, RatioRules
from gputree.growth.rules import Rules, in_units_of, rows_floor, score_floor, weight_floor
from gputree.growth.surrogates import Style
from gputree.kernels.criteria import Criterion
from gputree.prediction import Walked, answer_there, leaves_there, walk_table
from gputree.tree import joined
from gputree.tree.familiar import FamiliarTree
from gputree.tree.paths import path_matrix
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends

MOST_EXACT = 20  # categories: half a million subsets
MOST_BRANCHES = STAY - 1  # one more for categories that a node has not seen


class TreeEstimator(Partitioned, Explainable, Exportable, Prunable, Readable, Reported):
    """A single decision tree; classifiers and regressors say what their target is."""

    # Parameters that say where and how to compute. They cannot change a model, so they are no
    # part of it.
    WHERE: ClassVar[tuple[str, ...]] = ("device", "backend", "n_jobs", "histogram_budget")

    _n_trees: int = 1  # that will be grown on the table
    CRITERIA: ClassVar[dict[str, Criterion]]
    combines_columns: ClassVar[bool] = False  # whether nodes may test several columns at once

    # What only some estimators let their users choose.
    splitter: str = "best"
    nominal: str = "subset"
    subset_search: str = "auto"
    max_exact_levels: int = 10
    greedy_length: int = 8
    min_samples_category: int | str = 1
    missing: str = "direction"
    max_surrogates: int = 5
    surrogate_style: str = "cart"
    unknown_category: str = "missing"
    thresholds: str = "midpoint"
    mdl_correction: bool = False
    monotonic_cst: Any = None
    min_gap: float = 0.0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Grow a tree on the rows of X with target y, and prune it if `pruning` is set.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or Dataset
            NaN and None are missing values; infinities are values.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target; not needed if a Dataset has it.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; one of weight 0 is left out.
        X_val : array-like or data frame, optional
            Validation rows for pruning.
        y_val : array-like, optional
            Their targets.

        Returns
        -------
        self
        """
        start = time.perf_counter()
        method = self._method(X_val is not None)
        growing = Growing(self, X, y, sample_weight)
        dataset, backend = growing.dataset, growing.backend
        tree, report = self._grown_and_pruned(growing, method, X_val, y_val)
        backend.release()
        # Nothing is written before everything has worked: a failed fit leaves the old model whole.
        self._keep_columns(X, dataset)
        for name, value in growing.learned.items():
            setattr(self, name, value)
        self.nodes_, self.pruning_report_ = tree, report
        self.missing_ = self.missing
        self.max_features_ = growing.rules.n_drawn
        self.backend_, self.device_ = backend.name, backend.device
        self.fit_report_ = growing.report(X, start, tree.n_nodes)
        return self

    def apply(self, X: Any) -> Array:
        """The number of the leaf that each row of X reaches."""
        check_is_fitted(self)
        if is_foreign(X) and self.nodes_.directions is None:
            table = read_table(self._checked(X), like=self.schema_)
            found = leaves_there(self._backend_for(table), lambda: Stack.of([self.nodes_]), table)
            if found is not None:
                return like(X, found[:, 0])
        return self._like(X, self._leaves(X))

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each row of X passes, as a sparse (n_rows, n_nodes) matrix of ones."""
        leaf = self._leaves(X)
        return path_matrix(self.nodes_, leaf)

    def get_depth(self) -> int:
        """The number of splits on the longest path from the root to a leaf."""
        check_is_fitted(self)
        return int(self.nodes_.depth.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.nodes_.n_leaves

    @property
    def tree_(self) -> FamiliarTree:
        """The tree with the names and shapes of scikit-learn's trees."""
        n_classes = len(self.classes_) if hasattr(self, "classes_") else None
        return self.nodes_.familiar(self.n_features_in_, n_classes)

    @property
    def feature_importances_(self) -> HostArray:
        """The share of each feature in the total decrease of impurity by splits."""
        check_is_fitted(self)
        return self.nodes_.importances(self.n_features_in_)

    def _described(self) -> dict[str, Any]:
        return model_file.describe(self)

    def _stored_arrays(self) -> dict[str, HostArray]:
        return joined.arrays_of(self.nodes_)

    def _restore(self, header: dict[str, Any], arrays: dict[str, HostArray]) -> None:
        model_file.restore_tree(self, header, arrays)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # What classifiers and regressors fill in.

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[Target, dict[str, Any]]:
        """The statistics of the rows, and the fitted attributes that tell what they mean."""
        raise NotImplementedError

    def _weighed(
        self, answers: HostArray, learned: dict[str, Any], weight: HostArray | None, comm: Comm
    ) -> Target:
        """The statistics of rows whose answers have been read."""
        raise NotImplementedError

    def _grow(
        self, backend: Backend, dataset: Dataset, target: Target, rules: Rules, budget: int
    ) -> Grown:
        """A tree on the rows that have a weight in the target."""
        return grow_tree(backend, dataset.data, dataset.bins, target, rules, budget)

    def _leaf_values(self) -> HostArray:
        """What is predicted at each node, (nodes, outputs)."""
        raise NotImplementedError

    # Steps of a fit.

    def _keep_columns(self, X: Any, dataset: Dataset) -> None:
        """Set what scikit-learn and later predictions want to know of the columns."""
        self.schema_ = replace(dataset.schema, unknown=self.unknown_category)
        if dataset is not X:
            validate_data(self, X, skip_check_array=True)
            return
        self.n_features_in_ = dataset.n_features
        if dataset.feature_names is not None:
            self.feature_names_in_ = dataset.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_ways(self, criterion: Criterion) -> None:
        """Refuse ways to split, and to deal with missing values, that do not go together."""
        for name, ways in parameters.WAYS.items():
            parameters.one_of(name, getattr(self, name), dict.fromkeys(ways))
        parameters.whole("max_exact_levels", self.max_exact_levels, 2)
        if self.max_exact_levels > MOST_EXACT:
            raise ValueError(
                f"max_exact_levels={self.max_exact_levels}: {MOST_EXACT} categories have "
                f"{2 ** (MOST_EXACT - 1) - 1:,} subsets; more would never end"
            )
        parameters.whole("greedy_length", self.greedy_length, 1)
        parameters.whole("max_surrogates", self.max_surrogates, 0)
        for is_wrong, what in self._wrong_ways(criterion):
            if is_wrong:
                raise ValueError(what)

    def _wrong_ways(self, criterion: Criterion) -> list[tuple[bool, str]]:
        """Whether some ways are asked for that do not go together, and what to do then."""
        is_class_tree = "gini" in self.CRITERIA
        return [
            (
                self.nominal == "multiway" and not criterion.has_branches,
                f"criterion={self.criterion!r} compares two children; use nominal='subset', or "
                f"another criterion for nominal='multiway', such as {next(iter(self.CRITERIA))!r}",
            ),
            (
                self.nominal == "multiway" and self.missing == "surrogate",
                "surrogates agree with a split in two; use nominal='subset' with "
                "missing='surrogate', or missing='fractional' with nominal='multiway'",
            ),
            (
                self.missing == "fractional" and not is_class_tree,
                "missing='fractional' divides a row among class counts; a regression has "
                "missing='direction', 'surrogate' or 'category'",
            ),
            (
                self.splitter == "random" and self.nominal == "multiway",
                "splitter='random' draws two groups of categories; use nominal='subset'",
            ),
            (
                self.splitter == "random" and self.criterion == "gain_ratio",
                "criterion='gain_ratio' compares the best splits of features; use "
                "criterion='entropy' with splitter='random'",
            ),
            (
                self.monotonic_cst is not None and self.criterion == "gain_ratio",
                "monotonic_cst is for trees whose thresholds are searched by an impurity; use "
                "another criterion than 'gain_ratio'",
            ),
            (
                self.monotonic_cst is not None and self.missing in ("fractional", "surrogate"),
                "monotonic_cst needs rows that go one way; use missing='direction' or 'category'",
            ),
            (
                self.monotonic_cst is not None and self.pruning is not None,
                "pruning judges by what nodes have seen, and monotonic_cst changes what they "
                "answer; use ccp_alpha",
            ),
            (
                self.subset_search == "greedy" and not is_class_tree,
                "subset_search='greedy' collects categories of a class; for a regression "
                "'ordered' is exact",
            ),
        ]

    def _check_table(self, dataset: Dataset) -> None:
        """Refuse columns that the estimator cannot split."""
        for feature in dataset.bins.features:
            if feature.kind is not Kind.NOMINAL:
                continue
            n_categories = len(feature.categories or ())
            if self.nominal == "multiway" and n_categories > MOST_BRANCHES:
                raise ValueError(
                    f"column {feature.name!r} has {n_categories:,} categories, and a node has at "
                    f"most {MOST_BRANCHES:,} branches; use nominal='subset', or merge rare ones"
                )
            if (
                self.nominal == "subset"
                and self.subset_search == "exact"
                and n_categories > MOST_EXACT
            ):
                raise ValueError(
                    f"column {feature.name!r} has {n_categories:,} categories, and "
                    f"subset_search='exact' tries all subsets of up to {MOST_EXACT}; use 'auto', "
                    "'ordered' or 'principal'"
                )

    def _rules(self, criterion: Criterion, target: Target, dataset: Dataset, y: Any) -> Rules:
        """The stopping rules in the units of the target."""
        n_features = dataset.n_features
        n_rows, channels = int(total(target.comm, target.n_rows)), target.channels
        weight = int(channels.weight_of(target.totals))
        share = parameters.real("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.0, 0.5)
        decrease = parameters.real("min_impurity_decrease", self.min_impurity_decrease, 0.0)
        parameters.whole("max_depth", self.max_depth, 1, or_none=True)
        parameters.whole("max_leaf_nodes", self.max_leaf_nodes, 2, or_none=True)
        min_rows_split, min_rows_leaf = (
            parameters.count_or_share(name, getattr(self, name), least, n_rows)
            for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1))
        )
        is_divided = self.missing == "fractional"
        min_category, most_whole = parameters.rare_categories(self.min_samples_category)
        return Rules(
            criterion=in_units_of(criterion, channels),
            max_depth=self.max_depth,
            max_leaves=self.max_leaf_nodes,
            min_rows_split=min_rows_split,
            min_rows_leaf=min_rows_leaf,
            min_weight_split=rows_floor(min_rows_split, target) if is_divided else 0,
            min_weight_leaf=max(
                weight_floor(share, weight), rows_floor(min_rows_leaf, target) if is_divided else 0
            ),
            min_score=score_floor(decrease, channels, weight),
            splits_without_gain=not criterion.needs_gain,
            n_drawn=parameters.n_drawn(self.max_features, n_features),
            seed=parameters.seed(self.random_state),
            missing=self.missing,
            surrogates=Style(self.max_surrogates, 2 if self.surrogate_style == "rpart" else 0),
            is_multiway=self.nominal == "multiway",
            subset_method=self.subset_search,
            most_exact=self.max_exact_levels,
            list_length=self.greedy_length,
            is_random=self.splitter == "random",
            ratio=self._ratio(dataset) if self.criterion == "gain_ratio" else None,
            constraints=self._constraints(dataset, channels),
            min_category=min_category,
            most_whole=most_whole,
        )

    def _constraints(self, dataset: Dataset, channels: Channels) -> Constraints | None:
        """The ways that predictions may go with columns; None where none is given."""
        if self.monotonic_cst is None:
            return None
        if channels.n_scored > 1 + channels.is_classes:
            what = "multiclass classification" if channels.is_classes else "multiple output"
            raise ValueError(
                f"Monotonicity constraints are not supported with {what}; monotonic_cst is for two "
                "classes or one output"
            )
        way = read_ways(self.monotonic_cst, dataset, type(self).__name__)
        has_one_class = channels.is_classes and channels.n_scored == 1  # its share is always 1
        return Constraints(way, is_of_means=True) if way.any() and not has_one_class else None

    def _ratio(self, dataset: Dataset) -> RatioRules:
        n_declared = np.array([len(categories or ()) for categories in dataset.schema.categories])
        n_categories = np.minimum(n_declared, dataset.bins.n_categories)
        has_few = n_categories < MANY_CATEGORIES * dataset.n_weighted
        in_average = has_few if has_few.any() else None
        return RatioRules(self.mdl_correction, in_average, self.min_gap)

    # Steps of a prediction.

    def _leaves(self, X: Any) -> HostArray:
        """The leaf of each row, on the host."""
        check_is_fitted(self)
        return self._walk(self._checked(X)).leaf()

    def _walk(self, X: Any) -> Walked:
        """Where the rows of X end."""
        return self._walk_table(self.nodes_, read_table(X, like=self.schema_), self.missing_)

    def _walk_table(self, tree: Tree, table: Table, missing: str) -> Walked:
        """The same for any tree and a table that has been read."""
        return walk_table(self._backend_for(table), tree, table, missing)

    def _ends(self, tree: Tree, table: Table, missing: str) -> Ends:
        """Where all rows of a table end: row, node and share for each end."""
        return self._walk_table(tree, table, missing).ends()

    def _backend_for(self, table: Table, n_trees: int = 1) -> Backend:
        """What predicts a table of this size by so many trees."""
        return choose(
            self.device,
            self.backend,
            n_jobs=self.n_jobs,
            n_cells=table.n_rows * table.n_features,
            n_trees=n_trees,
            n_walks=table.n_rows * n_trees,
            data_on=cuda_number(table.columns[0].values),
        ).backend

    def _values(self, X: Any, value: HostArray) -> Array:
        """The values of leaves, (nodes, outputs), for each row of X; where X is if that can be."""
        table = read_table(self._checked(X), like=self.schema_)
        found = self._there(X, table, lambda: value)
        if found is not None:
            return found
        return self._walk_table(self.nodes_, table, self.missing_).values(value)

    def _there(
        self, X: Any, table: Table, value: Callable[[], HostArray], label: HostArray | None = None
    ) -> Array | None:
        """The same, or labels of the largest values, made where the table is; None on the host.

        What leaves answer is worked out only where a backend is asked.
        """
        if not is_foreign(X):
            return None
        # To add to -0.0 changes nothing, not even the sign of a zero.
        start, divisor = -0.0, 1.0

        def stack() -> Stack:
            return Stack.of([self.nodes_], [value()])

        return answer_there(self._backend_for(table), stack, table, start, divisor, label)

    def _added_up(self) -> tuple[Stack, HostArray]:
        value = self._leaf_values()
        return Stack.of([self.nodes_], [value]), np.zeros(value.shape[1])

    def _plan(self) -> Plan:
        check_is_fitted(self)
        value = self._leaf_values()
        return Plan(
            type(self).__name__,
            self.schema_,
            self.missing_,
            (self.nodes_,),
            (value,),
            (0,),
            np.zeros(value.shape[1]),
            classes=getattr(self, "classes_", None),
        )

    def _has_outputs(self) -> bool:
        return hasattr(self, "classes_") or self.nodes_.value.shape[1] > 1

    def _checked(self, X: Any) -> Any:
        return checked(self, X)

    def _like(self, X: Any, result: HostArray) -> Array:
        return like(X, result)


def checked(estimator: BaseEstimator, X: Any) -> Any:
    """X, if an estimator can make a prediction of it."""
    not_coded(X)
    if _has_nothing_to_check(estimator, X):
        return X
    refuse_collection(X)
    if len(getattr(X, "shape", ())) == 2:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return X


def _has_nothing_to_check(estimator: BaseEstimator, X: Any) -> bool:
    """Whether X is a nameless matrix as wide as at a fit without names, as most are.

    Looking for the names of its columns would take as long as the prediction of a few rows.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def like(X: Any, result: Array) -> Array:
    """The result in the library and on the device of X, where that is possible."""
    if not is_foreign(X):
        return result
    xp = array_api_compat.array_namespace(X)
    if is_foreign(result):  # it is on the device of X
        return result if type(result) is type(X) else xp.from_dlpack(result)
    if result.dtype.kind not in "biuf":
        return result
    return xp.asarray(result, device=array_api_compat.device(X))
