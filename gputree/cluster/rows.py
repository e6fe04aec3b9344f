"""The rows of one rank as a Dataset that knows of the others.

Names and kinds of columns, categories, classes and outputs are agreed on before anything is cut.
Categories are united by what they are: where all parts declare the same ones, in that order, and
otherwise sorted, so that it does not matter how rows are spread.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _get_feature_names

from gputree.arrays import cuda_number, to_numpy
from gputree.backends.registry import Choice, choose
from gputree.cluster.backend import ClusterBackend
from gputree.comm import Comm, total
from gputree.data.cells import Categories, renumber
from gputree.data.inputs import check_shape, read_table
from gputree.data.kinds import category_column
from gputree.data.labels import Labels
from gputree.data.schema import Schema
from gputree.data.sparse import dense
from gputree.data.table import Column, Kind, Table
from gputree.data.weights import read_weights
from gputree.dtypes import CATEGORY_NUMBER, HostArray
from gputree.estimators.targets import read_labels
from gputree.fit.dataset import Dataset


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of some parts."""

    schema: Schema
    feature_names: tuple[str, ...] | None

    @classmethod
    def of(cls, X: Any, table: Table) -> "Columns":
        names = _get_feature_names(X)
        return cls(Schema.of(table), None if names is None else tuple(names))

    def united(self, other: "Columns") -> "Columns":
        """Those of several parts together."""
        one, two = self.schema, other.schema
        if one.names != two.names or self.feature_names != other.feature_names:
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
        schema = Schema(one.names, one.kinds, tuple(categories))
        return Columns(schema, self.feature_names)


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


class RankDataset(Dataset):
    """The rows of one rank, cut and coded with those of the others."""

    def __init__(self, comm: Comm, estimator: Any, parts: Sequence[Sequence[Any]]) -> None:
        # A bagged tree says itself how to read a table.
        how = estimator if hasattr(estimator, "max_bins") else estimator._new_stem()
        parts = [part for part in parts if _n_rows(part[0])]
        tables = [read_table(X, categorical_features=how.categorical_features) for X, *_ in parts]
        own = [Columns.of(part[0], table) for part, table in zip(parts, tables, strict=True)]
        columns = _agreed(comm, own)
        table = _joined(tables, columns.schema)
        check_shape(int(total(comm, table.n_rows)), table.n_features, None)
        names = columns.feature_names
        self._table, self._stream, self.comm = table, None, comm
        self.feature_names = None if names is None else np.array(names, dtype=object)
        self.sample_weight = _weights(comm, parts, table.n_rows)
        self.y = _answers(comm, estimator, parts)
        choice = choose(
            how.device,
            # No rows are no work, and NumPy minds them least.
            how.backend if table.n_rows else "numpy",
            n_jobs=how.n_jobs,
            n_cells=table.n_rows * table.n_features,
            data_on=cuda_number(table.columns[0].values),
        )
        choice = Choice(ClusterBackend(choice.backend, comm), choice.reason)
        self._code(table, columns.schema, choice, how.max_bins)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _agreed(comm: Comm, own: Sequence[Columns]) -> Columns:
    """The columns of all parts of all ranks."""
    every = [each for message in comm.gather(pickle.dumps(own)) for each in pickle.loads(message)]
    if not every:
        check_shape(0, 1, None)
    columns: Columns = every[0]
    for other in every[1:]:
        columns = columns.united(other)
    return columns


def _joined(tables: Sequence[Table], schema: Schema) -> Table:
    """The rows of several tables, with their categories by the numbers that were agreed on."""
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


def _weights(comm: Comm, parts: Sequence[Sequence[Any]], n_rows: int) -> HostArray | None:
    """The weights of the rows here; None where no rank has any."""
    given = [part[2] if len(part) > 2 else None for part in parts]
    n_without = sum(each is None for each in given)
    all_without, n_parts = total(comm, [n_without, len(parts)]).tolist()
    if all_without == n_parts:
        return None
    if all_without:
        raise ValueError(
            f"{all_without} of {n_parts} parts have no sample_weight; give it with all, or none"
        )
    some = [np.broadcast_to(to_numpy(w), (_n_rows(X),)) for X, _, w in parts]
    return read_weights(np.concatenate([np.empty(0), *some]), n_rows, comm=comm)


def _answers(comm: Comm, estimator: Any, parts: Sequence[Sequence[Any]]) -> Any:
    """The target of the rows here, with the classes or the outputs that all ranks have."""
    name = type(estimator).__name__
    if any(part[1] is None for part in parts):
        raise ValueError(f"{name} requires y to be passed, but the target y is None in a part")
    given = [to_numpy(part[1]) for part in parts]
    for part, y in zip(parts, given, strict=True):
        if y.shape[:1] != (_n_rows(part[0]),):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: X of a part has "
                f"{_n_rows(part[0])} rows, y has shape {y.shape}"
            )
    if not is_classifier(estimator):
        shapes = [
            pickle.loads(each) for each in comm.gather(pickle.dumps([y.shape[1:] for y in given]))
        ]
        known = sorted({shape for own in shapes for shape in own})
        if len(known) > 1:
            raise ValueError(f"y has outputs of shapes {known} in different parts")
        return np.concatenate([np.empty((0, *known[0])), *given])
    found = [read_labels(y, len(y), name) for y in given]
    messages = comm.gather(pickle.dumps([classes for classes, _ in found]))
    every = [classes for message in messages for classes in pickle.loads(message)]
    classes = np.unique(np.concatenate(every))
    number = [np.searchsorted(classes, own)[at] for own, at in found]
    return Labels(classes, np.concatenate([np.empty(0, np.int64), *number]).astype(CATEGORY_NUMBER))
