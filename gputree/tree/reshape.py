"""Smaller trees from a tree: nodes left out, and tests moved up.

Trees are never changed; every function here returns a new one. Knows the arrays of a tree; must not
know why somebody wants another shape.
"""

import numpy as np

from gputree.dtypes import HostArray
from gputree.runs import begins, spread_out
from gputree.tree.categories import taken
from gputree.tree.directions import Directions
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
    own_start = np.where(is_inner, tree.category_start[node], -1)
    start, category, slot = taken(
        np.append(own_start, tree.surrogate_category_start[surrogate]),
        tree.category,
        tree.category_slot,
    )
    feature, directions = _renumbered(tree, np.where(is_inner, tree.feature[node], -1))
    own = {name: getattr(tree, name)[node] for name in STATISTICS} | statistics
    own["gain"] = np.where(is_inner, own["gain"], 0.0)
    return Tree(
        kind=np.where(is_inner, tree.kind[node], Split.LEAF),
        feature=feature,
        threshold=np.where(is_inner, tree.threshold[node], np.nan),
        missing_slot=np.where(is_inner, tree.missing_slot[node], 0),
        first_child=first_child,
        n_children=n_children,
        category_start=start[: len(node)],
        n_surrogates=n_surrogates,
        category=category,
        category_slot=slot,
        surrogate_feature=tree.surrogate_feature[surrogate],
        surrogate_threshold=tree.surrogate_threshold[surrogate],
        surrogate_slot=tree.surrogate_slot[surrogate],
        surrogate_category_start=start[len(node) :],
        surrogate_agreement=tree.surrogate_agreement[surrogate],
        directions=directions,
        **own,
    )


def _renumbered(tree: Tree, feature: HostArray) -> tuple[HostArray, Directions | None]:
    """What nodes test, with combinations numbered in their order; only those that are tested."""
    if tree.directions is None:
        return feature, None
    first = tree.directions.n_columns
    at = np.flatnonzero(feature >= first)
    kept = tree.directions.take(feature[at] - first)
    feature = feature.copy()
    feature[at] = first + np.arange(len(at))
    return feature, kept


def summed_up(tree: Tree, at_ends: HostArray) -> HostArray:
    """What each node has of itself and of all nodes below it; (nodes,) or (nodes, columns)."""
    total = at_ends.copy()
    parent = tree.parent
    for begin, end in reversed(tree.levels()[1:]):
        np.add.at(total, parent[begin:end], total[begin:end])
    return total
