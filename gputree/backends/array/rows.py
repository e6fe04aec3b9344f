"""The rows of each node, one node after another, in the arrays of any library."""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.contract import Moves
from gputree.backends.row_lists import dispersed_lists, with_room
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import OUTSIDE, STAY, Array, HostArray
from gputree.runs import begins


@dataclass(frozen=True)
class CodedRows:
    """Codes and channels of every row, which stay as they are while a tree grows."""

    code: Array  # (features, rows)
    bins: Bins
    target: Target
    label: Array | None  # (rows,) the class
    weight: Array | None  # (rows,) float64, whole numbers
    value: Array | None  # (outputs, rows) float64, whole numbers
    point: Array | None  # (outputs, rows)


@dataclass(frozen=True)
class ArrayRows:
    """The rows of each node."""

    coded: CodedRows
    order: Array  # (rows inside the tree,) row numbers, node by node
    start: HostArray  # (nodes,) where a node's rows begin in `order`
    n_rows: HostArray  # (nodes,) how many it has; 0 for one that was divided

    @property
    def bins(self) -> Bins:
        return self.coded.bins

    @property
    def target(self) -> Target:
        return self.coded.target


def rows_of(lib: Library, rows: ArrayRows, nodes: HostArray) -> tuple[Array, Array]:
    """The rows of some nodes, node by node, and the place of each one's node among them."""
    xp, n_rows = lib.xp, rows.n_rows[nodes]
    place = lib.segments(n_rows)
    apart = lib.from_host(rows.start[nodes] - begins(n_rows))
    at = lib.numbers(place.shape[0]) + xp.take(apart, place)
    return xp.take(rows.order, at), place


def divided(
    lib: Library, rows: ArrayRows, moves: Moves, row: Array, place: Array, slot: Array
) -> ArrayRows:
    """The rows of the moving nodes sorted into children, in the order they had."""
    if (moves.n_children == 2).all() and not (moves.table == STAY).any():
        return _halved(lib, rows, moves, row, place, slot)
    xp = lib.xp
    # A group a child, and after the children of a node one for the rows that stay.
    before = np.cumsum(moves.n_children + 1) - (moves.n_children + 1)
    stays_in = lib.from_host(before + moves.n_children)
    group = xp.take(lib.from_host(before), place) + slot
    group = xp.where(slot == STAY, xp.take(stays_in, place), group)
    n_group = lib.to_host(lib.count(group, int((moves.n_children + 1).sum())))
    is_child = np.ones(len(n_group), bool)
    is_child[before + moves.n_children] = False
    begin = begins(n_group)  # among the rows that move
    n_moving = rows.n_rows[moves.node]
    apart = rows.start[moves.node] - begins(n_moving)
    start = begin + np.repeat(apart, moves.n_children + 1)
    sorted_ = xp.argsort(group, stable=True)
    at = lib.numbers(row.shape[0]) + xp.take(lib.from_host(apart), place)
    order = lib.replaced(rows.order, at, xp.take(row, sorted_))
    children = moves.children
    new_start, new_n_rows = with_room(rows.start, rows.n_rows, int(children.max()) + 1)
    new_start[children], new_n_rows[children] = start[is_child], n_group[is_child]
    new_start[moves.node], new_n_rows[moves.node] = start[~is_child], n_group[~is_child]
    return replace(rows, order=order, start=new_start, n_rows=new_n_rows)


def dispersed(
    lib: Library, rows: ArrayRows, nodes: HostArray, row: HostArray, node: HostArray
) -> ArrayRows:
    """The rows with those of `nodes` taken out and others put in."""
    order, start, n_rows = dispersed_lists(
        lib.to_host(rows.order), rows.start, rows.n_rows, nodes, row, node
    )
    return replace(rows, order=lib.from_host(order), start=start, n_rows=n_rows)


def _halved(
    lib: Library, rows: ArrayRows, moves: Moves, row: Array, place: Array, slot: Array
) -> ArrayRows:
    """Two children a node, none of whose rows stays."""
    xp = lib.xp
    child = place * 2 + slot
    n_child = lib.to_host(lib.count(child, 2 * len(moves.node))).reshape(-1, 2)
    start = rows.start[moves.node][:, None] + np.stack([0 * n_child[:, 0], n_child[:, 0]], axis=1)
    # How many rows of the same slot come before, in all nodes and in those before a row's own.
    right_before = xp.cumulative_sum(slot) - slot
    before = xp.where(slot == 0, lib.numbers(slot.shape[0]) - right_before, right_before)
    apart = lib.from_host((start - (np.cumsum(n_child, axis=0) - n_child)).ravel())
    order = lib.replaced(rows.order, xp.take(apart, child) + before, row)
    n_nodes = int(moves.first_child.max()) + 2
    new_start, new_n_rows = with_room(rows.start, rows.n_rows, n_nodes)
    new_n_rows[moves.node] = 0
    children = moves.first_child[:, None] + np.arange(2)
    new_start[children], new_n_rows[children] = start, n_child
    return replace(rows, order=order, start=new_start, n_rows=new_n_rows)


def node_of_each(lib: Library, rows: ArrayRows) -> HostArray:
    """The node of every row of the table, OUTSIDE where it has none."""
    node = np.flatnonzero(rows.n_rows)
    node = node[np.argsort(rows.start[node])]
    found = np.full(rows.coded.target.n_rows, OUTSIDE, np.int64)
    found[lib.to_host(rows.order)] = np.repeat(node, rows.n_rows[node])
    return found
