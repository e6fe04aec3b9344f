"""TABLE on the command line: a bundled table or a file, as a pyarrow table.

Knows names and files; must not know kinds of columns nor models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gputree.cli.options import BUNDLED
from gputree.cli.output import Output, check_place
from gputree.cli.settings import near

TARGET = "target"  # the name of the answers in bundled tables
INFERRED = ("csv", "tsv")  # formats that do not say what a column holds


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

    @property
    def names(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def inputs(self) -> list[Path]:
        """The files that results may not replace."""
        return [] if self.path is None else [self.path]

    def place(self, row: int) -> str:
        """Where a row is, in words."""
        return f"in row {row + 1:,}" if self.file is None else str(self.file.place(row))

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
    if not path.exists():
        raise ValueError(f"{table!r} is neither a file nor a bundled table ({', '.join(BUNDLED)})")
    return path


def check_result(place: Path | None, options: dict[str, Any]) -> None:
    """Refuse a place for a result that cannot be written, or that is the model or the table."""
    table = None if options["table"] is None else path_of(options["table"])
    if place is not None:
        check_place(place, "--output", options["model"], *([] if table is None else [table]))


def read(table: str, encoding: str, output: Output) -> Source:
    """Read a whole table."""
    path = path_of(table)
    with output.waiting(f"reading {table}"):
        return _bundled(table) if path is None else _file(path, encoding)


def _file(path: Path, encoding: str) -> Source:
    from gputree.files import open_file

    file = open_file(path, encoding=encoding)
    stem = Path(path.name.removesuffix(".gz")).stem
    return Source(str(path), stem, file.read(), path, is_inferred=is_inferred(path), file=file)


def is_inferred(path: Path) -> bool:
    """Whether the types of the columns are inferred from the cells."""
    from gputree.files.formats import format_of

    return path.is_file() and format_of(path).format in INFERRED


def _bundled(name: str) -> Source:
    import pyarrow

    from gputree.diagnostics.tables import load_bundled

    known = load_bundled(name)
    columns = {
        feature: pyarrow.array(known.X[:, at]) for at, feature in enumerate(known.feature_names)
    }
    columns[TARGET] = pyarrow.array(known.target(known.task))
    return Source(name, name, pyarrow.table(columns), task=known.task)
