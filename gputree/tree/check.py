"""Whether arrays that were read from somewhere can be a tree at all.

Knows the arrays of a tree; must not know where they came from, nor what the tree predicts.
"""

from dataclasses import fields

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.store import damaged
from gputree.tree.tree import Split, Tree

CHILDREN = 2  # of every inner node


def check_tree(tree: Tree, n_features: int) -> None:
    """Raise ModelFileError unless `tree` can be walked safely by rows of `n_features` values."""
    check_shapes(tree)
    check_kinds(tree, n_features)
    check_numbering(tree)
    check_numbers(tree)


def check_shapes(tree: Tree) -> None:
    for field in fields(tree):
        shape = getattr(tree, field.name).shape
        n_dimensions = 2 if field.name == "value" else 1
        if len(shape) != n_dimensions:
            raise damaged(f"array {field.name!r} has {len(shape)} dimensions, not {n_dimensions}")
    lengths = {field.name: len(getattr(tree, field.name)) for field in fields(tree)}
    if len(set(lengths.values())) > 1:
        raise damaged(f"the arrays of a tree differ in length: {lengths}")
    if not tree.n_nodes:
        raise damaged("a tree has no nodes")
    if not tree.value.shape[1]:
        raise damaged("the nodes of a tree have no value")


def refuse(is_bad: HostArray, what: str) -> None:
    """Raise an error that names the first bad node, if there is one."""
    if is_bad.any():
        raise damaged(f"node {int(is_bad.argmax())} of a tree {what}")


def check_kinds(tree: Tree, n_features: int) -> None:
    leaf = tree.is_leaf
    refuse(~np.isin(tree.kind, [int(kind) for kind in Split]), "has an unknown kind")
    refuse(leaf & (tree.feature != -1), "is a leaf and tests a feature")
    refuse(leaf & (tree.first_child != -1), "is a leaf and has children")
    is_known = (tree.feature >= 0) & (tree.feature < n_features)
    refuse(~leaf & ~is_known, f"tests a feature outside 0..{n_features - 1}")
    refuse(~leaf & np.isnan(tree.threshold), "has no threshold")
    refuse(tree.missing_slot >= CHILDREN, "sends missing values to a child that it has not")


def check_numbering(tree: Tree) -> None:
    """The children of the n-th inner node are numbered 2n + 1 and 2n + 2."""
    inner = np.flatnonzero(~tree.is_leaf)
    if tree.n_nodes != 1 + CHILDREN * inner.size:
        raise damaged(
            f"a tree has {tree.n_nodes} nodes; {inner.size} nodes with {CHILDREN} children each "
            f"make {1 + CHILDREN * inner.size}"
        )
    expected = np.full(tree.n_nodes, -1, np.int64)
    expected[inner] = 1 + CHILDREN * np.arange(inner.size)
    refuse(tree.first_child != expected, "has children that are not numbered breadth-first")
    # The numbers alone would allow a leaf as root, and below it nodes that lead to themselves.
    is_above = expected > np.arange(tree.n_nodes)
    refuse(~tree.is_leaf & ~is_above, "is numbered after its own children")


def check_numbers(tree: Tree) -> None:
    for name in ("gain", "impurity", "weight", "value"):
        is_finite = np.isfinite(getattr(tree, name)).reshape(tree.n_nodes, -1).all(axis=1)
        refuse(~is_finite, f"has a {name} that is not finite")
    refuse(tree.weight < 0, "has a negative weight")
    refuse(tree.n_rows < 0, "has a negative number of rows")
