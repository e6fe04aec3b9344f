"""How a text file is laid out: what separates its cells, and whether its first line names columns.

Found out by the first lines, unless the user says it.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gputree.dtypes import HostArray
from gputree.files import dates, readings
from gputree.files.cells import MISSING

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
SAMPLE = 200  # lines
LEAST_ALIKE = 0.9  # of the rows that have as many cells as the first one
LEAST_VALUES = 0.8  # of the cells of a column that holds numbers or dates
COMMA_NUMBER = re.compile(r"[+-]?[\d.]*,\d+")
YEARS = range(1700, 2200)
UNNAMED = "Unnamed: 0"  # as pandas calls the column without a name that numbers the rows


@dataclass(frozen=True)
class Layout:
    """What a user says of a text file; None is to be found out."""

    separator: str | None = None
    decimal: str | None = None
    has_header: bool | None = None
    day_first: bool | None = None

    def __post_init__(self) -> None:
        separator = self.separator
        if separator is not None:
            separator = WORDS.get(separator.lower(), separator)
            if len(separator) != 1 or separator in '"\r\n':
                raise ValueError(
                    f"separator={self.separator!r}: one character is needed, or one of "
                    f"{', '.join(name for name in WORDS if name.isalpha())}"
                )
            object.__setattr__(self, "separator", separator)
        if self.decimal not in (None, *readings.DECIMALS):
            raise ValueError(f"decimal={self.decimal!r}: a point or a comma is needed")


@dataclass(frozen=True)
class Found:
    """What the first lines of a file say."""

    separator: str
    has_header: bool
    notes: tuple[str, ...]  # of what may have been meant in another way


def found_in(lines: Sequence[str], layout: Layout, usual: str) -> Found:
    """The layout of a file that begins so; `usual` is the separator that its name suggests."""
    separator = layout.separator or separator_of(lines, usual)
    notes = []
    if layout.separator is None and separator != usual:
        notes.append(f"cells are separated by {SEPARATORS[separator]}")
    if layout.has_header is not None:
        return Found(separator, layout.has_header, tuple(notes))
    rows = _rows(lines, separator)
    has_header, note = _header(rows)
    return Found(separator, has_header, (*notes, *([note] if note else [])))


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The rows of some lines that are not blank; the last may be cut, where there are others."""
    try:
        rows = [cells for cells in csv.reader(lines, delimiter=separator) if cells]
    except csv.Error:
        return []
    return rows[:-1] if len(lines) == SAMPLE and len(rows) > 1 else rows


def separator_of(lines: Sequence[str], usual: str) -> str:
    """The separator by which the rows have the same number of cells, and more than one."""
    best = 0.0, 0.0, False, usual
    for separator in SEPARATORS:
        rows = _rows(lines, separator)
        if not rows or len(rows[0]) < 2:
            continue
        alike = sum(len(cells) == len(rows[0]) for cells in rows) / len(rows)
        if alike >= LEAST_ALIKE:
            best = max(best, (alike, _whole_cells(rows, separator), separator == usual, separator))
    return best[-1]


def _whole_cells(rows: list[list[str]], separator: str) -> float:
    """The share of the cells that no other separator would divide.

    A comma may also be that of a number, or of a sentence.
    """
    others = [each for each in SEPARATORS if each != separator]
    cells = [cell.strip().replace(", ", " ") for row in rows for cell in row]
    divided = sum(
        any(other in cell for other in others) and not COMMA_NUMBER.fullmatch(cell)
        for cell in cells
    )
    return 1.0 - divided / len(cells)


# The header


def _header(rows: list[list[str]]) -> tuple[bool, str]:
    """Whether the first row names the columns, and what to say where it might be otherwise."""
    if len(rows) < 2:
        return True, ""
    first = [cell.strip() for cell in rows[0]]
    is_value = _are_values(first)
    if not is_value.any():
        return True, ""
    listed = ", ".join(first[:3]) + (", ..." if len(first) > 3 else "")
    holds_values = _mostly_values(rows[1:], len(first))
    is_named = holds_values & ~is_value & np.array([cell not in MISSING for cell in first])
    is_row = holds_values & is_value
    if not is_row.any() or is_named.any() or "" in first:
        return True, ""
    if _number_something([cell for cell, value in zip(first, is_value, strict=True) if value]):
        return True, f"the first line ({listed}) is used as the column names"
    return False, (
        f"there is no header: the first line ({listed}) holds values as the lines below it do; "
        "columns are called column 1, column 2 and so on"
    )


def _are_values(cells: Sequence[str]) -> HostArray:
    """Which cells are numbers or dates."""
    import pyarrow

    text = pyarrow.array(cells, pyarrow.string())
    found = np.zeros(len(cells), bool)
    for decimal in readings.DECIMALS:
        found |= readings.are_numbers(text, decimal)
    for order in dates.ORDERS:
        found |= dates.are_dates(text, order)
    return found


def _mostly_values(rows: Sequence[Sequence[str]], n_columns: int) -> HostArray:
    """Which columns hold numbers or dates, a few cells aside."""
    cells = [(at, cell.strip()) for row in rows for at, cell in enumerate(row[:n_columns])]
    known = [(at, cell) for at, cell in cells if cell not in MISSING]
    n_known, n_values = np.zeros(n_columns), np.zeros(n_columns)
    if known:
        column = np.array([at for at, _ in known])
        np.add.at(n_known, column, 1)
        np.add.at(n_values, column, _are_values([cell for _, cell in known]))
    return (n_known > 0) & (n_values >= LEAST_VALUES * n_known)


def _number_something(cells: Sequence[str]) -> bool:
    """Whether the cells count, or are years, as names of columns do that are numbers."""
    if not all(cell.isdigit() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    if len(set(numbers)) < len(numbers):
        return False
    counts = len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return counts or (len(numbers) > 1 and all(number in YEARS for number in numbers))


def names_of(first: Sequence[str], has_header: bool) -> tuple[str, ...]:
    """The names of the columns of a file that begins with these cells."""
    if not has_header:
        return tuple(f"column {at + 1}" for at in range(len(first)))
    names = [cell.strip() for cell in first]
    if len(names) > 1 and names[0] == "" and UNNAMED not in names:
        names[0] = UNNAMED
    return tuple(names)


def are_numbered(names: Sequence[str]) -> bool:
    """Whether these are names that columns get where a file has none."""
    return all(re.fullmatch(r"column \d+(\.\w+)?", name) for name in names)
