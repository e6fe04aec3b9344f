"""The trees of the literature: ID3, C4.5 and CART with the choices of their authors."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from gputree.data.kinds import CategoricalFeatures
from gputree.data.table import Kind
from gputree.data.target import Target
from gputree.dtypes import TOTAL_BITS
from gputree.estimators import parameters
from gputree.estimators.targets import declared_classes
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.fit.dataset import Dataset
from gputree.growth.rules import SLACK, Rules
from gputree.kernels.criteria import FOR_CLASSES, Criterion

BRANCH_SHARE = 0.1  # of a class's mean share of the known rows: the least branch of a threshold
MOST_LEAST_BRANCH = 25  # ... but never more than this


class ID3Classifier(DecisionTreeClassifier):
    """Quinlan's ID3: information gain, one branch per category, no pruning.

    All columns are categorical, and no value may be missing. Among features with equal gain the
    first wins; a node that no feature can improve is a leaf. Categories that do not occur in a node
    share an empty leaf, which predicts the distribution of the node.

    Parameters
    ----------
    max_depth : int, optional
        The maximum depth of the tree.
    pruning : str, object of `gputree.pruning` or None, default=None
        How to prune the tree, as in `DecisionTreeClassifier`.
    validation_fraction : float, optional
        The share of rows that is held out as validation rows for pruning.
    random_state : int, RandomState or None, default=0
        The seed for held-out rows and for the folds of cross-validation.
    min_samples_split : int or float, default=2
        The minimum number of rows in a node that is split; a float is a share of all rows.
    class_weight, priors
        As in `DecisionTreeClassifier`.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories; all of them must.
    unknown_category : {'missing', 'majority', 'error'}, default='majority'
        The treatment of categories that were not in training.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    classes_, n_classes_, tree_, nodes_, missing_, feature_importances_, fit_report_, \
pruning_report_, \
n_features_in_, feature_names_in_, max_features_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from gputree import ID3Classifier
    >>> weather = pd.DataFrame({
    ...     "outlook": ["sunny", "sunny", "rain", "rain", "overcast"],
    ...     "windy": ["no", "yes", "no", "yes", "yes"],
    ... }, dtype="category")
    >>> tree = ID3Classifier().fit(weather, ["stay", "stay", "play", "stay", "play"])
    >>> print(tree.export_text())
    outlook = overcast: class play (1 row, 100.0%)
    outlook = rain
    |   windy = no: class play (1 row, 100.0%)
    |   windy = yes: class stay (1 row, 100.0%)
    outlook = sunny: class stay (2 rows, 100.0%)
    """

    criterion = "entropy"
    nominal = "multiway"
    missing = "category"
    min_samples_leaf = 1
    min_weight_fraction_leaf = 0.0
    max_features = None
    max_leaf_nodes = None
    ccp_alpha = 0.0
    min_impurity_decrease = 0.0
    max_bins = 255

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        pruning: Any = None,
        validation_fraction: float | None = None,
        random_state: Any = 0,
        min_samples_split: int | float = 2,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        unknown_category: str = "majority",
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def _check_table(self, dataset: Dataset) -> None:
        super()._check_table(dataset)
        for feature in dataset.bins.features:
            if feature.kind is Kind.NUMERIC:
                raise ValueError(
                    f"column {feature.name!r} is numeric, but ID3 splits on categories only; give "
                    "it a category dtype, list it in categorical_features, or use C45Classifier"
                )
            if feature.has_missing:
                raise ValueError(
                    f"column {feature.name!r} has missing values, which ID3 cannot handle; fill "
                    "them, or use C45Classifier"
                )

    def _rules(self, criterion: Criterion, target: Target, dataset: Dataset, y: Any) -> Rules:
        return replace(super()._rules(criterion, target, dataset, y), splits_without_gain=False)


class C45Classifier(DecisionTreeClassifier):
    """Quinlan's C4.5: gain ratio, multiway splits, thresholds, missing values by fractions.

    A feature is chosen by its gain ratio, among those whose gain is at least the average. A row
    whose tested value is missing goes down every branch, in training and in prediction; its weight
    is divided in proportion to the other rows. Thresholds are chosen by their gain. Each side must
    have a tenth of the rows of an average class, but never needs more than 25. All classes that a
    categorical `y` declares count for this average, whether they occur or not.

    `mdl_correction=True`, `min_gap=1e-5` and `thresholds='value'` are the choices of release 8 of
    the published program.

    Parameters
    ----------
    min_branch : float, default=2
        The minimum weight that at least two branches of a split must have.
    mdl_correction : bool, default=False
        Subtract the bits that encode the chosen threshold from its gain.
    min_gap : float, default=0.0
        Values that are not further apart than this are not separated.
    thresholds : {'midpoint', 'value'}, default='midpoint'
        The midpoint between two values of the node, or the largest value of the table below it.
    max_depth : int, optional
        The maximum depth of the tree.
    pruning : str, object of `gputree.pruning` or None, default='error_based'
        How to prune the tree, as in `DecisionTreeClassifier`.
    validation_fraction : float, optional
        The share of rows that is held out as validation rows for pruning.
    random_state : int, RandomState or None, default=0
        The seed for held-out rows and for the folds of cross-validation.
    class_weight, priors, categorical_features
        As in `DecisionTreeClassifier`.
    unknown_category : {'missing', 'majority', 'error'}, default='missing'
        The treatment of categories that were not in training.
    max_bins, histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    classes_, n_classes_, tree_, nodes_, missing_, feature_importances_, fit_report_, \
