"""CSV and TSV files: parsed by pyarrow, with kinds that all rows agree on.

A column is of one kind over the whole file, so a file that is read in chunks is read through first.
Where pyarrow finds a mistake, the file is read again line by line to say where it is.
"""

import gzip
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from gputree.files.cells import MISSING, CellKind, arrow_type, convert, interpret
from gputree.files.lines import Rows, rows_of
from gputree.files.table_file import WHOLE, TableFile, sliced

SMALLEST_BLOCK = 1 << 20  # bytes; a row must fit into a block
LARGEST_BLOCK = 1 << 30
QUOTE = b'"'


class SeparatedFile(TableFile):
    """Rows of cells with a header above them."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[str] | None,
        encoding: str,
        separator: str,
        *,
        is_gzip: bool,
    ) -> None:
        self.path = path
        self._encoding, self._separator, self._is_gzip = encoding, separator, is_gzip
        self._n_header_lines, cells = next(self._rows(), (0, []))
        if not cells:
            raise ValueError(f"{path} is empty; a header and rows are needed")
        self._header = tuple(cell.strip() for cell in cells)
        self._choose(self._header, columns)
        self._block = SMALLEST_BLOCK
        self._n_rows: int | None = None
        self._kinds: dict[str, CellKind] = {}
        self._to_strip: set[str] = set()  # columns that pyarrow cannot read as they are

    @property
    def n_rows(self) -> int | None:
        return self._n_rows

    @cached_property
    def schema(self) -> Any:
        self._survey(None)
        return self._schema()

    def chunks(self, max_bytes: int) -> Iterator[Any]:
        import pyarrow

        schema = self.schema
        types = {
            name: pyarrow.string()
            if name in self._to_strip or kind is CellKind.TEXT
            else arrow_type(kind)
            for name, kind in self._kinds.items()
        }
        for batch in sliced(self._parsed(types, max(self._block, max_bytes)), max_bytes):
            columns = [
                convert(batch.column(name), self._kinds[name])
                if pyarrow.types.is_string(types[name])
                else batch.column(name)
                for name in self.names
            ]
            yield pyarrow.record_batch(columns, schema=schema)

    def read(self) -> Any:
        import pyarrow

        kept: dict[str, list[Any]] = {name: [] for name in self.names}
        if "schema" in self.__dict__:  # the kinds are known: there is nothing to be kept for later
            return super().read()
        self._survey(kept)
        self.__dict__["schema"] = schema = self._schema()
        return pyarrow.table([self._joined(name, kept.pop(name)) for name in self.names], schema)

    def place(self, row: int) -> str:
        line, _ = next(islice(self._rows(), row + 1, None))
        return f"on line {line}"

    # Reading

    def _schema(self) -> Any:
        import pyarrow

        return pyarrow.schema([(name, arrow_type(self._kinds[name])) for name in self.names])

    def _survey(self, kept: dict[str, list[Any]] | None) -> None:
        """Learn the kinds from all rows; keep what was converted, where it is asked for."""
        import pyarrow

        block = self._block if kept is None else WHOLE
        while True:
            kinds = dict.fromkeys(self.names, CellKind.EMPTY)
            to_strip: set[str] = set()
            n_rows = 0
            try:
                for batch in self._parsed(dict.fromkeys(self.names, pyarrow.string()), block):
                    n_rows += batch.num_rows
                    for name in self.names:
                        kind, is_to_strip = interpret(batch.column(name))
                        kinds[name] = max(kinds[name], kind)
                        if is_to_strip:
                            to_strip.add(name)
                        if kept is not None:
                            kept[name].append(convert(batch.column(name), kinds[name]))
                break
            except _LongRowError:
                block *= 4
                if block > LARGEST_BLOCK:
                    raise ValueError(
                        f"{self.path} has a row of more than {LARGEST_BLOCK >> 20} MB; check its "
                        "quotes"
                    ) from None
                for parts in (kept or {}).values():
                    parts.clear()
        if not n_rows:
            raise ValueError(f"{self.path} has a header but no rows; add rows below it")
        self._block = block  # which has room for every row
        self._n_rows, self._kinds, self._to_strip = n_rows, kinds, to_strip

    def _joined(self, name: str, parts: list[Any]) -> Any:
        """One column of chunks that were converted before its kind was known."""
        import pyarrow

        kind = self._kinds[name]
        dtype = arrow_type(kind)
        if kind is CellKind.TEXT and any(part.type != dtype for part in parts):
            as_text = {name: pyarrow.string()}
            parts = [
                convert(batch.column(name), kind) for batch in self._parsed(as_text, self._block)
            ]
        return pyarrow.chunked_array([part.cast(dtype) for part in parts], dtype)

    def _parsed(self, types: dict[str, Any], block: int) -> Iterator[Any]:
        """Record batches of some columns; a mistake is told with its place."""
        import pyarrow
        from pyarrow import csv

        read = csv.ReadOptions(
            block_size=min(block, LARGEST_BLOCK),
            column_names=self._header,
            skip_rows=self._n_header_lines,
            encoding=self._encoding,
        )
        parse = csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        as_types = csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=MISSING,
            strings_can_be_null=True,
        )
        with gzip.open(self.path) if self._is_gzip else open(self.path, "rb") as file:
            counted = _Counted(file)
            try:
                source = pyarrow.PythonFile(counted, mode="r")
                yield from csv.open_csv(source, read, parse, as_types)
            except pyarrow.ArrowInvalid as error:
                if "straddling" in str(error):
                    raise _LongRowError from error
                if "Empty CSV file" in str(error):
                    return
                self._explain(str(error))
            except (UnicodeDecodeError, EOFError, OSError) as error:
                self._explain(str(error))
        if counted.n_quotes % 2:  # pyarrow takes the end of a file for the end of a quote
            self._check_rows()

    # Mistakes

    def _rows(self) -> Rows:
        return rows_of(self.path, self._encoding, self._separator, is_gzip=self._is_gzip)

    def _check_rows(self) -> None:
        for line, cells in self._rows():
            if len(cells) != len(self._header):
                raise ValueError(
                    f"{self.path}: line {line} has {len(cells)} cells, the header has "
                    f"{len(self._header)}; give every row as many"
                )

    def _explain(self, message: str) -> None:
        self._check_rows()
        raise ValueError(f"{self.path} cannot be read as CSV: {message}; check the file")


class _LongRowError(Exception):
    """A row is longer than a block."""


class _Counted:
    """A file that counts the quotes that are read from it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.n_quotes = 0
        self.closed = False

    def read(self, n: int = -1) -> bytes:
        content: bytes = self._file.read(n)
        self.n_quotes += content.count(QUOTE)
        return content

    def tell(self) -> int:
        return int(self._file.tell())

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
