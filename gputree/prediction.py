"""From a table to leaves and values: what single trees and ensembles share.

Backends walk the rows; the few that a node cannot send on are walked here, by surrogates or down
every branch. Knows trees and the contract; must not know estimators.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.contract import Backend
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MISSING_CATEGORY, TOTAL_BITS, Array, HostArray
from gputree.kernels.losses import Link
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends, spread, stopping, walk_on

MOST_ENDS = 2**20  # ends of divided rows that are looked at together, more or less
CELLS_AT_ONCE = 2**22  # of a table with combinations of columns
FIRST_ROWS = 2**10  # divided rows whose ends are found first, and tell how many to expect


@dataclass(frozen=True)
class Divided:
    """Rows that go down every branch from a node on, where a value is missing."""

    tree: Tree
    table: Table
    row: HostArray  # (rows,) of the table
    node: HostArray  # (rows,) from which on they are divided

    def blocks(self) -> Iterator[tuple[HostArray, Ends]]:
        """Some rows at a time: their numbers, and their ends with rows counted among these.

        A row may end in every leaf, so that all ends together may be more than memory holds.
        """
        first, n = 0, FIRST_ROWS
        while first < len(self.row):
            own = self.row[first : first + n]
            ends = spread(self.tree, self.node[first : first + n], partial(self._read, own))
            yield own, ends
            first += n
            n = max(1, min(2 * n, n * MOST_ENDS // len(ends[0])))

    def means(self, value: HostArray) -> HostArray:
        """The mean by share of the values of each row's leaves, (rows, outputs)."""
        mean = [np.zeros((0, *value.shape[1:]))]
        for own, (row, leaf, share) in self.blocks():
            mean.append(np.zeros((len(own), *value.shape[1:])))
            np.add.at(mean[-1], row, share[:, None] * value[leaf])
        return np.concatenate(mean)

    def largest(self) -> HostArray:
        """The leaf that has most of each row, the first of several."""
        found = [np.zeros(0, np.int64)]
        for own, (row, leaf, share) in self.blocks():
            by_share = np.lexsort((np.arange(len(row)), -share, row))
            found.append(leaf[by_share[np.searchsorted(row, np.arange(len(own)))]])
        return np.concatenate(found)

    def ends(self) -> Ends:
        """All ends, with rows numbered as in the table."""
        parts = [(own[row], leaf, share) for own, (row, leaf, share) in self.blocks()]
        row, leaf, share = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, leaf, share

    def _read(self, row: HostArray, column: int) -> HostArray:
        return to_numpy(self.table.columns[column].values)[row]


@dataclass(frozen=True)
class Walked:
    """Where the rows of a table end."""

    node: HostArray  # (rows,) the leaf, or where a row that is divided was whole
    divided: Divided | None = None

    def leaf(self) -> HostArray:
        """The leaf of each row; of one that is divided, that which has most of it."""
        if self.divided is None:
            return self.node
        leaf = self.node.copy()
        leaf[self.divided.row] = self.divided.largest()
        return leaf

    def values(self, value: HostArray) -> HostArray:
        """The values of leaves, (nodes, outputs), for each row; the mean by share of several."""
        found = value[self.node]
        if self.divided is not None:
            found[self.divided.row] = self.divided.means(value)
        return found

    def ends(self) -> Ends:
        """Row, node and share for each end; rows that are divided come last."""
        row, node = np.arange(len(self.node)), self.node
        if self.divided is None:
            return row, node, np.ones(len(node))
        is_whole = np.ones(len(node), bool)
        is_whole[self.divided.row] = False
        whole = row[is_whole], node[is_whole], np.ones(int(is_whole.sum()))
        row, node, share = (
            np.concatenate(part) for part in zip(whole, self.divided.ends(), strict=True)
        )
        return row, node, share


def walk_table(backend: Backend, tree: Tree, table: Table, missing: str) -> Walked:
    """Where the rows of a table end."""
    if tree.directions is not None and not backend.projects:
        return Walked(_by_directions(backend, tree, table))
    node = backend.apply(stopping(tree), table)
    stopped = np.flatnonzero(~tree.is_leaf[node])
    if not stopped.size:
        return Walked(node)
    if missing == "fractional":
        return Walked(node, Divided(tree, table, stopped, node[stopped]))

    def read(column: int) -> HostArray:
        return to_numpy(table.columns[column].values)[stopped]

    node[stopped] = walk_on(tree, node[stopped], read)
    return Walked(node)


