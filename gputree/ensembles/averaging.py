"""Ensembles of trees that do not know of one another and answer with their mean."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch, Tags
from sklearn.utils.validation import check_is_fitted

from gputree import sampling
from gputree.arrays import to_numpy
from gputree.backends.samples import Samples
from gputree.data.target import Target, has_weight
from gputree.dtypes import Array, HostArray
from gputree.ensembles.base import Ensemble, Run
from gputree.ensembles.draws import Draws, draws_of
from gputree.ensembles.inspection import permutation_importances, proximities
from gputree.ensembles.members import Member, answers, values_of
from gputree.ensembles.out_of_bag import OutOfBag, OutOfBagResult
from gputree.ensembles.pruned import method_for, pruned
from gputree.estimators import parameters
from gputree.estimators.base import like
from gputree.estimators.growing import Growing
from gputree.export.plan import Plan
from gputree.prediction import answer_of_sums
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

HOW_TO_SPARE = "set bootstrap=True or max_samples"  # rows that a tree does not see


class Averaging(Ensemble):
    """Trees on samples of the rows, each drawn by the number of its tree."""

    bootstrap: bool
    max_samples: Any
    oob_score: Any
    bootstrap_features: bool = False
    _draws: Draws | None
    _oob: OutOfBagResult | None

    @property
    def feature_importances_(self) -> HostArray:
        """The mean over all trees of each feature's share in the total gain of the splits."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for member in self._members:
            total += member.importances(self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total

    @property
    def estimators_samples_(self) -> list[HostArray]:
        """The rows that each tree was grown on; a row that was drawn twice occurs twice."""
        if vars(self).get("_draws", self) is None:  # every tree has seen every row
            every = np.arange(self.fit_report_.n_rows, dtype=np.int32)
            return [every.copy() for _ in self._members]
        draws = self._known_draws("estimators_samples_")
        return [draws.samples(tree) for tree in range(len(self._members))]

    @property
    def oob_score_(self) -> float:
        """The score of the trees on rows that they were not grown on."""
        return self._known_oob("oob_score_").score

    @property
    def oob_error_curve_(self) -> HostArray:
        """The out-of-bag error after one, two, ... trees, (n_trees,).

        The error rate, or the mean squared error.
        """
        return self._known_oob("oob_error_curve_").curve

    def permutation_importances_oob(self, X: Any, y: Any, *, n_repeats: int = 1) -> Bunch:
        """Breiman's importances: the rise of the out-of-bag error when a column is shuffled.

        For each tree and column, the values of the column are shuffled among the tree's out-of-bag
        rows. The importance is the error of the tree on them (error rate, or squared error) after
        shuffling minus the error before. The draws follow from the seed of the fit.

        Parameters
        ----------
        X : array-like or data frame
            The training rows, in the same order.
        y : array-like
            Their targets.
        n_repeats : int, default=1
            How often to shuffle each column for each tree.

        Returns
        -------
        Bunch
            `importances` of shape (n_features, n_trees), `importances_mean` and `importances_std`
            over the trees.
        """
        draws = self._known_draws("permutation_importances_oob")
        parameters.whole("n_repeats", n_repeats, 1)
        table = self._table(X)
        if table.n_rows != draws.n_rows:
            raise ValueError(
                f"X has {table.n_rows} rows; the {draws.n_rows} rows of the training are needed, "
                "in the same order"
            )
        stem = self._at()
        target = stem._answers(y, table.n_rows, dict(vars(self)))
        return permutation_importances(stem, self._members, table, target, draws, n_repeats)

    def proximity(self, X: Any) -> HostArray:
        """The share of the trees in which two rows end in the same leaf, (n_rows, n_rows)."""
        return proximities(self._leaves(X))

    # What the ensembles fill in.

    def _factor(self, growing: Growing) -> Callable[[HostArray], HostArray] | None:
        """What the rows of each class count in a sample that has so many of each; None for 1."""
        if growing.target.label is not None and growing.rules.missing == "fractional":
            return np.ones_like  # rows are divided: fine units
        return None

    def _columns(self, run: Run, tree: int) -> HostArray | None:
        """The columns of a tree, None for all."""
        return None

    # Steps of a fit.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.truth("bootstrap", self.bootstrap)
        parameters.truth("bootstrap_features", self.bootstrap_features)
        if not callable(self.oob_score):
            parameters.truth("oob_score", self.oob_score)
        if self.oob_score and not self._samples_rows:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True, or with max_samples: "
                "otherwise every tree sees all rows"
            )

    @property
    def _samples_rows(self) -> bool:
        return bool(self.bootstrap) or self.max_samples is not None

    def _steps(self, run: Run) -> Iterator[tuple[Member, float | None]]:
        growing, stem = run.growing, run.stem
        method = method_for(stem, HOW_TO_SPARE if not self._samples_rows else None)
        draws = None
        if self._samples_rows:
            draws = draws_of(growing, run.seed, self.max_samples, replaces=self.bootstrap)
        run.learned["_draws"] = draws
        bag = None
        if self.oob_score:
            bag = OutOfBag(stem, growing.dataset, growing.answers)
            run.learned["_bag"] = bag
            assert draws is not None
            for tree, member in enumerate(run.kept):
                bag.add(member, draws.counts(tree) == 0)
        numbers = range(len(run.kept), self.n_estimators)
        sampled: dict[int, Target] = {}  # of the trees that are being grown

        def targets() -> Iterator[Target]:
            for tree, target in zip(numbers, self._samples(growing, draws, numbers), strict=True):
                sampled[tree] = target
                yield target

        for tree, (grown, columns) in zip(
            numbers, self._grown(run, numbers, targets()), strict=True
        ):
            target = sampled.pop(tree)
            member = Member(grown, columns)
            if method is not None:
                member = pruned(member, method, stem, growing, target)
            yield member, None if bag is None else bag.add(member, ~has_weight(target))

    def _samples(self, growing: Growing, draws: Draws | None, numbers: range) -> Iterator[Target]:
        """The target of each tree."""
        if draws is None:
            yield from (growing.target for _ in numbers)
            return
        factor = self._factor(growing) if draws.replaces else None
        sampler = growing.backend.sampler(Samples(growing.target, draws, factor))
        for tree in numbers:
            yield growing.backend.sampled(sampler, tree)

    def _grown(
        self, run: Run, numbers: range, targets: Iterator[Target]
    ) -> Iterator[tuple[Tree, HostArray | None]]:
        """The trees, and the columns each was grown on."""
        growing = run.growing
        seeds = [sampling.tree_seed(run.seed, tree) for tree in numbers]
        columns = [self._columns(run, tree) for tree in numbers]
        if all(each is None for each in columns):
            for tree in growing.grow_all(targets, seeds):
                yield tree, None
            return
        for own, target, seed in zip(columns, targets, seeds, strict=True):
            assert own is not None
            some = growing.on(growing.dataset.take(own))
            tree = some.grow(target, seed)
            growing.learn_from(some, own)
            yield tree, own

    def _ended(self, run: Run) -> None:
        bag = run.learned.pop("_bag", None)
        run.learned["_oob"] = None if bag is None else bag.result(self.oob_score)

    # What is known after a fit.

    def _known_draws(self, name: str) -> Draws:
        check_is_fitted(self)
        draws = getattr(self, "_draws", None)
        if draws is None:
            raise AttributeError(
                f"{name}: the model does not know which rows its trees have seen; fit with "
                "bootstrap=True or max_samples (a saved model does not keep it)"
            )
        return draws

    def _known_oob(self, name: str) -> OutOfBagResult:
        oob = getattr(self, "_oob", None)
        if oob is None:
            raise AttributeError(f"{name} is there after a fit with oob_score=True")
        return oob

    def _known_oob_rows(self, name: str) -> HostArray:
        mean = self._known_oob(name).mean
        if mean is None:
            raise AttributeError(
                f"{name} is an array of all rows, which several ranks had; predict other rows"
            )
        return mean

    def _plan(self) -> Plan:
        check_is_fitted(self)
        values = tuple(values_of(self._stem, member.tree) for member in self._members)
        return Plan(
            type(self).__name__,
            self.schema_,
            self.missing_,
            tuple(member.whole for member in self._members),
            values,
            (0,) * len(values),
            np.zeros(values[0].shape[1]),
            divisor=float(len(values)),
            classes=getattr(self, "classes_", None),
        )

    def _mean(self, X: Any, label: HostArray | None = None) -> Array:
        """The mean of what the trees answer, added in their order; or the label of the largest."""
        table = self._table(X)
        n_trees, missing = float(len(self._members)), self.missing_
        backend = self._backend_for(table)
        return answer_of_sums(backend, self._stack, table, n_trees, label, missing)

    def _stack(self) -> Stack:
        return self._members.stack(lambda tree: values_of(self._stem, tree))

    def _added_up(self) -> tuple[Stack, HostArray]:
        n = len(self._members)
        stack = self._members.stacked(lambda tree: values_of(self._stem, tree) / n)
        return stack, np.zeros(stack.n_outputs)

    def _staged_mean(self, X: Any) -> Iterator[HostArray]:
        """The mean of the first one, two, ... trees."""
        total: HostArray | float = 0.0
        for n, found in enumerate(answers(self._at(), self._members, self._table(X)), 1):
            total = total + found
            yield total / n


