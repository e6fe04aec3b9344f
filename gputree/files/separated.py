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
from gputree.files.table_file import TableFile, sliced

SMALLEST_BLOCK = 1 << 20  # bytes; a row must fit into a block
LARGEST_BLOCK = 1 << 30
QUOTE = b'"'
OTHERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}  # what separates cells


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
        self._check_separator()
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
        import pyarrow

        self._survey()
        return pyarrow.schema([(name, arrow_type(self._kinds[name])) for name in self.names])

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow

        names = list(self.names if columns is None else columns)
        schema = pyarrow.schema([self.schema.field(name) for name in names])
        types = {name: self._parsed_type(name) for name in names}
        for batch in sliced(self._parsed(types, max(self._block, max_bytes)), max_bytes):
            arrays = [
                convert(batch.column(name), self._kinds[name])
                if pyarrow.types.is_string(types[name])
                else batch.column(name)
                for name in names
            ]
            yield pyarrow.record_batch(arrays, schema=schema)

    def place(self, row: int) -> str:
        line, _ = next(islice(self._rows(), row + 1, None))
        return f"on line {line}"

    def _check_separator(self) -> None:
        """Refuse a header in one piece that has another separator in it."""
        (name, *others) = self._header
        for separator, word in OTHERS.items():
            if not others and separator != self._separator and separator in name:
                raise ValueError(
                    f"{self.path}: the header is one cell with {word} in it; separate cells by "
                    f"{OTHERS[self._separator]}, or give the file the suffix of what it is"
                )

    # Kinds

    def _parsed_type(self, name: str) -> Any:
        """What pyarrow makes of a column; cells that need a closer look are text at first."""
        kind = self._kinds[name]
        return arrow_type(CellKind.TEXT if name in self._to_strip else kind)

    def _survey(self) -> None:
        """Learn from all rows of what kind each column is, and how many rows there are."""
        if next(islice(self._rows(), 1, None), None) is None:
            raise ValueError(f"{self.path} has a header but no rows; add rows below it")
        if self._n_quotes() % 2:  # pyarrow takes the end of a file for the end of a quote
            self._check_rows()
        while True:
            try:
                self._survey_blocks()
                break
            except _LongRowError:
                self._block *= 4
            if self._block > LARGEST_BLOCK:
                raise ValueError(
                    f"{self.path} has a row of more than {LARGEST_BLOCK >> 20} MB; check its quotes"
                )

    def _survey_blocks(self) -> None:
        as_text = dict.fromkeys(self.names, arrow_type(CellKind.TEXT))
        self._learn(as_text, at_most=1)
        # Where the first rows hold fractions or text, so do the others most likely: numbers need
        # not be looked at cell by cell, and text not at all.
        kinds = dict(self._kinds)
        quick = {
            name: arrow_type(kind) if kind is CellKind.NUMBER else as_text[name]
            for name, kind in kinds.items()
            if kind is not CellKind.TEXT and name not in self._to_strip
        }
        slow = {name: as_text[name] for name in self._to_strip if kinds[name] < CellKind.TEXT}
        some = (quick | slow) or dict.fromkeys(self.names[:1], arrow_type(CellKind.TEXT))
        try:
            self._learn(some)
        except _NoNumberError:
            self._learn(as_text)

    def _learn(self, types: dict[str, Any], at_most: int | None = None) -> None:
        """Look at all cells, or those of the first blocks, that are read as text."""
        text = arrow_type(CellKind.TEXT)
        looked = [name for name, dtype in types.items() if dtype == text]
        for name in looked:
            self._kinds.setdefault(name, CellKind.EMPTY)
        n_rows = 0
        for batch in islice(self._parsed(types, self._block), at_most):
            n_rows += batch.num_rows
            for name in looked:
                if self._kinds[name] is CellKind.TEXT:
                    continue
                kind, is_to_strip = interpret(batch.column(name))
                self._kinds[name] = max(self._kinds[name], kind)
                if is_to_strip:
                    self._to_strip.add(name)
        self._n_rows = n_rows

    # Reading

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
        try:
            with self._source() as source, csv.open_csv(source, read, parse, as_types) as batches:
                yield from batches
        except pyarrow.ArrowInvalid as error:
            if "straddling" in str(error):
                raise _LongRowError from error
            if "conversion error to double" in str(error):
                raise _NoNumberError from error
            self._explain(str(error))
        except (UnicodeDecodeError, EOFError, OSError) as error:
            self._explain(str(error))

    def _source(self) -> Any:
        """The bytes of the file, read without Python.

        A thread of pyarrow reads ahead and is not waited for when parsing fails. If it called
        Python it could do so at the end of the process, which aborts the process.
        """
        import pyarrow

        return pyarrow.input_stream(str(self.path), compression="gzip" if self._is_gzip else None)

    def _n_quotes(self) -> int:
        with gzip.open(self.path) if self._is_gzip else open(self.path, "rb") as file:
            n_quotes = 0
            try:
                while block := file.read(SMALLEST_BLOCK):
                    n_quotes += block.count(QUOTE)
            except (EOFError, OSError) as error:
                self._explain(str(error))
        return n_quotes

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


class _NoNumberError(Exception):
    """A cell is not the number it was taken for."""
