"""Empty leaves: one for each level that a node has not seen, or one for all of them.

A tree has the latter. Rows that come to a node later may bring levels that it had not seen, and
these need children of their own.
"""

from dataclasses import replace

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.runs import begins
from gputree.tree.tree import Split, Tree


def with_a_leaf_a_level(tree: Tree) -> Tree:
    """The tree in which no two levels share an empty leaf."""
    is_empty = _is_empty(tree)
    if not is_empty.any():
        return tree
    owner, level = table_entries(tree)
    slot = tree.level_slot[: len(owner)].astype(np.int64)
    child = np.where(slot == STAY, 0, tree.first_child[owner] + slot)
    shares = (level >= 0) & is_empty[child]
    n_unseen = np.bincount(owner[shares], minlength=tree.n_nodes)
    empty_slot = np.full(tree.n_nodes, tree.n_children.max(), np.int64)
    empty_slot[owner[shares]] = slot[shares]
    # Unseen levels take the place of their leaf in order, and later children make room.
    before: HostArray = begins(shares)
    number: HostArray = before - before[tree.level_start[owner]]
    more = np.where((slot > empty_slot[owner]) & (slot != STAY), n_unseen[owner] - 1, 0)
    slot += np.where(shares, number, more)
    n_alike = np.where(is_empty, n_unseen[tree.parent], 1)
    n_children = tree.n_children + np.maximum(n_unseen - 1, 0)
    return _renumbered(tree, np.repeat(np.arange(tree.n_nodes), n_alike), n_children, slot)


def with_shared_leaves(tree: Tree) -> Tree:
    """The tree in which all levels that a node has not seen share a leaf."""
    is_empty = _is_empty(tree)
    parent = tree.parent
    owner_of_empty, first = np.unique(parent[is_empty], return_index=True)
    empty = np.flatnonzero(is_empty)
    if len(owner_of_empty) == len(empty):
        return tree
    is_kept = ~is_empty
    is_kept[empty[first]] = True
    n_children = np.bincount(parent[is_kept][1:], minlength=tree.n_nodes)
    # The number of kept nodes up to a child, less those up to the first of its siblings.
    place = np.cumsum(is_kept) - 1
    new_slot = np.zeros(tree.n_nodes, np.int64)
    new_slot[1:] = place[1:] - place[tree.first_child[parent[1:]]]
    stand_in = np.zeros(tree.n_nodes, np.int64)
    stand_in[owner_of_empty] = new_slot[empty[first]]
    new_slot[empty] = stand_in[parent[empty]]
    owner, _ = table_entries(tree)
    slot = tree.level_slot[: len(owner)].astype(np.int64)
    is_multiway = tree.kind[owner] == Split.MULTIWAY
    child = np.where(is_multiway, tree.first_child[owner] + slot, 0)
    slot = np.where(is_multiway, new_slot[child], slot)
    return _renumbered(tree, np.flatnonzero(is_kept), n_children, slot)


def with_largest_for_unknown(tree: Tree, which: HostArray) -> Tree:
    """The tree in which some nodes send levels that nobody has seen to what is the largest now."""
    owner, level = table_entries(tree)
    entry = np.flatnonzero((level < 0) & which[owner])
    slot = tree.level_slot.copy()
    for at, node in zip(entry.tolist(), owner[entry].tolist(), strict=True):
        first = int(tree.first_child[node])
        slot[at] = np.argmax(tree.weight[first : first + int(tree.n_children[node])])
    return replace(tree, level_slot=slot)


def _is_empty(tree: Tree) -> HostArray:
    """Leaves without rows below nodes that have a child a level."""
    is_below = np.append(False, tree.kind[tree.parent[1:]] == Split.MULTIWAY)
    return np.asarray(is_below & tree.is_leaf & (tree.weight == 0))


def table_entries(tree: Tree) -> tuple[HostArray, HostArray]:
    """The node and the level of each entry in the tables of nodes.

    The last entry of a table is of levels that nobody has seen: -1.
    """
    has_table = np.flatnonzero(tree.level_start >= 0)
    of_surrogates = tree.surrogate_level_start[tree.surrogate_level_start >= 0]
    end = of_surrogates.min(initial=len(tree.level_slot))  # tables of surrogates follow
    start = tree.level_start[has_table]
    n = np.diff(np.append(start, end))
    level = np.arange(end) - np.repeat(start, n)
    level[start + n - 1] = -1
    return np.repeat(has_table, n), level


def _renumbered(tree: Tree, node: HostArray, n_children: HostArray, slot: HostArray) -> Tree:
    """The tree of some nodes, which may come more than once, with other numbers of children."""
    arrays = {name: getattr(tree, name)[node] for name in Tree.DTYPES if name not in Tree.OTHERS}
    n = n_children[node]
    arrays["n_children"] = n
    arrays["first_child"] = np.where(n > 0, 1 + begins(n), -1)
    return replace(tree, **arrays, level_slot=np.concatenate([slot, tree.level_slot[len(slot) :]]))
