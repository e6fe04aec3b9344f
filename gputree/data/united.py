"""The columns of a table that comes in parts, each of which has been read by itself.

Categories are united by what they are: where all parts declare the same ones, in that order, and
otherwise sorted, so that it does not matter how rows are spread over parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.cells import Categories, renumber
from gputree.data.kinds import category_column
from gputree.data.schema import Schema
from gputree.data.sparse import dense
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import CATEGORY_NUMBER, HostArray


class Parts(list[Any]):
    """Tables of the same columns, as users give them, whose rows belong to one table."""


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of some parts."""

    schema: Schema
    names: tuple[str, ...] | None  # None where the parts are nameless matrices

    @classmethod
    def of(cls, table: Table, names: HostArray | None) -> "Columns":
        return cls(Schema.of(table), None if names is None else tuple(names.tolist()))

    @property
    def feature_names(self) -> HostArray | None:
        """The names as scikit-learn keeps them."""
        return None if self.names is None else np.array(self.names, dtype=object)

    def united(self, other: "Columns") -> "Columns":
        """Those of several parts together."""
        one, two = self.schema, other.schema
        if one.names != two.names or self.names != other.names:
            raise ValueError(
                f"parts have different columns: {list(one.names)} and {list(two.names)}; give all "
                "of them the same ones, in the same order"
            )
        categories = []
        for at, name in enumerate(one.names):
            kinds = one.kinds[at], two.kinds[at]
            if kinds[0] is not kinds[1]:
                raise ValueError(
                    f"column {name!r} is {kinds[0].name.lower()} in one part and "
                    f"{kinds[1].name.lower()} in another; convert it to one type in all parts"
                )
            categories.append(_united(name, at, kinds[0], one.categories[at], two.categories[at]))
        schema = Schema(one.names, one.kinds, tuple(categories), origins=one.origins)
        return Columns(schema, self.names)


def _united(
    name: str, position: int, kind: Kind, one: tuple[Any, ...] | None, two: tuple[Any, ...] | None
) -> tuple[Any, ...] | None:
    """The categories of a column of two parts."""
    if one is None or two is None or one == two:
        return one
    if kind is Kind.ORDINAL:
        raise ValueError(
            f"column {name!r} has ordered categories {list(one)} in one part and {list(two)} in "
            "another, which has no common order; declare the same ones in all parts"
        )
    union, none = tuple(dict.fromkeys([*one, *two])), np.empty(0, CATEGORY_NUMBER)
    cells = Categories("", none, union, ordered=False)
    return category_column(cells, name, position, is_declared=False).categories


def joined_table(tables: Sequence[Table], schema: Schema) -> Table:
    """The rows of several tables, with their categories by the numbers that were agreed on."""
    if len(tables) == 1 and Schema.of(tables[0]) == schema:
        return tables[0]
    columns = []
    for at, (name, kind, categories) in enumerate(
        zip(schema.names, schema.kinds, schema.categories, strict=True)
    ):
        parts = [_values(table.columns[at], categories) for table in tables]
        none = np.empty(0, np.float32 if categories is None else CATEGORY_NUMBER)
        columns.append(Column(name, kind, np.concatenate([none, *parts]), categories))
    return Table(tuple(columns), sum(table.n_rows for table in tables))


def _values(column: Column, categories: tuple[Any, ...] | None) -> HostArray:
    if categories is None or column.categories is None:
        return to_numpy(dense(column.values))
    place = {category: number for number, category in enumerate(categories)}
    return renumber(to_numpy(column.values), [place[each] for each in column.categories])
