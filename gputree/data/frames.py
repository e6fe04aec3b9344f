"""Columns of pandas, cuDF, polars and pyarrow tables, read one at a time.

A library is looked up in `sys.modules` and never imported: whoever passes its table has done so.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.cells import (
    OTHER_PROBLEM,
    TIME_PROBLEM,
    Categories,
    Cells,
    Refused,
    Values,
    host_cells,
    is_missing,
    plain,
    real_dtype,
    renumber,
)
from gputree.data.schema import told
from gputree.dtypes import CATEGORY_NUMBER, MISSING_CATEGORY
from gputree.files.readings import Origin, origin_of

ORDER_PROBLEM = (
    "but its chunks declare different categories, so that their order is unknown: "
    "build all chunks with one dictionary"
)


@dataclass(frozen=True)
class Source:
    """A table of the user; its cells can be walked through once."""

    names: tuple[str, ...]
    n_rows: int
    cells: Iterator[Cells]  # converted when asked for, so that one column is in the air at a time
    origins: tuple[Origin | None, ...] = ()  # as fields of pyarrow say


def open_frame(X: Any) -> Source | None:
    """The columns of a data frame, or None where X is not one."""
    if _is_a(X, "pandas", "DataFrame"):
        columns = (_pandas_cells(series) for _, series in X.items())
        return _source(X.columns, len(X), columns)
    if _is_a(X, "cudf", "DataFrame"):
        return _source(X.columns, len(X), (_cudf_cells(X[name]) for name in X.columns))
    if _is_a(X, "polars", "DataFrame"):
        return _source(X.columns, X.height, map(_polars_cells, X.iter_columns()))
    if _is_a(X, "polars", "LazyFrame"):
        raise TypeError("X is a polars LazyFrame, which holds no values yet: pass X.collect()")
    if _is_a(X, "pyarrow", "Table", "RecordBatch"):
        source = _source(X.schema.names, X.num_rows, map(arrow_cells, X.columns))
        return replace(source, origins=told(map(origin_of, X.schema)))
    return None


def _is_a(X: Any, module: str, *names: str) -> bool:
    library = sys.modules.get(module)
    return isinstance(X, tuple(getattr(library, name) for name in names if hasattr(library, name)))


def _source(labels: Any, n_rows: int, cells: Iterator[Cells]) -> Source:
    names = tuple(str(label) for label in labels)
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise ValueError(
            f"X has several columns of the same name: {repeated}. "
            "Rename or drop the repeated ones, so that each column has a name of its own."
        )
    return Source(names, n_rows, cells)


# pandas


def _pandas_cells(series: Any) -> Cells:
    pandas = sys.modules["pandas"]
    dtype = series.dtype
    name = str(dtype)
    if isinstance(dtype, np.dtype):
        return host_cells(series.to_numpy(), name)
    if isinstance(dtype, pandas.CategoricalDtype):
        number = series.cat.codes.to_numpy().astype(CATEGORY_NUMBER, copy=False)
        return Categories(name, number, plain(dtype.categories), bool(dtype.ordered))
    if isinstance(dtype, pandas.ArrowDtype):
        return arrow_cells(series.array.__arrow_array__())
    if isinstance(dtype, pandas.StringDtype):
        return host_cells(series.to_numpy(dtype=object), name)
    if isinstance(dtype, pandas.DatetimeTZDtype | pandas.PeriodDtype):
        return Refused(name, TIME_PROBLEM)
    if dtype.kind in "biuf":
        return _pandas_numbers(series)
    return Refused(name, OTHER_PROBLEM)


def _pandas_numbers(series: Any) -> Cells:
    """Numbers of an extension dtype: its NumPy twin, and apart from it what is missing."""
    native = np.dtype(series.dtype.type)
    name = str(series.dtype)
    if native.kind == "f":
        return host_cells(series.to_numpy(dtype=native, na_value=np.nan), name)
    if not series.hasnans:
        return host_cells(series.to_numpy(dtype=native), name)
    values = series.to_numpy(dtype=native, na_value=native.type(0))
    return host_cells(values, name, series.notna().to_numpy())


# cuDF


@dataclass(frozen=True)
class DeviceValues(Values):
    """A column of numbers on a GPU, which stays there unless its values become categories."""

    def numbers(self) -> Any:
        return self.values.astype(real_dtype(self.values.dtype), copy=False)

    def distinct(self) -> Categories:
        return Values(self.dtype, to_numpy(self.values), None, False).distinct()


def _cudf_cells(series: Any) -> Cells:
    """Numbers as CuPy arrays; whatever else there is comes by way of pandas."""
    name = str(series.dtype)
    if getattr(series.dtype, "kind", "O") not in "biuf":
        return _pandas_cells(series.to_pandas())
    if not series.has_nulls:
        return DeviceValues(name, series.values, None, is_text=False)
    number = series.astype(real_dtype(np.dtype(name)))
    return DeviceValues(name, number.to_cupy(na_value=np.nan), None, is_text=False)


# polars


def _polars_cells(series: Any) -> Cells:
    polars = sys.modules["polars"]
    dtype = series.dtype
    name = str(dtype.base_type())  # the full dtype may list thousands of categories or fields
    if isinstance(dtype, polars.Enum):
        return _polars_categories(series, name, ordered=True)
    if isinstance(dtype, polars.Categorical):
        # The codes of a Categorical depend on what else the process has read: sort what is here.
        categories = series.drop_nulls().unique().cast(polars.String).sort()
        return _polars_categories(series.cast(polars.Enum(categories)), name, ordered=False)
    if dtype.is_temporal():
        return Refused(name, TIME_PROBLEM)
    if dtype.is_nested() or dtype == polars.Binary:
        return Refused(name, OTHER_PROBLEM)
    if dtype.is_decimal():
        return host_cells(series.cast(polars.Float64).to_numpy(), name)
    if dtype.is_integer() or dtype == polars.Boolean:
        return _polars_integers(series, name)
    return host_cells(series.to_numpy(), name)


def _polars_categories(series: Any, name: str, ordered: bool) -> Categories:
    """The numbers and categories of an Enum."""
    categories = tuple(series.dtype.categories.to_list())
    number = series.to_physical().cast(sys.modules["polars"].Int32).fill_null(MISSING_CATEGORY)
    return Categories(name, number.to_numpy(), categories, ordered)


def _polars_integers(series: Any, name: str) -> Cells:
    if name.endswith("128"):  # wider than any NumPy integer
        return host_cells(np.array(series.to_list(), dtype=object), name)
    if not series.null_count():
        return host_cells(series.to_numpy(), name)
    filled = series.fill_null(False if name == "Boolean" else 0)
    return host_cells(filled.to_numpy(), name, series.is_not_null().to_numpy())


# pyarrow


def arrow_cells(column: Any) -> Cells:
    """The cells of a pyarrow column, in one piece or in chunks."""
    types = sys.modules["pyarrow"].types
    dtype = column.type
    name = str(dtype)
    if types.is_dictionary(dtype) and not types.is_nested(dtype.value_type):
        return _arrow_categories(column, name)
    if types.is_integer(dtype) or types.is_boolean(dtype):
        return _arrow_integers(column, name)
    if types.is_decimal(dtype) or types.is_null(dtype):
        float64 = sys.modules["pyarrow"].float64()
        return host_cells(_to_numpy(column.cast(float64, safe=False)), name)
    if types.is_floating(dtype) or _is_arrow_text(dtype):
        return host_cells(_to_numpy(column), name)
    return Refused(name, TIME_PROBLEM if types.is_temporal(dtype) else OTHER_PROBLEM)


def _is_arrow_text(dtype: Any) -> bool:
    return str(dtype) in ("string", "large_string", "string_view")


def _to_numpy(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _arrow_integers(column: Any, name: str) -> Cells:
    if not column.null_count:
        return host_cells(_to_numpy(column), name)
    filled = column.fill_null(False if name == "bool" else 0)
    return host_cells(_to_numpy(filled), name, _to_numpy(column.is_valid()))


def _arrow_categories(column: Any, name: str) -> Cells:
    own = getattr(column, "chunks", [column])
    chunks = column.unify_dictionaries().chunks if len(own) > 1 else own
    if column.type.ordered and not _is_one_order(own, chunks[0].dictionary):
        return Refused(name, ORDER_PROBLEM)
    int32 = sys.modules["pyarrow"].int32()
    # `to_numpy` of a dictionary column loses its nulls, so the indices are read instead.
    indices = [chunk.indices.cast(int32).fill_null(MISSING_CATEGORY) for chunk in chunks]
    number = np.concatenate([_to_numpy(index) for index in indices])
    # A dictionary may hold nulls, and the same value twice.
    entries = chunks[0].dictionary.to_pylist()
    categories = tuple(dict.fromkeys(entry for entry in entries if not is_missing(entry)))
    number_of = {category: rank for rank, category in enumerate(categories)}
    target = [number_of.get(entry, MISSING_CATEGORY) for entry in entries]
    return Categories(name, renumber(number, target), categories, column.type.ordered)


def _is_one_order(chunks: list[Any], dictionary: Any) -> bool:
    """True where the categories of every chunk begin the common dictionary."""
    own = [chunk.dictionary for chunk in chunks]
    return all(categories.equals(dictionary.slice(0, len(categories))) for categories in own)
