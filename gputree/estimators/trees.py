"""DecisionTreeClassifier and DecisionTreeRegressor."""

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import to_numpy
from gputree.comm import ALONE, Comm, total
from gputree.data.inputs import read_table
from gputree.data.kinds import CategoricalFeatures
from gputree.data.target import LARGEST_TARGET, Target, class_target, value_target
from gputree.dtypes import Array, HostArray
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator
from gputree.estimators.targets import class_factors, read_entries, read_labels, read_target
from gputree.kernels.criteria import FOR_CLASSES, FOR_VALUES, Criterion


class DecisionTreeClassifier(ClassifierMixin, TreeEstimator):
    """A decision tree for classification, grown on histograms.

    Parameters, attributes and behaviour are scikit-learn's where it has them. If a feature has at
    most `max_bins` distinct values, every midpoint is a possible threshold, and small tables give
    the textbook tree; others are binned at exact quantiles. Unordered categories are divided
    into two groups, or have one branch each. By default, rows whose tested value is missing go to
    the side that lowers the impurity more.

    The model is the same, byte for byte, on every backend and device, for any order of the rows
    and any `histogram_budget`.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'gain_ratio', 'error', 'twoing'}, default='gini'
        The measure of impurity that splits reduce; 'log_loss' is 'entropy'. 'error' is the share of
        rows outside the largest class; it needs a gain to split, while the others split every
        impure node that can be split. 'gain_ratio' is C4.5's choice of a feature, 'twoing' is
        CART's criterion of two groups of classes. `make_criterion` makes others.
    splitter : {'best', 'random'}, default='best'
        'best' searches all splits of a feature; 'random' draws one: a threshold within the range of
        the node, or a random group of its categories.
    max_depth : int, optional
        The maximum depth of the tree.
    min_samples_split : int or float, default=2
        The minimum number of rows in a node that is split; a float is a share of all rows. With
        missing='fractional', a part of a row counts as that part.
    min_samples_leaf : int or float, default=1
        The minimum number of rows in each child, counted in the same way; a float is a share of all
        rows.
    min_weight_fraction_leaf : float, default=0.0
        The minimum share of the total weight in each child.
    max_features : int, float, 'sqrt', 'log2' or None, default=None
        The number of features that are drawn and tried at each node. More are tried only if none of
        those drawn can be split.
    random_state : int, RandomState or None, default=None
        The seed for `max_features`, held-out rows and folds; without these nothing is random.
    max_leaf_nodes : int, optional
        Grow best-first up to this number of leaves.
    min_impurity_decrease : float, default=0.0
        The minimum decrease of impurity by a split, weighted by the node's share of the rows.
    ccp_alpha : float, default=0.0
        The complexity parameter of pruning: the weakest links up to it are pruned, as in
        scikit-learn.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        1 if the prediction must not fall as the feature grows, -1 if it must not rise. The
        prediction is that of a regression with one output, or the share of the second of two
        classes. Splits are then searched on the host, which takes longer.
    pruning : str, object of `gputree.pruning` or None, default=None
        How to prune the tree: 'cost_complexity', 'reduced_error', 'pessimistic', 'minimum_error',
        'error_based', 'critical_value' or 'pre', or an object with options.
    validation_fraction : float, optional
        The share of rows, drawn by `random_state`, that is held out as validation rows for pruning.
        `fit` takes given rows instead.
    class_weight : dict, 'balanced' or None, default=None
        The factor for the weights of the rows of each class.
    priors : 'data', 'uniform', dict or array-like, default='data'
        The prior probabilities of the classes, in the order of `classes_` or by label; an
        alternative to `class_weight`.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories. Ordered ones are split in their order.
    nominal : {'subset', 'multiway'}, default='subset'
        'subset' divides the categories of an unordered column into two groups, 'multiway' makes one
        branch per category.
    subset_search : {'auto', 'exact', 'ordered', 'principal', 'greedy'}, default='auto'
        How to find the two groups. 'exact' tries all divisions. 'ordered' sorts the categories by
        their share of the first class, which is equally good for two classes. 'principal' sorts
        them along the first principal component of the class shares. 'greedy' collects categories
        one by one. 'auto' uses 'ordered' for two classes, 'exact' for up to `max_exact_levels`
        categories in a node, and 'principal' beyond that.
    max_exact_levels : int, default=10
        The maximum number of categories for which 'auto' tries all divisions, up to 20.
    min_samples_category : int or 'auto', default='auto'
        The minimum number of rows of a category in a node, for divisions into two groups.
        Categories with fewer rows are pooled, together with those that do not occur in the node.
        'auto' means 10 rows in columns of more than 32 categories, and one row in others.
    greedy_length : int, default=8
        The number of candidates that 'greedy' compares in each step.
    missing : {'direction', 'category', 'fractional', 'surrogate'}, default='direction'
        The treatment of rows whose tested value is missing: they go to the side that lowers the
        impurity more; or are a category of their own, in an unordered column; or are divided among
        all branches, as in C4.5; or follow surrogate splits, as in CART.
    max_surrogates : int, default=5
        The maximum number of surrogate splits per node.
    unknown_category : {'missing', 'majority', 'error'}, default='missing'
        The treatment of categories that were not in training: as missing, by the largest child, or
        as an error. In an ordered column 'majority' means 'missing'.
    max_bins : int, default=255
        The maximum number of bins per feature, up to 65,535.
    histogram_budget : int, optional
        The memory of histograms in bytes; automatic by default. Never changes the model.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}, default='auto'
        Where to compute. A missing device is an error.
    backend : {'numpy', 'numba', 'cuda', 'cupy', 'torch'}, optional
        What to compute with; overrides the choice by `device`.
    n_jobs : int, optional
        The number of threads of the 'numba' backend; all cores by default. Never changes the model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    tree_ : FamiliarTree
        The tree with the names and shapes of scikit-learn's trees.
    nodes_ : Tree
        gputree's own tree: flat arrays with one entry per node.
    missing_ : str
        The treatment of missing values in this tree: `missing` as it was at fit.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the total gain of the splits.
    fit_report_ : FitReport
        Where the fit ran and why, seconds per phase, rows, peak bytes.
    pruning_report_ : PruningReport or None
        What was pruned, and why.
    n_features_in_, feature_names_in_, n_classes_, max_features_, backend_, device_
        As their names say.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> tree.predict(X[:2])
    array([0, 0])
    >>> round(tree.score(X, y), 3)
    0.973
    """

    CRITERIA: ClassVar[dict[str, Criterion]] = FOR_CLASSES

    def __init__(
        self,
        *,
        criterion: str | Criterion = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        pruning: Any = None,
        validation_fraction: float | None = None,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        nominal: str = "subset",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        min_samples_category: int | str = "auto",
        greedy_length: int = 8,
        missing: str = "direction",
        max_surrogates: int = 5,
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """The most likely class of each row of X; the first in `classes_` if several are."""
        check_is_fitted(self)
        table, largest = read_table(self._checked(X), like=self.schema_), self.nodes_.largest
        n_classes = len(self.classes_)
        found = self._there(X, table, lambda: np.eye(n_classes)[largest], self.classes_)
        if found is not None:
            return self._like(X, found)
        walked = self._walk_table(self.nodes_, table, self.missing_)
        number = largest[walked.node]
        if walked.divided is not None:
            mean = walked.divided.means(self._leaf_values())
            number[walked.divided.row] = mean.argmax(axis=1)
        return self._like(X, self.classes_[number])

    def predict_proba(self, X: Any) -> Array:
        """The share of each class in the leaf of each row, columns as in `classes_`."""
        return self._like(X, self._values(X, self._leaf_values()))

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return self._like(X, np.log(to_numpy(self._values(X, self._leaf_values()))))

    @property
    def n_outputs_(self) -> int:
        """The number of targets, which is one."""
        check_is_fitted(self)
        return 1

    def _leaf_values(self) -> HostArray:
        check_is_fitted(self)
        return self.nodes_.class_shares

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[Target, dict[str, Any]]:
        classes, number = read_labels(y, n_rows, type(self).__name__)
        learned = {"classes_": classes, "n_classes_": len(classes)}
        return self._weighed(number, learned, weight, comm), learned

    def _weighed(
        self, answers: HostArray, learned: dict[str, Any], weight: HostArray | None, comm: Comm
    ) -> Target:
        classes, number = learned["classes_"], answers
        factor = class_factors(self.class_weight, self.priors, classes, number, weight, comm)
        if factor is not None:
            weight = factor[number] * (1.0 if weight is None else weight)
            if not total(comm, np.count_nonzero(weight)):
                raise ValueError("class_weight is zero for every class that has rows")
        divides_rows = self.missing == "fractional"
        return class_target(number, len(classes), weight, divides_rows=divides_rows, comm=comm)

    def _answers(self, y: Any, n_rows: int, learned: dict[str, Any]) -> HostArray:
        labels, number = read_labels(y, n_rows, type(self).__name__)
        known = {label: at for at, label in enumerate(learned["classes_"].tolist())}
        # A class that the tree does not know is none of its answers.
        return np.array([known.get(label, len(known)) for label in labels.tolist()])[number]


class DecisionTreeRegressor(RegressorMixin, TreeEstimator):
    """A decision tree for regression, grown on histograms.

    One tree can predict several outputs. Targets are taken relative to the middle of their range
    and rounded to fixed-point numbers of about 50 - log2(rows) bits, so that sums are exact; that
    is why the model is the same everywhere.

    Parameters
    ----------
    criterion : {'squared_error', 'variance', 'friedman_mse', 'poisson'}, default='squared_error'
        The variance (the first three names; 'friedman_mse' warns, as in scikit-learn), or half the
        Poisson deviance for counts; averaged over outputs. 'poisson' never makes nodes whose
        targets are all 0. `make_criterion` makes other criteria.
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `DecisionTreeClassifier`.
    max_features, random_state, max_leaf_nodes, min_impurity_decrease, max_bins
        As in `DecisionTreeClassifier`.
    ccp_alpha, monotonic_cst, validation_fraction, categorical_features
        As in `DecisionTreeClassifier`.
    pruning : str, object of `gputree.pruning` or None, default=None
        How to prune the tree: 'cost_complexity', 'reduced_error', 'critical_value' or 'pre', or an
        object with options.
    nominal, max_exact_levels, min_samples_category, max_surrogates, unknown_category
        As in `DecisionTreeClassifier`.
    subset_search : {'auto', 'exact', 'ordered', 'principal'}, default='auto'
        As in `DecisionTreeClassifier`. 'ordered' sorts by the mean, which is exact for one output.
    missing : {'direction', 'category', 'surrogate'}, default='direction'
        As in `DecisionTreeClassifier`.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    tree_ : FamiliarTree
        The tree with the names and shapes of scikit-learn's trees.
    nodes_ : Tree
        gputree's own tree: flat arrays with one entry per node.
    n_outputs_ : int
        The number of outputs.
    feature_importances_, fit_report_, pruning_report_, n_features_in_, feature_names_in_, \
max_features_, missing_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    >>> round(tree.score(X, y), 3)
    0.501
    """

    CRITERIA: ClassVar[dict[str, Criterion]] = FOR_VALUES

    def __init__(
        self,
        *,
        criterion: str | Criterion = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        pruning: Any = None,
        validation_fraction: float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        nominal: str = "subset",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        min_samples_category: int | str = "auto",
        missing: str = "direction",
        max_surrogates: int = 5,
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.warn_of_old_name(criterion)
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """The mean target in the leaf of each row, (n_rows,) or (n_rows, n_outputs)."""
        check_is_fitted(self)
        found = self._values(X, self._leaf_values())
        return self._like(X, found[:, 0] if self.n_outputs_ == 1 else found)

    def _leaf_values(self) -> HostArray:
        return self.nodes_.value

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[Target, dict[str, Any]]:
        if parameters.criterion(self.criterion, self.CRITERIA).is_counts:
            # As in scikit-learn, values that cannot be counts are told of before their number.
            check_counts(read_entries(y, type(self).__name__, numbers=True), None, comm)
        values = self._values_of(y, n_rows)
        if values.shape[1] == 0:
            raise ValueError("y has no column; a regression needs at least one output")
        if np.abs(values).max(initial=0.0) > LARGEST_TARGET:
            raise ValueError(
                f"y holds values beyond ±{LARGEST_TARGET:g}, whose squares overflow; divide y by a "
                "constant before fitting"
            )
        learned = {"n_outputs_": values.shape[1]}
        return self._weighed(values, learned, weight, comm), learned

    def _weighed(
        self, answers: HostArray, learned: dict[str, Any], weight: HostArray | None, comm: Comm
    ) -> Target:
        is_counts = parameters.criterion(self.criterion, self.CRITERIA).is_counts
        if is_counts:
            check_counts(answers, weight, comm)
        return value_target(answers, weight, is_counts=is_counts, comm=comm)

    def _values_of(self, y: Any, n_rows: int) -> HostArray:
        given = read_target(y, n_rows, type(self).__name__, numbers=True)
        return given.reshape(n_rows, math.prod(given.shape[1:]))  # also of no rows

    def _answers(self, y: Any, n_rows: int, learned: dict[str, Any]) -> HostArray:
        values = self._values_of(y, n_rows)
        if values.shape[1] != learned["n_outputs_"]:
            raise ValueError(
                f"y has {values.shape[1]} outputs; the tree has {learned['n_outputs_']}"
            )
        return values


def check_counts(values: HostArray, weight: HostArray | None, comm: Comm = ALONE) -> None:
    """Refuse targets that have no Poisson deviance."""
    if (values < 0.0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression; use "
            "criterion='squared_error'"
        )
    inside = values if weight is None else values[weight > 0]
    if (total(comm, (inside > 0.0).sum(axis=0)) == 0).any():
        raise ValueError(
            "y is not positive in any row that has a weight. Sum of y is not strictly positive "
            "which is necessary for Poisson regression; use criterion='squared_error'"
        )
