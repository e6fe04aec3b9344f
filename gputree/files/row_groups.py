"""Row groups of Parquet files, shared out among several readers of one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from os.path import abspath
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from gputree.files.columnar import ParquetFile
from gputree.files.many import Paths, check_formats, open_files, paths_of
from gputree.files.opening import open_file
from gputree.files.table_file import TableFile


class RowGroup(NamedTuple):
    """A row group, and where it is among those of all files."""

    path: str
    number: int  # in its file
    n_rows: int
    first: int  # the number of its first row among the rows of all files


def _opened(path: str | Path) -> ParquetFile:
    file = open_file(path)
    assert isinstance(file, ParquetFile)
    return file


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of files that have the same columns: all that a reader needs to know."""

    groups: tuple[RowGroup, ...]
    schema: Any  # pyarrow.Schema of all files

    @classmethod
    def of(cls, path: Paths) -> Self:
        """All row groups of a file, a list of them, a folder, or those that match a pattern."""
        check_formats(path, ("parquet",), "fits on clusters, which share out row groups")
        first, groups = 0, []
        for each in paths_of(path):
            for number, n_rows in enumerate(_opened(each).rows_of_groups()):
                groups.append(RowGroup(abspath(each), number, n_rows, first))
                first += n_rows
        return cls(tuple(groups), open_files(path).schema)

    def shared_out(self, n: int) -> list["RowGroups"]:
        """So many parts of about as many rows, one after another; some are empty if there are few
        row groups.
        """
        middle = np.array([group.first + group.n_rows / 2 for group in self.groups])
        n_rows = sum(group.n_rows for group in self.groups)
        owner = (middle * n / n_rows).astype(np.int64)
        return [
            replace(self, groups=tuple(self.groups[at] for at in np.flatnonzero(owner == part)))
            for part in range(n)
        ]

    def with_those_of(self, others: Sequence["RowGroups"]) -> "RowGroups":
        """These and others together, in the order of the files."""
        every = [group for each in (self, *others) for group in each.groups]
        return replace(self, groups=tuple(sorted(every, key=lambda group: group.first)))


class RowGroupFile(TableFile):
    """The rows of some row groups; there may be none."""

    def __init__(self, rows: RowGroups) -> None:
        self._rows = rows
        self.names = tuple(rows.schema.names)
        self.path = Path(rows.groups[0].path if rows.groups else "nothing")

    @property
    def n_rows(self) -> int:
        return sum(group.n_rows for group in self._rows.groups)

    @cached_property
    def schema(self) -> Any:
        return self._rows.schema

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow

        names = list(self.names if columns is None else columns)
        schema = pyarrow.schema([self.schema.field(name) for name in names])
        for path, groups in groupby(self._rows.groups, lambda group: group.path):
            file = _opened(path)
            for group in groups:  # of which none shares a chunk with another
                for batch in file.chunks(max_bytes, names, [group.number]):
                    arrays = [
                        column if column.type == wanted.type else column.cast(wanted.type)
                        for column, wanted in zip(batch.columns, schema, strict=True)
                    ]
                    yield pyarrow.record_batch(arrays, schema=schema)

    def number_of(self, row: int) -> int:
        for group in self._rows.groups:
            if row < group.n_rows:
                return group.first + row
            row -= group.n_rows
        return row

    def state(self) -> tuple[Any, ...]:
        paths = sorted({group.path for group in self._rows.groups})
        return tuple(_opened(path).state() for path in paths)

    def place(self, row: int) -> str:
        for group in self._rows.groups:
            if row < group.n_rows:
                return f"in row {row + 1:,} of row group {group.number + 1} of {group.path}"
            row -= group.n_rows
        return super().place(row)
