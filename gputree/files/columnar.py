"""Parquet and Arrow files."""

import mmap
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from gputree.files.content import Content
from gputree.files.formats import ARROW_STREAM
from gputree.files.table_file import TableFile, sliced

BUFFER = 1 << 20  # bytes of a column that are read at once, instead of all of a row group


@contextmanager
def _damage(path: Path, what: str) -> Iterator[None]:
    """Name the file where the library finds it damaged."""
    from pyarrow import ArrowException

    try:
        yield
    except MemoryError:  # which pyarrow counts among its own, too
        raise
    except (ArrowException, OSError) as error:
        first = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"{path} cannot be read as {what}: {first}; copy or write it again"
        ) from error


def unpacked(content: Content) -> Any:
    """What a compressed file holds, as a buffer of pyarrow; None where it is not compressed.

    Columns are read from several places, which compression does not allow, so it is unpacked into
    a file without a name, mapped into memory, that goes when the buffer does.
    """
    import pyarrow

    if content.compression is None:
        return None
    with content.telling(), tempfile.TemporaryFile() as file:
        with content.opened() as packed:
            shutil.copyfileobj(packed, file, BUFFER)
        if not file.tell():
            raise ValueError(f"{content.path} is empty; a header and rows are needed")
        file.flush()
        return pyarrow.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class ParquetFile(TableFile):
    """A file of row groups, read a few pages at a time."""

    def __init__(self, content: Content, columns: Sequence[str] | None) -> None:
        self.path, self._content = content.path, content
        self._unpacked = unpacked(content)
        with self._opened() as file:
            self._metadata = file.metadata
            schema = file.schema_arrow
        self._choose(schema.names, columns)
        self._schema = _fields(schema, self.names)
        if not self.n_rows:
            raise ValueError(f"{self.path} has columns but no rows; write it with rows")

    @property
    def n_rows(self) -> int:
        return int(self._metadata.num_rows)

    @cached_property
    def schema(self) -> Any:
        return self._schema

    def rows_of_groups(self) -> list[int]:
        """How many rows each row group has."""
        return [
            int(self._metadata.row_group(at).num_rows)
            for at in range(self._metadata.num_row_groups)
        ]

    def chunks(
        self,
        max_bytes: int,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[Any]:
        names = list(self.names if columns is None else columns)
        n_bytes = sum(
            self._metadata.row_group(at).total_byte_size
            for at in range(self._metadata.num_row_groups)
        )
        # A column of few values takes less in the file than in memory, with 8 bytes per row.
        a_cell = max(8, n_bytes // (self.n_rows * self._metadata.num_columns))
        n_rows = max(1, min(max_bytes // (a_cell * len(names)), self.n_rows))
        with self._opened() as file, _damage(self.path, "Parquet"):
            batches = file.iter_batches(batch_size=n_rows, columns=names, row_groups=row_groups)
            for batch in sliced(batches, max_bytes):
                yield batch.select(names)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        from pyarrow import BufferReader, parquet

        is_packed = self._unpacked is not None
        source = BufferReader(self._unpacked) if is_packed else self._content.place
        with _damage(self.path, "Parquet"):
            file = parquet.ParquetFile(source, buffer_size=BUFFER, pre_buffer=False)
        with file:
            yield file


class ArrowFile(TableFile):
    """Record batches, in a file or as a stream; mapped into memory if not compressed."""

    def __init__(self, content: Content, columns: Sequence[str] | None) -> None:
        self.path, self._content = content.path, content
        self._unpacked = unpacked(content)
        with self._source() as source:
            self._is_stream = source.read(4) == ARROW_STREAM
        with self._opened() as reader:
            schema = reader.schema
        self._choose(schema.names, columns)
        self._schema = _fields(schema, self.names)

    @property
    def n_rows(self) -> None:
        return None

    @cached_property
    def schema(self) -> Any:
        return self._schema

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        names = list(self.names if columns is None else columns)
        is_empty = True
        with self._opened() as reader, _damage(self.path, "Arrow"):
            for batch in sliced((each.select(names) for each in self._batches(reader)), max_bytes):
                is_empty = False
                yield batch
        if is_empty:
            raise ValueError(f"{self.path} has columns but no rows; write it with rows")

    def _batches(self, reader: Any) -> Iterator[Any]:
        if self._is_stream:
            yield from reader
            return
        for at in range(reader.num_record_batches):
            yield reader.get_batch(at)

    def _source(self) -> Any:
        from pyarrow import BufferReader, memory_map

        if self._unpacked is None:
            return memory_map(str(self._content.place))
        return BufferReader(self._unpacked)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow

        with self._source() as source:
            with _damage(self.path, "Arrow"):
                opened = pyarrow.ipc.open_stream if self._is_stream else pyarrow.ipc.open_file
                reader = opened(source)
            yield reader


def _fields(schema: Any, names: Sequence[str]) -> Any:
    import pyarrow

    return pyarrow.schema([schema.field(name) for name in names])
