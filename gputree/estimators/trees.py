"""DecisionTreeClassifier and DecisionTreeRegressor."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from gputree.data.kinds import CategoricalFeatures
from gputree.data.target import Target, class_target, value_target
from gputree.dtypes import Array, HostArray
from gputree.estimators.base import TreeEstimator
from gputree.estimators.targets import class_factors, read_labels, read_target
from gputree.growth.rules import CLASS_CRITERIA, VALUE_CRITERIA, Criteria
from gputree.tree.export import number_text, rows_text

LARGEST_TARGET = 1e150  # squares of larger targets overflow


class DecisionTreeClassifier(ClassifierMixin, TreeEstimator):
    """A binary decision tree for classes, grown on histograms.

    Parameters, attributes and behaviour are scikit-learn's where it has them. A feature with no
    more than `max_bins` distinct values offers every midpoint, so that small tables give the
    textbook tree; others offer exact quantiles. Rows whose tested value is missing go to the side
    that lowers the impurity more.

    The model is the same, byte for byte, on every backend and device, for any order of the rows
    and any `histogram_budget`.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'error'}, default='gini'
        The impurity that splits lower. 'error' is the share of rows outside the largest class;
        it splits only where it gains, the others split every impure node they can.
    max_depth : int, optional
        The most splits above a leaf.
    min_samples_split : int or float, default=2
        The fewest rows a node must have to be split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        The fewest rows of each child; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least share of the total weight in each child.
    max_features : int, float, 'sqrt', 'log2' or None, default=None
        How many features, drawn anew for each node, to try. More are tried only while none of
        those drawn can be split.
    random_state : int, RandomState or None, default=None
        Decides the draws of `max_features`; without draws nothing is random.
    max_leaf_nodes : int, optional
        Grow best-first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        The least decrease of impurity, weighted by the node's share of the rows, of a split.
    class_weight : dict, 'balanced' or None, default=None
        Factors for the weights of the rows of each class.
    priors : 'data', 'uniform', dict or array-like, default='data'
        The probabilities of the classes before a row is seen, in the order of `classes_` or by
        label. Instead of `class_weight`.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories. Ordered ones are split in their order.
    max_bins : int, default=255
        The most bins a feature is cut into, up to 65,535.
    histogram_budget : int, optional
        Bytes that histograms may take; automatic by default. Never changes the model.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}, default='auto'
        Where to compute. A device that is asked for and missing is an error.
    backend : {'numpy', 'numba', 'cuda', 'cupy', 'torch'}, optional
        What to compute with; overrides the choice that `device` would make.
    n_jobs : int, optional
        Threads of the 'numba' backend; all cores by default. Never changes the model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    tree_ : Tree
        The tree as flat arrays.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in what the splits gained.
    fit_report_ : FitReport
        Where the fit ran and why, seconds a phase, rows, peak bytes.
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

    CRITERIA: ClassVar[Criteria] = CLASS_CRITERIA

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.priors = priors
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.histogram_budget = histogram_budget
        self.device = device
        self.backend = backend
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> Array:
        """The most likely class of each row of X; the first in `classes_` if several are."""
        leaf = self._leaves(X)
        return self._like(X, self.classes_[self.tree_.value.argmax(axis=1)[leaf]])

    def predict_proba(self, X: Any) -> Array:
        """The share of each class in the leaf of each row, columns as in `classes_`."""
        leaf = self._leaves(X)
        return self._like(X, self._shares()[leaf])

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        leaf = self._leaves(X)
        with np.errstate(divide="ignore"):
            return self._like(X, np.log(self._shares())[leaf])

    def _shares(self) -> HostArray:
        value = self.tree_.value
        return np.asarray(value / value.sum(axis=1, keepdims=True))

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None
    ) -> tuple[Target, dict[str, Any]]:
        classes, number = read_labels(y, n_rows, type(self).__name__)
        factor = class_factors(self.class_weight, self.priors, classes, number, weight)
        if factor is not None:
            weight = factor[number] * (1.0 if weight is None else weight)
            if not weight.any():
                raise ValueError("class_weight is zero for every class that has rows")
        target = class_target(number, len(classes), weight)
        return target, {"classes_": classes, "n_classes_": len(classes)}

    def _leaf_text(self, node: int, decimals: int) -> str:
        value = self.tree_.value[node]
        best = int(value.argmax())
        share = value[best] / value.sum()
        return f"class {self.classes_[best]} ({rows_text(self.tree_.n_rows[node])}, {share:.1%})"


class DecisionTreeRegressor(RegressorMixin, TreeEstimator):
    """A binary decision tree for numbers, grown on histograms.

    One tree may predict several outputs at once. Targets are taken relative to the middle of
    their range and rounded to a fixed point with some 50 bits less the logarithm of the number of
    rows, so that sums are exact; that is why the model is the same everywhere.

    Parameters
    ----------
    criterion : {'squared_error', 'variance'}, default='squared_error'
        The variance, which the two names mean, averaged over outputs.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features
        As in `DecisionTreeClassifier`.
    random_state, max_leaf_nodes, min_impurity_decrease, categorical_features, max_bins
        As in `DecisionTreeClassifier`.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    n_outputs_ : int
        The number of outputs.
    feature_importances_, fit_report_, n_features_in_, feature_names_in_, max_features_, backend_, \
device_
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

    CRITERIA: ClassVar[Criteria] = VALUE_CRITERIA

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.histogram_budget = histogram_budget
        self.device = device
        self.backend = backend
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> Array:
        """The mean target in the leaf of each row, (n_rows,) or (n_rows, n_outputs)."""
        leaf = self._leaves(X)
        value = self.tree_.value
        return self._like(X, (value[:, 0] if self.n_outputs_ == 1 else value)[leaf])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None
    ) -> tuple[Target, dict[str, Any]]:
        given = read_target(y, n_rows, type(self).__name__, numbers=True)
        values = given.reshape(n_rows, -1)
        if values.shape[1] == 0:
            raise ValueError("y has no column; a regression needs at least one output")
        if np.abs(values).max() > LARGEST_TARGET:
            raise ValueError(
                f"y holds values beyond ±{LARGEST_TARGET:g}, whose squares overflow; divide y by a "
                "constant before fitting"
            )
        return value_target(values, weight), {"n_outputs_": values.shape[1]}

    def _leaf_text(self, node: int, decimals: int) -> str:
        value = ", ".join(number_text(output, decimals) for output in self.tree_.value[node])
        return f"{value} ({rows_text(self.tree_.n_rows[node])})"
