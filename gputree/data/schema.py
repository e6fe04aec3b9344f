"""What a model remembers of the columns it was fitted on."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gputree.data.table import Kind, Table
from gputree.dtypes import HostArray
from gputree.files.readings import Origin


def told(origins: Iterable[Origin | None]) -> tuple[Origin | None, ...]:
    """The origins of columns; none at all where all are read as usual."""
    found = tuple(origins)
    return found if any(origin is not None for origin in found) else ()


def read_origins(plain: Any, n_columns: int) -> tuple[Origin | None, ...]:
    """The origins that a model file describes; it says nothing where all are read as usual."""
    if plain is None:
        return ()
    if not isinstance(plain, list) or len(plain) != n_columns or not any(plain):
        raise ValueError("what is said of reading columns does not fit them")
    return tuple(None if each is None else Origin.from_plain(each) for each in plain)


@dataclass(frozen=True)
class Schema:
    """The names, kinds and categories of the columns seen at fit, in their order."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Any, ...] | None, ...]  # None for numeric columns
    has_missing: tuple[bool, ...] = ()  # set when the columns have been cut
    unknown: str = "error"  # what a category becomes that was not seen at fit: missing, majority
    origins: tuple[Origin | None, ...] = ()  # how columns are read from files; empty where as usual

    @classmethod
    def of(cls, table: Table) -> "Schema":
        """The schema of a table that has been read."""
        columns = table.columns
        return cls(
            names=tuple(column.name for column in columns),
            kinds=tuple(column.kind for column in columns),
            categories=tuple(column.categories for column in columns),
            origins=told(column.origin for column in columns),
        )

    def take(self, columns: HostArray) -> "Schema":
        """The schema of some of the columns."""
        at = columns.tolist()
        return replace(
            self,
            names=tuple(self.names[i] for i in at),
            kinds=tuple(self.kinds[i] for i in at),
            categories=tuple(self.categories[i] for i in at),
            has_missing=tuple(self.has_missing[i] for i in at),
            origins=told(self.origin(i) for i in at),
        )

    def origin(self, at: int) -> Origin | None:
        """How a column is read from a file, None where that is as usual."""
        return self.origins[at] if self.origins else None

    @property
    def n_features(self) -> int:
        return len(self.names)
