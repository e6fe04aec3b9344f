"""A table in a file, from its first row to its last as often as needed, in little memory.

Knows what the features, the target and the weights of a file are; nothing of cuts and codes.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np

from gputree.comm import ALONE, Comm
from gputree.data.cells import Categories, Cells, Refused
from gputree.data.frames import ORDER_PROBLEM, arrow_cells
from gputree.data.inputs import read_table
from gputree.data.kinds import (
    CategoricalFeatures,
    categorical_flags,
    category_column,
    column_label,
    new_column,
    refusal,
)
from gputree.data.labels import Labels
from gputree.data.schema import Schema
from gputree.data.table import Column, Kind, Table
from gputree.data.weights import read_weights
from gputree.dtypes import CATEGORY_NUMBER, MISSING_CATEGORY, HostArray
from gputree.files.names import no_column
from gputree.files.readings import origin_of
from gputree.files.table_file import TableFile, kind_of

TEXT = ("text", "nominal", "ordinal")


@dataclass(frozen=True, eq=False)
class Stream:
    """The columns of a file that a Dataset is made of."""

    file: TableFile
    features: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None
    max_bytes: int
    state: tuple[Any, ...] = field(default=())  # of the file, when it was opened

    @classmethod
    def of(
        cls, file: TableFile, target: Any, weight: str | None, columns: Any, max_bytes: int
    ) -> "Stream":
        """All columns are features but the target and the weight, if `columns` names no others."""
        targets = names_in(target)
        taken = [*targets, *([] if weight is None else [weight])]
        roles = [*(" to be the target" for _ in targets), " to be the weight"]
        for name, role in zip(taken, roles, strict=False):
            if name not in file.names:
                raise no_column(file.path, name, file.names, role)
        if columns is None:
            features = tuple(name for name in file.names if name not in taken)
        else:
            features = names_in(columns)
            for name in features:
                if name not in file.names:
                    raise no_column(file.path, name, file.names)
                if name in taken:
                    raise ValueError(
                        f"columns names {name!r}, which is the target or the weight; leave it out"
                    )
        if not features:
            raise ValueError(
                f"{file.path} has no column left to be a feature; its columns are "
                f"{', '.join(file.names)}"
            )
        return cls(file, features, targets, weight, max_bytes, file.state())

    def batches(self, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Some columns in chunks, with the first row of each; text by its distinct values."""
        self._check_state()
        first = 0
        for batch in self.file.chunks(self.max_bytes, names):
            yield first, batch
            first += batch.num_rows
        self._check_state()

    def _check_state(self) -> None:
        if self.file.state() != self.state:
            raise ValueError(
                f"{self.file.path} has changed since it was opened; read it again from the start"
            )

    def tables(
        self, schema: Schema, features: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Table]]:
        """Some features as they were learnt, chunk by chunk, with the first row of each chunk."""
        at = range(len(self.features)) if features is None else features
        if features is not None:
            schema = schema.take(np.array(features))
        # A feature may have been drawn several times; its column is read once.
        chosen = [self.features[i] for i in at]
        one_of = {name: where for where, name in enumerate(chosen)}
        place_of = {name: place for place, name in enumerate(one_of)}
        known = schema
        if len(one_of) < len(chosen):
            known = schema.take(np.array(list(one_of.values())))
        for first, batch in self.batches(list(one_of)):
            columns = [by_categories(column) for column in batch.columns]
            table = read_table(type(batch).from_arrays(columns, known.names), like=known)
            every = tuple(table.columns[place_of[name]] for name in chosen)
            yield first, Table(every, table.n_rows)

    def take(self, features: HostArray) -> "Stream":
        """The same rows with some of the features."""
        return replace(self, features=tuple(self.features[at] for at in features.tolist()))

    def read_weights(self, n_rows: int, comm: Comm = ALONE) -> HostArray | None:
        """The weights of the rows, checked."""
        if self.weight is None:
            return None
        weight = np.empty(n_rows)
        for first, batch in self.batches([self.weight]):
            (column,) = batch.columns
            if kind_of(column.type) != "numeric":
                raise ValueError(
                    f"{self.file.path}: the weight {self.weight!r} is of type {column.type}; "
                    "weights are numbers"
                )
            weight[first : first + len(column)] = numbers(column)
        try:
            return read_weights(weight, n_rows, comm=comm)
        except ValueError as error:
            raise ValueError(f"{self.file.path}: column {self.weight!r}: {error}") from error


