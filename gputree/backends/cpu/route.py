"""Rows from node to node, for the CPU backend: halves, many children, and single rows."""

from dataclasses import replace

import numpy as np

from gputree.backends.contract import Moves
from gputree.backends.cpu.rows import CpuRows, RowLayout, chunks, running, with_lists
from gputree.backends.cpu.workers import Workers
from gputree.dtypes import SLOT, HostArray
from gputree.kernels.cpu import route
from gputree.runs import begins


def halved(workers: Workers, rows: CpuRows, moves: Moves) -> CpuRows:
    """The rows of the moving nodes sorted into two children each, in place; nobody stays."""
    start = rows.start[moves.node]
    move, first, last = chunks(start, rows.n_rows[moves.node])
    work = int((last - first).sum())
    spare = rows.layout.lane.room("spare", (len(rows.order),), np.int32)
    n_left = np.empty(len(move), np.int64)
    workers.run(
        route.part,
        len(move),
        move,
        first,
        last,
        moves.feature,
        moves.start,
        moves.table,
        rows.order,
        rows.code,
        spare,
        n_left,
        work=work,
    )
    n_child = np.bincount(move, n_left, minlength=len(moves.node)).astype(np.int64)
    left_at = running(n_left, move) + start[move]
    right_at = running(last - first - n_left, move) + (start + n_child)[move]
    args = first, last, n_left, left_at, right_at, spare, rows.order
    workers.run(route.put_back, len(move), *args, work=work)
    node = np.stack([moves.node, moves.first_child, moves.first_child + 1])
    n_rows = np.stack([0 * n_child, n_child, rows.n_rows[moves.node] - n_child])
    return with_lists(rows, rows.order, node, np.stack([start, start, start + n_child]), n_rows)


def divided(workers: Workers, rows: CpuRows, moves: Moves) -> CpuRows:
    """The rows of the moving nodes sorted into children, those that stay after the others."""
    start = rows.start[moves.node]
    move, first, last = chunks(start, rows.n_rows[moves.node])
    work = int((last - first).sum())
    n_groups = moves.n_children.astype(np.int64) + 1
    group_at, count_at = _bounds(n_groups), _bounds(n_groups[move])
    group = np.empty(len(rows.order), SLOT)
    count = np.zeros(count_at[-1], np.int64)
    workers.run(
        route.sort_out,
        len(move),
        move,
        first,
        last,
        moves.feature,
        moves.start,
        n_groups - 1,
        moves.table,
        rows.order,
        rows.code,
        count_at,
        group,
        count,
        work=work,
    )
    chunk_at = _bounds(np.bincount(move, minlength=len(start)))
    group_start, n_group = np.empty((2, group_at[-1]), np.int64)
    workers.run(
        route.place_groups,
        len(start),
        chunk_at,
        count_at,
        start,
        group_at,
        count,
        group_start,
        n_group,
        work=len(count),
    )
    order = rows.order.copy()
    workers.run(
        route.scatter_groups,
        len(move),
        first,
        last,
        count_at,
        count,
        group,
        rows.order,
        order,
        work=work,
    )
    return with_lists(rows, order, _owners(moves, group_at), group_start, n_group)


def dispersed(
    workers: Workers, rows: CpuRows, nodes: HostArray, row: HostArray, node: HostArray
) -> CpuRows:
    """The rows with those of `nodes` taken out and others put in, after those already there."""
    n_nodes = max(len(rows.start), int(node.max(initial=-1)) + 1)
    n_kept = np.zeros(n_nodes, np.int64)
    n_kept[: len(rows.start)] = rows.n_rows
    n_kept[nodes] = 0
    n_rows = n_kept + np.bincount(node, minlength=n_nodes)
    begin = begins(n_rows)
    order = np.empty(int(n_rows.sum()), rows.order.dtype)
    held = np.flatnonzero(n_kept)
    copy_lists(workers, rows, held, begin[held], order)
    route.append(row, node, begin + n_kept, order)
    # A layout that is still to be made has the rows of those who ask first.
    is_shared = rows.layout.is_made or len(order) == len(rows.order)
    rows = replace(rows, layout=rows.layout if is_shared else RowLayout())
    return with_lists(rows, order, np.arange(n_nodes), begin, n_rows)


def copy_lists(
    workers: Workers, rows: CpuRows, nodes: HostArray, target: HostArray, order: HostArray
) -> None:
    """Write the rows of some nodes, each list to where it shall begin in `order`."""
    start, n_rows = rows.start[nodes], rows.n_rows[nodes]
    args = start, n_rows, target, rows.order, order
    workers.run(route.copy_lists, len(nodes), *args, work=int(n_rows.sum()))


def _bounds(count: HostArray) -> HostArray:
    """Where each of some runs begins, and at last where all end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])


def _owners(moves: Moves, group_at: HostArray) -> HostArray:
    """The node of each group: the children of a move, then the node that moves."""
    owner = np.empty(group_at[-1], np.int64)
    is_child = np.ones(len(owner), np.bool_)
    is_child[group_at[1:] - 1] = False
    owner[is_child], owner[~is_child] = moves.children, moves.node
    return owner
