"""RandomForestClassifier and RandomForestRegressor, and what all forests share."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gputree.data.kinds import CategoricalFeatures
from gputree.dtypes import Array, HostArray
from gputree.ensembles.averaging import Averaging, AveragingClassifier, AveragingRegressor
from gputree.ensembles.base import Run
from gputree.ensembles.quantiles import LeafTargets
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator, like
from gputree.estimators.growing import Growing
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.kernels.criteria import Criterion

SUBSAMPLE = "balanced_subsample"


class Forest(Averaging):
    """Trees with the parameters of the forest."""

    TREE: ClassVar[type[TreeEstimator]]
    SPLITTER: ClassVar[str] = "best"

    @property
    def estimator(self) -> TreeEstimator:
        """What every tree will be one of."""
        return self._new_stem()

    def _new_stem(self) -> TreeEstimator:
        stem = self.TREE()
        own = self.get_params(deep=False)
        shared = set(own) & set(stem.get_params(deep=False)) - {"random_state", "class_weight"}
        stem.set_params(**{name: own[name] for name in shared})
        return stem.set_params(splitter=self.SPLITTER, random_state=0)


class ForestClassifier(AveragingClassifier, Forest):
    """Forests for classes."""

    TREE: ClassVar[type[TreeEstimator]] = DecisionTreeClassifier
    CRITERIA: ClassVar[dict[str, Criterion]] = DecisionTreeClassifier.CRITERIA
    class_weight: Any

    def _new_stem(self) -> TreeEstimator:
        class_weight = self.class_weight
        if isinstance(class_weight, str) and class_weight == SUBSAMPLE:
            # Where trees see all rows, or one sample is as good as another, both are the same.
            class_weight = None if self.bootstrap else "balanced"
        return super()._new_stem().set_params(class_weight=class_weight)

    def _factor(self, growing: Growing) -> Callable[[HostArray], HostArray] | None:
        if isinstance(self.class_weight, str) and self.class_weight == SUBSAMPLE:
            return balanced
        return super()._factor(growing)


def balanced(drawn: HostArray) -> HostArray:
    """The factors by which classes that have so many rows weigh the same."""
    is_in = drawn > 0
    return np.where(is_in, drawn.sum() / (is_in.sum() * np.maximum(drawn, 1)), 0.0)


class ForestRegressor(AveragingRegressor, Forest):
    """Forests for numbers."""

    TREE: ClassVar[type[TreeEstimator]] = DecisionTreeRegressor
    CRITERIA: ClassVar[dict[str, Criterion]] = DecisionTreeRegressor.CRITERIA
    keep_targets: bool
    _targets: LeafTargets | None

    def predict_quantile(self, X: Any, q: Any = 0.5) -> Array:
        """Quantiles of the target, by Meinshausen's quantile regression forests.

        In each tree, the training rows in the leaf of a row of X share a weight of 1; the weights
        are averaged over the trees. The quantile is the smallest training target at which the
        cumulated weights reach q.

        Parameters
        ----------
        X : array-like or data frame
            Rows to predict.
        q : float or array-like of floats in [0, 1], default=0.5
            The quantiles to predict.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, len(q)) for several
        """
        targets = getattr(self, "_targets", None)
        leaf = self._leaves(X)
        if targets is None:
            raise ValueError(
                "predict_quantile needs the targets of the leaves; fit with keep_targets=True"
            )
        return like(X, targets.quantiles(leaf, q))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.truth("keep_targets", self.keep_targets)

    def _ended(self, run: Run) -> None:
        super()._ended(run)
        run.learned["_targets"] = LeafTargets.of(run) if self.keep_targets else None

    def _extras(self) -> dict[str, HostArray]:
        targets = getattr(self, "_targets", None)
        return {} if targets is None else targets.arrays()

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        self._targets = LeafTargets.from_arrays(arrays, self._members) if arrays else None


class RandomForestClassifier(ForestClassifier):
    """A random forest for classification: bootstrap samples, and a few features at each node.

    Every tree is grown on rows drawn with replacement, and draws features at each node; the forest
    predicts the mean of the class shares of its trees (Breiman: Random forests, 2001). The table is
    binned once. Parameters and behaviour are scikit-learn's where it has them. The draws of a tree
    depend on `random_state`, the number of the tree and the contents of the rows, so the model is
    the same, byte for byte, on every backend, for any `n_jobs` and any order of the rows.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion : {'gini', 'entropy', 'log_loss', 'gain_ratio', 'error', 'twoing'}, default='gini'
        As in `DecisionTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes
        As in `DecisionTreeClassifier`. A row that is drawn twice is one row of twice the weight.
    max_features : int, float, 'sqrt', 'log2' or None, default='sqrt'
        The number of features that are drawn and tried at each node.
    min_impurity_decrease, categorical_features, max_bins
        As in `DecisionTreeClassifier`.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement, in proportion to their weight. Otherwise trees see
        all rows or, with `max_samples`, rows drawn without replacement.
    oob_score : bool or function, default=False
        Whether to predict each row by the trees that were not grown on it, and to score these
        predictions, by the accuracy or by a function of true and predicted targets.
    n_jobs : int, optional
        The number of threads of the 'numba' backend; all cores by default. Never changes the model.
    random_state : int, RandomState or None, default=None
        The seed for the drawn rows and features.
    verbose : int, default=0
        Above 0, a line on stderr shows the finished trees and the remaining time.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and add trees, up to `n_estimators`.
    class_weight : dict, 'balanced', 'balanced_subsample' or None, default=None
        The factor for the weights of the rows of each class; 'balanced_subsample' balances each
        sample separately.
    ccp_alpha : float, default=0.0
        The complexity parameter by which each tree is pruned.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        As in `DecisionTreeClassifier`.
    max_samples : int, float or None, default=None
        The number of rows to draw for each tree; a float is a share of all rows. By default, the
        number of rows in the table; integer weights with a total of up to 2**24 count as rows.
    pruning : str, object of `gputree.pruning` or None, default=None
        How to prune each tree. Methods that need validation rows use those that the tree has not
        seen.
    nominal, subset_search, max_exact_levels, min_samples_category, greedy_length, missing
        As in `DecisionTreeClassifier`.
    max_surrogates, unknown_category, histogram_budget, device, backend
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_outputs_ : int
        1; a classifier has one output.
    estimators_ : sequence of DecisionTreeClassifier
        The trees, created on access.
    estimators_samples_ : list of ndarray
        The rows that each tree was grown on.
    feature_importances_ : ndarray of shape (n_features,)
        The mean of the importances of the trees.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n_rows, n_classes)
        With `oob_score`: the score, and the mean class shares by trees that have not seen the row.
    oob_error_curve_ : ndarray of shape (n_trees,)
        With `oob_score`: the error after one, two, ... trees.
    fit_report_ : FitReport
        Where the fit ran and why, seconds per phase, rows, peak bytes.
    n_features_in_, feature_names_in_, n_classes_, missing_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Criterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_samples: int | float | None = None,
        pruning: Any = None,
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
    ) -> None:
        parameters.keep(self, locals())


class RandomForestRegressor(ForestRegressor):
    """A random forest for regression.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `RandomForestClassifier`.
    criterion : {'squared_error', 'variance', 'friedman_mse', 'poisson'}, default='squared_error'
        As in `DecisionTreeRegressor`.
    max_features : int, float, 'sqrt', 'log2' or None, default=1.0
        The number of features that are drawn and tried at each node.
    max_leaf_nodes, min_impurity_decrease, bootstrap, n_jobs, random_state, verbose, warm_start
        As in `RandomForestClassifier`.
    oob_score : bool or function, default=False
        As in `RandomForestClassifier`; the score is R².
    ccp_alpha, monotonic_cst, max_samples, pruning, categorical_features, nominal, max_exact_levels
        As in `RandomForestClassifier`.
    subset_search, missing
        As in `DecisionTreeRegressor`.
    min_samples_category, max_surrogates, unknown_category, max_bins, histogram_budget
        As in `RandomForestClassifier`.
    device, backend
        As in `RandomForestClassifier`.
    keep_targets : bool, default=False
        Whether to keep the training targets of every leaf for `predict_quantile`, with four bytes
        per row and tree.

    Attributes
    ----------
    n_outputs_ : int
        The number of outputs.
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        With `oob_score`: the mean of the trees that have not seen the row.
    estimators_, estimators_samples_, feature_importances_, oob_score_, oob_error_curve_, \
fit_report_, n_features_in_, feature_names_in_, missing_, backend_, device_
        As in `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(20, min_samples_leaf=5, keep_targets=True, random_state=0)
    >>> forest.fit(X, y).predict_quantile(X[:2], [0.1, 0.9]).shape
    (2, 2)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Criterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_samples: int | float | None = None,
        pruning: Any = None,
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
        keep_targets: bool = False,
    ) -> None:
        parameters.warn_of_old_name(criterion)
        parameters.keep(self, locals())
