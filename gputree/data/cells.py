"""One column of a user's table in NumPy, before its kind is decided.

Every column is `Values`, `Categories` or `Refused`. Knows NumPy only: `frames` brings the columns
of other libraries here, `kinds` decides what they become.
"""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gputree.dtypes import CATEGORY_NUMBER, MISSING_CATEGORY, HostArray

_TEXT = (str, bytes)
_TIME = (np.datetime64, np.timedelta64, datetime.date, datetime.time, datetime.timedelta)
_OTHER = (complex, np.complexfloating, np.void)

TIME_PROBLEM = (
    "which is a time: derive numbers from it, e.g. the year, the weekday or elapsed seconds, "
    "or drop it"
)
OTHER_PROBLEM = (
    "which is neither numeric nor categorical: derive numeric columns from it or drop it"
)


@dataclass(frozen=True)
class Categories:
    """A column of numbered categories."""

    dtype: str  # as the user's library writes it
    number: HostArray  # (rows,) CATEGORY_NUMBER, MISSING_CATEGORY where missing
    categories: tuple[Any, ...]  # distinct plain Python values
    ordered: bool


@dataclass(frozen=True)
class Values:
    """A column of numbers, truth values or strings."""

    dtype: str
    values: HostArray  # (rows,) of any dtype
    known: HostArray | None  # (rows,) bool where a library keeps missing values apart
    is_text: bool

    def known_rows(self) -> HostArray:
        """True where there is a value: not masked, not None, NA or NaN."""
        if self.values.dtype == object:
            known = [not is_missing(value) for value in self.values.tolist()]
            rows = np.array(known, dtype=bool)
        elif self.values.dtype.kind == "f":
            rows = ~np.isnan(self.values)
        else:
            rows = np.ones(len(self.values), dtype=bool)
        return rows if self.known is None else rows & self.known

    def numbers(self) -> HostArray:
        """The values as float32 or float64, NaN where missing."""
        if self.values.dtype == object:
            known = self.known_rows()
            number = np.full(len(known), np.nan)
            number[known] = self.values[known].astype(np.float64)
            return number
        number = self.values.astype(real_dtype(self.values.dtype), copy=False)
        if self.known is None:
            return number
        return np.where(self.known, number, number.dtype.type(np.nan))

    def distinct(self) -> Categories:
        """The distinct values as categories, in no promised order."""
        known = self.known_rows()
        number = np.full(len(known), MISSING_CATEGORY, dtype=CATEGORY_NUMBER)
        if self.values.dtype == object:  # a hash accepts types that cannot be compared
            values = self.values[known].tolist()
            number_of = {value: rank for rank, value in enumerate(dict.fromkeys(values))}
            number[known] = [number_of[value] for value in values]
            categories = plain(number_of)
        else:
            category, number[known] = np.unique(self.values[known], return_inverse=True)
            categories = tuple(category.tolist())
        return Categories(self.dtype, number, categories, ordered=False)


@dataclass(frozen=True)
class Refused:
    """A column that cannot be read."""

    dtype: str
    problem: str  # continues the sentence "Column 'a' has dtype ..., " and ends with the cure


Cells: TypeAlias = Values | Categories | Refused


def host_cells(values: HostArray, dtype: str = "", known: HostArray | None = None) -> Cells:
    """Sort a NumPy column by the types of its values."""
    name = dtype or str(values.dtype)
    if values.dtype.kind == "T":  # variable-width strings, whose missing value is any object
        values = values.astype(object)
    types = _scalar_types(values)
    if _any_of(types, _TIME):
        return Refused(name, TIME_PROBLEM)
    if _any_of(types, _OTHER):
        return Refused(name, OTHER_PROBLEM)
    return Values(name, values, known, is_text=_any_of(types, _TEXT))


def real_dtype(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    """float32 where it holds every value of `dtype` exactly, else float64."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def renumber(number: HostArray, target: list[int]) -> HostArray:
    """Replace each category number by its target; missing stays missing."""
    # MISSING_CATEGORY is -1, so it picks the entry appended at the end.
    return np.array([*target, MISSING_CATEGORY], dtype=CATEGORY_NUMBER)[number]


def plain(categories: Iterable[Any]) -> tuple[Any, ...]:
    """Categories as Python values, so that they compare and are stored alike everywhere."""
    return tuple(
        category.item() if isinstance(category, np.generic) else category for category in categories
    )


def is_missing(value: object) -> bool:
    """True for None, NaN and the missing values of other libraries."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value, an array has several
        return type(value).__name__ == "NAType"


def _scalar_types(values: HostArray) -> set[type]:
    if values.dtype == object:
        return set(map(type, values.tolist()))
    return {values.dtype.type}


def _any_of(types: set[type], wanted: tuple[type, ...]) -> bool:
    return any(issubclass(found, wanted) for found in types)
