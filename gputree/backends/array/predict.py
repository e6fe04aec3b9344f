"""Rows that walk down many trees at once, for backends written in the array API.

A pair of a row and a tree is a walker. All walkers of a block of rows take a step together, so that
the number of operations follows the depth of the trees, and not how many there are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.dtypes import STAY, Array, HostArray
from gputree.tree.stack import Stack

WALKERS = 2**17  # that take a step together: what they ask for stays in the cache
STEPS = 4  # that all take before those who have come to a leaf are left behind

Read = Callable[[HostArray], Array]  # the values of columns as floats, (columns, rows)


class _Nodes(NamedTuple):
    """What a step asks of the nodes of all trees; (nodes,) each."""

    column: Array  # the place of the tested feature among those in use
    threshold: Array  # infinite at a leaf: nothing is above it
    missing_slot: Array  # 0 at a leaf
    first_child: Array  # a leaf itself at a leaf
    category_start: Array | None  # None where no categories are tested
    category: Array  # (entries of lists,)
    category_slot: Array  # (entries of lists,)
    n_steps: int  # of a search in the longest list


@dataclass(frozen=True)
class WalkPlan:
    """Trees as they are walked, in the arrays of a library."""

    root: HostArray  # (trees,)
    used: HostArray  # the features that are tested
    nodes: _Nodes
    may_stay: bool  # whether a step needs more than a threshold and a slot for missing values

    @classmethod
    def of(cls, lib: Library, stack: Stack) -> "WalkPlan":
        put, child, feature = lib.from_host, stack.first_child, stack.joined("feature")
        is_inner = child >= 0
        used = np.unique(feature[is_inner])
        column = np.where(is_inner, np.searchsorted(used, feature), 0).astype(np.int64)
        slot = np.where(is_inner, stack.joined("missing_slot"), 0).astype(np.int64)
        start, category = stack.category_start, stack.joined("category").astype(np.int64)
        has_lists = bool((start >= 0).any())
        longest = category[start[start >= 0]].max(initial=0)
        nodes = _Nodes(
            put(column),
            put(np.where(is_inner, stack.joined("threshold"), np.inf)),
            put(slot),
            put(np.where(is_inner, child, np.arange(len(child)))),
            put(start) if has_lists else None,
            put(category),
            put(stack.joined("category_slot").astype(np.int64)),
            int(longest).bit_length(),
        )
        return cls(stack.root, used, nodes, has_lists or bool((slot == STAY).any()))


def walk(
    lib: Library, plan: WalkPlan, n_rows: int, read: Read
) -> Iterator[tuple[slice, slice, Array]]:
    """Rows, trees and the nodes where they end, (trees, rows), block by block."""
    xp = lib.xp
    # Nobody looks at the values where no tree has a test.
    columns = read(plan.used) if plan.used.size else lib.from_host(np.zeros((1, n_rows)))
    n_trees = min(len(plan.root), WALKERS)
    most = max(1, WALKERS // n_trees)
    ends = _ends if plan.may_stay else _ends_by_threshold
    for first_row in range(0, n_rows, most):
        rows = slice(first_row, min(first_row + most, n_rows))
        n = rows.stop - rows.start
        values = xp.astype(xp.reshape(columns[:, rows], (-1,)), xp.float64)
        for first in range(0, len(plan.root), n_trees):
            trees = slice(first, min(first + n_trees, len(plan.root)))
            root = lib.from_host(np.repeat(plan.root[trees], n))
            yield rows, trees, xp.reshape(ends(lib, plan.nodes, values, root, n), (-1, n))


def _ends_by_threshold(
    lib: Library, nodes: _Nodes, values: Array, root: Array, n_rows: int
) -> Array:
    """The leaf of each walker, where a test compares with a threshold and every node can tell.

    Who has come to a leaf stays there, so that most steps need not ask who goes on.
    """
    xp, take = lib.xp, lib.take
    has_missing = bool(xp.any(xp.isnan(values)))
    begin = nodes.column * n_rows
    end, here = root, root
    walker = lib.numbers(root.shape[0])
    row = walker % n_rows
    while True:
        for _ in range(STEPS):
            value = take(values, take(begin, here) + row)
            slot = xp.astype(value > take(nodes.threshold, here), xp.int64)
            if has_missing:
                slot = xp.where(xp.isnan(value), take(nodes.missing_slot, here), slot)
            here = take(nodes.first_child, here) + slot
        end = lib.replaced(end, walker, here)
        pending = xp.nonzero(take(nodes.first_child, here) != here)[0]
        if not pending.shape[0]:
            return end
        here, row, walker = (take(each, pending) for each in (here, row, walker))


def _ends(lib: Library, nodes: _Nodes, values: Array, root: Array, n_rows: int) -> Array:
    """The node where each walker ends: a leaf, or one that cannot tell."""
    xp, take = lib.xp, lib.take
    begin = nodes.column * n_rows
    end, here = root, root
    walker = lib.numbers(root.shape[0])
    row = walker % n_rows
    first = take(nodes.first_child, here)
    while True:
        pending = xp.nonzero(first != here)[0]
        if not pending.shape[0]:
            return end
        if pending.shape[0] < here.shape[0]:
            here, first, row, walker = (take(each, pending) for each in (here, first, row, walker))
        value = take(values, take(begin, here) + row)
        slot = xp.astype(value > take(nodes.threshold, here), xp.int64)
        slot = _slots(lib, nodes, here, value, slot)
        stays = slot == STAY
        here = xp.where(stays, here, first + slot)
        first = xp.where(stays, here, take(nodes.first_child, here))
        end = lib.replaced(end, walker, here)


def _slots(lib: Library, nodes: _Nodes, here: Array, value: Array, slot: Array) -> Array:
    """The child of each walker by categories and missing values, where thresholds gave `slot`."""
    xp, take = lib.xp, lib.take
    is_known = ~xp.isnan(value)
    if nodes.category_start is not None:
        start = take(nodes.category_start, here)
        has_list = start >= 0
        start = xp.where(has_list, start, 0)
        number = xp.astype(xp.where(is_known & has_list, value, -1.0), xp.int64)
        at = _places(lib, nodes, start, number)
        slot = xp.where(has_list, take(nodes.category_slot, at), slot)
        is_known = is_known & (slot != STAY)
    return xp.where(is_known, slot, take(nodes.missing_slot, here))


def _places(lib: Library, nodes: _Nodes, start: Array, number: Array) -> Array:
    """The entries of categories in lists, as `kernels.categories.place_of` finds them."""
    xp, take = lib.xp, lib.take
    low, n = start, take(nodes.category, start) + 1
    for _ in range(nodes.n_steps):
        half = n >> 1
        low = low + xp.where(take(nodes.category, low + half) <= number, half, 0)
        n = n - half
    return xp.where(take(nodes.category, low) == number, low, start)
