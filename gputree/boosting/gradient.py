"""GradientBoostingClassifier."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from gputree.boosting.init import check_init, log_odds
from gputree.boosting.losses import Named, for_classes, shares
from gputree.boosting.model import GradientBoosting
from gputree.boosting.run import BoostRun
from gputree.comm import ALONE, Comm
from gputree.data.kinds import CategoricalFeatures
from gputree.data.weights import read_weights
from gputree.dtypes import Array, HostArray
from gputree.estimators import model_file, parameters
from gputree.estimators.base import like
from gputree.estimators.targets import class_factors, read_labels, read_target
from gputree.kernels.losses import FOR_TWO_CLASSES, LOGISTIC, LOGITS, Link, Loss


class GradientBoostingClassifier(ClassifierMixin, GradientBoosting):
    """Gradient boosting for classes.

    Trees are added in rounds: each is fitted to the gradients of the deviance at the predictions so
    far, one tree a round for two classes and one a class for more. Gradients are integers, so the
    model is the same on every backend.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds.
    loss : 'log_loss', 'exponential' or function, default='log_loss'
        'log_loss' is the deviance; 'exponential' is the loss of AdaBoost, for two classes, at half
        the log-odds that the trees add up to. A function of y, the numbers of the classes, and the
        predictions so far, (n_rows,) for two classes and (n_rows, n_classes) for more, returns the
        gradient and the hessian of a loss, each of the shape of the predictions, and as a third, if
        it is to be watched by early stopping, the loss of each row; trees then start from 0. A
        loss object of scikit-learn is taken as such a function.
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
        The least number of rows in a leaf. More than 1 takes some more time.
    min_child_weight : float, default=1.0
        The least hessian of the loss in a leaf, summed over its rows; at even odds a row has a
        quarter where there are two classes.
    min_split_gain : float, default=0.0
        What a split must at least lower the loss by, times 2.
    min_impurity_decrease : float, default=0.0
        The same, divided by the weight of all rows that a tree sees, as in scikit-learn: what a
        split must at least lower their mean loss by, times 2.
    l2_regularization : float, default=1.0
        Added to the hessian of each leaf, which makes its value smaller.
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
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes.
    init : estimator, 'zero' or None, default=None
        What predictions begin with: the best constant, 0, or the log-odds of an estimator that
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
        The share of the rows of each class that early stopping holds out; at least one row of a
        class is left to train on. None looks at the rows that trees see.
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
        What becomes of categories that were not seen at fit, as in `DecisionTreeClassifier`.
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
        As in `DecisionTreeClassifier`.
    splits, directions, max_projections, projection_density
        As in `RandomForestClassifier`, for directions='sparse', on the CPU, without
        `interaction_cst` and `colsample_bytree`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_iter_ : int
        The number of rounds.
    init_ : estimator or None
        The fitted `init`, where it is an estimator.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, round by round, made when asked for; `estimators_[round, output]` is one of them.
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
    n_features_in_, feature_names_in_, n_classes_, missing_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(20, max_depth=3).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.n_iter_, len(model.estimators_)
    (20, 60)
    """

    LOSSES: ClassVar[dict[str, Loss]] = FOR_TWO_CLASSES

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int = 1,
        min_child_weight: float = 1.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        oob_score: bool = False,
        colsample_bytree: float = 1.0,
        max_features: int | float | str | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        class_weight: Any = None,
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

    def decision_function(self, X: Any) -> Array:
        """The log-odds of the second of two classes, or the logits of all, (n_rows, n_classes)."""
        found = self._there(X)
        if found is None:
            found = np.ascontiguousarray(self._raw(X).T)
        return like(X, found[:, 0] if found.shape[1] == 1 else found)

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class."""
        return like(X, self._shares(self._raw(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return like(X, np.log(self._shares(self._raw(X))))

    def predict(self, X: Any) -> Array:
        """The most probable class; the first in `classes_` if several are."""
        check_is_fitted(self)
        found = self._there(X, self.classes_)
        return like(X, self._labels(self._raw(X)) if found is None else found)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """The probabilities after one, two, ... rounds."""
        for raw in self._staged_raw(X):
            yield like(X, self._shares(raw))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The classes after one, two, ... rounds."""
        for raw in self._staged_raw(X):
            yield like(X, self._labels(raw))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """What the trees add up to after one, two, ... rounds."""
        for raw in self._staged_raw(X):
            yield like(X, raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T))

    def _link(self) -> Link:
        if len(self._start) > 1:
            return LOGITS
        known = isinstance(self.loss, str)  # a function of the user has no link of its own
        return (FOR_TWO_CLASSES.get(self.loss, LOGISTIC) if known else LOGISTIC).link

    def _shares(self, raw: HostArray) -> HostArray:
        return shares(raw, self._link()) if len(self.classes_) > 1 else np.ones((raw.shape[1], 1))

    def _labels(self, raw: HostArray) -> HostArray:
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, raw.shape[1])
        number = (raw[0] > 0).astype(np.int64) if len(raw) == 1 else raw.argmax(axis=0)
        return self.classes_[number]

    def _begun(self, init: Any, X: Any, learned: dict[str, Any]) -> HostArray:
        return log_odds(init, X, len(learned["classes_"]))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_init(self.init, "predict_proba", type(self).__name__)

    def _n_outputs(self, learned: dict[str, Any]) -> int:
        n_classes = len(learned["classes_"])
        return n_classes if n_classes > 2 else 1

    def _read_target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[HostArray, HostArray | None, dict[str, Any]]:
        classes, number = read_labels(y, n_rows, type(self).__name__)
        factor = class_factors(self.class_weight, "data", classes, number, weight, comm)
        if factor is not None:
            with np.errstate(over="ignore"):
                weight = factor[number] if weight is None else weight * factor[number]
            name = "the product of sample_weight and class_weight"
            weight = read_weights(weight, n_rows, name, comm)
        learned = {"classes_": classes, "n_classes_": len(classes)}
        return number.astype(np.float64), weight, learned

    def _groups(self, run: BoostRun) -> HostArray:
        return run.target.astype(np.int64)  # a rare class is watched, and trained on

    def _validation_target(
        self, y: Any, n_rows: int, learned: dict[str, Any], comm: Comm = ALONE
    ) -> HostArray:
        label = column_or_1d(read_target(y, n_rows, type(self).__name__))
        classes = learned["classes_"]
        number = np.searchsorted(classes, label)
        unseen = classes[np.minimum(number, len(classes) - 1)] != label
        if unseen.any():
            raise ValueError(
                f"y_val has the label {label[unseen].tolist()[0]!r}, which y does not have"
            )
        return number.astype(np.float64)

    def _named(
        self, y: HostArray, weight: HostArray, learned: dict[str, Any], comm: Comm = ALONE
    ) -> Named:
        n_classes = len(learned["classes_"])
        named = for_classes(n_classes, self.loss, comm)
        # One class has all of the probability from the start, and trees have nothing to add.
        return named if n_classes > 1 else replace(named, most_step=0.0)

    def _restore_target(self, header: dict[str, Any]) -> None:
        self.classes_ = model_file.read_labels(header)
        self.n_classes_ = len(self.classes_)
