"""BaggingClassifier and BaggingRegressor."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from gputree import sampling
from gputree.dtypes import HostArray
from gputree.ensembles.averaging import Averaging, AveragingClassifier, AveragingRegressor
from gputree.ensembles.base import Run
from gputree.ensembles.based import stem_of
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor


class Bagging(Averaging):
    """Trees of any kind on samples of the rows and of the columns."""

    HAS_COLUMNS: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        device: str = "auto",
        backend: str | None = None,
    ) -> None:
        parameters.keep(self, locals())

    @property
    def estimators_features_(self) -> list[HostArray]:
        """The numbers of the columns that each tree was grown on."""
        check_is_fitted(self)
        every = np.arange(self.n_features_in_)
        return [every if member.columns is None else member.columns for member in self._members]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            # What is asked of an estimator that fit would refuse is told of it all the same.
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags

    def _columns(self, run: Run, tree: int) -> HostArray | None:
        n_features = run.growing.dataset.n_features
        n = _n_columns(self.max_features, n_features, replaces=self.bootstrap_features)
        if n == n_features and not self.bootstrap_features:
            return None
        seed = sampling.tree_seed(run.seed, tree)
        return sampling.drawn_columns(seed, n, n_features, replaces=self.bootstrap_features)


def _n_columns(max_features: Any, n_features: int, *, replaces: bool) -> int:
    if parameters.is_whole(max_features):
        is_right = max_features >= 1 and (replaces or max_features <= n_features)
        n = int(max_features)
    else:
        is_right = parameters.is_fraction(max_features) and 0.0 < max_features <= 1.0
        n = max(1, int(max_features * n_features)) if is_right else 0
    if not is_right:
        raise ValueError(
            f"max_features={max_features!r}: an integer from 1 to {n_features}, the number of "
            "columns, or a share of them in (0.0, 1.0] is needed"
        )
    return n


class BaggingClassifier(AveragingClassifier, Bagging):
    """Bagging for classification: each tree is grown on a sample of the rows.

    Trees are grown on rows drawn with replacement; the prediction is the mean of their class shares
    (Breiman: Bagging predictors, 1996). The table is binned once for all trees. The model is the
    same, byte for byte, on every backend, for any `n_jobs` and any order of the rows.

    Parameters
    ----------
    estimator : tree estimator of gputree, optional
        The estimator of each tree; `DecisionTreeClassifier()` by default. Its `random_state`,
        `device`, `backend` and `n_jobs` are ignored.
    n_estimators : int, default=10
        The number of trees.
    max_samples, oob_score, n_jobs, random_state, verbose, warm_start, device, backend
        As in `RandomForestClassifier`.
    max_features : int or float, default=1.0
        The number of columns to draw for each tree; a float is a share of all columns.
    bootstrap : bool, default=True
        As in `RandomForestClassifier`.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.

    Attributes
    ----------
    estimators_features_ : list of ndarray
        The numbers of the columns that each tree was grown on.
    classes_, n_classes_, n_outputs_, estimators_, estimators_samples_, feature_importances_, \
oob_score_, oob_decision_function_, oob_error_curve_, fit_report_, n_features_in_, \
feature_names_in_, missing_, backend_, device_
        As in `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import BaggingClassifier, C45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bag = BaggingClassifier(C45Classifier(), random_state=0).fit(X, y)
    >>> bag.predict(X[:2])
    array([0, 0])
    >>> bag.estimators_[0].get_depth() > 1
    True
    """

    def _new_stem(self) -> TreeEstimator:
        return stem_of(self, self.estimator, DecisionTreeClassifier())


class BaggingRegressor(AveragingRegressor, Bagging):
    """Bagging for regression: each tree is grown on a sample of the rows.

    Parameters
    ----------
    estimator : tree estimator of gputree, optional
        The estimator of each tree; `DecisionTreeRegressor()` by default.
    n_estimators, max_samples, max_features, bootstrap, bootstrap_features, oob_score, warm_start
        As in `BaggingClassifier`.
    n_jobs, random_state, verbose, device, backend
        As in `BaggingClassifier`.

    Attributes
    ----------
    n_outputs_, oob_prediction_, estimators_, estimators_samples_, estimators_features_, \
feature_importances_, oob_score_, oob_error_curve_, fit_report_, n_features_in_, \
feature_names_in_, missing_, backend_, device_
        As in `BaggingClassifier` and `RandomForestRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(max_samples=0.5, max_features=0.5, random_state=0).fit(X, y)
    >>> len(bag.estimators_), len(bag.estimators_features_[0])
    (10, 5)
    """

    def _new_stem(self) -> TreeEstimator:
        return stem_of(self, self.estimator, DecisionTreeRegressor())