def _by_directions(backend: Backend, tree: Tree, table: Table) -> HostArray:
    """Where rows end by tests of columns and of combinations, which are worked out on the host.

    Backends walk tables that have the tested columns alone, some rows at a time: a combination of
    all rows would take as much room as a column.
    """
    tested, n_columns = tree.tested.tolist(), table.n_features
    at_once = max(1, CELLS_AT_ONCE // (len(tested) + 1))
    nodes = [np.zeros(0, np.int64)]
    for first in range(0, table.n_rows if tested else 0, at_once):
        rows = slice(first, min(first + at_once, table.n_rows))
        columns = [_column(tree, table, rows, at, n_columns) for at in tested]
        part = Table(tuple(columns), rows.stop - rows.start)
        nodes.append(backend.apply(tree.on_tested, part))
    return np.concatenate(nodes) if tested else np.zeros(table.n_rows, np.int64)


def _column(tree: Tree, table: Table, rows: slice, number: int, n_columns: int) -> Column:
    """Some rows of a column of the table, or of a combination of columns."""
    assert tree.directions is not None
    if number < n_columns:
        column = table.columns[number]
        values = np.ascontiguousarray(to_numpy(column.values[rows]))
        return Column(column.name, column.kind, values, column.categories)
    read = partial(numbers, table, rows)
    return Column("", Kind.NUMERIC, tree.directions.values(number - n_columns, read))


def numbers(table: Table, rows: slice | HostArray, at: int) -> HostArray:
    """Some rows of a column as numbers; NaN where one is missing."""
    column = table.columns[at]
    values = to_numpy(column.values[rows]).astype(np.float64)
    if column.categories is not None:
        values[values == MISSING_CATEGORY] = np.nan
    return values


def sum_leaves(
    backend: Backend,
    stack: Stack,
    table: Table,
    start: HostArray | None = None,
    missing: str = "direction",
) -> HostArray:
    """What the leaves of each row add up to, (rows, outputs), tree after tree from `start` on.

    `missing` is what the trees do with missing values, as at their fit.
    """
    begin = np.zeros(stack.n_outputs) if start is None else np.asarray(start, np.float64)
    if _walks_together(backend, stack):
        return backend.sum_leaves(stack, table, begin)
    total = np.tile(begin, (table.n_rows, 1))
    for number, (tree, first) in enumerate(zip(stack.trees, stack.column, strict=True)):
        own = walk_table(backend, tree, table, missing).values(stack.values_of(number))
        total[:, first : first + stack.width] += own
    return total


def _walks_together(backend: Backend, stack: Stack) -> bool:
    """Whether the backend walks all trees of a stack by itself."""
    return not stack.may_stop and (backend.projects or not stack.combines)


def answer_of_sums(
    backend: Backend,
    stack: Callable[[], Stack],
    table: Table,
    divisor: float,
    label: HostArray | None,
    missing: str,
) -> Array:
    """What leaves add up to over `divisor`, (rows, outputs), where the table is or on the host.

    With labels, of several outputs that of the largest, (rows,).
    """
    found = answer_there(backend, stack, table, 0.0, divisor, label)
    if found is not None:
        return found
    mean = sum_leaves(backend, stack(), table, None, missing) / divisor
    return mean if label is None else label[mean.argmax(axis=1)]


def answer_there(
    backend: Backend,
    stack: Callable[[], Stack],
    table: Table,
    start: HostArray | float,
    divisor: float = 1.0,
    label: HostArray | None = None,
    link: Link | None = None,
) -> Array | None:
    """The same from `start` on where the table is; None where the host has to make it.

    With labels and one output, and with a link, as `Backend.answer` says.
    """
    if not backend.answers_there or not (label is None or _is_of_floats(label)):
        return None
    own = stack()
    if own.may_stop or own.combines:
        return None
    begin = np.broadcast_to(np.asarray(start, np.float64), own.n_outputs)
    return backend.answer(own, table, begin, divisor, label, link)


def leaves_there(backend: Backend, stack: Callable[[], Stack], table: Table) -> Array | None:
    """The leaf of each row in each tree, (rows, trees) int64, where the table is; or None."""
    if not backend.answers_there:
        return None
    own = stack()
    return None if own.may_stop else backend.number_leaves(own, table)


def _is_of_floats(label: HostArray) -> bool:
    """Whether labels are numbers that a float64 holds."""
    if label.dtype.kind not in "biuf":
        return False
    is_whole = label.dtype.kind in "iu"
    return not is_whole or bool((np.abs(label.astype(np.float64)) < 2.0**TOTAL_BITS).all())


def leaves_of(
    backend: Backend, stack: Stack, table: Table, missing: str = "direction"
) -> HostArray:
    """The leaf of each row in each tree, (rows, trees); the one that has most of a divided row."""
    if _walks_together(backend, stack):
        return backend.leaves_of(stack, table)
    leaf = np.empty((table.n_rows, stack.n_trees), np.int32)
    for number, tree in enumerate(stack.trees):
        leaf[:, number] = walk_table(backend, tree, table, missing).leaf()
    return leaf
