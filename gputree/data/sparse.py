"""Columns of SciPy's sparse matrices, each made dense only while somebody reads it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gputree.data.cells import real_dtype
from gputree.dtypes import Array, HostArray


@dataclass(frozen=True, eq=False)
class SparseValues:
    """One column, which NumPy sees as an array of zeros but for some rows."""

    n_rows: int
    row: HostArray
    value: HostArray

    @property
    def shape(self) -> tuple[int]:
        return (self.n_rows,)

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> HostArray:
        return np.asarray(self)[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        """All rows."""
        dense = np.zeros(self.n_rows, dtype or self.dtype)
        dense[self.row] = self.value
        return dense


def sparse_columns(X: Any) -> list[SparseValues]:
    """The columns of a sparse matrix or array of numbers."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array: reshape X to rows and columns.")
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X is sparse and has dtype {X.dtype}: convert it to numbers, e.g. by "
            "X.astype('float64')."
        )
    by_column = X.tocsc()
    if not by_column.has_canonical_format:  # the same cell may be there twice, and is their sum
        by_column = by_column.copy() if by_column is X else by_column
        by_column.sum_duplicates()
    value = by_column.data.astype(real_dtype(X.dtype), copy=False)
    bound = by_column.indptr.tolist()
    return [
        SparseValues(X.shape[0], by_column.indices[first:last], value[first:last])
        for first, last in pairwise(bound)
    ]


def dense(values: Array) -> Array:
    """Values as an array of their library."""
    return np.asarray(values) if isinstance(values, SparseValues) else values
