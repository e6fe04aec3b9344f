"""A table as gputree sees it: named columns, each of one kind.

Knows nothing of where a table came from (`inputs` does) nor of codes (`bins` does).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, overload

from gputree.dtypes import Array
from gputree.files.readings import Origin


class Kind(IntEnum):
    """What the values of a column mean, and so how it may be split."""

    NUMERIC = 0
    ORDINAL = 1
    NOMINAL = 2


@dataclass(frozen=True)
class Column:
    """One column: its values, and its categories where the values are categories."""

    name: str
    kind: Kind
    values: Array  # (rows,) float32 or float64, NaN missing; CATEGORY_NUMBER numbers for categories
    categories: tuple[Any, ...] | None = None  # categories in their order, None for numeric columns
    origin: Origin | None = None  # how it is read from a file, where that is not as usual


@dataclass(frozen=True)
class MatrixColumns(Sequence[Column]):
    """The columns of a matrix, each made when it is asked for: a tree tests few of very many."""

    matrix: Array  # (rows, columns) float32 or float64
    names: tuple[str, ...]
    categories: Mapping[int, Column] = field(default_factory=dict)  # by position, in its stead

    @overload
    def __getitem__(self, at: int) -> Column: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Column]: ...

    def __getitem__(self, at: int | slice) -> Column | Sequence[Column]:
        if isinstance(at, slice):
            columns = range(len(self.names))[at]
            chosen = {
                here: self.categories[column]
                for here, column in enumerate(columns)
                if column in self.categories
            }
            return MatrixColumns(self.matrix[:, at], self.names[at], chosen)
        column = range(len(self.names))[at]
        if column in self.categories:
            return self.categories[column]
        return Column(self.names[column], Kind.NUMERIC, self.matrix[:, column])

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, all of one array library and on one device."""

    columns: Sequence[Column]
    n_rows: int

    @property
    def n_features(self) -> int:
        return len(self.columns)


def whole_matrix(columns: Sequence[Column]) -> Array | None:
    """The matrix of numbers that these are all columns of, where they are told to be."""
    if isinstance(columns, MatrixColumns) and not columns.categories:
        return columns.matrix
    return None
