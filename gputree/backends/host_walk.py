"""Walks down a tree on the host, for backends that have no faster way."""

from functools import cache, partial

from gputree.arrays import to_numpy
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.tree.walk import Walk, descend


def host_walker(table: Table) -> Walk:
    """Rows of a table, one level at a time, by NumPy."""

    @cache
    def read(column: int) -> HostArray:
        return to_numpy(table.columns[column].values)

    return partial(descend, read)