pruning_report_, \
n_features_in_, feature_names_in_, max_features_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import C45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::7, 2] = float("nan")
    >>> tree = C45Classifier().fit(X, y)
    >>> tree.predict_proba([[5.0, 3.0, float("nan"), 0.2]]).round(2)
    array([[1., 0., 0.]])
    """

    criterion = "gain_ratio"
    nominal = "multiway"
    missing = "fractional"
    min_samples_split = 2
    min_samples_leaf = 1
    min_weight_fraction_leaf = 0.0
    max_features = None
    max_leaf_nodes = None
    ccp_alpha = 0.0
    min_impurity_decrease = 0.0

    def __init__(
        self,
        *,
        min_branch: float = 2,
        mdl_correction: bool = False,
        min_gap: float = 0.0,
        thresholds: str = "midpoint",
        max_depth: int | None = None,
        pruning: Any = "error_based",
        validation_fraction: float | None = None,
        random_state: Any = 0,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def _rules(self, criterion: Criterion, target: Target, dataset: Dataset, y: Any) -> Rules:
        rules = super()._rules(criterion, target, dataset, y)
        least = parameters.real("min_branch", self.min_branch, 0.0)
        parameters.real("min_gap", self.min_gap, 0.0)
        n_classes = declared_classes(y) or target.channels.n_scored
        total = int(target.channels.weight_of(target.totals))
        # A little less than a weight of 1; where all rows weigh less, no branch is heavy enough.
        shift = min(target.channels.weight_shift, 2 * TOTAL_BITS)
        scale = 2.0**shift * (1.0 - SLACK)
        return replace(
            rules,
            min_weight_split=0,
            min_weight_leaf=int(np.ceil(min(least * scale, total + 1.0))),
            least_share=BRANCH_SHARE / n_classes * (1.0 - SLACK),
            most_least_weight=int(min(MOST_LEAST_BRANCH * scale, total + 1.0)),
            splits_without_gain=False,
        )


class CARTClassifier(DecisionTreeClassifier):
    """Breiman's classification tree: two children, Gini or twoing, surrogates, priors.

    Categories are divided into two groups. A row whose tested value is missing follows the first
    surrogate split whose value is known; if there is none, it goes to the larger child. The score
    of a split is computed from the rows whose value is known.

    Parameters
    ----------
    criterion : {'gini', 'twoing', 'entropy'}, default='gini'
        The measure that splits improve; `make_criterion` makes others.
    max_depth, min_samples_split, min_samples_leaf, min_impurity_decrease
        As in `DecisionTreeClassifier`.
    pruning : str, object of `gputree.pruning` or None, default='cost_complexity'
        How to prune the tree, as in `DecisionTreeClassifier`; by default, alpha is chosen
        by 10-fold cross-validation.
    validation_fraction : float, optional
        The share of rows that is held out as validation rows for pruning.
    random_state : int, RandomState or None, default=0
        The seed for held-out rows and for the folds of cross-validation.
    class_weight, priors, categorical_features, subset_search, max_exact_levels
        As in `DecisionTreeClassifier`.
    max_surrogates : int, default=5
        The maximum number of surrogate splits per node.
    surrogate_style : {'cart', 'rpart'}, default='cart'
        'rpart' drops surrogates on categories that differ from the split in fewer than two rows,
        even if they agree in all, as the R package rpart does.
    unknown_category : {'missing', 'majority', 'error'}, default='missing'
        The treatment of categories that were not in training.
    max_bins, histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    classes_, n_classes_, tree_, nodes_, missing_, feature_importances_, fit_report_, \
