"""GradientBoostingRegressor."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from gputree.boosting.init import amounts, check_init
from gputree.boosting.losses import Named, for_numbers
from gputree.boosting.model import GradientBoosting
from gputree.comm import ALONE, Comm, largest, smallest
from gputree.data.kinds import CategoricalFeatures
from gputree.data.target import LARGEST_TARGET
from gputree.dtypes import Array, HostArray
from gputree.estimators import parameters
from gputree.estimators.base import like
from gputree.estimators.targets import read_target
from gputree.formulas import LOSSES as FORMULAS
from gputree.kernels.losses import FOR_VALUES, IDENTITY, SQUARED, Link, Loss


class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    """Gradient boosting for numbers.

    Trees are added in rounds: each is fitted to the gradients of a loss at the predictions so far.
    Gradients are integers, so the model is the same on every backend.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, max_leaf_nodes, min_samples_split
        As in `GradientBoostingClassifier`.
    loss : str or function, default='squared_error'
        'squared_error'; 'absolute_error'; 'huber', squared for small residuals and absolute for
        others; 'quantile'; 'poisson' for counts, 'gamma' for amounts above 0 and 'tweedie' for
        amounts of which many are 0, whose logarithm the trees add up to. A function of y and the
        predictions so far returns the gradient and the hessian of a loss for each row, and as a
        third, if it is to be watched by early stopping, the loss itself; trees then start from 0. A
        loss object of scikit-learn is taken as such a function.
    alpha : float, default=0.9
        The quantile, or the share of the residuals around the median that are small for 'huber'.
    power : float, default=1.5
        The power of the mean to which the variance is proportional for 'tweedie', between 1, where
        the loss is that of 'poisson', and 2, where it is that of 'gamma'.
    min_samples_leaf : int, default=1
        The least number of rows in a leaf. More than 1 takes some more time for 'poisson',
        'gamma', 'tweedie', functions and where rows have weights.
    min_child_weight : float, default=20.0
        The least hessian of the loss in a leaf: its weight, so its number of rows where they have
        none, but for 'poisson', 'gamma', 'tweedie' and functions.
    min_split_gain, min_impurity_decrease
        As in `GradientBoostingClassifier`.
    l2_regularization : float, default=1.0
        Added to the hessian of each leaf, which makes its value smaller. Leaves of
        'absolute_error', 'quantile' and 'huber' are quantiles, and only splits feel it.
    subsample, oob_score, colsample_bytree, max_features, monotonic_cst, interaction_cst
        As in `GradientBoostingClassifier`.
    init : estimator, 'zero' or None, default=None
        What predictions begin with: the best constant, 0, or the predictions of an estimator that
        is fitted first, to the rows that trees see. With an estimator the model can be pickled, but
        neither exported nor explained, which tell of trees alone.
    early_stopping, keep_best, scoring, n_iter_no_change, tol
        As in `GradientBoostingClassifier`.
    validation_fraction : float or None, default=0.1
        The share of the rows that early stopping holds out; None looks at the rows that trees see.
    categorical_features, min_samples_category, missing, max_bins, warm_start, random_state, verbose
        As in `GradientBoostingClassifier`.
    unknown_category : {'missing', 'error'}, default='missing'
        What becomes of categories that were not seen at fit, as in `DecisionTreeRegressor`.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeRegressor`.
    splits, directions, max_projections, projection_density
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeRegressor
        The trees, made when asked for.
    n_iter_, init_, feature_importances_, validation_score_, oob_scores_, oob_improvement_, \
oob_score_, fit_report_
        As in `GradientBoostingClassifier`.
    n_features_in_, feature_names_in_, missing_, backend_, device_
        As in `DecisionTreeRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(50, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    """

    LOSSES: ClassVar[dict[str, Loss]] = FOR_VALUES

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Any = "squared_error",
        alpha: float = 0.9,
        power: float = 1.5,
        learning_rate: float = 0.1,
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int = 1,
        min_child_weight: float = 20.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        oob_score: bool = False,
        colsample_bytree: float = 1.0,
        max_features: int | float | str | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        init: Any = None,
        early_stopping: bool | str = False,
        keep_best: bool = True,
        scoring: Any = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        categorical_features: CategoricalFeatures = "from_dtype",
        min_samples_category: int | str = "auto",
        missing: str = "direction",
        unknown_category: str = "missing",
        max_bins: int = 255,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
        splits: str = "axis",
        directions: str = "sparse",
        max_projections: int | None = None,
        projection_density: float = 3.0,
    ) -> None:
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """What the trees add up to for each row; its exponential where that is a logarithm."""
        check_is_fitted(self)
        found = self._there(X) if self._link() is IDENTITY else None
        return like(X, self._answer(self._raw(X)) if found is None else found[:, 0])

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions after one, two, ... rounds."""
        for raw in self._staged_raw(X):
            yield like(X, self._answer(raw))

    def _link(self) -> Link:
        # A function of the user has no link, nor has one that a file has not kept.
        known = isinstance(self.loss, str)
        return (FOR_VALUES.get(self.loss, SQUARED) if known else SQUARED).link

    def _answer(self, raw: HostArray) -> HostArray:
        return np.asarray(self._link().answer(FORMULAS, raw[0]))

    def _scaled(self, raw: HostArray) -> HostArray:
        return self._answer(raw)[None, :]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.open_share("alpha", self.alpha)
        parameters.between("power", self.power, 1.0, 2.0)
        check_init(self.init, "predict", type(self).__name__)

    def _begun(self, init: Any, X: Any, learned: dict[str, Any]) -> HostArray:
        return amounts(init, X, self._link())

    def _read_target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[HostArray, HostArray | None, dict[str, Any]]:
        return self._numbers(y, n_rows, "y", comm), weight, {}

    def _validation_target(
        self, y: Any, n_rows: int, learned: dict[str, Any], comm: Comm = ALONE
    ) -> HostArray:
        return self._numbers(y, n_rows, "y_val", comm)

    def _numbers(self, y: Any, n_rows: int, name: str, comm: Comm = ALONE) -> HostArray:
        target = column_or_1d(
            read_target(y, n_rows, type(self).__name__, numbers=True), warn=True
        ).astype(np.float64)
        if len(target) and np.abs(target).max() > LARGEST_TARGET:
            raise ValueError(f"{name} has values beyond {LARGEST_TARGET:g}; divide it first")
        demand = None if callable(self.loss) else FOR_VALUES[self.loss].demand
        if demand is not None and not demand.is_met(_extremes(target, comm)):
            raise ValueError(f"loss={self.loss!r} requires {demand.needs}. {name} has {demand.has}")
        return target

    def _named(
        self, y: HostArray, weight: HostArray, learned: dict[str, Any], comm: Comm = ALONE
    ) -> Named:
        return for_numbers(self.loss, y, weight, float(self.alpha), comm, power=float(self.power))


def _extremes(target: HostArray, comm: Comm) -> HostArray:
    """Targets that meet a demand if all do: these themselves, or the extreme ones of all ranks."""
    if comm.size == 1:
        return target
    low, high = target.min(initial=np.inf), target.max(initial=-np.inf)
    return np.array([smallest(comm, low), largest(comm, high)])
