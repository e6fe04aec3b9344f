"""From a table to leaves and values: what single trees and ensembles share.

Backends walk the rows; the few that a node cannot send on are walked here, by surrogates or down
every branch. Knows trees and the contract; must not know estimators.
"""

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.contract import Backend
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends, spread, stopping, walk_on


def walk_table(
    backend: Backend, tree: Tree, table: Table, missing: str
) -> tuple[HostArray, Ends | None]:
    """The leaf of each row, and where rows have several: which rows, leaves and shares."""
    node = backend.apply(stopping(tree), table)
    stopped = np.flatnonzero(~tree.is_leaf[node])
    if not stopped.size:
        return node, None

    def read(column: int) -> HostArray:
        return to_numpy(table.columns[column].values)[stopped]

    if missing != "fractional":
        node[stopped] = walk_on(tree, node[stopped], read)
        return node, None
    row, leaf, share = spread(tree, node[stopped], read)
    # The leaf that has most of a row stands for it.
    by_share = np.lexsort((np.arange(len(row)), -share, row))
    first = by_share[np.searchsorted(row[by_share], np.arange(len(stopped)))]
    node[stopped] = leaf[first]
    return node, (stopped[row], leaf, share)


def all_ends(backend: Backend, tree: Tree, table: Table, missing: str) -> Ends:
    """Where all rows of a table end: row, node and share for each end."""
    node, several = walk_table(backend, tree, table, missing)
    row = np.arange(len(node))
    if several is None:
        return row, node, np.ones(len(node))
    is_whole = np.ones(len(node), bool)
    is_whole[several[0]] = False
    whole = row[is_whole], node[is_whole], np.ones(int(is_whole.sum()))
    row, node, share = (np.concatenate(part) for part in zip(whole, several, strict=True))
    return row, node, share


def values_at(node: HostArray, several: Ends | None, value: HostArray) -> HostArray:
    """The values of leaves, (nodes, outputs), for each row; the mean by share of several."""
    found = value[node]
    if several is not None:
        row, mean = shared_values(several, value)
        found[row] = mean
    return found


def shared_values(ends: Ends, value: HostArray) -> tuple[HostArray, HostArray]:
    """The rows that end in several leaves, and the mean of their values by share."""
    row, leaf, share = ends
    rows, place = np.unique(row, return_inverse=True)
    mean = np.zeros((len(rows), *value.shape[1:]))
    np.add.at(mean, place, share[:, None] * value[leaf])
    return rows, mean


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
    if not stack.may_stop:
        return backend.sum_leaves(stack, table, begin)
    total = np.tile(begin, (table.n_rows, 1))
    for number, (tree, first) in enumerate(zip(stack.trees, stack.column, strict=True)):
        node, several = walk_table(backend, tree, table, missing)
        own = values_at(node, several, stack.values_of(number))
        total[:, first : first + stack.width] += own
    return total


def leaves_of(
    backend: Backend, stack: Stack, table: Table, missing: str = "direction"
) -> HostArray:
    """The leaf of each row in each tree, (rows, trees); the one that has most of a divided row."""
    if not stack.may_stop:
        return backend.leaves_of(stack, table)
    leaf = np.empty((table.n_rows, stack.n_trees), np.int32)
    for number, tree in enumerate(stack.trees):
        leaf[:, number] = walk_table(backend, tree, table, missing)[0]
    return leaf
