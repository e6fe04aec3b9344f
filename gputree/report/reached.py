"""Which rows of a report reach each node, and how its tested column looks there.

Knows trees, tables and where rows end; must not know how they came there.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import HostArray
from gputree.prediction import numbers as known_numbers
from gputree.report.columns import bounds, steps_of
from gputree.report.plain import number, numbers
from gputree.tree.reshape import summed_up
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends

N_STEPS = 16
MOST_GROUPS = 8  # classes with a colour of their own in a node's histogram
MOST_CATEGORIES = 12
MOST_COUNTS = 60_000  # of all histograms of a report together


@dataclass(frozen=True, eq=False)
class Reached:
    """Rows in the order of the leaves where they end, so that those of any node lie together."""

    row: HostArray
    begin: HostArray  # (nodes,)
    end: HostArray
    weight: HostArray  # (nodes,) of rows, which may have been divided

    def rows_at(self, node: int) -> HostArray:
        """The rows that come to a node, the whole or a part of each."""
        return self.row[self.begin[node] : self.end[node]]


def reached(tree: Tree, ends: Ends) -> Reached:
    """Sort rows by where they end."""
    row, node, share = ends
    size = summed_up(tree, np.ones(tree.n_nodes)).astype(np.int64)
    place = places(tree, size)
    order = np.argsort(place[node], kind="stable")
    at = place[node][order]
    weight = summed_up(tree, np.bincount(node, share, minlength=tree.n_nodes))
    return Reached(
        row[order], np.searchsorted(at, place), np.searchsorted(at, place + size), weight
    )


def places(tree: Tree, size: HostArray) -> HostArray:
    """The place of each node where every node is followed by all that is below it."""
    place = np.zeros(tree.n_nodes, np.int64)
    first, n_children, sizes = (part.tolist() for part in (tree.first_child, tree.n_children, size))
    for node in range(tree.n_nodes):
        after = place[node] + 1
        for child in range(first[node], first[node] + n_children[node]):
            place[child] = after
            after += sizes[child]
    return place


def node_bars(
    tree: Tree,
    found: Reached,
    table: Table,
    group: HostArray | None,
    y: HostArray,
    n_nodes: int,
    most_counts: int = MOST_COUNTS,
) -> dict[str, Any]:
    """Histograms of the tested columns, of the nodes with most rows first.

    `group` is the class of each row; without one, each bar has the mean of `y`.
    """
    n_groups = 1 if group is None else int(group.max(initial=0)) + 1
    inner = np.flatnonzero(~tree.is_leaf[:n_nodes])
    inner = inner[np.argsort(-found.weight[inner], kind="stable")]
    inner = inner[: max(1, most_counts // (N_STEPS * n_groups))]
    bars = {}
    for node in inner.tolist():
        rows = found.rows_at(node)
        if rows.size:
            column = tested(tree, node, table, rows)
            values = to_numpy(column.values)
            own = None if group is None else group[rows]
            if column.kind is Kind.NUMERIC:
                bars[str(node)] = _of_numbers(values, own, n_groups, y[rows])
            else:
                n_categories = len(column.categories or ())
                bars[str(node)] = _of_categories(values, n_categories, own, n_groups, y[rows])
    return {"bars": bars, "n_nodes": len(inner), "n_inner": int((~tree.is_leaf).sum())}


def tested(tree: Tree, node: int, table: Table, rows: HostArray) -> Column:
    """What a node tests, of some rows: a column, or a combination of columns."""
    number = int(tree.feature[node])
    if number < table.n_features:
        column = table.columns[number]
        return Column(column.name, column.kind, to_numpy(column.values)[rows], column.categories)
    assert tree.directions is not None
    read = partial(known_numbers, table, rows)
    return Column("", Kind.NUMERIC, tree.directions.values(number - table.n_features, read))


def groups_of(number_of_class: HostArray, n_classes: int) -> HostArray:
    """Classes for colours: the most frequent ones, and one more for all others."""
    if n_classes <= MOST_GROUPS:
        return np.where(number_of_class < 0, n_classes, number_of_class)
    return np.where(
        (number_of_class < 0) | (number_of_class >= MOST_GROUPS - 1),
        MOST_GROUPS - 1,
        number_of_class,
    )


def _of_numbers(
    values: HostArray, group: HostArray | None, n_groups: int, y: HostArray
) -> dict[str, Any]:
    is_known = np.isfinite(values)
    about: dict[str, Any] = {"missing": int(np.isnan(values).sum())}
    if not is_known.any():
        return about
    known = values[is_known].astype(np.float64)
    low, high = bounds(known)
    step = steps_of(known, low, high, N_STEPS)
    about |= {"low": number(low, 12), "high": number(high, 12)}
    own = None if group is None else group[is_known]
    return about | _counted(step, N_STEPS, own, n_groups, y[is_known])


def _of_categories(
    values: HostArray, n_categories: int, group: HostArray | None, n_groups: int, y: HostArray
) -> dict[str, Any]:
    is_known = (values >= 0) & (values < n_categories)
    about: dict[str, Any] = {"missing": int((values < 0).sum())}
    known = values[is_known]
    total = np.bincount(known, minlength=n_categories)
    kept = np.argsort(-total, kind="stable")[:MOST_CATEGORIES]
    kept = np.sort(kept[total[kept] > 0])
    if not kept.size:
        return about
    place = np.full(n_categories, -1)
    place[kept] = np.arange(len(kept))
    is_kept = place[known] >= 0
    own = None if group is None else group[is_known][is_kept]
    about |= {"categories": kept.tolist(), "others": int((~is_kept).sum())}
    step = place[known[is_kept]]
    return about | _counted(step, len(kept), own, n_groups, y[is_known][is_kept])


def _counted(
    step: HostArray, n_steps: int, group: HostArray | None, n_groups: int, y: HostArray
) -> dict[str, Any]:
    if group is None:
        n = np.bincount(step, minlength=n_steps)
        mean = np.bincount(step, y, minlength=n_steps) / np.maximum(n, 1)
        return {"count": [n.tolist()], "mean": numbers(np.where(n > 0, mean, np.nan), 4)}
    n = np.bincount(group * n_steps + step, minlength=n_groups * n_steps)
    return {"count": n.reshape(n_groups, n_steps).tolist()}
