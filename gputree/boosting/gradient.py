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
    """Gradient boosting for classification.

    Trees are added in rounds: each is fitted to the gradients of the loss at the predictions so
    far, with one tree per round for two classes and one per class and round for more. Gradients are
    rounded to integers, so the model is the same on every backend.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds.
    loss : 'log_loss', 'exponential' or function, default='log_loss'
        'log_loss' is the logistic or softmax loss. 'exponential', for two classes, is the loss of
        AdaBoost at half the log-odds. A function takes y, the class numbers, and the predictions so
        far, of shape (n_rows,) for two classes and (n_rows, n_classes) for more. It returns the
        gradient and the hessian of a loss in the shape of the predictions, and optionally the loss
        of each row, which early stopping needs; trees then start from 0. A loss object of
        scikit-learn is treated as such a function.
    learning_rate : float, default=0.1
        The factor that shrinks the contribution of each tree.
    max_depth : int or None, default=6
        The maximum depth of a tree.
    max_leaf_nodes : int or None, default=None
        If set, trees grow leaf by leaf, the best split first, up to this number of leaves.
    min_samples_split : int or float, default=2
        The minimum number of rows in a node that is split; a float is a share of all rows. Values
        above 2 take more time.
    min_samples_leaf : int, default=1
        The minimum number of rows in a leaf. Values above 1 take more time.
    min_child_weight : float, default=1.0
        The minimum sum of hessians in a leaf; with two classes, a row with even odds has a hessian
        of 1/4.
    min_split_gain : float, default=0.0
        The minimum gain of a split, which is twice the reduction of the loss.
    min_impurity_decrease : float, default=0.0
        The same for the mean loss: the gain divided by the weight of all rows that a tree sees, as
        in scikit-learn.
    l2_regularization : float, default=1.0
        A constant that is added to the hessian of each leaf, which shrinks the leaf's value.
    subsample : float, default=1.0
        The probability that a row takes part in a round.
    oob_score : bool, default=False
        Whether to compute the loss of the rows that each round leaves out, for `oob_scores_` and
        `oob_improvement_`. This needs all predictions once per round.
    colsample_bytree : float, default=1.0
        The share of the features that are drawn for each tree.
    max_features : int, float, 'sqrt', 'log2' or None, default=None
        The number of features to try at each node.
    multi_strategy : {'one_output_per_tree', 'one_tree'}, default='one_output_per_tree'
        What a round of more than two classes has: a tree for each class, or one tree whose leaves
        have a value for each class.
    monotonic_cst : array-like of int, dict of name and int, or None, default=None
        1 if predictions must not fall as a feature grows, -1 if they must not rise. Splits are then
        searched on the host, which takes longer.
    interaction_cst : list of lists of columns, 'pairwise', 'no_interactions' or None, default=None
        Which features may be tested on the same path from the root to a leaf.
    class_weight : dict, 'balanced' or None, default=None
        The weights of the classes.
    init : estimator, 'zero' or None, default=None
        The start of the predictions: the best constant (None), 0, or the log-odds of an estimator
        that is fitted first, to the training rows of the trees. With an estimator the model can be
        pickled, but not saved, exported or explained.
    early_stopping : bool or 'auto', default=False
        Whether to stop when the loss on validation rows no longer improves. These are given to
        `fit`, or held out. 'auto' stops early if there are more than 10,000 rows, or if validation
        rows are given.
    keep_best : bool, default=True
        Whether early stopping keeps only the rounds up to the best one; otherwise all rounds are
        kept, as in scikit-learn.
    scoring : 'loss', str, function or None, default='loss'
        The measure of early stopping: the loss, the name of a score of scikit-learn, a function of
        model, X and y that is higher for better models, or None for the method `score`.
    validation_fraction : float or None, default=0.1
        The share of the rows of each class that early stopping holds out; at least one row of each
        class is left for training. None monitors the training rows.
    n_iter_no_change : int, default=10
        The number of rounds without improvement after which a fit ends.
    tol : float, default=1e-7
        The minimum change of the loss or score that counts as an improvement.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories, as in scikit-learn's HistGradientBoosting.
    min_samples_category : int or 'auto', default='auto'
        The minimum number of rows of a category in a node. Categories with fewer rows are pooled,
        together with those that do not occur in the node. 'auto' means 10 rows in columns of more
        than 32 categories, and one row in others.
    missing : {'direction', 'category'}, default='direction'
        Missing values go to the side that lowers the loss more, or are a category of their own.
    unknown_category : {'missing', 'error'}, default='missing'
        The treatment of categories that were not in training, as in `DecisionTreeClassifier`.
    max_bins : int, default=255
        The maximum number of bins per feature.
    warm_start : bool, default=False
        Whether to add rounds to the existing model.
    random_state : int, RandomState or None, default=None
        The seed of all draws.
    verbose : int, default=0
        1 prints a table of rounds with the training loss, the out-of-bag improvement if rows are
        left out, and the remaining time, with fewer lines the more rounds there are; 2 prints every
        round. If the loss is a function, a line shows the progress.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_iter_ : int
        The number of rounds.
    init_ : estimator or None
        The fitted `init`, if it is an estimator.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, round by round, created on access; `estimators_[round, output]` is one of them.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the total gain of all splits.
    validation_score_ : ndarray of shape (n_rounds,)
        The mean loss on the validation rows after each round, or the score by `scoring`, if there
        are validation rows.
    oob_scores_, oob_improvement_ : ndarray of shape (n_rounds,), oob_score_ : float
        With `oob_score`: the mean loss of the rows that each round has left out, its decrease since
        the previous round, and the last of these losses. A round that leaves out no row has NaN,
        and rounds of an earlier fit without `oob_score` have 0.
    fit_report_ : FitReport
        Where the fit ran and why, seconds per phase, rows, peak bytes.
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
        multi_strategy: str = "one_output_per_tree",
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
        check_is_fitted(self)
        several = len(self.classes_) > 1
        found = self._there(X, link=self._link()) if several else None
        return like(X, self._shares(self._raw(X)) if found is None else found)

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
        """The decision function after one, two, ... rounds."""
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
