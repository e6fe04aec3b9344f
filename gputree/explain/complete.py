"""Trees in which a branch is told for every row, with nothing beside the tests of the nodes.

What surrogates decide becomes a column of its own, and where rows stop there is a leaf to end in.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MISSING_CATEGORY, STAY, HostArray
from gputree.runs import within
from gputree.tree.categories import lists_of_tables
from gputree.tree.stack import Stack
from gputree.tree.tree import Split, Tree
from gputree.tree.walk import decided

# A leaf that no training row has reached.
EMPTY = {
    "kind": Split.LEAF,
    "feature": -1,
    "threshold": np.nan,
    "missing_slot": 0,
    "first_child": -1,
    "n_children": 0,
    "category_start": -1,
    "n_surrogates": 0,
    **dict.fromkeys(("gain", "impurity", "n_rows", "weight", "value"), 0),
}

Tables = Sequence[Table | None]


def complete(
    stack: Stack, tables: Tables, missing: str
) -> tuple[Stack, list[Table | None], HostArray]:
    """Trees without surrogates, tables with a column for each node where some had a say, and the
    feature that each column stands for.

    Where missing values are divided, nodes that have no branch for them keep saying so.
    """
    if missing != "fractional":
        stack = _with_ends(stack)
    given = next(table for table in tables if table is not None)
    owner = list(range(given.n_features))
    added: list[list[Column]] = [[] for _ in tables]
    trees = []
    for tree in stack.trees:
        nodes = np.flatnonzero(tree.n_surrogates > 0)
        asked = [node for node in nodes.tolist() if _may_ask(tree, node, tables)]
        for columns, table in zip(added, tables, strict=True):
            if table is not None:
                columns += [_branches(tree, node, table) for node in asked]
        trees.append(_plain(tree, asked, len(owner)))
        owner += tree.feature[asked].tolist()
    found = [
        None if table is None else Table((*table.columns, *columns), table.n_rows)
        for table, columns in zip(tables, added, strict=True)
    ]
    return replace(stack, trees=tuple(trees)), found, np.array(owner)


def _may_ask(tree: Tree, node: int, tables: Tables) -> bool:
    """Whether some row may need a surrogate: a value is missing, or a category new to the node."""
    if tree.category_start[node] >= 0:
        return True
    for table in tables:
        if table is not None:
            column = table.columns[tree.feature[node]]
            values = to_numpy(column.values)
            is_missing = (
                np.isnan(values) if column.categories is None else values == MISSING_CATEGORY
            )
            if is_missing.any():
                return True
    return False


def _branches(tree: Tree, node: int, table: Table) -> Column:
    """The branch of each row at a node, as a category."""
    row = np.arange(table.n_rows)
    here, is_primary = np.full(table.n_rows, node), np.ones(table.n_rows, bool)
    slot = decided(
        tree, here, row, is_primary, lambda column: to_numpy(table.columns[column].values)
    )
    category = np.where(slot == STAY, MISSING_CATEGORY, slot).astype(np.int32)
    return Column(f"branch of {node}", Kind.NOMINAL, category, tuple(range(tree.n_children[node])))


def _plain(tree: Tree, asked: list[int], first_column: int) -> Tree:
    """The tree whose nodes that were asked read their branch from columns of their own."""
    feature, start = tree.feature.copy(), tree.category_start.copy()
    n = tree.n_children[asked].astype(np.int64) + 1  # the last is that of a category nobody has
    own, category, slot = lists_of_tables(within(n), n)
    feature[asked] = first_column + np.arange(len(asked))
    start[asked] = len(tree.category) + own
    none = np.empty(0)
    return replace(
        tree,
        feature=feature,
        category_start=start,
        category=np.append(tree.category, category),
        category_slot=np.append(tree.category_slot, slot),
        n_surrogates=np.zeros(tree.n_nodes),
        surrogate_feature=none,
        surrogate_threshold=none,
        surrogate_slot=none,
        surrogate_category_start=none,
        surrogate_agreement=none,
    )


def _with_ends(stack: Stack) -> Stack:
    """The stack in which a row that would stop at a node ends in a leaf below it.

    That leaf has the value of the node, and none of its weight.
    """
    if not stack.may_stop:
        return stack
    parts = [_with_leaves(tree, stack.values_of(at)) for at, tree in enumerate(stack.trees)]
    trees, values = zip(*parts, strict=True)
    return Stack.of(trees, values, stack.column, stack.n_outputs)


def _with_leaves(tree: Tree, value: HostArray) -> tuple[Tree, HostArray]:
    stops = np.flatnonzero(~tree.is_leaf & (tree.missing_slot == STAY))
    n_children = tree.n_children.astype(np.int64)
    after = tree.first_child[stops] + n_children[stops]  # new leaves come before these nodes
    first_child = tree.first_child + np.searchsorted(after, tree.first_child, "right")
    slot = tree.missing_slot.copy()
    slot[stops] = n_children[stops]
    n_children[stops] += 1
    changed = {"missing_slot": slot, "n_children": n_children, "first_child": first_child}
    arrays = {
        name: np.insert(changed.get(name, getattr(tree, name)), after, filler, axis=0)
        for name, filler in EMPTY.items()
    }
    return replace(tree, **arrays), np.insert(value, after, value[stops], axis=0)
