"""A table as gputree sees it: named columns, each of one kind.

Knows nothing of where a table came from (`inputs` does) nor of codes (`bins` does).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from gputree.dtypes import Array


class Kind(IntEnum):
    """What the values of a column mean, and so how it may be split."""

    NUMERIC = 0
    ORDINAL = 1
    NOMINAL = 2


@dataclass(frozen=True)
class Column:
    """One column: its values, and its levels where the values are categories."""

    name: str
    kind: Kind
    values: Array  # (rows,) float32 or float64, NaN missing; LEVEL numbers for categories
    levels: tuple[Any, ...] | None = None  # categories in their order, None for numeric columns


@dataclass(frozen=True)
class Table:
    """Columns of equal length, all of one array library and on one device."""

    columns: tuple[Column, ...]
    n_rows: int

    @property
    def n_features(self) -> int:
        return len(self.columns)
