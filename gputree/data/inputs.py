"""Read whatever a user calls a table: data frames, device arrays, NumPy arrays, lists.

With `frames`, the one place that asks what a table is made of. Shapes are checked here, columns
in `kinds`.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import array_api_compat
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from gputree.arrays import is_collection
from gputree.data.cells import Cells, Values, host_cells, real_dtype
from gputree.data.frames import Source, open_frame
from gputree.data.kinds import (
    CategoricalFeatures,
    Flags,
    categorical_flags,
    column_label,
    known_column,
    new_column,
)
from gputree.data.schema import Schema
from gputree.data.sparse import sparse_columns
from gputree.data.table import Column, Kind, MatrixColumns, Table
from gputree.dtypes import MAX_FEATURES, MAX_ROWS, Array, HostArray


def read_table(
    X: Any,
    *,
    categorical_features: CategoricalFeatures = "from_dtype",
    like: Schema | None = None,
) -> Table:
    """Read the columns of X.

    Parameters
    ----------
    X : data frame of pandas, polars or pyarrow, or array-like of shape (n_rows, n_features)
        Arrays of torch, CuPy and other array-API libraries stay in their library and on their
        device; everything else becomes NumPy. Columns of SciPy's sparse matrices become dense one
        at a time. A Table is taken as it is.
    categorical_features : 'from_dtype', None or array-like of bool, int or str
        Which columns are categorical, as in scikit-learn's histogram gradient boosting. Columns
        of a category dtype keep their declared categories and their order, others get their sorted
        distinct values as categories. Not used where `like` is given.
    like : Schema, optional
        The columns seen at fit. They are matched by position, their categories by value.

    Returns
    -------
    Table
        Numeric columns as float32 or float64 with NaN for missing values, categorical ones as
        numbers of their categories.
    """
    if isinstance(X, Table):
        check_shape(X.n_rows, X.n_features, like)
        return X
    if _is_plain(X):
        return _read_host_array(X, categorical_features, like)
    frame = open_frame(X)
    if frame is not None:
        check_shape(frame.n_rows, len(frame.names), like)
        flags = _flags(categorical_features, like, frame.names, is_named=True)
        return _read_columns(frame, flags, like)
    refuse_collection(X)
    X = _opened(X)
    if issparse(X):
        return _read_sparse(X, categorical_features, like)
    if _is_device_array(X):
        return _read_device_array(X, categorical_features, like)
    return _read_host_array(X, categorical_features, like)


def refuse_collection(X: Any) -> None:
    """Raise for a table of Dask, whose rows are not here."""
    if is_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__} of Dask, and this needs a table in memory: give "
            "X.compute(), or apply it to each partition by map_partitions or map_blocks"
        )


def _is_plain(X: Any) -> bool:
    """True for a matrix of numbers, of which nothing need be asked; asking is most of the work
    where few rows are predicted.
    """
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and X.size > 0


def _opened(X: Any) -> Any:
    """An array that offers its memory by DLPack and is nothing else, as a view of NumPy's."""
    is_known = hasattr(X, "__array__") or array_api_compat.is_array_api_obj(X)
    if is_known or not hasattr(X, "__dlpack__"):
        return X
    try:
        return np.from_dlpack(X)
    except (BufferError, RuntimeError) as error:
        raise ValueError(
            f"X offers its memory by DLPack, which NumPy cannot read ({error}); pass an array of "
            "CuPy or torch for one on a GPU, or a copy in main memory"
        ) from error


def _flags(
    categorical_features: CategoricalFeatures,
    like: Schema | None,
    names: tuple[str, ...],
    is_named: bool,
) -> Flags:
    if like is None:
        return categorical_flags(categorical_features, names, is_named)
    if like.kinds.count(Kind.NUMERIC) == len(like.kinds):  # quick, even for very many columns
        return (False,) * len(like.kinds)
    return tuple(kind != Kind.NUMERIC for kind in like.kinds)


def _read_columns(source: Source, flags: Flags, like: Schema | None) -> Table:
    """Read column by column, each with a kind of its own."""
    columns, as_text = [], []
    for at, (cells, name, flag) in enumerate(zip(source.cells, source.names, flags, strict=True)):
        if like is not None:
            columns.append(known_column(cells, like, at))
            continue
        column = new_column(cells, name, at, flag)
        columns.append(replace(column, origin=source.origins[at]) if source.origins else column)
        if columns[at].kind is Kind.NUMERIC and isinstance(cells, Values) and cells.is_text:
            as_text.append(column_label(name, at))
    if as_text:
        warnings.warn(
            f"{as_text[0]}{f' and {len(as_text) - 1} more' if as_text[1:] else ''}: text that is "
            "numbers is treated as numbers; list columns of categories in categorical_features, or "
            "convert the others to numbers",
            stacklevel=2,
        )
    return Table(tuple(columns), source.n_rows)


def _read_matrix(values: Array, names: tuple[str, ...]) -> Table:
    """The columns of a 2-D array of float32 or float64, as views."""
    return Table(MatrixColumns(values, names), values.shape[0])


def _read_numbers(
    values: HostArray, names: tuple[str, ...], flags: Flags, like: Schema | None
) -> Table:
    """The columns of a 2-D array of numbers, as views; some are flagged as categories."""
    found = {}
    flagged = [at for at, flag in enumerate(flags) if flag] if any(flags) else []
    for at in flagged:
        cells = host_cells(values[:, at])
        found[at] = (
            new_column(cells, names[at], at, True)
            if like is None
            else known_column(cells, like, at)
        )
    # Integers stored by rows take several times as long to cast column by column.
    matrix = values.astype(real_dtype(values.dtype), copy=False)
    return Table(MatrixColumns(matrix, names, found), len(values))


