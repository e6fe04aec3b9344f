"""Smaller trees from a tree: nodes left out, and tests moved up.

Trees are never changed; every function here returns a new one. Knows the arrays of a tree; must not
know why somebody wants another shape.
"""

import numpy as np

from gputree.dtypes import HostArray
from gputree.runs import begins, spread_out
from gputree.tree.tree import Split, Tree

# What a node has whatever its shape; a caller may bring other values.
STATISTICS = ("gain", "impurity", "n_rows", "weight", "value")


def cut(tree: Tree, nodes: HostArray) -> Tree:
    """The tree in which some nodes are leaves, and what was below them is gone."""
    becomes_leaf = np.zeros(tree.n_nodes, bool)
    becomes_leaf[nodes] = True
    becomes_leaf |= tree.is_leaf
    is_kept = np.ones(tree.n_nodes, bool)
    parent = tree.parent
    # A parent has a lower number than its children, and a level at a time is enough.
    for begin, end in tree.levels()[1:]:
        above = parent[begin:end]
        is_kept[begin:end] = is_kept[above] & ~becomes_leaf[above]
    kept = np.flatnonzero(is_kept)
    return reshaped(tree, kept, becomes_leaf[kept])


def reshaped(tree: Tree, node: HostArray, is_leaf: HostArray, **statistics: HostArray) -> Tree:
    """A tree whose nodes, breadth-first, have the tests of some nodes of another tree.

    The new node `i` tests what `node[i]` tests, unless it is a leaf, and has its statistics unless
    others are given. Children of inner nodes come in the order of these, as many as they had.
    """
    is_inner = ~is_leaf
    n_children = np.where(is_inner, tree.n_children[node], 0).astype(np.int64)
    first_child = np.where(is_inner, 1 + begins(n_children), -1)
    n_surrogates = np.where(is_inner, tree.n_surrogates[node], 0)
    surrogate = spread_out(tree.first_surrogate()[node], n_surrogates)
    tables = _Tables(tree)
    level_start, node_slots = tables.moved(np.where(is_inner, tree.level_start[node], -1), 0)
    surrogate_start, surrogate_slots = tables.moved(
        tree.surrogate_level_start[surrogate], len(node_slots)
    )
    own = {name: getattr(tree, name)[node] for name in STATISTICS} | statistics
    own["gain"] = np.where(is_inner, own["gain"], 0.0)
    return Tree(
        kind=np.where(is_inner, tree.kind[node], Split.LEAF),
        feature=np.where(is_inner, tree.feature[node], -1),
        threshold=np.where(is_inner, tree.threshold[node], np.nan),
        missing_slot=np.where(is_inner, tree.missing_slot[node], 0),
        first_child=first_child,
        n_children=n_children,
        level_start=level_start,
        n_surrogates=n_surrogates,
        level_slot=np.concatenate([node_slots, surrogate_slots]),
        surrogate_feature=tree.surrogate_feature[surrogate],
        surrogate_threshold=tree.surrogate_threshold[surrogate],
        surrogate_slot=tree.surrogate_slot[surrogate],
        surrogate_level_start=surrogate_start,
        surrogate_agreement=tree.surrogate_agreement[surrogate],
        **own,
    )


class _Tables:
    """The tables of levels of a tree, which lie one after another."""

    def __init__(self, tree: Tree) -> None:
        self._slot = tree.level_slot
        start = np.concatenate([tree.level_start, tree.surrogate_level_start])
        self._start = np.unique(start[start >= 0])
        self._n = np.diff(np.append(self._start, len(self._slot)))

    def moved(self, start: HostArray, begin: int) -> tuple[HostArray, HostArray]:
        """Where some tables begin once they follow one another from `begin` on, and their slots."""
        has_table = start >= 0
        n = self._n[np.searchsorted(self._start, start[has_table])]
        moved = np.full(len(start), -1, np.int64)
        moved[has_table] = begin + begins(n)
        return moved, self._slot[spread_out(start[has_table], n)]


def summed_up(tree: Tree, at_ends: HostArray) -> HostArray:
    """What each node has of itself and of all nodes below it; (nodes,) or (nodes, columns)."""
    total = at_ends.copy()
    parent = tree.parent
    for begin, end in reversed(tree.levels()[1:]):
        np.add.at(total, parent[begin:end], total[begin:end])
    return total
