"""TABLE on the command line: a bundled table or a file, as a pyarrow table.

Knows names and files; must not know kinds of columns nor models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gputree.cli.options import BUNDLED
from gputree.cli.output import Output, check_place
from gputree.cli.settings import near
from gputree.dtypes import HostArray

TARGET = "target"  # the name of the answers in bundled tables
STDIN = "-"
PATTERN = "*?["
PACKED = (".gz", ".zst", ".zstd", ".bz2", ".zip")


@dataclass(frozen=True, eq=False)
class Source:
    """A table that has been read."""

    name: str  # as messages call it
    stem: str  # for the names of results
    table: Any  # pyarrow.Table
    path: Path | None = None  # None for a bundled table
    task: str | None = None  # where it is known
    is_inferred: bool = False  # whether types were inferred from the cells
    file: Any = None  # gputree.files.TableFile
    kept: HostArray | None = None  # which rows of the file these are, where some are left out

    @property
    def names(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def inputs(self) -> list[Path]:
        """The files that results may not replace."""
        return [] if self.path is None else [self.path]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out of the file that a user should look at."""
        return () if self.file is None else self.file.notes

    def origin(self, name: str) -> Any:
        """How a column was read, where that is not as usual."""
        from gputree.files.readings import origin_of

        return origin_of(self.table.schema.field(name))

    def place(self, row: int) -> str:
        """Where a row is, in words."""
        if self.kept is not None:
            row = int(self.kept[row])
        return f"in row {row + 1:,}" if self.file is None else str(self.file.place(row))

    def take(self, rows: HostArray) -> "Source":
        """Some of the rows, which are still called by their places in the file."""
        return replace(self, table=self.table.take(rows), kept=rows)

    def no_column(self, name: str, what: str) -> ValueError:
        """The error for a name that no column has."""
        return ValueError(f"{what}: {self.name} has no column {name!r}{near(name, self.names)}")

    def check(self, names: Sequence[str], what: str) -> None:
        """Raise where a name is not that of a column."""
        for name in names:
            if name not in self.names:
                raise self.no_column(name, what)


def path_of(table: str) -> Path | None:
    """The file that a TABLE is; None for a bundled table."""
    if table in BUNDLED:
        return None
    path = Path(table)
    is_pattern = any(character in PATTERN for character in table)
    if table != STDIN and not path.exists() and not is_pattern:
        raise ValueError(f"{table!r} is neither a file nor a bundled table{near(table, BUNDLED)}")
    return path


def stem_of(table: str) -> str:
    """What results of a table are called after."""
    path = path_of(table)
    if path is None:
        return table
    if table == STDIN:
        return "stdin"
    name = (path.resolve() if path.is_dir() else path).name
    while Path(name).suffix.lower() in PACKED:
        name = Path(name).stem
    stem = name if path.is_dir() else Path(name).stem
    return stem.strip(PATTERN + "-_.") or "table"


def check_result(place: Path | None, options: dict[str, Any]) -> None:
    """Refuse a place for a result that cannot be written, or that is the model or the table."""
    table = None if options["table"] is None else path_of(options["table"])
    if place is not None:
        check_place(place, "--output", options["model"], *([] if table is None else [table]))


def opened(
    options: dict[str, Any], known: Mapping[str, Any] | None = None, has_header: bool | None = None
) -> Any:
    """The file of a TABLE, read as the options say, or as a model knows its columns."""
    from gputree.files import Layout, open_files

    if options["has_header"] is not None:
        has_header = options["has_header"]
    layout = Layout(options["separator"], options["decimal"], has_header, options["day_first"])
    return open_files(options["table"], encoding=options["encoding"], layout=layout, known=known)


def read(options: dict[str, Any], output: Output, like: Any = None) -> Source:
    """Read a whole table; `like` is the schema of a model that knows its columns."""
    table = options["table"]
    with output.waiting(f"reading {table}"):
        return _bundled(table) if path_of(table) is None else _file(options, like)


def _file(options: dict[str, Any], like: Any) -> Source:
    if like is None:
        file = opened(options)
    else:
        from gputree.files.like import numbered, readings_of

        file = opened(options, readings_of(like), numbered(like.names))
    return source_of(options["table"], file, file.read())


def source_of(table: str, file: Any, content: Any) -> Source:
    """A file, of which all rows or none have been read."""
    name = "standard input" if table == STDIN else table
    path = path_of(table)
    is_inferred = file.is_inferred
    return Source(name, stem_of(table), content, path, is_inferred=is_inferred, file=file)


def _bundled(name: str) -> Source:
    import pyarrow

    from gputree.diagnostics.tables import load_bundled

    known = load_bundled(name)
    columns = {
        feature: pyarrow.array(known.X[:, at]) for at, feature in enumerate(known.feature_names)
    }
    columns[TARGET] = pyarrow.array(known.target(known.task))
    return Source(name, name, pyarrow.table(columns), task=known.task)
