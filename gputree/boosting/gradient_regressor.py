"""GradientBoostingRegressor."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from gputree.boosting.init import amounts, check_init, is_model
from gputree.boosting.losses import Named, for_columns, for_numbers
from gputree.boosting.model import GradientBoosting
from gputree.comm import ALONE, Comm, largest, smallest
from gputree.data.kinds import CategoricalFeatures
from gputree.data.target import LARGEST_TARGET
from gputree.dtypes import Array, HostArray
from gputree.estimators import parameters
from gputree.estimators.base import like
from gputree.estimators.targets import read_target
from gputree.formulas import LOSSES as FORMULAS
from gputree.kernels.losses import FOR_VALUES, SQUARED, Link, Loss


class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    """Gradient boosting for regression.

    Trees are added in rounds: each is fitted to the gradients of a loss at the predictions so far.
    Gradients are rounded to integers, so the model is the same on every backend.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, max_leaf_nodes, min_samples_split
        As in `GradientBoostingClassifier`.
    loss : str or function, default='squared_error'
        'squared_error'; 'absolute_error'; 'huber', which is squared for small residuals and
        absolute for others; 'quantile'; 'poisson' for counts; 'gamma' for amounts above 0;
        'tweedie' for amounts that are often 0. For the last three the trees add up to the logarithm
        of the prediction. A function takes y and the predictions so far. It returns the gradient
        and the hessian of a loss for each row, and optionally the loss of each row, which early
        stopping needs; trees then start from 0. A loss object of scikit-learn is treated as such a
        function.
    alpha : float, default=0.9
        The quantile of 'quantile'; for 'huber', the share of the residuals that are squared.
    power : float, default=1.5
        For 'tweedie', the power of the mean to which the variance is proportional: between 1, where
        the loss is that of 'poisson', and 2, where it is that of 'gamma'.
    min_samples_leaf : int, default=1
        The minimum number of rows in a leaf. Values above 1 take more time for 'poisson', 'gamma',
        'tweedie', functions, and with sample weights.
    min_child_weight : float, default=20.0
        The minimum sum of hessians in a leaf. Except for 'poisson', 'gamma', 'tweedie' and
        functions, this is the weight of its rows, or their number without sample weights.
    min_split_gain, min_impurity_decrease
        As in `GradientBoostingClassifier`.
    l2_regularization : float, default=1.0
        A constant that is added to the hessian of each leaf, which shrinks the leaf's value. It
        affects only the splits of 'absolute_error', 'quantile' and 'huber', not their leaves, which
        are quantiles.
    subsample, oob_score, colsample_bytree, max_features, monotonic_cst, interaction_cst
        As in `GradientBoostingClassifier`.
    multi_strategy : {'one_output_per_tree', 'one_tree'}, default='one_output_per_tree'
        With 'one_tree', y may have several columns, (n_rows, n_outputs), and the leaves of each
        tree have a value for each of them.
    init : estimator, 'zero' or None, default=None
        The start of the predictions: the best constant (None), 0, or the predictions of an
        estimator that is fitted first, to the training rows of the trees. With an estimator the
        model can be pickled, but not saved, exported or explained.
    early_stopping, keep_best, scoring, n_iter_no_change, tol
        As in `GradientBoostingClassifier`.
    validation_fraction : float or None, default=0.1
        The share of the rows that early stopping holds out; None monitors the training rows.
    categorical_features, min_samples_category, missing, max_bins, warm_start, random_state, verbose
        As in `GradientBoostingClassifier`.
    unknown_category : {'missing', 'error'}, default='missing'
        The treatment of categories that were not in training, as in `DecisionTreeRegressor`.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeRegressor`.

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeRegressor
        The trees, created on access.
    n_outputs_ : int
        The number of columns of y.
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
        multi_strategy: str = "one_output_per_tree",
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
    ) -> None:
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """The sum of the trees for each row, or its exponential if the loss has a log link."""
        check_is_fitted(self)
        found = self._there(X, link=self._link())
        if found is None:
            return like(X, self._answer(self._raw(X)))
        return like(X, found[:, 0] if found.shape[1] == 1 else found)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions after one, two, ... rounds."""
        for raw in self._staged_raw(X):
            yield like(X, self._answer(raw))

    def _link(self) -> Link:
        # A function of the user has no link, nor has one that a file has not kept.
        known = isinstance(self.loss, str)
        return (FOR_VALUES.get(self.loss, SQUARED) if known else SQUARED).link

    def _answer(self, raw: HostArray) -> HostArray:
        raw = raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)
        return np.asarray(self._link().answer(FORMULAS)(raw))

    def _scaled(self, raw: HostArray) -> HostArray:
        return self._answer(raw)[None, :]

    def _n_outputs(self, learned: dict[str, Any]) -> int:
        return int(learned["n_outputs_"])

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
        target = self._numbers(y, n_rows, "y", comm)
        n_outputs = 1 if target.ndim == 1 else target.shape[1]
        if n_outputs > 1 and (callable(self.loss) or is_model(self.init)):
            raise ValueError(
                "y has several columns, for which loss is the name of a loss, and init is None or "
                "'zero'; use such ones, or fit a model for each column"
            )
        return target, weight, {"n_outputs_": n_outputs}

    def _validation_target(
        self, y: Any, n_rows: int, learned: dict[str, Any], comm: Comm = ALONE
    ) -> HostArray:
        return self._numbers(y, n_rows, "y_val", comm)

    def _numbers(self, y: Any, n_rows: int, name: str, comm: Comm = ALONE) -> HostArray:
        target = read_target(y, n_rows, type(self).__name__, numbers=True)
        if target.ndim != 2 or target.shape[1] == 1:
            target = column_or_1d(target, warn=True)
        elif self.multi_strategy != "one_tree":
            raise ValueError(
                f"{name} should be a 1d array, got an array of shape {target.shape} instead; "
                "multi_strategy='one_tree' takes several columns"
            )
        target = target.astype(np.float64)
        if len(target) and np.abs(target).max() > LARGEST_TARGET:
            raise ValueError(f"{name} has values beyond {LARGEST_TARGET:g}; divide it first")
        demand = None if callable(self.loss) else FOR_VALUES[self.loss].demand
        if demand is not None and not demand.is_met(_extremes(target, comm)):
            raise ValueError(f"loss={self.loss!r} requires {demand.needs}. {name} has {demand.has}")
        return target

    def _named(
        self, y: HostArray, weight: HostArray, learned: dict[str, Any], comm: Comm = ALONE
    ) -> Named:
        if y.ndim == 2:
            return for_columns([self._named(own, weight, learned, comm) for own in y.T])
        return for_numbers(self.loss, y, weight, float(self.alpha), comm, power=float(self.power))

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        self.n_outputs_ = arrays["start"].size if "start" in arrays else 1
        super()._restore_extras(arrays)


def _extremes(target: HostArray, comm: Comm) -> HostArray:
    """Targets that meet a demand if all do: these themselves, or the extreme ones of all ranks."""
    if comm.size == 1:
        return target
    low, high = target.min(initial=np.inf), target.max(initial=-np.inf)
    return np.array([smallest(comm, low), largest(comm, high)])