def names_in(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns, of which one may be given as it is."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def by_categories(column: Any) -> Any:
    """Text as numbers of its distinct values; any other column as it is."""
    return column.dictionary_encode() if kind_of(column.type) == "text" else column


def numbers(column: Any) -> HostArray:
    """A pyarrow column as floats, NaN where missing."""
    return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)


# What the first sweep learns


class Features:
    """What the columns are: their kinds, and the categories of those that have some."""

    def __init__(self, stream: Stream, categorical_features: CategoricalFeatures) -> None:
        flags = categorical_flags(categorical_features, stream.features, is_named=True)
        fields = [stream.file.schema.field(name) for name in stream.features]
        dtypes = [field.type for field in fields]
        self._origins = [origin_of(field) for field in fields]
        # A file has no dtype for categories of text: columns of text are categories.
        self._flags = [
            True if flag is None and kind_of(dtype) == "text" else flag
            for flag, dtype in zip(flags, dtypes, strict=True)
        ]
        self._names = stream.features
        self._categories = {
            at: ColumnCategories(name, at, is_declared=kind_of(dtype) in ("nominal", "ordinal"))
            for at, (name, dtype, flag) in enumerate(
                zip(stream.features, dtypes, self._flags, strict=True)
            )
            if flag or (flag is None and kind_of(dtype) in TEXT)
        }
        self.numeric = [at for at in range(len(self._names)) if at not in self._categories]

    def learn(self, batch: Any, number: int) -> Table:
        """Take in some rows, by the number of the first one; their numeric columns."""
        found = []
        for at, column in enumerate(batch.columns[: len(self._names)]):
            if at in self._categories:
                self._categories[at].learn(arrow_cells(by_categories(column)), number)
            else:
                cells = arrow_cells(column)
                found.append(new_column(cells, self._names[at], at, self._flags[at]))
        return Table(tuple(found), batch.num_rows)

    def unite(self, comm: Comm) -> None:
        """Take in the categories that others have met."""
        told = comm.gather(pickle.dumps([each.known() for each in self._categories.values()]))
        if len(told) > 1:
            for own, known in zip(
                self._categories.values(), zip(*map(pickle.loads, told), strict=True), strict=True
            ):
                own.unite(known)

    def schema(self, n_missing: HostArray) -> Schema:
        """The columns, once all rows have been seen; `n_missing` is of numeric ones."""
        missing = dict(zip(self.numeric, (n_missing > 0).tolist(), strict=True))
        columns = [
            replace(
                Column(name, Kind.NUMERIC, np.empty(0))
                if at in missing
                else self._categories[at].column(),
                origin=self._origins[at],
            )
            for at, name in enumerate(self._names)
        ]
        has_missing = tuple(
            missing[at] if at in missing else self._categories[at].has_missing
            for at in range(len(self._names))
        )
        return replace(Schema.of(Table(tuple(columns), 0)), has_missing=has_missing)


