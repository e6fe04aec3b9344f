"""Cells of text files: which are missing, which are numbers.

One definition for whole columns (pyarrow) and, where a message must name a place, for one cell.
"""

from enum import IntEnum
from itertools import product
from typing import Any

# NaN in any case, as libraries write it differently.
MISSING = ["", "NA", "?", *("".join(cell) for cell in product("nN", "aA", "nN"))]


class CellKind(IntEnum):
    """What all cells of a column are; the larger one wins where chunks differ."""

    EMPTY = 0
    WHOLE = 1
    NUMBER = 2
    TEXT = 3


def arrow_type(kind: CellKind) -> Any:
    """The pyarrow type of a column."""
    import pyarrow

    return {
        CellKind.EMPTY: pyarrow.float64(),
        CellKind.WHOLE: pyarrow.int64(),
        CellKind.NUMBER: pyarrow.float64(),
        CellKind.TEXT: pyarrow.string(),
    }[kind]


def stripped(cells: Any) -> Any:
    """Cells without the white space around them, null where missing."""
    import pyarrow
    from pyarrow import compute

    bare = compute.utf8_trim_whitespace(cells)
    is_missing = compute.is_in(bare, value_set=pyarrow.array(MISSING))
    return compute.if_else(is_missing, pyarrow.scalar(None, pyarrow.string()), bare)


def interpret(cells: Any) -> tuple[CellKind, bool]:
    """The kind of some cells, and whether they must be stripped to be read."""
    kind = _numbers(cells)
    if kind is not None:
        return kind, False
    kind = _numbers(stripped(cells))
    return CellKind.TEXT if kind is None else kind, True


def _numbers(cells: Any) -> CellKind | None:
    if cells.null_count == len(cells):
        return CellKind.EMPTY
    if _cast(cells, CellKind.NUMBER) is None:
        return None
    return CellKind.NUMBER if _cast(cells, CellKind.WHOLE) is None else CellKind.WHOLE


def _cast(cells: Any, kind: CellKind) -> Any:
    import pyarrow

    try:
        return cells.cast(arrow_type(kind))
    except pyarrow.ArrowInvalid:
        return None


def convert(cells: Any, kind: CellKind) -> Any:
    """Cells that are strings, as a column of their kind."""
    if kind is CellKind.TEXT:
        return stripped(cells)
    converted = _cast(cells, kind)
    return stripped(cells).cast(arrow_type(kind)) if converted is None else converted


def is_number(cell: str) -> bool:
    """Whether a cell is a number, and not missing."""
    import pyarrow

    return _numbers(stripped(pyarrow.array([cell], pyarrow.string()))) not in (
        None,
        CellKind.EMPTY,
    )
