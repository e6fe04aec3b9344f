"""Linear combinations of columns, which nodes compare with thresholds as they do columns.

Combination `i` of a tree is column `n_columns + i` of the tables it walks, behind those that were
given. Combinations are numbered in the order of the nodes that test them, and each is tested by
one node. A combination is missing where one of its columns is, or where infinite terms cancel.
Knows numbers of columns; must not know where tables come from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.runs import begins, spread_out


@dataclass(frozen=True, eq=False)
class Directions:
    """The combinations of one tree: the terms of the first, then those of the next, and so on."""

    n_columns: int  # of the tables that are given
    n_terms: HostArray  # (combinations,) two or more
    column: HostArray  # (terms,) ascending in each combination
    weight: HostArray  # (terms,)

    DTYPES: ClassVar[dict[str, str]] = {
        "direction_n_terms": "<i4",
        "direction_column": "<i4",
        "direction_weight": "<f8",
    }

    def __post_init__(self) -> None:
        for stored, dtype in self.DTYPES.items():
            name = stored.removeprefix("direction_")
            array = np.array(getattr(self, name), dtype, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[type["Directions"], tuple[int | HostArray, ...]]:
        """Pickles and copies go through the constructor, which makes arrays read-only again."""
        return Directions, (self.n_columns, self.n_terms, self.column, self.weight)

    def __len__(self) -> int:
        return len(self.n_terms)

    def arrays(self) -> dict[str, HostArray]:
        """The arrays by the names that they have in files."""
        return {name: getattr(self, name.removeprefix("direction_")) for name in self.DTYPES}

    def take(self, number: HostArray) -> "Directions":
        """Some of the combinations."""
        n = self.n_terms[number].astype(np.int64)
        at = spread_out(self._first[number], n)
        return Directions(self.n_columns, n, self.column[at], self.weight[at])

    def terms(self, number: int) -> tuple[HostArray, HostArray]:
        """The columns and the weights of one combination."""
        first = int(self._first[number])
        own = slice(first, first + int(self.n_terms[number]))
        return self.column[own], self.weight[own]

    def values(self, number: int, read: Callable[[int], HostArray]) -> HostArray:
        """One combination of each row; `read` gives the values of a column, NaN where missing."""
        column, weight = self.terms(number)
        return added_up([read(each) for each in column.tolist()], weight)

    def text(self, number: int, names: Sequence[str]) -> str:
        """A combination in words, with weights as they are: `0.25 density + sugar`."""
        words = ""
        for column, weight in zip(*(part.tolist() for part in self.terms(number)), strict=True):
            sign = "-" if weight < 0 else "+"
            factor = "" if abs(weight) == 1.0 else f"{repr(abs(weight)).removesuffix('.0')} "
            if words:
                words += f" {sign} {factor}{names[column]}"
            else:
                words = f"{sign.strip('+')}{factor}{names[column]}"
        return words

    @cached_property
    def _first(self) -> HostArray:
        return begins(self.n_terms.astype(np.int64))


def added_up(terms: Sequence[HostArray], weight: HostArray) -> HostArray:
    """Terms times their weights, one after another, each product and sum rounded by itself.

    `weight` has one number a term, or one a term and row; a term of weight 0 is left out. Training
    and prediction both add up here, so that a row ends where it was counted.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(terms[0], np.float64) * weight[0]
        for values, factor in zip(terms[1:], weight[1:], strict=True):
            more = total + np.asarray(values, np.float64) * factor
            total = np.where(factor == 0.0, total, more) if np.ndim(factor) else more
    return total