class ColumnCategories:
    """The categories of one column, in the order of a table in memory."""

    def __init__(self, name: str, position: int, *, is_declared: bool) -> None:
        self._name, self._position, self._is_declared = name, position, is_declared
        self._found: dict[Any, int] = {}  # with the number of a row, in whose order they are
        self._is_ordered = False
        self.has_missing = False

    def learn(self, cells: Cells, number: int) -> None:
        """Take in some rows, by the number of the first one."""
        if isinstance(cells, Refused):
            raise refusal(cells, column_label(self._name, self._position))
        categories = cells if isinstance(cells, Categories) else cells.distinct()
        self._found |= {
            category: number for category in categories.categories if category not in self._found
        }
        self.has_missing |= bool((categories.number == MISSING_CATEGORY).any())
        self._is_ordered = categories.ordered
        if categories.ordered:
            self._check_order(categories.categories, categories.dtype)

    def _check_order(self, categories: tuple[Any, ...], dtype: str) -> None:
        if tuple(self._found)[: len(categories)] != categories:
            told = Refused(dtype, ORDER_PROBLEM)
            raise refusal(told, column_label(self._name, self._position))

    def known(self) -> tuple[dict[Any, int], bool, bool]:
        """What is to be told to others."""
        return self._found, self._is_ordered, self.has_missing

    def unite(self, known: Sequence[tuple[dict[Any, int], bool, bool]]) -> None:
        """Know what all know, in the order of the rows of the whole table."""
        every = sorted((item for found, *_ in known for item in found.items()), key=itemgetter(1))
        self._found = {}
        for category, number in every:
            self._found.setdefault(category, number)
        self._is_ordered = any(is_ordered for _, is_ordered, _ in known)
        self.has_missing = any(has_missing for *_, has_missing in known)
        for found, is_ordered, _ in known:
            if is_ordered:
                self._check_order(tuple(found), "dictionary")

    def column(self) -> Column:
        """The column without its rows."""
        none = np.empty(0, CATEGORY_NUMBER)
        categories = Categories("", none, tuple(self._found), self._is_ordered)
        return category_column(
            categories, self._name, self._position, is_declared=self._is_declared
        )


class Answers:
    """The target of every row."""

    def __init__(self, stream: Stream, n_rows: int) -> None:
        self._stream, self._n_rows = stream, n_rows
        schema = stream.file.schema
        kinds = {name: kind_of(schema.field(name).type) for name in stream.targets}
        for name, kind in kinds.items():
            if kind == "other" or (kind != "numeric" and len(kinds) > 1):
                raise ValueError(
                    f"{stream.file.path}: the target {name!r} is of type "
                    f"{schema.field(name).type}; a target is of numbers, or alone and of classes"
                )
        self._is_text = any(kind != "numeric" for kind in kinds.values())
        self._place: dict[Any, int] = {}  # of classes, in the order they were met
        self._y: HostArray | None = None

    def learn(self, first: int, columns: Sequence[Any]) -> None:
        """Take in some rows from `first` on."""
        for at, (name, column) in enumerate(zip(self._stream.targets, columns, strict=True)):
            self._check(name, first, column)
            found = self._numbers(column) if self._is_text else column.to_numpy(False)
            if self._y is None:
                shape = (self._n_rows, *([len(columns)] if len(columns) > 1 else []))
                self._y = np.empty(shape, np.float64 if len(columns) > 1 else found.dtype)
            rows = slice(first, first + len(found))
            self._y[rows if len(columns) == 1 else (rows, at)] = found

    def _check(self, name: str, first: int, column: Any) -> None:
        if not column.null_count and kind_of(column.type) != "numeric":
            return
        is_missing = np.asarray(column.is_null(nan_is_null=True))
        if is_missing.any():
            place = self._stream.file.place(first + int(is_missing.argmax()))
            raise ValueError(
                f"{self._stream.file.path}: the target {name!r} is missing {place}; remove the "
                "row, or fill the cell"
            )

    def _numbers(self, column: Any) -> HostArray:
        categories = arrow_cells(by_categories(column))
        assert isinstance(categories, Categories)
        used = np.unique(categories.number)
        target = np.zeros(len(categories.categories), CATEGORY_NUMBER)
        for number in used.tolist():
            category = categories.categories[number]
            target[number] = self._place.setdefault(category, len(self._place))
        return target[categories.number]

    def all(self) -> Any:
        """The target as an array; None where none was named, and without rows."""
        if not self._is_text or self._y is None:
            return self._y
        classes, number = np.unique(np.array(list(self._place)), return_inverse=True)
        return Labels(classes, number.astype(CATEGORY_NUMBER)[self._y])
