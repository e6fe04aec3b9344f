"""Tables whose dates are split into numbers: year, month, weekday, hour, and days since 1970."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gputree.files import dates
from gputree.files.names import check_names
from gputree.files.readings import Origin, Reading, origin_of, tagged
from gputree.files.table_file import TableFile

ISO = Reading("date", order="ymd")


def split_dates(table: Any) -> Any:
    """A pyarrow table with each column of dates replaced by its parts.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of dates and timestamps become numbers: the year, the month (1 to 12), the weekday
        (1 is Monday), the hour of timestamps, and the days since 1970-01-01, by names such as
        `when.year`. Models that are fitted on them know their origin.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> import datetime, pyarrow
    >>> from gputree.files import split_dates
    >>> when = [datetime.date(2020, 12, 31), datetime.date(2021, 1, 1)]
    >>> split_dates(pyarrow.table({"when": when})).column_names
    ['when.year', 'when.month', 'when.weekday', 'when.days']
    """
    import pyarrow

    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        for name, origin in _parts(field):
            fields.append(field_of(field, name, origin))
            columns.append(_converted(column, origin))
    return pyarrow.table(columns, schema=pyarrow.schema(fields))


def is_date(dtype: Any) -> bool:
    """Whether a column of a type is split."""
    from pyarrow import types

    return types.is_date(dtype) or types.is_timestamp(dtype)


def split_column(
    name: str, column: Any, origin: Origin | None
) -> Iterator[tuple[str, Any, Origin]]:
    """The parts of a column of dates: their names, values, and where they come from."""
    for part in _origins(name, column.type, origin):
        yield f"{name}.{part.part}", dates.part(column, part.part), part


def _origins(name: str, dtype: Any, origin: Origin | None) -> list[Origin]:
    reading = ISO if origin is None else origin.reading
    return [Origin(name, reading, part) for part in dates.parts_of(dtype)]


def _parts(field: Any, as_text: Collection[str] = ()) -> list[tuple[str, Origin | None]]:
    """The names of what becomes of a column, each with its origin where it has one."""
    origin = origin_of(field)
    if not is_date(field.type):
        return [(field.name, origin)]
    if field.name in as_text:
        return [(field.name, Origin(field.name, ISO if origin is None else origin.reading))]
    return [
        (f"{field.name}.{each.part}", each) for each in _origins(field.name, field.type, origin)
    ]


def field_of(field: Any, name: str, origin: Origin | None) -> Any:
    """The field of a column that was made of another."""
    import pyarrow

    if origin is None or origin.reading.kind != "date":
        return field
    if origin.part == "":
        return tagged(pyarrow.field(name, pyarrow.string()), origin)
    dtype = pyarrow.float64() if origin.part == "days" else pyarrow.int64()
    return tagged(pyarrow.field(name, dtype), origin)


def _converted(column: Any, origin: Origin | None) -> Any:
    if origin is None or origin.reading.kind != "date":
        return column
    return dates.as_text(column) if origin.part == "" else dates.part(column, origin.part)


class WithParts(TableFile):
    """A file with its dates split, apart from those that are to stay whole, or to be text."""

    def __init__(
        self, file: TableFile, *, whole: Collection[str] = (), as_text: Collection[str] = ()
    ) -> None:
        self._file = file
        self.path, self.is_inferred = file.path, file.is_inferred
        self._made: dict[str, tuple[str, Origin | None]] = {}
        names: list[str] = []
        for field in file.schema:
            parts = [(field.name, None)] if field.name in whole else _parts(field, as_text)
            names += [name for name, _ in parts]
            self._made |= {name: (field.name, origin) for name, origin in parts}
        check_names(Path(self.path), names)
        self.names = tuple(names)

    def split(self, names: Sequence[str]) -> list[str]:
        """The columns that became of some columns of the file."""
        made = {name: [] for name in names}  # type: dict[str, list[str]]
        for name, (source, _) in self._made.items():
            if source in made:
                made[source].append(name)
        return [part for name in names for part in made[name] or [name]]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._file.notes

    @property
    def n_rows(self) -> int | None:
        return self._file.n_rows

    @cached_property
    def schema(self) -> Any:
        import pyarrow

        return pyarrow.schema(
            [
                field_of(self._file.schema.field(source), name, origin)
                for name, (source, origin) in self._made.items()
            ]
        )

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow

        names = list(self.names if columns is None else columns)
        sources = list(dict.fromkeys(self._made[name][0] for name in names))
        schema = pyarrow.schema([self.schema.field(name) for name in names])
        for batch in self._file.chunks(max_bytes, sources):
            arrays = [
                _converted(batch.column(source), origin)
                for source, origin in (self._made[name] for name in names)
            ]
            yield pyarrow.record_batch(arrays, schema=schema)

    def state(self) -> tuple[Any, ...]:
        return self._file.state()

    def number_of(self, row: int) -> int:
        return self._file.number_of(row)

    def place(self, row: int) -> str:
        return self._file.place(row)