pruning_report_, \
n_features_in_, feature_names_in_, max_features_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier(max_depth=2).fit(X, y)
    >>> tree.predict([[5.0, 3.0, float("nan"), 0.2]])
    array([0])
    """

    CRITERIA: ClassVar[dict[str, Criterion]] = {
        name: FOR_CLASSES[name] for name in ("gini", "twoing", "entropy")
    }
    missing = "surrogate"
    min_weight_fraction_leaf = 0.0
    max_features = None
    max_leaf_nodes = None
    ccp_alpha = 0.0

    def __init__(
        self,
        *,
        criterion: str | Criterion = "gini",
        max_depth: int | None = None,
        pruning: Any = "cost_complexity",
        validation_fraction: float | None = None,
        random_state: Any = 0,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        max_surrogates: int = 5,
        surrogate_style: str = "cart",
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def _rules(self, criterion: Criterion, target: Target, dataset: Dataset, y: Any) -> Rules:
        return replace(super()._rules(criterion, target, dataset, y), splits_without_gain=False)


class CARTRegressor(DecisionTreeRegressor):
    """Breiman's regression tree: two children, variance, surrogates.

    Parameters
    ----------
    max_depth, min_samples_split, min_samples_leaf, min_impurity_decrease
        As in `DecisionTreeClassifier`.
    pruning : str, object of `gputree.pruning` or None, default='cost_complexity'
        How to prune the tree, as in `DecisionTreeClassifier`; by default, alpha is chosen
        by 10-fold cross-validation.
    validation_fraction : float, optional
        The share of rows that is held out as validation rows for pruning.
    random_state : int, RandomState or None, default=0
        The seed for held-out rows and for the folds of cross-validation.
    categorical_features, subset_search, max_exact_levels, max_surrogates, surrogate_style
        As in `CARTClassifier`.
    unknown_category : {'missing', 'majority', 'error'}, default='missing'
        The treatment of categories that were not in training.
    max_bins, histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    n_outputs_, tree_, nodes_, missing_, feature_importances_, fit_report_, pruning_report_, \
n_features_in_, feature_names_in_, max_features_, backend_, device_
        As in `DecisionTreeRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import CARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = CARTRegressor(max_depth=3).fit(X, y)
    >>> round(tree.score(X, y), 3)
    0.48
    """

    criterion = "variance"
    missing = "surrogate"
    min_weight_fraction_leaf = 0.0
    max_features = None
    max_leaf_nodes = None
    ccp_alpha = 0.0

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        pruning: Any = "cost_complexity",
        validation_fraction: float | None = None,
        random_state: Any = 0,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        categorical_features: CategoricalFeatures = "from_dtype",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        max_surrogates: int = 5,
        surrogate_style: str = "cart",
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def _rules(self, criterion: Criterion, target: Target, dataset: Dataset, y: Any) -> Rules:
        return replace(super()._rules(criterion, target, dataset, y), splits_without_gain=False)