class AveragingClassifier(ClassifierMixin, Averaging):
    """Trees whose class shares are averaged."""

    IS_CLASSES: ClassVar[bool] = True

    @property
    def oob_decision_function_(self) -> HostArray:
        """The mean class shares of each row in trees that have not seen it; NaN without any."""
        return self._known_oob_rows("oob_decision_function_")

    def predict(self, X: Any) -> Array:
        """The class with the largest mean share; the first in `classes_` if several have it."""
        check_is_fitted(self)
        return like(X, self._mean(X, self.classes_))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions of the first one, two, ... trees."""
        for mean in self._staged_mean(X):
            yield like(X, self.classes_[mean.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """The mean over all trees of the class shares in each row's leaf."""
        return like(X, self._mean(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """The mean class shares of the first one, two, ... trees."""
        for mean in self._staged_mean(X):
            yield like(X, mean)

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return like(X, np.log(to_numpy(self._mean(X))))

    def _has_outputs(self) -> bool:
        return True


class AveragingRegressor(RegressorMixin, Averaging):
    """Trees whose means are averaged."""

    @property
    def oob_prediction_(self) -> HostArray:
        """The mean of the trees that have not seen each row; NaN without any."""
        mean = self._known_oob_rows("oob_prediction_")
        return mean[:, 0] if mean.shape[1] == 1 else mean

    def predict(self, X: Any) -> Array:
        """The mean of all trees for each row, (n_rows,) or (n_rows, n_outputs)."""
        mean = self._mean(X)
        return like(X, mean[:, 0] if self.n_outputs_ == 1 else mean)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions of the first one, two, ... trees."""
        for mean in self._staged_mean(X):
            yield like(X, mean[:, 0] if self.n_outputs_ == 1 else mean)

    def _has_outputs(self) -> bool:
        return self.n_outputs_ > 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
