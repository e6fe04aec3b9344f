"""Lists of rows, one node after another, on the host."""

import numpy as np

from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.runs import begins, spread_out


def at_roots(target: Target, n_each: HostArray | None) -> tuple[HostArray, HostArray, HostArray]:
    """Rows, where those of each root begin, and how many it has; one root has all with a weight."""
    if n_each is None:
        every = np.arange(target.n_rows)
        order = every if target.weight is None else np.flatnonzero(target.weight)
        n_each = np.array([len(order)])
    else:
        order = np.arange(int(n_each.sum()))
    return order.astype(np.int32), begins(n_each), n_each.astype(np.int64)


def with_room(start: HostArray, n_rows: HostArray, n_nodes: int) -> tuple[HostArray, HostArray]:
    """Both with an entry for each of so many nodes, at least: the same, or copies twice as long."""
    if len(start) >= n_nodes:
        return start, n_rows
    more = max(n_nodes, 2 * len(start)) - len(start)
    return np.pad(start, (0, more)), np.pad(n_rows, (0, more))


def dispersed_lists(
    order: HostArray,
    start: HostArray,
    n_rows: HostArray,
    nodes: HostArray,
    row: HostArray,
    node: HostArray,
) -> tuple[HostArray, HostArray, HostArray]:
    """The lists with the rows of `nodes` taken out, and `row[i]` put last at `node[i]`."""
    start, n_rows = with_room(start, n_rows.copy(), int(node.max(initial=-1)) + 1)
    n_rows[nodes] = 0
    held = np.flatnonzero(n_rows)
    kept = order[spread_out(start[held], n_rows[held])]
    owner = np.concatenate([np.repeat(held, n_rows[held]), node])
    moved = np.concatenate([kept, row])[np.argsort(owner, kind="stable")].astype(order.dtype)
    n_rows = np.bincount(owner, minlength=len(start))
    return moved, begins(n_rows), n_rows
