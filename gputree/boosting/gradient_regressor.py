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
    n_estimators : int, default=100
        The number of rounds.
    loss : str or function, default='squared_error'
        'squared_error'; 'absolute_error'; 'huber', squared for small residuals and absolute for
        others; 'quantile'; 'poisson' for counts and 'gamma' for amounts above 0, whose logarithm
        the trees add up to. A function of y and the predictions so far returns the gradient and the
        hessian of a loss for each row, and as a third, if it is to be watched by early stopping,
        the loss itself; trees then start from 0. A loss object of scikit-learn is taken as such a
        function.
    alpha : float, default=0.9
        The quantile, or the share of the residuals around the median that are small for 'huber'.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied by.
    max_depth : int or None, default=6
        The largest depth of a tree.
    max_leaf_nodes : int or None, default=None
        With a number, trees grow leaf by leaf, the best one first, up to so many leaves.
    min_samples_split : int or float, default=2
        The least number of rows in a node that is split; a float is a share of all. More than 2
        takes some more time.
    min_samples_leaf : int, default=1
        The least number of rows in a leaf. More than 1 takes some more time for 'poisson',
        'gamma', functions and where rows have weights.
    min_child_weight : float, default=20.0
        The least hessian of the loss in a leaf: its weight, so its number of rows where they have
        none, but for 'poisson', 'gamma' and functions.
    min_split_gain : float, default=0.0
        What a split must at least lower the loss by, times 2.
    min_impurity_decrease : float, default=0.0
        The same, divided by the weight of all rows that a tree sees, as in scikit-learn: what a
        split must at least lower their mean loss by, times 2.
    l2_regularization : float, default=1.0
        Added to the hessian of each leaf, which makes its value smaller. Leaves of
        'absolute_error', 'quantile' and 'huber' are quantiles, and only splits feel it.
    subsample : float, default=1.0
        The chance of a row to take part in a round.
    oob_score : bool, default=False
        Whether to note the loss of the rows that each round leaves out, for `oob_scores_` and
        `oob_improvement_`. It takes a look at all predictions a round.
    colsample_bytree : float, default=1.0
        The share of the features that a tree may test.
    max_features : int, float, 'sqrt', 'log2' or None, default=None
        The number of features to try at each node.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        1 where predictions may only rise with a feature, -1 where they may only fall. Trees are
        searched on the host then, which takes longer.
    interaction_cst : list of lists of columns, 'pairwise', 'no_interactions' or None, default=None
        Which features may be tested on one path from a root to a leaf.
    init : estimator, 'zero' or None, default=None
        What predictions begin with: the best constant, 0, or the predictions of an estimator that
        is fitted first, to the rows that trees see. With an estimator the model can be pickled, but
        neither exported nor explained, which tell of trees alone.
    early_stopping : bool or 'auto', default=False
        Whether to stop when other rows are not predicted better any more: those given to `fit`, or
        a part of the rows that is held out. 'auto' stops where there are more than 10,000 rows, or
        others are given.
    keep_best : bool, default=True
        Whether early stopping keeps the rounds up to the best one only; otherwise all that were
        made are kept, as in scikit-learn.
    scoring : 'loss', str, function or None, default='loss'
        What early stopping looks at: the loss, or a score of scikit-learn by its name, a function
        of model, X and y of which more is better, or None for what `score` says.
    validation_fraction : float or None, default=0.1
        The share of the rows that early stopping holds out; None looks at the rows that trees see.
    n_iter_no_change : int, default=10
        How many rounds without a smaller loss, or a higher score, end a fit.
    tol : float, default=1e-7
        What a loss or score must change by to count.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories, as in scikit-learn's HistGradientBoosting.
    min_samples_category : int or 'auto', default='auto'
        The fewest rows that a category must have in a node to be told from others there, where
        categories are divided into two groups; those with fewer are one together, and categories
        that the node has not seen go with them. 'auto' asks for 10 rows in columns of more than 32
        categories, and for one in others.
    missing : {'direction', 'category'}, default='direction'
        Missing values go to the side that lowers the loss more, or are a category of their own.
    unknown_category : {'missing', 'error'}, default='missing'
        What becomes of categories that were not seen at fit, as in `DecisionTreeRegressor`.
    max_bins : int, default=255
        The most bins a feature is cut into.
    warm_start : bool, default=False
        Whether to add rounds to the model that is there.
    random_state : int, RandomState or None, default=None
        The seed of the samples.
    verbose : int, default=0
        1 prints a table of rounds with the loss of the rows that they see, what it fell by out of
        bag where rows are left out, and the time left, more seldom the more rounds there are; 2
        prints every round. Where the loss is a function, a line tells how far the fit has come.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeRegressor`.

    Attributes
    ----------
    n_iter_ : int
        The number of rounds.
    init_ : estimator or None
        The fitted `init`, where it is an estimator.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, made when asked for.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in what all splits gained.
    validation_score_ : ndarray of shape (n_rounds,)
        The mean loss on other rows after each round, or what `scoring` says of them, where there
        are such rows.
    oob_scores_, oob_improvement_ : ndarray of shape (n_rounds,), oob_score_ : float
        With `oob_score`, the mean loss of the rows that each round has left out, what it has
        fallen by since the round before, and the last of these losses. A round that leaves out
        none has NaN, and rounds of an earlier fit that noted nothing have 0.
    fit_report_ : FitReport
        Where the fit ran and why, seconds a phase, rows, peak bytes.
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
    ) -> None:
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """What the trees add up to for each row; its exponential for 'poisson' and 'gamma'."""
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
        check_init(self.init, "predict", type(self).__name__)

    def _begun(self, init: Any, X: Any, learned: dict[str, Any]) -> HostArray:
        return amounts(init, X, self._link())

    def _read_target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[HostArray, HostArray | None, dict[str, Any]]:
        return self._numbers(y, n_rows, "y", comm), weight, {}

    def _validation_target(self, y: Any, n_rows: int, learned: dict[str, Any]) -> HostArray:
        return self._numbers(y, n_rows, "y_val")

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
        return for_numbers(self.loss, y, weight, float(self.alpha), comm)


def _extremes(target: HostArray, comm: Comm) -> HostArray:
    """Targets that meet a demand if all do: these themselves, or the extreme ones of all ranks."""
    if comm.size == 1:
        return target
    low, high = target.min(initial=np.inf), target.max(initial=-np.inf)
    return np.array([smallest(comm, low), largest(comm, high)])
