"""Shapley values of trees by compiled kernels."""

import numpy as np

from gputree.backends.attribution import Quadrature
from gputree.backends.cpu.binning import readable
from gputree.backends.cpu.predict import matrix_of
from gputree.backends.cpu.workers import Workers
from gputree.backends.door import check_outputs, check_walk
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.kernels.cpu import attribution as kernels
from gputree.tree.stack import Stack

LEAST_ROWS = 16  # a row goes through all nodes of all trees


def attribute(
    workers: Workers, stack: Stack, table: Table, owner: HostArray, background: Table | None
) -> HostArray:
    """The verb of the contract."""
    check_outputs(stack, stack.n_outputs)
    for rows in (table, background):
        if rows is not None:
            check_walk(stack, rows)
    plan = Quadrature.of(stack, owner)
    n_features = int(owner.max()) + 1
    result = np.zeros((table.n_rows, n_features, stack.n_outputs))
    # One type for both: the time is spent elsewhere, and a float32 is the same number.
    matrix = readable(np.ascontiguousarray(matrix_of(table), np.float64))
    others = readable(np.empty((0, matrix.shape[1])))
    if background is not None:
        others = readable(np.ascontiguousarray(matrix_of(background), np.float64))
    column = stack.joined("feature").astype(np.int64)
    # Those of a single tree may not be written; with one type all are explained by one kernel.
    arrays = (
        column,
        np.append(owner, -1)[column],
        stack.joined("first_child"),
        np.concatenate([tree.share for tree in stack.trees]),
        stack.joined("threshold"),
        stack.joined("missing_slot"),
        stack.joined("n_children"),
        stack.category_start,
        stack.joined("category"),
        stack.joined("category_slot"),
    )
    nodes = tuple(map(readable, arrays))
    trees = stack.root, plan.n_points, stack.column, readable(stack.value)
    room = plan.most_depth, plan.point.shape[1], n_features
    rules = plan.point, plan.weight
    args = matrix, others, nodes, trees, rules, room, result
    workers.run(kernels.attribute, table.n_rows, *args, least=LEAST_ROWS)
    return result if background is None else result / background.n_rows
