"""What trees say of the rows that they were not grown on."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.comm import Comm, total
from gputree.data.exact import exact_sum
from gputree.dtypes import HostArray
from gputree.ensembles.members import Member, answers, rows_of
from gputree.estimators.base import TreeEstimator
from gputree.fit.dataset import Dataset


@dataclass(frozen=True, eq=False)
class OutOfBagResult:
    """What a fit keeps."""

    # (rows, classes or outputs) NaN in rows that every tree was grown on; None where several ranks
    # had the rows.
    mean: HostArray | None
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
        """The error rate, or the mean squared error, of rows with an answer."""
        has, comm = self._n_trees > 0, self._dataset.comm
        n = int(total(comm, np.count_nonzero(has)))
        if not n:
            return float("nan")
        if self._is_classes:
            wrong = self._sum[has].argmax(axis=1) != self._target[has]
            return float(int(total(comm, np.count_nonzero(wrong))) / n)
        mean = self._sum[has] / self._n_trees[has, None]
        square = (mean - self._target[has]) ** 2
        return exact_sum(square.ravel(), comm) / (n * square.shape[1])

    def result(self, scoring: Any) -> OutOfBagResult:
        """The means of all trees, and a score of them."""
        has, comm = self._n_trees > 0, self._dataset.comm
        n, n_missing = total(comm, [np.count_nonzero(has), np.count_nonzero(~has)]).tolist()
        if n_missing:
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates. "
                f"{n_missing} rows were drawn for every tree: their out-of-bag prediction "
                "is NaN, and the score leaves them out; use more trees",
                stacklevel=6,
            )
        mean = np.full(self._sum.shape, np.nan)
        mean[has] = self._sum[has] / self._n_trees[has, None]
        score = self._score(mean[has], self._target[has], scoring, n) if n else np.nan
        curve = np.array(self._curve)
        return OutOfBagResult(mean if comm.size == 1 else None, float(score), curve)

    def _score(self, mean: HostArray, target: HostArray, scoring: Any, n: int) -> Any:
        """What the user's function says of so many rows; accuracy, or R² of all outputs."""
        comm = self._dataset.comm
        if self._is_classes:
            said = mean.argmax(axis=1)
            if callable(scoring):
                return scoring(self._stem.classes_[target], self._stem.classes_[said])
            return int(total(comm, np.count_nonzero(said == target))) / n
        if callable(scoring):
            one = target.shape[1] == 1
            return scoring(target[:, 0] if one else target, mean[:, 0] if one else mean)
        outputs = range(target.shape[1])
        return np.mean([_r_squared(mean[:, at], target[:, at], n, comm) for at in outputs])


def _r_squared(said: HostArray, true: HostArray, n: int, comm: Comm) -> float:
    """The share of the variance of so many rows that is explained, as scikit-learn defines it."""
    if n < 2:
        return float("nan")
    middle = exact_sum(true, comm) / n
    missed, whole = (exact_sum((true - each) ** 2, comm) for each in (said, middle))
    if whole == 0.0:
        return float(missed == 0.0)
    return 1.0 - missed / whole
