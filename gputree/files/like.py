"""Files read as a model knows their columns: spelled in the same way, dates split alike."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gputree.files import dates
from gputree.files.readings import PLAIN, TEXT, Origin, Reading


class Known(Protocol):
    """What a model remembers of its columns: a schema."""

    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]

    def origin(self, at: int) -> Origin | None:
        """How a column is read."""


def sources_of(known: Known) -> list[str]:
    """The column of a file that each column of a model comes from."""
    origins = [known.origin(at) for at in range(len(known.names))]
    return [
        name if origin is None else origin.column
        for name, origin in zip(known.names, origins, strict=True)
    ]


def readings_of(known: Known) -> Mapping[str, Reading]:
    """How the columns of a file are to be read, so that they are as the model knows them.

    Numbers that are categories may stand among new words, so that these are left to their cells.
    """
    found = {}
    for at, (name, categories) in enumerate(zip(known.names, known.categories, strict=True)):
        origin = known.origin(at)
        if origin is not None:
            found[origin.column] = origin.reading
        elif categories is None:
            found[name] = PLAIN
        elif all(isinstance(each, str) for each in categories):
            found[name] = TEXT
    return found


def column_like(table: Any, name: str, origin: Origin | None) -> Any:
    """A column of a model, made of a table that was read by the model's readings."""
    column = table[name if origin is None else origin.column]
    if origin is None or origin.reading.kind != "date":
        return column
    is_date = str(column.type).startswith(("date", "timestamp"))
    if not is_date:
        raise NotDatesError(column)
    return dates.part(column, origin.part) if origin.part else dates.as_text(column)


class NotDatesError(ValueError):
    """A column that a model knows as dates holds something else."""

    def __init__(self, column: Any) -> None:
        super().__init__("not dates")
        self.column = column


def table_like(table: Any, known: Known) -> Any:
    """The columns of a model, in its order."""
    import pyarrow

    lacking = [name for name in sources_of(known) if name not in table.column_names]
    if lacking:
        raise ValueError(f"the table lacks columns that the model needs: {', '.join(lacking[:5])}")
    columns: dict[str, Any] = {}
    for at, name in enumerate(known.names):
        try:
            columns[name] = column_like(table, name, known.origin(at))
        except NotDatesError as error:
            raise ValueError(not_dates(name, known.origin(at), error.column)) from error
    return pyarrow.table(columns)


def not_dates(name: str, origin: Origin | None, column: Any) -> str:
    """What is wrong with a column that is no dates."""
    assert origin is not None
    return (
        f"column {origin.column!r} held {origin.reading.words()} in training, and is of type "
        f"{column.type} now; {name} is made of dates"
    )


def numbered(names: Sequence[str]) -> bool | None:
    """False where the names are those of a file without a header, else None: to be found out."""
    from gputree.files.layout import are_numbered

    return False if are_numbered(names) else None
