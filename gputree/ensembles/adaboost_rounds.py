"""The rounds of AdaBoost, which classes and numbers share: trees, errors, weights of rows."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from gputree import sampling
from gputree.comm import total
from gputree.data.exact import exact_sum
from gputree.data.target import Target, whole_weights
from gputree.dtypes import Array, HostArray
from gputree.ensembles.base import Ensemble, Run
from gputree.ensembles.draws import ContentOrder, Draws, content_order, n_samples
from gputree.ensembles.members import Member, answers_in_parts
from gputree.ensembles.pruned import method_for, pruned
from gputree.errors import ModelFileError
from gputree.estimators import parameters

LEAST_WEIGHT = float(np.finfo(np.float64).eps)  # of a row, as a share of all: none is forgotten


class AdaBoost(Ensemble):
    """Trees one after another, each on weights that the ones before it have left."""

    estimator: Any
    learning_rate: float
    resample: bool
    estimator_weights_: HostArray
    estimator_errors_: HostArray

    @property
    def feature_importances_(self) -> HostArray:
        """The mean over all trees, by their weights, of each feature's share in what was gained."""
        check_is_fitted(self)
        gained = np.zeros(self.n_features_in_)
        for member, weight in zip(self._members, self.estimator_weights_, strict=True):
            gained += weight * member.importances(self.n_features_in_)
        return gained / gained.sum() if gained.sum() > 0 else gained

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The score of the first one, two, ... trees: accuracy, or R².

        Parameters
        ----------
        X : array-like or data frame
            Rows to predict.
        y : array-like
            Their target.
        sample_weight : array-like, optional
            Their weights.
        """
        score = accuracy_score if hasattr(self, "classes_") else r2_score
        for found in self.staged_predict(X):
            yield float(score(y, found, sample_weight=sample_weight))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions of the first one, two, ... trees."""
        raise NotImplementedError

    # What classifiers and regressors fill in.

    def _loss(self, run: Run, found: HostArray) -> HostArray:
        """How wrong a tree is about each row, between 0 and 1."""
        raise NotImplementedError

    def _is_useless(self, error: float, run: Run) -> bool:
        """Whether a tree does not do better than chance."""
        raise NotImplementedError

    def _weight_of(self, error: float, run: Run) -> float:
        """The say of a tree of this error."""
        raise NotImplementedError

    def _next_weights(
        self, weight: HostArray, loss: HostArray, error: float, run: Run
    ) -> HostArray:
        """The weights of the rows for the next tree, but for a factor."""
        raise NotImplementedError

    # Steps of a fit.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.truth("resample", self.resample)
        parameters.positive("learning_rate", self.learning_rate)

    def _steps(self, run: Run) -> Iterator[tuple[Member, float | None]]:
        """Weights are shares of their sum, which is rounded once and in no particular order."""
        growing, stem = run.growing, run.stem
        method = method_for(stem, "set pruning=None and max_depth")
        given, comm = growing.weight, growing.dataset.comm
        weight = np.ones(growing.dataset.n_rows) if given is None else given.copy()
        counts = weight > 0
        order = content_order(growing) if self.resample else None
        weights: list[float] = []
        errors: list[float] = []
        run.learned |= {"estimator_weights_": weights, "estimator_errors_": errors}
        for tree in range(self.n_estimators):
            weight = weight / exact_sum(weight, comm)
            weight[counts] = np.maximum(weight[counts], LEAST_WEIGHT)
            target = self._target_of(run, weight, order, tree)
            seed = sampling.tree_seed(run.seed, tree)
            (grown,) = growing.grow_all([target], [seed])
            member = Member(grown)
            if method is not None:
                member = pruned(member, method, stem, growing, target)
            found = answers_in_parts(stem, member, growing.dataset)
            loss = self._loss(run, found)
            error = exact_sum(weight * loss, comm) / exact_sum(weight, comm)
            if error <= 0.0:
                weights.append(1.0)
                errors.append(0.0)
                yield member, 0.0
                return
            if self._is_useless(error, run):
                self._refuse_first(run, tree)
                if tree == 0:  # a poor tree is better than none
                    weights.append(0.0)
                    errors.append(1.0)
                    yield member, error
                return
            weights.append(self._weight_of(error, run))
            errors.append(error)
            yield member, error
            weight = self._next_weights(weight, loss, error, run)
            if total(comm, np.count_nonzero(~np.isfinite(weight))):
                warnings.warn(
                    f"Sample weights have reached infinite values after {tree + 1} trees, and "
                    f"boosting ends; use a smaller value than learning_rate={self.learning_rate!r}",
                    stacklevel=5,
                )
                return

    def _refuse_first(self, run: Run, tree: int) -> None:
        """Refuse to boost trees of which even the first is useless."""

    def _target_of(
        self, run: Run, weight: HostArray, order: ContentOrder | None, tree: int
    ) -> Target:
        """The rows with their weights, or as often as they are drawn by them."""
        growing = run.growing
        if order is None:
            return growing.weighed(weight)
        whole, _ = whole_weights(weight, growing.dataset.comm)
        own = None if whole is None else whole[order.row]
        n = n_samples(None, growing.target, order.n, replaces=True)
        counts = Draws(run.seed, n, True, order, own, len(weight)).counts(tree)
        return growing.weighed(counts.astype(np.float64))

    def _ended(self, run: Run) -> None:
        for name in ("estimator_weights_", "estimator_errors_"):
            run.learned[name] = np.array(run.learned[name][: len(run.members)])

    def _extras(self) -> dict[str, HostArray]:
        return {
            "estimator_weights": self.estimator_weights_,
            "estimator_errors": self.estimator_errors_,
        }

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        for name in ("estimator_weights", "estimator_errors"):
            array = arrays[name]
            is_right = array.dtype == np.float64 and array.shape == (len(self._members),)
            if not is_right or not (np.isfinite(array) & (array >= 0)).all():
                raise ModelFileError(f"array {name!r} does not fit the trees")
            setattr(self, f"{name}_", array)
        with np.errstate(over="ignore"):
            held = self.estimator_weights_.sum()
        if not np.isfinite(held) or (self.estimator_errors_ > 1).any():
            raise ModelFileError("the weights or errors of the trees cannot be those of a fit")
        if hasattr(self, "classes_") and not held > 0:
            raise ModelFileError("no tree has a positive weight")
