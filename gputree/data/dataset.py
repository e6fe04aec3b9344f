"""A table that has been cut and coded once, to fit many models on."""

import copy
import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _get_feature_names

from gputree.arrays import cuda_number, to_numpy
from gputree.backends.registry import choose
from gputree.backends.timed import Timed
from gputree.data.bins import Bins
from gputree.data.cuts import bin_table, code_table
from gputree.data.inputs import read_table
from gputree.data.kinds import CategoricalFeatures
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.data.target import whole_weights
from gputree.dtypes import HostArray


class Dataset:
    """A table with its target, cut into bins once.

    Estimators accept it in place of X, and then skip reading, cutting and coding. Its bins and its
    backend are used whatever the estimator's `max_bins`, `categorical_features` and `device` say.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        NumPy arrays, lists, pandas, polars and pyarrow tables, arrays of torch or CuPy.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
        The target; may also be given to `fit`.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows, in cutting and in fitting.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories, as in scikit-learn's HistGradientBoosting.
    max_bins : int, default=255
        The most bins a feature is cut into. A feature with no more distinct values keeps them all.
    device, backend, n_jobs
        Where to compute, as in the estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import Dataset, DecisionTreeClassifier
    >>> data = Dataset(*load_iris(return_X_y=True))
    >>> [DecisionTreeClassifier(max_depth=d).fit(data).get_n_leaves() for d in (1, 2, 3)]
    [2, 3, 5]
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        table = read_table(X, categorical_features=categorical_features)
        n_cells = table.n_rows * table.n_features
        place = cuda_number(table.columns[0].values)
        choice = choose(device, backend, n_jobs=n_jobs, n_cells=n_cells, data_on=place)
        self.table = table  # not copied; pruning asks where its rows end
        self.y = y
        self.sample_weight = read_weights(sample_weight, table.n_rows)
        self.feature_names = _get_feature_names(X)
        self.n_rows = table.n_rows
        self.reason = choice.reason
        self.backend = choice.backend
        timed = Timed(choice.backend)
        compiled_before = timed.compile_seconds
        whole, _ = whole_weights(self.sample_weight)
        self.bins, self.data = bin_table(timed, table, whole, max_bins)
        has_missing = tuple(feature.has_missing for feature in self.bins.features)
        self.schema = replace(Schema.of(table), has_missing=has_missing)
        self.seconds = dict(timed.seconds)
        self.compile_seconds = timed.compile_seconds - compiled_before

    @property
    def n_features(self) -> int:
        return self.schema.n_features

    def take(self, columns: HostArray) -> Self:
        """The same rows with some of the columns, coded by the cuts that there are."""
        other = copy.copy(self)
        chosen = columns.tolist()
        other.table = Table(tuple(self.table.columns[at] for at in chosen), self.n_rows)
        other.bins = Bins(tuple(self.bins.features[at] for at in chosen))
        other.schema = self.schema.take(columns)
        if self.feature_names is not None:
            other.feature_names = self.feature_names[columns]
        other.data = code_table(self.backend, other.table, other.bins)
        return other

    def __repr__(self) -> str:
        return (
            f"Dataset({self.n_rows} rows, {self.n_features} features, "
            f"{self.bins.width} bins, backend={self.backend.name!r})"
        )


def read_weights(sample_weight: Any, n_rows: int) -> HostArray | None:
    """Weights as float64, checked; None where all rows weigh the same by default."""
    if sample_weight is None:
        return None
    weight = to_numpy(sample_weight)
    try:
        if weight.dtype.kind not in "biufO":
            raise TypeError(f"dtype {weight.dtype} is not real")
        weight = weight.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight has dtype {weight.dtype}; pass numbers") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; one weight a row is needed: ({n_rows},)"
        )
    for is_bad, what in [
        (~np.isfinite(weight), "NaN or infinite"),
        (weight < 0, "negative"),
    ]:
        if is_bad.any():
            row = int(is_bad.argmax())
            raise ValueError(f"sample_weight[{row}] is {what}; weights are finite and at least 0")
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere; at least one row needs a weight")
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not math.isfinite(total):
        raise ValueError("the sum of sample_weight overflows; divide the weights by their maximum")
    return weight
