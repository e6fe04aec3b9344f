"""Empty leaves: one for each category that a node has not seen, or one for all of them.

A tree has the latter. Rows that come to a node later may bring categories that it had not seen, and
these need children of their own.
"""

from dataclasses import replace

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.runs import begins, within
from gputree.tree.categories import lists_of_tables, tables_of, taken
from gputree.tree.tree import Split, Tree


def with_a_leaf_per_category(tree: Tree) -> Tree:
    """The tree in which no two categories share an empty leaf."""
    is_empty = _is_empty(tree)
    if not is_empty.any():
        return tree
    owner, category, slot = table_entries(tree)
    is_known = slot != STAY
    shares = (category >= 0) & is_known & is_empty[tree.first_child[owner] + slot * is_known]
    n_unseen = np.bincount(owner[shares], minlength=tree.n_nodes)
    empty_slot = np.full(tree.n_nodes, tree.n_children.max(), np.int64)
    empty_slot[owner[shares]] = slot[shares]
    # Unseen categories take the place of their leaf in order, and later children make room.
    is_first = np.diff(owner, prepend=-1) != 0
    before: HostArray = begins(shares)
    number = before - before[is_first][np.cumsum(is_first) - 1]
    more = np.where(is_known & (slot > empty_slot[owner]), n_unseen[owner] - 1, 0)
    slot += np.where(shares, number, more)
    n_alike = np.where(is_empty, n_unseen[tree.parent], 1)
    n_children = tree.n_children + np.maximum(n_unseen - 1, 0)
    return _renumbered(
        _with_tables(tree, owner, slot), np.repeat(np.arange(tree.n_nodes), n_alike), n_children
    )


def with_shared_leaves(tree: Tree) -> Tree:
    """The tree in which all categories that a node has not seen share a leaf."""
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
    owner, _, slot = table_entries(tree)
    is_known = slot != STAY
    slot[is_known] = new_slot[(tree.first_child[owner] + slot)[is_known]]
    return _renumbered(_with_tables(tree, owner, slot), np.flatnonzero(is_kept), n_children)


def with_largest_for_unknown(tree: Tree, which: HostArray) -> Tree:
    """The tree in which some nodes send categories nobody has seen to what is the largest now."""
    slot = tree.category_slot.copy()
    for node in np.flatnonzero(which & (tree.category_start >= 0)).tolist():
        first, start = int(tree.first_child[node]), int(tree.category_start[node])
        weight = tree.weight[first : first + int(tree.n_children[node])]
        slot[start + tree.category[start]] = np.argmax(weight)
    return replace(tree, category_slot=slot)


def _is_empty(tree: Tree) -> HostArray:
    """Leaves without rows below nodes that have a child per category."""
    is_below = np.append(False, tree.kind[tree.parent[1:]] == Split.MULTIWAY)
    return np.asarray(is_below & tree.is_leaf & (tree.weight == 0))


def table_entries(tree: Tree) -> tuple[HostArray, HostArray, HostArray]:
    """Node, category and slot, for each category of each node that has a child per category.

    After the categories of a node come those that nobody has seen: -1.
    """
    node = np.flatnonzero(tree.kind == Split.MULTIWAY)
    slot, n = tables_of(tree.category_start[node], tree.category, tree.category_slot)
    category = within(n)
    category[np.cumsum(n) - 1] = -1
    return np.repeat(node, n), category, slot.astype(np.int64)


def _with_tables(tree: Tree, owner: HostArray, slot: HostArray) -> Tree:
    """The tree with other slots in the entries of its tables."""
    node, n = np.unique(owner, return_counts=True)
    own = lists_of_tables(slot, n)
    # First as a second part of all lists, then all of them in the order of the nodes.
    start = np.append(tree.category_start, tree.surrogate_category_start).astype(np.int64)
    start[node] = own[0] + len(tree.category)
    start, category, slots = taken(
        start, np.append(tree.category, own[1]), np.append(tree.category_slot, own[2])
    )
    return replace(
        tree,
        category_start=start[: tree.n_nodes],
        surrogate_category_start=start[tree.n_nodes :],
        category=category,
        category_slot=slots,
    )


def _renumbered(tree: Tree, node: HostArray, n_children: HostArray) -> Tree:
    """The tree of some nodes, which may come more than once, with other numbers of children."""
    arrays = {name: getattr(tree, name)[node] for name in Tree.DTYPES if name not in Tree.OTHERS}
    n = n_children[node]
    arrays["n_children"] = n
    arrays["first_child"] = np.where(n > 0, 1 + begins(n), -1)
    return replace(tree, **arrays)
