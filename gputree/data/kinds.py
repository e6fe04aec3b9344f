"""Decide the kind of each column at fit, and hold columns to their kind afterwards.

Knows cells and schemas; nothing of the libraries the cells came from.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gputree.data.cells import Categories, Cells, Refused, Values, renumber
from gputree.data.schema import Schema
from gputree.data.table import Column, Kind
from gputree.dtypes import CATEGORY_NUMBER, MAX_BINS, MISSING_CATEGORY, HostArray

CategoricalFeatures: TypeAlias = npt.ArrayLike | None
Flags: TypeAlias = tuple[bool | None, ...]  # whether a column is categorical; None: by its dtype

_UNKNOWN = MISSING_CATEGORY - 1  # number of a value that is not among the categories
_SHOWN = 5  # unknown values named in an error

_TEXT_REMEDY = (
    "convert it to a `category` dtype, list it in categorical_features, or encode it as numbers, "
    "e.g. with sklearn.preprocessing.OrdinalEncoder"
)


# Which columns are categorical


def categorical_flags(
    categorical_features: CategoricalFeatures, names: tuple[str, ...], is_named: bool
) -> Flags:
    """For each column whether it is categorical; None leaves it to the dtype."""
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                f"categorical_features={categorical_features!r} is unknown: pass 'from_dtype', "
                "None, or an array-like of bool, int or str, e.g. a list with one name"
            )
        return (None,) * len(names)
    if categorical_features is None:
        return (False,) * len(names)
    listed = _listed(categorical_features)
    if listed.dtype.kind == "b":
        flag = _from_mask(listed, len(names))
    elif listed.dtype.kind in "iu":
        flag = _from_indices(listed, len(names))
    else:
        flag = _from_names(listed, names, is_named)
    return tuple(flag.tolist())


def _listed(categorical_features: CategoricalFeatures) -> HostArray:
    """The argument as a 1-D array of bool, int or str."""
    listed = np.asarray(categorical_features)
    if listed.ndim != 1:
        raise ValueError(
            f"categorical_features must be 1-dimensional, got an array of shape {listed.shape}"
        )
    if listed.size == 0:
        return np.empty(0, dtype=np.intp)
    if listed.dtype == object:
        types = sorted({type(item).__name__ for item in listed if not isinstance(item, str)})
    else:
        types = [] if listed.dtype.kind in "biuU" else [listed.dtype.name]
    if types:
        raise ValueError(
            "categorical_features must be an array-like of bool, int or str, "
            f"got: {', '.join(types)}."
        )
    return listed


def _from_mask(mask: HostArray, n_features: int) -> HostArray:
    if len(mask) != n_features:
        raise ValueError(
            "categorical_features set as a boolean mask must have shape (n_features,) = "
            f"({n_features},), got: {mask.shape}"
        )
    return mask


def _from_indices(index: HostArray, n_features: int) -> HostArray:
    outside = index[(index < 0) | (index >= n_features)]
    if outside.size:
        raise ValueError(
            "categorical_features set as integer indices must be in [0, n_features - 1] = "
            f"[0, {n_features - 1}], got: {outside.tolist()}"
        )
    flag = np.zeros(n_features, dtype=bool)
    flag[index] = True
    return flag


def _from_names(wanted: HostArray, names: tuple[str, ...], is_named: bool) -> HostArray:
    if not is_named:
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask "
            "when the model is fitted on data without feature names."
        )
    chosen = set(wanted.tolist())
    unknown = sorted(chosen.difference(names))
    if unknown:
        raise ValueError(
            f"categorical_features has an item value {unknown[0]!r} which is not a valid feature "
            f"name of the training data. Observed feature names: {list(names)}"
        )
    return np.array([name in chosen for name in names])


# Columns at fit


def new_column(cells: Cells, name: str, position: int, flag: bool | None) -> Column:
    """A column whose kind follows from its flag and its dtype."""
    label = column_label(name, position)
    if isinstance(cells, Refused):
        raise refusal(cells, label)
    if isinstance(cells, Values) and not flag:
        text = f"{label} of dtype {cells.dtype} holds strings that are no numbers: {_TEXT_REMEDY}."
        return Column(name, Kind.NUMERIC, _numbers(cells, label, text))
    if isinstance(cells, Categories) and flag is False:
        raise ValueError(
            f"{label} has dtype {cells.dtype}, but categorical_features leaves it out: add it, "
            "use categorical_features='from_dtype', or convert the column to numbers."
        )
    is_declared = isinstance(cells, Categories)
    categories = cells if isinstance(cells, Categories) else _distinct(cells, label)
    return category_column(categories, name, position, is_declared=is_declared)


def category_column(
    categories: Categories, name: str, position: int, *, is_declared: bool
) -> Column:
    """A column of categories; categories that nobody has declared are put in order."""
    label = column_label(name, position)
    _check_count(categories, label)
    if not is_declared:
        categories = _sorted(categories, label)
    kind = Kind.ORDINAL if categories.ordered else Kind.NOMINAL
    return Column(name, kind, categories.number, categories.categories)


def column_label(name: str, position: int) -> str:
    """How errors call a column."""
    return f"Column {name!r} (position {position})"


def refusal(cells: Refused, label: str) -> ValueError:
    """The error for a column that cannot be read."""
    return ValueError(f"{label} has dtype {cells.dtype}, {cells.problem}.")


def _numbers(cells: Values, label: str, if_text: str) -> HostArray:
    """The numbers of a column, also those that it holds as text."""
    try:
        return cells.numbers()
    except (TypeError, ValueError, OverflowError) as error:
        if cells.is_text:
            raise ValueError(if_text) from error
        # scikit-learn expects a TypeError with Python's own words where a cell is no number.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{label} of dtype {cells.dtype} holds a value that is not a number ({error}): "
            "convert the column to numbers or drop it."
        ) from error


def _distinct(cells: Values, label: str) -> Categories:
    try:
        return cells.distinct()
    except TypeError as error:
        raise ValueError(
            f"{label} of dtype {cells.dtype} holds a value that cannot be a category ({error}): "
            "convert it to strings or numbers, or drop it."
        ) from error


def _check_count(categories: Categories, label: str) -> None:
    count = len(categories.categories)
    if count > MAX_BINS:
        raise ValueError(
            f"{label} has {count:,} categories, but a categorical column may have at most "
            f"{MAX_BINS:,}: merge rare categories, remove unused ones, or use a numeric encoding."
        )


def _sorted(cells: Categories, label: str) -> Categories:
    """The same cells with their categories in ascending order."""
    categories = cells.categories
    try:
        order = sorted(range(len(categories)), key=categories.__getitem__)
    except TypeError as error:
        types = sorted({type(category).__name__ for category in categories})
        raise ValueError(
            f"{label} mixes values of types {', '.join(types)}, which have no common order: "
            "convert the column to one type, e.g. with .astype(str)."
        ) from error
    rank = np.argsort(order)  # the place of each old category among the sorted ones
    number = renumber(cells.number, rank.tolist())
    return Categories(cells.dtype, number, tuple(categories[old] for old in order), ordered=False)


# Columns after fit


def known_column(cells: Cells, schema: Schema, position: int) -> Column:
    """A column read with the kind and the categories it had at fit."""
    name, categories = schema.names[position], schema.categories[position]
    label = column_label(name, position)
    if isinstance(cells, Refused):
        raise refusal(cells, label)
    if categories is None:
        if isinstance(cells, Categories) and all(
            _is_number(category) for category in cells.categories
        ):
            return Column(name, Kind.NUMERIC, _as_numbers(cells))
        other = (
            f"{label} was numeric at fit and now has dtype {cells.dtype}: "
            "convert it to numbers in the way the fitted data was."
        )
        if isinstance(cells, Categories):
            raise ValueError(other)
        return Column(name, Kind.NUMERIC, _numbers(cells, label, other))
    kind, unknown = schema.kinds[position], schema.unknown
    if kind is Kind.ORDINAL and unknown == "majority":
        unknown = "missing"  # a number after the last would lie above every threshold
    found = None
    if isinstance(cells, Values) and unknown != "error":
        found = _among_numbers(cells, categories, unknown)
    if found is None:
        listed = cells if isinstance(cells, Categories) else _distinct(cells, label)
        found = _onto(listed, categories, label, unknown)
    return Column(name, kind, found, categories)


def _is_number(category: Any) -> bool:
    return isinstance(category, int | float) and not isinstance(category, bool)


def _as_numbers(categories: Categories) -> HostArray:
    """What categories of numbers stand for, where the column was one of numbers at fit."""
    value = np.array([*categories.categories, np.nan], np.float64)
    return value[np.where(categories.number == MISSING_CATEGORY, len(value) - 1, categories.number)]


def _among_numbers(cells: Values, categories: tuple[Any, ...], if_unknown: str) -> HostArray | None:
    """What `_onto` gives where values and categories are numbers of one kind, found by bisection.

    None for all others: other kinds of numbers may be equal to the eye alone, as 2**53 + 1 and its
    float are, and categories that a user has declared may be in any order.
    """
    values = cells.values
    if values.dtype.kind not in "if" or not 0 < len(categories) <= len(values):
        return None
    if set(map(type, categories)) != {int if values.dtype.kind == "i" else float}:
        return None
    category = np.array(categories)
    if category.dtype.kind != values.dtype.kind or not (category[1:] > category[:-1]).all():
        return None
    at = np.minimum(np.searchsorted(category, values), len(category) - 1)
    other = MISSING_CATEGORY if if_unknown == "missing" else len(categories)
    number = np.where(category[at] == values, at, other)
    return np.where(cells.known_rows(), number, MISSING_CATEGORY).astype(CATEGORY_NUMBER)


def _onto(cells: Categories, categories: tuple[Any, ...], label: str, if_unknown: str) -> HostArray:
    """The categories numbered by `categories`, matched by value.

    One that is not among them becomes missing, or gets the number after the last.
    """
    number_of = {category: number for number, category in enumerate(categories)}
    target = [number_of.get(category, _UNKNOWN) for category in cells.categories]
    number = renumber(cells.number, target)
    unknown = np.unique(cells.number[number == _UNKNOWN])
    if if_unknown != "error":
        other = MISSING_CATEGORY if if_unknown == "missing" else len(categories)
        return np.where(number == _UNKNOWN, other, number).astype(number.dtype)
    if unknown.size:
        shown = ", ".join(repr(cells.categories[which]) for which in unknown[:_SHOWN])
        raise ValueError(
            f"{label} holds {unknown.size} value(s) not seen at fit: {shown}"
            f"{', ...' if unknown.size > _SHOWN else ''}. Take them as missing with "
            "unknown_category='missing', fit with a category dtype that declares them, or set them "
            "to one of the categories seen at fit."
        )
    return number
