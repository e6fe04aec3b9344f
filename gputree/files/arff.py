"""ARFF files, as Weka writes them: declared attributes, then rows.

Nominal attributes keep their declared categories, in order. Dates, relations, sparse rows and
weights of rows are refused with the line they are on.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gputree.files.content import Content
from gputree.files.lines import not_decoded, opened_text
from gputree.files.names import shown
from gputree.files.table_file import TableFile

MISSING = "?"
# A value in quotes, in which a backslash takes the next character as it is; or one without.
VALUE = re.compile(
    r"""\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^,'"][^,]*?|))\s*(?:,|$)""", re.S
)
NAME = re.compile(r"""\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|(\S+))\s*(.*)""", re.S)
ESCAPED = re.compile(r"\\(.)", re.S)
LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
NUMERIC = ("numeric", "real", "integer")
BYTES_A_CELL = 8


@dataclass(frozen=True)
class Attribute:
    """A declared column; `categories` is None for numbers, and empty for free text."""

    name: str
    categories: tuple[str, ...] | None


class ArffFile(TableFile):
    """A file with declared attributes, so that nothing has to be found out."""

    def __init__(self, content: Content, columns: Sequence[str] | None, encoding: str) -> None:
        self.path, self._content, self._encoding = content.path, content, encoding
        self._attributes, self._data_line = self._header()
        self._choose([attribute.name for attribute in self._attributes], columns)

    @property
    def n_rows(self) -> None:
        return None

    @cached_property
    def schema(self) -> Any:
        import pyarrow

        def dtype(categories: tuple[str, ...] | None) -> Any:
            if categories is None:
                return pyarrow.float64()
            text = pyarrow.string()
            return pyarrow.dictionary(pyarrow.int32(), text) if categories else text

        found = {each.name: dtype(each.categories) for each in self._attributes}
        return pyarrow.schema([(name, found[name]) for name in self.names])

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        place = {each.name: number for number, each in enumerate(self._attributes)}
        at = {name: place[name] for name in (self.names if columns is None else columns)}
        most = max(1, max_bytes // (BYTES_A_CELL * len(at)))
        lines: list[int] = []
        rows: list[list[str | None]] = []
        is_empty = True
        for line, cells in self._rows():
            is_empty = False
            lines.append(line)
            rows.append(cells)
            if len(rows) == most:
                yield self._batch(lines, rows, at)
                lines, rows = [], []
        if is_empty:
            raise ValueError(f"{self.path} has a header but no rows; add rows below @data")
        if rows:
            yield self._batch(lines, rows, at)

    def place(self, row: int) -> str:
        for number, (line, _) in enumerate(self._rows()):
            if number == row:
                return f"on line {line}"
        return super().place(row)

    # The header

    def _header(self) -> tuple[list[Attribute], int]:
        attributes: list[Attribute] = []
        for number, line in self._lines():
            word = line.split(None, 1)[0].lower()
            if word == "@attribute":
                attributes.append(self._attribute(number, line.split(None, 1)[1:]))
            elif word == "@data":
                if not attributes:
                    raise ValueError(f"{self.path} declares no attributes; add @attribute lines")
                return attributes, number
            elif word != "@relation":
                raise ValueError(
                    f"{self.path}: line {number} is {shown(line)}; above @data, lines begin with "
                    "@relation, @attribute or %"
                )
        raise ValueError(f"{self.path} has no line @data; is it ARFF, and complete?")

    def _attribute(self, number: int, rest: list[str]) -> Attribute:
        found = NAME.fullmatch(rest[0]) if rest else None
        if found is None or not found[4]:
            raise ValueError(
                f"{self.path}: line {number} declares no name and type; write @attribute name "
                "numeric, or @attribute name {category, category}"
            )
        name, declared = _unquoted(found), found[4].strip()
        if declared.startswith("{"):
            if not declared.endswith("}"):
                raise ValueError(
                    f"{self.path}: line {number}: the categories of {name!r} need a }}"
                )
            categories = tuple(cell or "" for cell in self._split(number, declared[1:-1]))
            if len(set(categories)) < len(categories):
                raise ValueError(f"{self.path}: line {number}: {name!r} declares a category twice")
            return Attribute(name, categories)
        kind = declared.split()[0].lower()
        if kind in NUMERIC:
            return Attribute(name, None)
        if kind == "string":
            return Attribute(name, ())
        what = "a date" if kind == "date" else f"of type {kind!r}"
        raise ValueError(
            f"{self.path}: line {number}: attribute {name!r} is {what}, which is not read; derive "
            "numbers from it, or remove it"
        )

    # Rows

    def _lines(self, after: int = 0) -> Iterator[tuple[int, str]]:
        """Lines that are neither blank nor comments, with their numbers."""
        try:
            with self._content.telling(), opened_text(self._content, self._encoding) as file:
                for number, line in enumerate(file, start=1):
                    bare = line.strip()
                    if number > after and bare and bare[0] != "%":
                        yield number, bare
        except UnicodeDecodeError as error:
            raise not_decoded(self._content, self._encoding) from error

    def _rows(self) -> Iterator[tuple[int, list[str | None]]]:
        n_attributes = len(self._attributes)
        for number, line in self._lines(self._data_line):
            if line[0] == "{":
                raise ValueError(
                    f"{self.path}: line {number} is a sparse row, which is not read; save the "
                    "table without sparse rows (Weka: SparseToNonSparse)"
                )
            cells = self._split(number, line)
            if len(cells) == n_attributes + 1 and (cells[-1] or "").startswith("{"):
                raise ValueError(
                    f"{self.path}: line {number} has a weight, {cells[-1]}; make it a column"
                )
            if len(cells) != n_attributes:
                raise ValueError(
                    f"{self.path}: line {number} has {len(cells)} values, but {n_attributes} "
                    "attributes are declared; give every row as many"
                )
            yield number, cells

    def _split(self, number: int, line: str) -> list[str | None]:
        """The values of a line; None where missing, which a ? in quotes is not."""
        if "'" not in line and '"' not in line:
            bare = [cell.strip() for cell in line.split(",")]
            return [None if cell == MISSING else cell for cell in bare]
        cells: list[str | None] = []
        at = 0
        while True:
            found = VALUE.match(line, at)
            if found is None:
                raise ValueError(f"{self.path}: line {number} has a quote that is not closed")
            cells.append(None if found[3] == MISSING else _unquoted(found))
            at = found.end()
            if at == len(line) and not found[0].endswith(","):
                return cells
            if at == len(line):
                return [*cells, ""]

    def _batch(self, lines: list[int], rows: list[list[str | None]], at: dict[str, int]) -> Any:
        import pyarrow

        columns = [
            self._column(self._attributes[place], lines, [row[place] for row in rows])
            for place in at.values()
        ]
        schema = pyarrow.schema([self.schema.field(name) for name in at])
        return pyarrow.record_batch(columns, schema=schema)

    def _column(self, attribute: Attribute, lines: list[int], cells: list[str | None]) -> Any:
        import pyarrow

        if attribute.categories is None:
            return pyarrow.array(self._numbers(attribute, lines, cells), pyarrow.float64())
        if not attribute.categories:
            return pyarrow.array(cells, pyarrow.string())
        place = {category: number for number, category in enumerate(attribute.categories)}
        numbers = [None if cell is None else place.get(cell, -1) for cell in cells]
        if -1 in numbers:
            which = numbers.index(-1)
            raise ValueError(
                f"{self.path}: line {lines[which]}: {shown(str(cells[which]))} is not among the "
                f"declared categories of {attribute.name!r}; declare it"
            )
        categories = pyarrow.array(attribute.categories, pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(numbers, pyarrow.int32()), categories
        )

    def _numbers(
        self, attribute: Attribute, lines: list[int], cells: list[str | None]
    ) -> list[float | None]:
        numbers: list[float | None] = []
        for line, cell in zip(lines, cells, strict=True):
            try:
                numbers.append(None if cell is None else float(cell))
            except ValueError:
                raise ValueError(
                    f"{self.path}: line {line}: {shown(str(cell))} is not a number, but "
                    f"{attribute.name!r} is declared numeric; write ? for a missing value"
                ) from None
        return numbers


def _unquoted(found: re.Match[str]) -> str:
    """The text of a match whose first two groups are in quotes."""
    if found[3] is not None:
        return found[3]
    quoted = found[1] if found[1] is not None else found[2]
    return ESCAPED.sub(lambda escape: LETTERS.get(escape[1], escape[1]), quoted)
