"""Surrogates out of the way: what they decide becomes a column of its own."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MISSING_LEVEL, STAY, HostArray
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import decided

Tables = tuple[Table | None, ...]


def settled(stack: Stack, tables: Tables) -> tuple[Stack, Tables, HostArray]:
    """Trees without surrogates, tables with a column for each node where some had a say, and the
    feature that each column stands for.
    """
    given = next(table for table in tables if table is not None)
    owner = list(range(given.n_features))
    added: list[list[Column]] = [[] for _ in tables]
    trees = []
    for tree in stack.trees:
        nodes = np.flatnonzero(tree.n_surrogates > 0)
        asked = [node for node in nodes.tolist() if _is_missing(tables, int(tree.feature[node]))]
        for columns, table in zip(added, tables, strict=True):
            if table is not None:
                columns += [_branches(tree, node, table) for node in asked]
        trees.append(_plain(tree, asked, len(owner)))
        owner += tree.feature[asked].tolist()
    found = tuple(
        None if table is None else Table((*table.columns, *columns), table.n_rows)
        for table, columns in zip(tables, added, strict=True)
    )
    return replace(stack, trees=tuple(trees)), found, np.array(owner)


def _is_missing(tables: Iterable[Table | None], feature: int) -> bool:
    """Whether a value of a feature is missing anywhere."""
    for table in tables:
        if table is not None:
            column = table.columns[feature]
            values = to_numpy(column.values)
            if ((values == MISSING_LEVEL) if column.levels is not None else np.isnan(values)).any():
                return True
    return False


def _branches(tree: Tree, node: int, table: Table) -> Column:
    """The branch of each row at a node, as a level."""
    row = np.arange(table.n_rows)
    here, is_primary = np.full(table.n_rows, node), np.ones(table.n_rows, bool)
    slot = decided(
        tree, here, row, is_primary, lambda column: to_numpy(table.columns[column].values)
    )
    level = np.where(slot == STAY, MISSING_LEVEL, slot).astype(np.int32)
    return Column(f"branch of {node}", Kind.NOMINAL, level, tuple(range(tree.n_children[node])))


def _plain(tree: Tree, asked: list[int], first_column: int) -> Tree:
    """The tree whose nodes that were asked read their branch from columns of their own."""
    feature, start = tree.feature.copy(), tree.level_start.copy()
    slots = [tree.level_slot]
    begin = len(tree.level_slot)
    for at, node in enumerate(asked):
        own = np.arange(tree.n_children[node] + 1)  # the last is that of a level nobody has
        feature[node], start[node] = first_column + at, begin
        slots.append(own)
        begin += len(own)
    none = np.empty(0)
    return replace(
        tree,
        feature=feature,
        level_start=start,
        level_slot=np.concatenate(slots),
        n_surrogates=np.zeros(tree.n_nodes),
        surrogate_feature=none,
        surrogate_threshold=none,
        surrogate_slot=none,
        surrogate_level_start=none,
        surrogate_agreement=none,
    )
