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
    category_start: Array | None  # None where no categories are tested
    category: Array  # (entries of lists,)
    category_slot: Array  # (entries of lists,)
    n_steps: int  # of a search in the longest list


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
    category_start = stack.category_start if (stack.category_start >= 0).any() else None
    put, category = lib.from_host, stack.joined("category").astype(np.int64)
    longest = 0 if category_start is None else category[category_start[category_start >= 0]].max()
    return _Nodes(
        put(column.astype(np.int64)),
        put(stack.joined("threshold").astype(np.float64)),
        put(stack.joined("missing_slot").astype(np.int64)),
        put(first_child),
        None if category_start is None else put(category_start),
        put(category),
        put(stack.joined("category_slot").astype(np.int64)),
        int(longest).bit_length(),
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
        if not is_known or nodes.category_start is not None:
            slot = _slots(lib, nodes, here, value, slot)
            stays = slot == STAY
            here = xp.where(stays, here, first + slot)
            first = xp.where(stays, -1, xp.take(nodes.first_child, here))
        else:
            here = first + slot
            first = xp.take(nodes.first_child, here)
        end = lib.replaced(end, walker, here)


def _slots(lib: Library, nodes: _Nodes, here: Array, value: Array, slot: Array) -> Array:
    """The child of each walker by categories and missing values, where thresholds gave `slot`."""
    xp = lib.xp
    is_known = ~xp.isnan(value)
    if nodes.category_start is not None:
        start = xp.take(nodes.category_start, here)
        has_list = start >= 0
        start = xp.where(has_list, start, 0)
        number = xp.astype(xp.where(is_known & has_list, value, -1.0), xp.int64)
        at = _places(lib, nodes, start, number)
        slot = xp.where(has_list, xp.take(nodes.category_slot, at), slot)
        is_known = is_known & (slot != STAY)
    return xp.where(is_known, slot, xp.take(nodes.missing_slot, here))


def _places(lib: Library, nodes: _Nodes, start: Array, number: Array) -> Array:
    """The entries of categories in lists, as `kernels.categories.place_of` finds them."""
    xp = lib.xp
    low, n = start, xp.take(nodes.category, start) + 1
    for _ in range(nodes.n_steps):
        half = n >> 1
        low = low + xp.where(xp.take(nodes.category, low + half) <= number, half, 0)
        n = n - half
    return xp.where(xp.take(nodes.category, low) == number, low, start)