def _array_names(n_features: int, like: Schema | None) -> tuple[str, ...]:
    return tuple(f"x{at}" for at in range(n_features)) if like is None else like.names


# Shapes


def check_size(n_rows: int, n_features: int) -> None:
    """Raise where rows or columns cannot be numbered; the number of cells is not limited."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"X has {n_rows:,} rows, but at most {MAX_ROWS:,} can be numbered in 32 bits: "
            "fit on a sample of the rows, or predict in parts."
        )
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"X has {n_features:,} features, but at most {MAX_FEATURES:,} can be numbered in "
            "32 bits: select features first."
        )


def check_shape(n_rows: int, n_features: int, like: Schema | None) -> None:
    """Raise for an empty table, one too large, or one of another width than at fit."""
    # The words are scikit-learn's: users and its estimator checks search for them.
    for count, what in ((n_rows, "sample(s)"), (n_features, "feature(s)")):
        if count < 1:
            raise ValueError(
                f"Found array with {count} {what} (shape=({n_rows}, {n_features})) "
                "while a minimum of 1 is required."
            )
    if like is not None and n_features != like.n_features:
        raise ValueError(
            f"X has {n_features} features, but gputree is expecting {like.n_features} features "
            "as input"
        )
    check_size(n_rows, n_features)


# Sparse matrices


def _read_sparse(X: Any, categorical_features: CategoricalFeatures, like: Schema | None) -> Table:
    """Zeros are zeros, not missing. Columns stay sparse; those of categories do not."""
    columns = sparse_columns(X)
    n_rows, n_features = X.shape
    check_shape(n_rows, n_features, like)
    names = _array_names(n_features, like)
    flags = _flags(categorical_features, like, names, is_named=False)
    found = []
    for at, (values, name, flag) in enumerate(zip(columns, names, flags, strict=True)):
        if not flag:
            found.append(Column(name, Kind.NUMERIC, values))
            continue
        cells = host_cells(np.asarray(values))
        found.append(
            new_column(cells, name, at, flag) if like is None else known_column(cells, like, at)
        )
    return Table(tuple(found), n_rows)


# NumPy and what NumPy understands


def _read_host_array(
    X: Any, categorical_features: CategoricalFeatures, like: Schema | None
) -> Table:
    known, values = None, X
    if not _is_plain(X):
        _refuse_structured(X)
        known = ~np.ma.getmaskarray(X) if np.ma.is_masked(X) else None
        values = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    n_rows, n_features = values.shape
    check_shape(n_rows, n_features, like)
    names = _array_names(n_features, like)
    flags = _flags(categorical_features, like, names, is_named=False)
    if values.dtype.kind in "biuf" and known is None:
        return _read_numbers(values, names, flags, like)
    source = Source(names, n_rows, _array_cells(values, known))
    return _read_columns(source, flags, like)


def _refuse_structured(X: Any) -> None:
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise ValueError(
            f"X is a structured array of dtype {X.dtype}, not a 2-D array of numbers: convert it "
            "with numpy.lib.recfunctions.structured_to_unstructured or pandas.DataFrame."
        )


def _array_cells(values: HostArray, known: HostArray | None) -> Iterator[Cells]:
    for at in range(values.shape[1]):
        yield host_cells(values[:, at], known=None if known is None else known[:, at])


# Arrays of other libraries


def _is_device_array(X: Any) -> bool:
    """True for arrays that are computed with where they are; lazy and sparse ones are not."""
    return (
        array_api_compat.is_array_api_obj(X)
        and not isinstance(X, np.ndarray | np.generic)
        and not array_api_compat.is_dask_array(X)
        and not array_api_compat.is_pydata_sparse_array(X)
    )


def _read_device_array(
    X: Array, categorical_features: CategoricalFeatures, like: Schema | None
) -> Table:
    _check_dense_2d(X)
    n_rows, n_features = X.shape
    check_shape(n_rows, n_features, like)
    names = _array_names(n_features, like)
    flags = _flags(categorical_features, like, names, is_named=False)
    if True in flags:
        at = flags.index(True)
        raise ValueError(
            f"{column_label(names[at], at)} is categorical, but arrays of "
            f"{type(X).__module__.partition('.')[0]} hold numeric columns only: "
            "pass a NumPy array or a data frame."
        )
    return _read_matrix(_as_real(X), names)


def _check_dense_2d(X: Array) -> None:
    if array_api_compat.is_torch_array(X) and str(X.layout) != "torch.strided":
        raise TypeError(
            f"Sparse data was passed (layout {X.layout}), but dense data is required: "
            "use X.to_dense()."
        )
    if X.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array of shape {tuple(X.shape)} instead. Reshape "
            "your data either using X.reshape(-1, 1) if your data has a single feature or "
            "X.reshape(1, -1) if it contains a single sample."
        )
    if X.ndim > 2:
        raise ValueError(f"Found array with dim {X.ndim}, while dim <= 2 is required.")


def _as_real(X: Array) -> Array:
    """X in float32 or float64, on its device and without a gradient."""
    xp = array_api_compat.array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}; pass real numbers.")
    if array_api_compat.is_torch_array(X):
        X = X.detach()
    if X.dtype == xp.float32 or X.dtype == xp.float64:
        return X
    wide = xp.isdtype(X.dtype, "integral") and xp.iinfo(X.dtype).bits > 16
    return xp.astype(X, xp.float64 if wide else xp.float32)
