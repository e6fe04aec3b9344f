"""A table in a file: its columns, and its rows in chunks as often as they are wanted."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gputree.files.content import Content
from gputree.files.names import check_names, chosen

# What a column is taken for. Text has no categories until the whole file has been read.
FileKind: TypeAlias = Literal["numeric", "ordinal", "nominal", "text", "other"]

WHOLE = 1 << 26  # bytes of the chunks that a whole table is read in


class TableFile(ABC):
    """A table in a file.

    Attributes
    ----------
    path : Path
        The file.
    names : tuple of str
        The columns asked for, in their order.
    """

    path: Path
    names: tuple[str, ...]
    is_inferred = False  # whether the types of columns are told from their cells
    _content: Content

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out of the file that its reader should look at, in sentences."""
        return ()

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """How many rows there are; None if only reading them will tell."""

    @cached_property
    @abstractmethod
    def schema(self) -> Any:
        """The pyarrow schema of the chunks. Text files are read through to find it."""

    @property
    def kinds(self) -> tuple[FileKind, ...]:
        """What each column is taken for."""
        return tuple(kind_of(field.type) for field in self.schema)

    @abstractmethod
    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in order, as record batches of about `max_bytes` at most; from the start.

        With `columns`, some of the names only.
        """

    def count_rows(self) -> int:
        """How many rows there are, even if they must be read to know."""
        if self.n_rows is not None:
            return self.n_rows
        return sum(batch.num_rows for batch in self.chunks(WHOLE, self.names[:1]))

    def state(self) -> tuple[Any, ...]:
        """What changes when the file is written again."""
        found = os.stat(self._content.place)
        return found.st_size, found.st_mtime_ns

    def read(self) -> Any:
        """The whole table, as a pyarrow Table."""
        import pyarrow

        return pyarrow.Table.from_batches(list(self.chunks(WHOLE)), self.schema)

    def number_of(self, row: int) -> int:
        """The number of a row in the whole table, of which this may be a part."""
        return row

    def place(self, row: int) -> str:
        """Where a row is, in words, for messages."""
        return f"in row {row + 1:,}"

    def _choose(self, names: Sequence[str], columns: Sequence[str] | None) -> None:
        check_names(self.path, names)
        self.names = chosen(self.path, names, columns)


def kind_of(dtype: Any) -> FileKind:
    """What a column of a pyarrow type is taken for."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        return "ordinal" if dtype.ordered else "nominal"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_boolean(dtype):
        return "numeric"
    if types.is_decimal(dtype) or types.is_null(dtype):
        return "numeric"
    if types.is_string(dtype) or types.is_large_string(dtype) or str(dtype) == "string_view":
        return "text"
    return "other"


def sliced(batches: Iterator[Any], max_bytes: int) -> Iterator[Any]:
    """Record batches cut to about `max_bytes` each; empty ones are left out."""
    for batch in batches:
        n_rows = batch.num_rows
        step = max(1, n_rows * max_bytes // max(1, batch.nbytes)) if n_rows else 1
        for first in range(0, n_rows, step):
            yield batch.slice(first, step)
