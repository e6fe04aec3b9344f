"""AdaBoostClassifier and AdaBoostRegressor."""

import functools
import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import is_foreign, to_numpy
from gputree.comm import largest
from gputree.dtypes import Array, HostArray
from gputree.ensembles.adaboost_rounds import AdaBoost
from gputree.ensembles.base import Run
from gputree.ensembles.based import stem_of
from gputree.ensembles.members import answers, values_of
from gputree.errors import ModelFileError
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator, like
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.export.plan import MEDIAN, SAMME, SUM, VOTES, Plan, may_stop
from gputree.prediction import answer_there, sum_leaves
from gputree.tree.stack import Stack

LOSSES = ("linear", "square", "exponential")
NO_SHAPLEY = (
    "AdaBoostRegressor has no Shapley values: it answers with the median of its trees, which is "
    "not a sum over them; explain a GradientBoostingRegressor or RandomForestRegressor, or a tree "
    "of estimators_"
)


class AdaBoostClassifier(ClassifierMixin, AdaBoost):
    """AdaBoost for classification (SAMME): each tree concentrates on the errors before it.

    Every row has a weight. A tree is grown on the weighted rows. With its weighted error e and K
    classes, its vote has the weight a = learning_rate (ln((1 - e) / e) + ln(K - 1)), and the
    weights of the rows that it misclassifies are multiplied by exp(a). The ensemble predicts the
    class with the largest total vote. A tree without errors ends the boosting, and so does one that
    is not better than chance (Freund, Schapire: 1997; Zhu, Zou, Rosset, Hastie: Multi-class
    AdaBoost, 2009).

    Parameters
    ----------
    estimator : tree estimator of gputree, optional
        The estimator of each tree; `DecisionTreeClassifier(max_depth=1)` by default. Its
        `random_state`, `device`, `backend` and `n_jobs` are ignored.
    n_estimators : int, default=50
        The maximum number of trees.
    learning_rate : float, default=1.0
        The factor that shrinks the weight of each tree's vote.
    resample : bool, default=False
        Whether to grow trees on rows drawn in proportion to their weights, instead of on all rows
        with their weights.
    random_state : int, RandomState or None, default=None
        The seed of the draws.
    verbose, n_jobs, device, backend
        As in `RandomForestClassifier`.

    Attributes
    ----------
    estimator_weights_ : ndarray of shape (n_trees,)
        The weight of each tree's vote.
    estimator_errors_ : ndarray of shape (n_trees,)
        The weighted error of each tree.
    classes_, n_classes_, n_outputs_, estimators_, feature_importances_, fit_report_, \
n_features_in_, feature_names_in_, missing_, backend_, device_
        As in `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gputree import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosted = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> [round(score, 2) for score in boosted.staged_score(X, y)][::6]
    [0.92, 0.97, 0.98, 0.99]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        resample: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        device: str = "auto",
        backend: str | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def predict(self, X: Any) -> Array:
        """The class with the largest total vote; the first in `classes_` if several have it."""
        check_is_fitted(self)
        found = self._there(X, self.classes_)
        return like(X, self._labels(self._said(X)) if found is None else found)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions of the first one, two, ... trees."""
        for said in self._staged_say(X):
            yield like(X, self._labels(said))

    def decision_function(self, X: Any) -> Array:
        """The mean vote for each class, between -1 / (K - 1) and 1.

        With two classes, the vote for the second minus that for the first, (n_rows,).
        """
        check_is_fitted(self)
        found = self._there(X) if self.n_classes_ > 2 else None
        return like(X, self._decision(self._said(X)) if found is None else found)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """The decision function of the first one, two, ... trees."""
        for said in self._staged_say(X):
            yield like(X, self._decision(said))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities that follow from the decision function by softmax."""
        return like(X, self._shares(self._said(X)))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """The probabilities by the first one, two, ... trees."""
        for said in self._staged_say(X):
            yield like(X, self._shares(said))

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        return like(X, np.log(self._shares(self._said(X))))

    def _there(self, X: Any, label: HostArray | None = None) -> Array | None:
        """The mean say for each class, or the label of the largest, where X is; or None."""
        if not is_foreign(X) or self._is_divided:
            return None
        table = self._table(X)
        there = self._backend_for(table), self._stack, table
        return answer_there(*there, 0.0, self._norm, label)

    def _said(self, X: Any) -> HostArray:
        """The mean say for each class by all trees, (rows, classes)."""
        if self._is_divided:  # a vote is that of the mean of several leaves
            *_, said = self._staged_say(X)
            return said
        table = self._table(X)
        total = sum_leaves(self._backend_for(table), self._stack(), table, missing=self.missing_)
        return total / self._norm

    @property
    def _is_divided(self) -> bool:
        """Whether a row may end in several leaves of a tree."""
        check_is_fitted(self)
        return self.missing_ == "fractional" and any(
            may_stop(member.tree).any() for member in self._members
        )

    @property
    def _norm(self) -> float:
        return functools.reduce(operator.add, self.estimator_weights_.tolist())

    def _stack(self) -> Stack:
        say = iter(self.estimator_weights_.tolist())
        return self._members.stack(lambda tree: self._votes(values_of(self._stem, tree), next(say)))

    def _has_outputs(self) -> bool:
        return self.n_classes_ != 2

    def _added_up(self) -> tuple[Stack, HostArray]:
        """Shapley values are those of the decision function."""
        if self._is_divided:
            raise ValueError(
                "Shapley values: missing='fractional' divides a row among leaves, and its vote is "
                "not a sum over them; fit with missing='direction', 'category' or 'surrogate'"
            )
        stack = self._stack()
        decisions = tuple(
            self._decision(own / self._norm).reshape(len(own), -1) for own in stack.values
        )
        stack = replace(stack, values=decisions, n_outputs=decisions[0].shape[1])
        return stack, np.zeros(stack.n_outputs)

    def _staged_say(self, X: Any) -> Iterator[HostArray]:
        """The mean say for each class after each tree, (rows, classes); in the trees' order."""
        table = self._table(X)
        total, norm = np.zeros((table.n_rows, self.n_classes_)), 0.0
        every = answers(self._at(), self._members, table)
        for weight, found in zip(self.estimator_weights_.tolist(), every, strict=True):
            total = total + self._votes(found, weight)
            norm += weight
            yield total / norm

    def _votes(self, found: HostArray, weight: float) -> HostArray:
        """What a tree of this weight adds to each class."""
        others = -1.0 / max(1, self.n_classes_ - 1)
        is_said = found.argmax(axis=1)[:, None] == np.arange(self.n_classes_)
        return np.where(is_said, weight, others * weight)

    def _plan(self) -> Plan:
        check_is_fitted(self)
        trees = tuple(member.tree for member in self._members)
        values = [values_of(self._stem, tree) for tree in trees]
        say = self.estimator_weights_
        is_divided = self._is_divided
        if not is_divided:  # each node has its vote already
            values = [
                self._votes(own, weight) for own, weight in zip(values, say.tolist(), strict=True)
            ]
        return Plan(
            type(self).__name__,
            self.schema_,
            self.missing_,
            trees,
            tuple(values),
            (0,) * len(trees),
            np.zeros(self.n_classes_),
            divisor=self._norm,
            link=SAMME,
            combine=VOTES if is_divided else SUM,
            say=say,
            classes=self.classes_,
        )

    def _labels(self, said: HostArray) -> HostArray:
        return np.asarray(self.classes_[said.argmax(axis=1)])

    def _decision(self, said: HostArray) -> HostArray:
        if self.n_classes_ == 1:
            return np.zeros_like(said)
        return said[:, 1] - said[:, 0] if self.n_classes_ == 2 else said

    def _shares(self, said: HostArray) -> HostArray:
        decision = self._decision(said)
        if self.n_classes_ == 1:
            return np.ones_like(said)
        if self.n_classes_ == 2:
            return np.asarray(softmax(np.stack([-decision, decision], axis=1) / 2, axis=1))
        return np.asarray(softmax(decision / (self.n_classes_ - 1), axis=1))

    def _new_stem(self) -> TreeEstimator:
        return stem_of(self, self.estimator, DecisionTreeClassifier(max_depth=1))

    def _loss(self, run: Run, found: HostArray) -> HostArray:
        return (found.argmax(axis=1) != run.growing.answers).astype(np.float64)

    def _is_useless(self, error: float, run: Run) -> bool:
        return error >= 1.0 - 1.0 / run.growing.learned["n_classes_"]

    def _refuse_first(self, run: Run, tree: int) -> None:
        if tree == 0:
            raise ValueError(
                "estimator: the first tree is not better than chance, so there is nothing to "
                "boost; give a larger tree, or other columns"
            )

    def _odds(self, error: float, run: Run) -> float:
        return (1.0 - error) / error * (run.growing.learned["n_classes_"] - 1.0)

    def _weight_of(self, error: float, run: Run) -> float:
        return self.learning_rate * math.log(self._odds(error, run))

    def _next_weights(
        self, weight: HostArray, loss: HostArray, error: float, run: Run
    ) -> HostArray:
        try:
            factor = self._odds(error, run) ** self.learning_rate
        except OverflowError:  # of Python's numbers; NumPy's may differ in the last place
            factor = math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(loss > 0, weight * factor, weight)


