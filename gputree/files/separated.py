"""CSV and TSV files: parsed by pyarrow, with kinds that all rows agree on.

A column is of one kind over the whole file, so a file that is read in chunks is read through first.
Where pyarrow finds a mistake, the file is read again line by line to say where it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from gputree.files.cells import MISSING, CellKind, arrow_type, convert, interpret, stripped
from gputree.files.content import Content
from gputree.files.layout import SAMPLE, SEPARATORS, Layout, found_in, names_of
from gputree.files.lines import Rows, first_lines, rows_of
from gputree.files.readings import COMMA, PLAIN, Evidence, Origin, Reading, read, tagged
from gputree.files.spelling import Decided, decide, notes_of
from gputree.files.table_file import TableFile, sliced

SMALLEST_BLOCK = 1 << 20  # bytes; a row must fit into a block
LARGEST_BLOCK = 1 << 30
QUOTE = b'"'
LEAST_READ = 0.1  # of the first cells of a column of text, if the others are to be looked at


class SeparatedFile(TableFile):
    """Rows of cells, most often with a header above them."""

    is_inferred = True

    def __init__(
        self,
        content: Content,
        columns: Sequence[str] | None,
        encoding: str,
        usual: str,
        layout: Layout,
        known: Mapping[str, Reading],
    ) -> None:
        self.path, self._content, self._encoding = content.path, content, encoding
        self._layout, self._known = layout, known
        found = found_in(first_lines(content, encoding, SAMPLE), layout, usual)
        self._separator, self._layout_notes = found.separator, found.notes
        line, cells = next(self._rows(), (0, []))
        if not cells:
            raise ValueError(f"{self.path} is empty; a header and rows are needed")
        self._n_header_lines = line if found.has_header else 0
        self._header = names_of(cells, found.has_header)
        self._check_separator()
        self._choose(self._header, columns)
        self._block = SMALLEST_BLOCK
        self._n_rows: int | None = None
        self._kinds: dict[str, CellKind] = {}
        self._to_strip: set[str] = set()  # columns that pyarrow cannot read as they are
        self._seen: dict[str, Evidence] = {}  # of all rows
        self._decided: dict[str, Decided] = {}  # how cells are read that are no plain numbers

    @property
    def n_rows(self) -> int | None:
        return self._n_rows

    @cached_property
    def schema(self) -> Any:
        import pyarrow

        self._survey()
        if not self._decided:  # otherwise together with other files
            self.decide(self.evidence())
        return pyarrow.schema([self._field(name) for name in self.names])

    @property
    def notes(self) -> tuple[str, ...]:
        assert self.schema is not None  # which finds out
        return (*self._layout_notes, *notes_of(self._decided))

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow

        names = list(self.names if columns is None else columns)
        schema = pyarrow.schema([self.schema.field(name) for name in names])
        types = {name: self._parsed_type(name) for name in names}
        for batch in sliced(self._parsed(types, max(self._block, max_bytes)), max_bytes):
            arrays = [
                self._converted(name, batch.column(name)).cast(schema.field(name).type)
                for name in names
            ]
            yield pyarrow.record_batch(arrays, schema=schema)

    def place(self, row: int) -> str:
        line, _ = next(islice(self._rows(), row + (self._n_header_lines > 0), None))
        return f"on line {line}"

    def _check_separator(self) -> None:
        """Refuse a header in one piece that has another separator in it, if nobody wants it so."""
        if self._layout.separator is not None:
            return
        (name, *others) = self._header
        for separator, word in SEPARATORS.items():
            if not others and separator != self._separator and separator in name:
                raise ValueError(
                    f"{self.path}: the first line is one cell with {word} in it; give every row as "
                    f"many cells, or name what separates them: separator={separator!r} "
                    f"(--separator {separator!r})"
                )

    # Kinds

    def _field(self, name: str) -> Any:
        """What becomes of a column."""
        import pyarrow

        decided = self._decided.get(name)
        if decided is None or decided.reading.kind == "text":
            return pyarrow.field(name, arrow_type(self._kinds[name]))
        dtype = decided.date_type if decided.reading.kind == "date" else arrow_type(CellKind.NUMBER)
        return tagged(pyarrow.field(name, dtype), Origin(name, decided.reading))

    def _parsed_type(self, name: str) -> Any:
        """What pyarrow makes of a column; cells that need a closer look are text at first."""
        is_text = name in self._to_strip or name in self._decided
        return arrow_type(CellKind.TEXT if is_text else self._kinds[name])

    def _converted(self, name: str, cells: Any) -> Any:
        """Cells as they are parsed, as what they are read as."""
        import pyarrow

        if not pyarrow.types.is_string(cells.type):
            return cells
        decided = self._decided.get(name)
        if decided is None:
            return convert(cells, self._kinds[name])
        return read(stripped(cells), decided.reading)

    def evidence(self) -> dict[str, Evidence]:
        """How the cells of columns can be read that are not all plain numbers."""
        found = self.look(self.worth_a_look())
        if self._layout.decimal == COMMA or any(each.asks_others for each in found.values()):
            # Numbers such as 1.234 may be whole thousands beside those such as 3,5; and numbers
            # such as 1,234 are beside those such as 3.5.
            plain = [name for name, kind in self._kinds.items() if kind is CellKind.NUMBER]
            found |= self.look([name for name in plain if name not in self._known])
        return found

    def worth_a_look(self) -> list[str]:
        """The columns that may be other numbers, or dates: not those of which hardly a cell is."""
        self._survey()
        wanted = [
            name
            for name in self.names
            if (self._kinds[name] is CellKind.TEXT or name in self._known)
            and self._known.get(name, PLAIN).kind != "text"
        ]
        return [
            name
            for name, each in self.look(wanted, at_most=1).items()
            if name in self._known or each.count(each.nearest) > LEAST_READ * each.n_cells
        ]

    def decide(self, evidence: Mapping[str, Evidence]) -> None:
        """Read columns as the evidence says, which may be that of several files."""
        self._decided = decide(evidence, self._kinds, self._layout, self._separator, self._known)

    def look(self, names: Sequence[str], at_most: int | None = None) -> dict[str, Evidence]:
        """How the cells of some columns can be read; with `at_most` in the first blocks."""
        found = {name: self._seen.get(name) or Evidence() for name in names}
        unseen = [name for name in names if name not in self._seen]
        if not unseen:
            return found
        n_rows = 0
        types = dict.fromkeys(unseen, arrow_type(CellKind.TEXT))
        for batch in islice(self._parsed(types, self._block), at_most):
            n_rows += batch.num_rows
            for name in unseen:
                cells = stripped(batch.column(name))
                if at_most is None or self._has_digits(cells):
                    found[name].see(cells)
        if n_rows == self._n_rows:
            self._seen |= {name: found[name] for name in unseen if found[name].n_cells}
        return found

    def _has_digits(self, cells: Any) -> bool:
        """Whether a column of text is worth a closer look."""
        from pyarrow import compute

        n_digits = compute.sum(compute.match_substring_regex(cells, "[0-9]")).as_py() or 0
        return bool(n_digits > LEAST_READ * (len(cells) - cells.null_count))

    def _survey(self) -> None:
        """Learn from all rows of what kind each column is, and how many rows there are."""
        if self._n_rows is not None:
            return
        if self._n_header_lines and next(islice(self._rows(), 1, None), None) is None:
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
        for name in self.names:
            if self._known.get(name, PLAIN).kind == "text":
                self._kinds[name] = CellKind.TEXT

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
            with (
                self._content.native() as source,
                csv.open_csv(source, read, parse, as_types) as batches,
            ):
                yield from batches
        except pyarrow.ArrowInvalid as error:
            if "straddling" in str(error):
                raise _LongRowError from error
            if "conversion error to double" in str(error):
                raise _NoNumberError from error
            self._explain(str(error))
        except (UnicodeDecodeError, EOFError, OSError) as error:
            self._explain(str(error))

    def _n_quotes(self) -> int:
        with self._content.opened() as file:
            n_quotes = 0
            try:
                while block := file.read(SMALLEST_BLOCK):
                    n_quotes += block.count(QUOTE)
            except (EOFError, OSError) as error:
                self._explain(str(error))
        return n_quotes

    # Mistakes

    def _rows(self) -> Rows:
        return rows_of(self._content, self._encoding, self._separator)

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
