"""What trees say of the rows that they were not grown on."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from gputree.dtypes import HostArray
from gputree.ensembles.members import Member, answers, rows_of
from gputree.estimators.base import TreeEstimator
from gputree.fit.dataset import Dataset


@dataclass(frozen=True, eq=False)
class OutOfBagResult:
    """What a fit keeps."""

    mean: HostArray  # (rows, classes or outputs) NaN in rows that every tree was grown on
    score: float
    curve: HostArray  # (trees,) the error of the first one, two, ... trees


class OutOfBag:
    """Answers of trees for rows they have not seen, added up in the order of the trees."""

    def __init__(self, stem: TreeEstimator, dataset: Dataset, target: HostArray) -> None:
        self._stem, self._dataset, self._target = stem, dataset, target
        self._is_classes = hasattr(stem, "classes_")
        n_outputs = len(stem.classes_) if hasattr(stem, "classes_") else target.shape[1]
        self._sum = np.zeros((len(target), n_outputs))
        self._n_trees = np.zeros(len(target), np.int64)
        self._curve: list[float] = []

    def add(self, member: Member, is_out: HostArray) -> float:
        """Take in a tree and the rows it has not seen; the error so far."""
        first = 0
        for part in self._dataset.parts():
            row = np.flatnonzero(is_out[first : first + part.n_rows])
            if row.size:
                (found,) = answers(self._stem, [member], rows_of(part, row))
                self._sum[first + row] += found
                self._n_trees[first + row] += 1
            first += part.n_rows
        self._curve.append(self._error())
        return self._curve[-1]

    def _error(self) -> float:
        """The share of wrong rows, or the mean squared error, of rows with an answer."""
        has = self._n_trees > 0
        if not has.any():
            return float("nan")
        if self._is_classes:
            return float(np.mean(self._sum[has].argmax(axis=1) != self._target[has]))
        mean = self._sum[has] / self._n_trees[has, None]
        return float(np.mean((mean - self._target[has]) ** 2))

    def result(self, scoring: Any) -> OutOfBagResult:
        """The means of all trees, and a score of them."""
        has = self._n_trees > 0
        if not has.all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates. "
                f"{int((~has).sum())} rows were drawn for every tree: their out-of-bag prediction "
                "is NaN, and the score leaves them out; use more trees",
                stacklevel=6,
            )
        mean = np.full(self._sum.shape, np.nan)
        mean[has] = self._sum[has] / self._n_trees[has, None]
        score = self._score(mean[has], self._target[has], scoring) if has.any() else np.nan
        return OutOfBagResult(mean, float(score), np.array(self._curve))

    def _score(self, mean: HostArray, target: HostArray, scoring: Any) -> Any:
        if self._is_classes:
            classes = self._stem.classes_
            true, said = classes[target], classes[mean.argmax(axis=1)]
            return (scoring if callable(scoring) else accuracy_score)(true, said)
        if target.shape[1] == 1:
            target, mean = target[:, 0], mean[:, 0]
        return (scoring if callable(scoring) else r2_score)(target, mean)
