"""Names of columns: none empty, none twice, and a wrong one is told with the nearest."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

SHOWN_CHARACTERS = 40  # of a cell, in a message
SHOWN_COLUMNS = 20


def shown(cell: str) -> str:
    """A cell or a name in a message."""
    if len(cell) > SHOWN_CHARACTERS:
        cell = cell[: SHOWN_CHARACTERS - 3] + "..."
    return repr(cell)


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise where a column has no name, or the name of another."""
    if "" in names:
        raise ValueError(
            f"{path}: column {names.index('') + 1} has no name in the header; name it, or remove "
            "the column if it only numbers the rows"
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(
            f"{path}: the header has several columns named {shown(repeated[0])}; give each a name "
            "of its own"
        )


def no_column(path: Path, name: str, names: Sequence[str], role: str = "") -> ValueError:
    """The error for a column that is not there."""
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    more = ", ..." if len(names) > SHOWN_COLUMNS else ""
    return ValueError(
        f"{path} has no column {name!r}{role}; {hint}its columns are "
        f"{', '.join(names[:SHOWN_COLUMNS])}{more}"
    )


def chosen(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, in that order, or all of them."""
    if columns is None:
        return tuple(names)
    if isinstance(columns, str):
        raise ValueError(f"columns={columns!r} is one name; pass a list of names")
    for name in columns:
        if name not in names:
            raise no_column(path, name, names)
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(f"columns names {twice[0]!r} several times; name each column once")
    if not columns:
        raise ValueError("columns is empty; name at least one column, or leave it out")
    return tuple(columns)
