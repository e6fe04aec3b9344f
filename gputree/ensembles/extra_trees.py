"""ExtraTreesClassifier and ExtraTreesRegressor."""

from typing import Any, ClassVar

from gputree.data.kinds import CategoricalFeatures
from gputree.ensembles.forests import ForestClassifier, ForestRegressor
from gputree.estimators import parameters
from gputree.estimators.trees import DecisionTreeClassifier
from gputree.kernels.criteria import Criterion


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomized trees for classification: splits are drawn, not searched.

    At each node a few features are drawn, and one split for each of them: a threshold within the
    range of the node, or a random group of its categories. The best of these splits is used
    (Geurts, Ernst, Wehenkel: Extremely randomized trees, 2006). `docs/ensembles.md` explains the
    draws.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `RandomForestClassifier`.
    criterion : {'gini', 'entropy', 'log_loss', 'error', 'twoing'}, default='gini'
        As in `DecisionTreeClassifier`.
    max_features, max_leaf_nodes, min_impurity_decrease, oob_score, n_jobs, random_state, verbose
        As in `RandomForestClassifier`.
    bootstrap : bool, default=False
        As in `RandomForestClassifier`; by default every tree sees all rows.
    warm_start, class_weight, ccp_alpha, max_samples, pruning, categorical_features, missing
        As in `RandomForestClassifier`.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        As in `RandomForestClassifier`; a drawn split that violates a constraint is not made.
    max_surrogates, unknown_category, max_bins, histogram_budget, device, backend
        As in `RandomForestClassifier`.

    Attributes
    ----------
    classes_, n_classes_, n_outputs_, estimators_, estimators_samples_, feature_importances_, \
oob_score_, oob_decision_function_, oob_error_curve_, fit_report_, n_features_in_, \
feature_names_in_, missing_, backend_, device_
        As in `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    CRITERIA: ClassVar[dict[str, Criterion]] = {
        name: criterion
        for name, criterion in DecisionTreeClassifier.CRITERIA.items()
        if name != "gain_ratio"  # which compares the best splits of features
    }
    SPLITTER: ClassVar[str] = "random"

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
        bootstrap: bool = False,
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
        missing: str = "direction",
        max_surrogates: int = 5,
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
    ) -> None:
        parameters.keep(self, locals())


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomized trees for regression; see `ExtraTreesClassifier`.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `RandomForestClassifier`.
    criterion : {'squared_error', 'variance', 'friedman_mse', 'poisson'}, default='squared_error'
        As in `DecisionTreeRegressor`.
    max_features : int, float, 'sqrt', 'log2' or None, default=1.0
        The number of features that are drawn and tried at each node.
    bootstrap : bool, default=False
        As in `RandomForestClassifier`; by default every tree sees all rows.
    max_leaf_nodes, min_impurity_decrease, oob_score, n_jobs, random_state, verbose, warm_start
        As in `RandomForestRegressor`.
    ccp_alpha, max_samples, pruning, categorical_features, missing, keep_targets
        As in `RandomForestRegressor`.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        As in `RandomForestRegressor`; a drawn split that violates a constraint is not made.
    max_surrogates, unknown_category, max_bins, histogram_budget, device, backend
        As in `RandomForestRegressor`.

    Attributes
    ----------
    n_outputs_, oob_prediction_, estimators_, estimators_samples_, feature_importances_, \
oob_score_, oob_error_curve_, fit_report_, n_features_in_, feature_names_in_, missing_, backend_, \
device_
        As in `RandomForestRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(ExtraTreesRegressor(20, random_state=0).fit(X, y).score(X, y), 3)
    1.0
    """

    SPLITTER: ClassVar[str] = "random"

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
        bootstrap: bool = False,
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