class AdaBoostRegressor(RegressorMixin, AdaBoost):
    """AdaBoost for regression (AdaBoost.R2): each tree concentrates on the errors before it.

    A tree is grown on rows drawn in proportion to their weights. The loss of a row is its absolute
    error divided by the largest one, or the square of that, or 1 - exp(-that). With the mean loss L
    and b = L / (1 - L), the weights are multiplied by b ** (learning_rate (1 - loss)), and the tree
    has the weight learning_rate ln(1 / b). The ensemble predicts the weighted median of the trees
    (Drucker: Improving regressors using boosting techniques, 1997).

    Parameters
    ----------
    estimator : tree estimator of gputree, optional
        The estimator of each tree; `DecisionTreeRegressor(max_depth=3)` by default.
    n_estimators, learning_rate, random_state, verbose, n_jobs, device, backend
        As in `AdaBoostClassifier`.
    loss : {'linear', 'square', 'exponential'}, default='linear'
        The loss of a row as a function of its error.
    resample : bool, default=True
        Whether to draw the rows of each tree in proportion to their weights, as Drucker does,
        instead of using all rows with their weights.

    Attributes
    ----------
    n_outputs_ : int
        1; there is no AdaBoost for several outputs.
    estimator_weights_, estimator_errors_, estimators_, feature_importances_, fit_report_, \
n_features_in_, feature_names_in_, missing_, backend_, device_
        As in `AdaBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gputree import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.5)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        resample: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        device: str = "auto",
        backend: str | None = None,
    ) -> None:
        parameters.keep(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, callbacks: Any = None
    ) -> Self:
        """Boost trees on the rows of X with target y; `AdaBoostClassifier.fit` explains more."""
        shape = () if y is None or issparse(y) else to_numpy(y).shape
        if len(shape) == 2:
            if shape[1] != 1:
                raise ValueError(
                    f"y has {shape[1]} outputs, but AdaBoost takes one; fit one model per output, "
                    "or use RandomForestRegressor"
                )
            y = column_or_1d(to_numpy(y), warn=True)
        return super().fit(X, y, sample_weight, callbacks=callbacks)

    def predict(self, X: Any) -> Array:
        """The median of the trees by their say."""
        return like(X, self._median(self._every(X)))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions of the first one, two, ... trees."""
        every = self._every(X)
        for n in range(1, every.shape[1] + 1):
            yield like(X, self._median(every[:, :n]))

    @property
    def shap_values(self) -> NoReturn:
        """Not there: a median is not a sum over trees."""
        raise AttributeError(NO_SHAPLEY)

    @property
    def expected_value_(self) -> NoReturn:
        """Not there: a median is not a sum over trees."""
        raise AttributeError(NO_SHAPLEY)

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        super()._restore_extras(arrays)
        if self.n_outputs_ != 1:
            raise ModelFileError(f"the model has {self.n_outputs_} outputs, and its kind has one")

    def _every(self, X: Any) -> HostArray:
        """What each tree says, (rows, trees)."""
        table = self._table(X)
        return sum_leaves(self._backend_for(table), self._stack(), table, missing=self.missing_)

    def _stack(self) -> Stack:
        return self._members.stack(lambda tree: tree.value, range(len(self._members)))

    def _plan(self) -> Plan:
        check_is_fitted(self)
        trees = tuple(member.tree for member in self._members)
        return Plan(
            type(self).__name__,
            self.schema_,
            self.missing_,
            trees,
            tuple(tree.value for tree in trees),
            (0,) * len(trees),
            np.zeros(1),
            combine=MEDIAN,
            say=self.estimator_weights_,
        )

    def _median(self, every: HostArray) -> HostArray:
        order = np.argsort(every, axis=1, kind="stable")
        reached = np.cumsum(self.estimator_weights_[order], axis=1)
        median = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
        row = np.arange(len(every))
        return np.asarray(every[row, order[row, median]])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.one_of("loss", self.loss, dict.fromkeys(LOSSES))

    def _new_stem(self) -> TreeEstimator:
        return stem_of(self, self.estimator, DecisionTreeRegressor(max_depth=3))

    def _loss(self, run: Run, found: HostArray) -> HostArray:
        loss = np.abs(found - run.growing.answers)[:, 0]
        loss[~run.growing.counts] = 0.0  # rows without weight do not set the scale
        most = float(largest(run.fit.dataset.comm, loss.max(initial=0.0)))
        if most > 0.0:
            loss = loss / most
        if self.loss == "square":
            return loss * loss
        return -np.expm1(-loss) if self.loss == "exponential" else loss

    def _is_useless(self, error: float, run: Run) -> bool:
        return error >= 0.5

    def _weight_of(self, error: float, run: Run) -> float:
        return self.learning_rate * math.log((1.0 - error) / error)

    def _next_weights(
        self, weight: HostArray, loss: HostArray, error: float, run: Run
    ) -> HostArray:
        base = error / (1.0 - error)
        return np.asarray(weight * np.power(base, (1.0 - loss) * self.learning_rate))
