"""Predictions by trees whose nodes may test combinations of columns, on the CPU."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from gputree.backends.cpu.workers import Workers
from gputree.dtypes import HostArray
from gputree.kernels.cpu import predict_combined
from gputree.kernels.cpu.predict_many import BLOCK_ROWS
from gputree.runs import begins
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

# What a row needs at a node lies side by side.
STATION = np.dtype(
    [
        ("threshold", "f8"),
        ("category_start", "i8"),
        ("first_child", "i4"),
        ("column", "i4"),
        ("term_at", "i8"),
        ("n_terms", "i4"),
        ("n_children", "u2"),
        ("missing_slot", "u2"),
    ],
    align=True,
)

# A matrix (rows, columns), and the column of each feature of a table.
Matrix = tuple[HostArray, HostArray]
Nodes = tuple[HostArray, ...]

# Kept as long as the stack is, since a model predicts many times.
_NODES: WeakKeyDictionary[Stack, Nodes] = WeakKeyDictionary()
_STACKS: WeakKeyDictionary[Tree, Stack] = WeakKeyDictionary()


def stack_of(tree: Tree) -> Stack:
    """A stack of one tree, the same one as long as the tree is there."""
    if tree not in _STACKS:
        _STACKS[tree] = Stack.of([tree])
    return _STACKS[tree]


def leaves_of(workers: Workers, stack: Stack, matrix: Matrix, leaf: HostArray) -> None:
    """Write the leaf of each row in each tree, (rows, trees)."""
    _run(workers, predict_combined.combined_leaves_of, stack, matrix, leaf)


def sum_leaves(workers: Workers, stack: Stack, matrix: Matrix, total: HostArray) -> None:
    """Add the values of the leaves of each row, (rows, outputs)."""
    added = stack.root, stack.value, stack.column, total
    _run(workers, predict_combined.combined_sum_leaves, stack, matrix, *added)


def _run(
    workers: Workers, kernel: Callable[..., None], stack: Stack, matrix: Matrix, *args: HostArray
) -> None:
    values, column_of = matrix
    if stack not in _NODES:
        _NODES[stack] = _nodes(stack)
    station, column, weight, *lists = _NODES[stack]
    if not np.array_equal(column_of, np.arange(len(column_of))):
        station, column = station.copy(), column_of[column].astype(np.int64)
        station["column"] = column_of[station["column"]]
    nodes = station, column, weight, *lists
    workers.run(kernel, len(values), values, nodes, stack.root, *args, least=BLOCK_ROWS)


def _nodes(stack: Stack) -> Nodes:
    """The nodes of all trees, the terms of their combinations, and lists of categories."""
    station = np.zeros(len(stack.value), STATION)
    for name in ("threshold", "missing_slot", "first_child", "n_children"):
        station[name] = stack.joined(name)
    start, *lists = stack.quick_lists
    station["category_start"] = start
    column, weight = [np.empty(0, np.int64)], [np.empty(0)]
    n_before = 0
    for tree, root in zip(stack.trees, stack.root.tolist(), strict=True):
        own = station[root : root + tree.n_nodes]
        own["column"] = np.maximum(tree.feature, 0)
        directions = tree.directions
        if directions is None or not len(directions):
            continue
        at = np.flatnonzero(tree.feature >= directions.n_columns)
        number = tree.feature[at] - directions.n_columns
        own["column"][at] = 0
        n_terms = directions.n_terms.astype(np.int64)
        own["n_terms"][at] = n_terms[number]
        own["term_at"][at] = n_before + begins(n_terms)[number]
        column.append(directions.column.astype(np.int64))
        weight.append(directions.weight)
        n_before += len(directions.column)
    return station, np.concatenate(column), np.concatenate(weight), *lists
