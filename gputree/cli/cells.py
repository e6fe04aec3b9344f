"""Columns of pyarrow tables for the command line: what they hold, and as another type.

Knows pyarrow; must not know options nor models.
"""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray

NUMBER = r"^\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)\s*$"


def type_name(column: Any) -> str:
    """What a column holds: number, truth, text, categories, nothing, time or other."""
    from pyarrow import types

    dtype = column.type
    if types.is_dictionary(dtype):
        return "categories"
    if types.is_boolean(dtype):
        return "truth"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if str(dtype) in ("string", "large_string", "string_view"):
        return "text"
    if types.is_null(dtype):
        return "nothing"
    return "time" if types.is_temporal(dtype) else "other"


def missing(column: Any) -> HostArray:
    """Which cells are missing; NaN is."""
    from pyarrow import compute, types

    nan_is_null = types.is_floating(column.type)
    return np.asarray(compute.is_null(column, nan_is_null=nan_is_null))


def distinct(column: Any) -> list[Any]:
    """The known values, each once, in ascending order."""
    values = decoded(column).unique().to_pylist()
    return sorted(value for value in values if value is not None and value == value)


def n_distinct(column: Any) -> int:
    """How many known values there are."""
    from pyarrow import compute

    return int(compute.count_distinct(decoded(column), mode="only_valid").as_py())


def decoded(column: Any) -> Any:
    """A column without a dictionary."""
    from pyarrow import types

    dtype = column.type
    return column.cast(dtype.value_type) if types.is_dictionary(dtype) else column


def as_text(column: Any) -> Any:
    """Any column as text; truth as true and false."""
    import pyarrow

    return decoded(column).cast(pyarrow.string())


def is_number(column: Any) -> HostArray:
    """Which cells of a text column are numbers; missing ones are not."""
    from pyarrow import compute

    found = compute.match_substring_regex(column, NUMBER, ignore_case=True)
    return np.asarray(compute.fill_null(found, False))


def is_whole(column: Any) -> bool:
    """Whether all known numbers of a column are whole."""
    from pyarrow import compute, types

    if types.is_integer(column.type):
        return True
    found = compute.all(compute.equal(column, compute.floor(column)))
    return bool(found.as_py())


def among(column: Any, values: list[Any]) -> HostArray:
    """Which cells have one of some values."""
    import pyarrow
    from pyarrow import compute

    column = decoded(column)
    return np.asarray(compute.is_in(column, value_set=pyarrow.array(values, column.type)))


def stripped(column: Any) -> Any:
    """Text in one piece, without white space around it, null where missing."""
    from gputree.files import cells

    return cells.stripped(column.combine_chunks())


def as_numbers(column: Any, reading: Any = None) -> Any:
    """A column as numbers, null where a cell is none; text by a reading, plain by default."""
    import pyarrow
    from pyarrow import compute

    what = type_name(column)
    if what == "categories":
        return as_numbers(decoded(column), reading)
    if what == "truth":
        return column.cast(pyarrow.int8())
    if what == "nothing":
        return column.cast(pyarrow.float64())
    if what != "text":
        return column
    if reading is not None and not reading.is_plain:
        from gputree.files.readings import read

        return pyarrow.chunked_array([read(stripped(column), reading)])
    none = pyarrow.scalar(None, pyarrow.string())
    kept = compute.if_else(pyarrow.chunked_array([is_number(column)]), column, none)
    return compute.utf8_trim_whitespace(kept).cast(pyarrow.float64())


def as_categories(column: Any, categories: list[Any], *, ordered: bool) -> Any:
    """A column with declared categories; other values are null."""
    import pyarrow
    from pyarrow import compute

    column = decoded(column).combine_chunks()
    declared = pyarrow.array(categories, column.type)
    index = compute.index_in(column, value_set=declared)
    return pyarrow.DictionaryArray.from_arrays(index, declared, ordered=ordered)
