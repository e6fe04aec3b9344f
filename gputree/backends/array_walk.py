"""Rows that walk down many trees at once, for backends written in the array API.

A pair of a row and a tree is a walker. All walkers of a block of rows take a step together, so that
the number of operations follows the depth of the trees, and not how many there are.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from gputree.backends.libraries import Library
from gputree.data.table import Table
from gputree.dtypes import STAY, Array, HostArray
from gputree.tree.stack import Stack

WALKERS = 2**17  # that take a step together: what they ask for stays in the cache

Read = Callable[[int], Array]  # the values of a column as floats, NaN where missing


class _Nodes(NamedTuple):
    """What a step asks of the nodes of all trees; (nodes,) each."""

    column: Array  # the place of the tested feature among those in use
    threshold: Array
    missing_slot: Array
    first_child: Array  # -1 at a leaf
    level_start: Array | None  # None where no levels are tested
    level_slot: Array  # (levels and one more,) STAY at last, for where no level is known


def walk(
    lib: Library, stack: Stack, table: Table, read: Read
) -> Iterator[tuple[slice, slice, Array]]:
    """Rows, trees and the nodes where they end, (trees, rows), block by block."""
    first_child, feature = stack.first_child, stack.joined("feature")
    used = np.unique(feature[first_child >= 0])
    nodes = _nodes(lib, stack, first_child, np.searchsorted(used, feature))
    columns = [read(column) for column in used.tolist()]
    n_trees = min(stack.n_trees, WALKERS)
    n_rows = max(1, WALKERS // n_trees)
    for first_row in range(0, table.n_rows, n_rows):
        rows = slice(first_row, min(first_row + n_rows, table.n_rows))
        values = _values(lib, columns, rows)
        for first in range(0, stack.n_trees, n_trees):
            trees = slice(first, min(first + n_trees, stack.n_trees))
            n = rows.stop - rows.start
            root = lib.from_host(np.repeat(stack.root[trees], n))
            yield rows, trees, lib.xp.reshape(_ends(lib, nodes, values, root, n), (-1, n))


def _nodes(lib: Library, stack: Stack, first_child: HostArray, column: HostArray) -> _Nodes:
    level_start = stack.level_start if (stack.level_start >= 0).any() else None
    put = lib.from_host
    return _Nodes(
        put(column.astype(np.int64)),
        put(stack.joined("threshold").astype(np.float64)),
        put(stack.joined("missing_slot").astype(np.int64)),
        put(first_child),
        None if level_start is None else put(level_start),
        put(np.append(stack.joined("level_slot"), STAY).astype(np.int64)),
    )


def _values(lib: Library, columns: list[Array], rows: slice) -> Array:
    """The values of some rows, column after column."""
    xp = lib.xp
    if not columns:
        return lib.from_host(np.zeros(1))  # nobody looks at it
    return xp.concat([xp.astype(column[rows], xp.float64) for column in columns])


def _ends(lib: Library, nodes: _Nodes, values: Array, root: Array, n_rows: int) -> Array:
    """The node where each walker ends: a leaf, or one that cannot tell."""
    xp = lib.xp
    is_known = not bool(xp.any(xp.isnan(values)))
    end, here = root, root
    walker = lib.numbers(root.shape[0])
    row = walker % n_rows
    first = xp.take(nodes.first_child, here)
    while True:
        pending = xp.nonzero(first >= 0)[0]
        if not pending.shape[0]:
            return end
        if pending.shape[0] < here.shape[0]:
            here, first, row, walker = (
                xp.take(each, pending) for each in (here, first, row, walker)
            )
        value = xp.take(values, xp.take(nodes.column, here) * n_rows + row)
        slot = xp.astype(value > xp.take(nodes.threshold, here), xp.int64)
        if not is_known or nodes.level_start is not None:
            slot = _slots(lib, nodes, here, value, slot)
            stays = slot == STAY
            here = xp.where(stays, here, first + slot)
            first = xp.where(stays, -1, xp.take(nodes.first_child, here))
        else:
            here = first + slot
            first = xp.take(nodes.first_child, here)
        end = lib.replaced(end, walker, here)


def _slots(lib: Library, nodes: _Nodes, here: Array, value: Array, slot: Array) -> Array:
    """The child of each walker by levels and missing values, where thresholds gave `slot`."""
    xp = lib.xp
    is_known = ~xp.isnan(value)
    if nodes.level_start is not None:
        start = xp.take(nodes.level_start, here)
        has_level = is_known & (start >= 0)
        level = xp.astype(xp.where(has_level, value, 0.0), xp.int64)
        at = xp.where(has_level, start + level, nodes.level_slot.shape[0] - 1)
        slot = xp.where(start >= 0, xp.take(nodes.level_slot, at), slot)
        is_known = is_known & (slot != STAY)
    return xp.where(is_known, slot, xp.take(nodes.missing_slot, here))
