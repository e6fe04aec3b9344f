"""Shapley values of one tree or of many whose values add up.

Knows trees, tables and the contract; must not know estimators. `docs/explain.md` has the maths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.arrays import cuda_number
from gputree.backends.contract import Backend
from gputree.backends.registry import choose
from gputree.data.inputs import read_table
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.explain.complete import complete
from gputree.prediction import sum_leaves
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

METHODS = ("path", "interventional")
MANY_NODES = 4096  # NumPy takes about a second for so many, however few rows there are


@dataclass(frozen=True)
class Attribution:
    """Contributions of features: expected + values.sum(axis=1) is the raw prediction."""

    values: HostArray  # (rows, features, outputs)
    expected: HostArray  # (outputs,) the prediction while nothing is known of a row


def shap_values(
    trees: Stack | Sequence[Tree],
    X: Any,
    *,
    values: Sequence[HostArray] | None = None,
    columns: Sequence[int] | None = None,
    start: Any = None,
    method: str = "path",
    background: Any = None,
    missing: str = "direction",
    schema: Schema | None = None,
    device: str = "auto",
    backend: str | None = None,
    n_jobs: int | None = None,
) -> Attribution:
    """The Shapley values of each row of X, for trees whose values are added up.

    Parameters
    ----------
    trees : Stack or sequence of Tree
        The trees to explain.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows.
    values : sequence of arrays, (n_nodes,) or (n_nodes, width) for each tree, optional
        The contributions of the nodes; the values of the trees by default. A Stack has its own.
    columns : sequence of int, optional
        The first output that each tree adds to; 0 by default. A Stack has its own.
    start : array-like of shape (n_outputs,), optional
        The starting value of predictions; it is part of the expected value.
    method : {'path', 'interventional'}, default='path'
        The treatment of an unknown feature: all branches are followed, in proportion to their
        training weights, or its value is taken from each row of `background`.
    background : array-like or data frame, optional
        Rows for 'interventional'. The time it takes is proportional to their number.
    missing : str, default='direction'
        The treatment of missing values, as in the fit of the trees. With 'fractional' the
        contribution of a missing value is 0; with 'surrogate' the credit for a branch goes to the
        feature that the node tests, even if a surrogate chose the branch.
    schema : Schema, optional
        The columns of the training table, by which X is read.
    device, backend, n_jobs
        Where and how to compute, as for estimators.

    Returns
    -------
    Attribution

    Examples
    --------
    >>> from gputree import DecisionTreeRegressor
    >>> from gputree.explain import shap_values
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 4.0, 6.0]
    >>> tree = DecisionTreeRegressor().fit(X, y).nodes_
    >>> found = shap_values([tree], [[1, 1]])
    >>> found.expected.tolist(), found.values[:, :, 0].tolist()
    ([2.5], [[2.75, 0.75]])
    """
    stack = trees if isinstance(trees, Stack) else Stack.of(trees, values, columns)
    table = read_table(X, like=schema)
    others = background_table(method, background, schema)
    n_cells = table.n_rows * table.n_features
    place = cuda_number(table.columns[0].values)
    where = choose(device, backend, n_jobs=n_jobs, n_cells=n_cells, data_on=place).backend
    if backend is None:
        where = for_many_nodes(where, len(stack.value), n_jobs)
    return attributed(where, stack, table, others, start, missing)


def for_many_nodes(chosen: Backend, n_nodes: int, n_jobs: int | None) -> Backend:
    """Compiled kernels where a table is small and its trees are not: every node is visited."""
    if chosen.name != "numpy" or n_nodes < MANY_NODES:
        return chosen
    return choose("cpu", "numba", n_jobs=n_jobs).backend


def background_table(method: str, background: Any, schema: Schema | None) -> Table | None:
    """The rows that stand for what is not known; None where weights do."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; choose from {list(METHODS)}")
    if method == "path":
        if background is not None:
            raise ValueError(
                "background: method='path' uses the row counts of the training; leave it out, or "
                "use method='interventional'"
            )
        return None
    if background is None:
        raise ValueError(
            "background: method='interventional' takes unknown values from other rows; give "
            "some, such as 100 training rows"
        )
    table = read_table(background, like=schema)
    if not table.n_rows:
        raise ValueError("background has no rows; give at least one")
    return table


def attributed(
    backend: Backend,
    stack: Stack,
    table: Table,
    background: Table | None = None,
    start: Any = None,
    missing: str = "direction",
) -> Attribution:
    """The Shapley values of the rows of a table that has been read."""
    begin = np.zeros(stack.n_outputs) if start is None else np.asarray(start, np.float64)
    if background is None:
        expected = begin + expected_sum(stack)
    else:
        expected = sum_leaves(backend, stack, background, begin, missing).mean(axis=0)
    whole, (rows, others), owner = complete(stack, (table, background), missing)
    assert rows is not None
    return Attribution(backend.attribute(whole, rows, owner, others), expected)


def expected_sum(stack: Stack) -> HostArray:
    """What trees add up to, (outputs,), where every row goes down all branches by weight."""
    total = np.zeros(stack.n_outputs)
    for number, (tree, first) in enumerate(zip(stack.trees, stack.column, strict=True)):
        total[first : first + stack.width] += expected_at(tree, stack.values_of(number))
    return total


def expected_at(tree: Tree, value: HostArray) -> HostArray:
    """The same of one tree, (outputs,), with leaves of `value` (nodes, outputs)."""
    mean = value.copy()
    mean[~tree.is_leaf] = 0.0
    parent, share = tree.parent, tree.share
    for begin, end in reversed(tree.levels()[1:]):
        np.add.at(mean, parent[begin:end], share[begin:end, None] * mean[begin:end])
    return np.asarray(mean[0])
