"""What a model remembers of the columns it was fitted on."""

from dataclasses import dataclass, replace
from typing import Any

from gputree.data.table import Kind, Table
from gputree.dtypes import HostArray


@dataclass(frozen=True)
class Schema:
    """The names, kinds and categories of the columns seen at fit, in their order."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Any, ...] | None, ...]  # None for numeric columns
    has_missing: tuple[bool, ...] = ()  # set when the columns have been cut
    unknown: str = "error"  # what a category becomes that was not seen at fit: missing, majority

    @classmethod
    def of(cls, table: Table) -> "Schema":
        """The schema of a table that has been read."""
        columns = table.columns
        return cls(
            names=tuple(column.name for column in columns),
            kinds=tuple(column.kind for column in columns),
            categories=tuple(column.categories for column in columns),
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
        )

    @property
    def n_features(self) -> int:
        return len(self.names)
