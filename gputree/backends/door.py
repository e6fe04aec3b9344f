"""The door to compiled code, which looks things up without asking whether they are there.

Files are checked when they are read (`tree.check`); here it is asked once more, and only what could
lead out of an array. Knows trees and tables; must not know where they come from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from gputree.data.table import Table
from gputree.dtypes import STAY, HostArray
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree


@dataclass(frozen=True)
class Needs:
    """What trees take for granted of a table."""

    n_features: int  # at least
    most_categories: dict[int, int]  # by feature: how many numbers of categories may be looked up


# Kept as long as the trees are, which predict many times and never change.
_NEEDS: WeakKeyDictionary[Tree | Stack, Needs] = WeakKeyDictionary()


def check_tree_walk(tree: Tree, table: Table) -> None:
    """Raise ValueError unless rows of the table can walk the tree without leaving its arrays."""
    needs = _NEEDS.get(tree)
    if needs is None:
        needs = _NEEDS[tree] = _needs(tree)
    _check_table(needs, table)


def check_walk(stack: Stack, table: Table) -> None:
    """The same for all trees of a stack."""
    needs = _NEEDS.get(stack)
    if needs is None:
        for tree, value in zip(stack.trees, stack.values, strict=True):
            if value.shape != (tree.n_nodes, stack.width):
                raise ValueError(
                    f"values of shape {value.shape} for {tree.n_nodes} nodes of a tree"
                )
        needs = _NEEDS[stack] = _joined(_needs(tree) for tree in stack.trees)
    _check_table(needs, table)


def check_outputs(stack: Stack, n_outputs: int) -> None:
    """Raise ValueError unless all that the trees add to is among so many outputs."""
    column = stack.column
    is_right = len(column) == stack.n_trees and column.min() >= 0
    if not is_right or int(column.max()) + stack.width > n_outputs:
        raise ValueError(
            f"{stack.n_trees} trees add {stack.width} values each, from outputs {column.min()} to "
            f"{column.max()} on; there are {n_outputs} outputs"
        )


def _needs(tree: Tree) -> Needs:
    names = [name for name in Tree.DTYPES if name not in Tree.OTHERS]
    if any(len(getattr(tree, name)) != tree.n_nodes for name in names):
        raise ValueError("the arrays of a tree differ in length")
    first, n = tree.first_child.astype(np.int64), tree.n_children.astype(np.int64)
    inner, missing = ~tree.is_leaf, tree.missing_slot
    # A child is numbered after its parent, so that every walk ends.
    is_below = (first > np.arange(tree.n_nodes)) & (first + n <= tree.n_nodes)
    is_right = np.where(inner, is_below & (n >= 2), (first < 0) & (n == 0))
    is_right &= ~inner | ((tree.feature >= 0) & ((missing < n) | (missing == STAY)))
    if not is_right.all():
        raise ValueError(f"node {int(is_right.argmin())} of a tree leads out of the tree")
    return Needs(_n_columns(tree), _most_categories(tree, inner))


def _n_columns(tree: Tree) -> int:
    """How many columns a table has at least."""
    directions, most = tree.directions, int(tree.feature.max(initial=-1)) + 1
    if directions is None or most <= directions.n_columns:
        return most
    n_terms, column = directions.n_terms.astype(np.int64), directions.column
    is_right = most <= directions.n_columns + len(directions)
    is_right &= len(column) == len(directions.weight) == int(n_terms.sum())
    if not (is_right and (n_terms >= 1).all() and column.min() >= 0):
        raise ValueError("the combinations of a tree are not those that its nodes test")
    return int(max(tree.read.max(), column.max())) + 1


def _most_categories(tree: Tree, inner: HostArray) -> dict[int, int]:
    by_list = np.flatnonzero(inner & (tree.category_start >= 0))
    feature, start = tree.feature[by_list], tree.category_start[by_list].astype(np.int64)
    n_entries = min(len(tree.category), len(tree.category_slot))
    is_out = start >= n_entries
    end = np.where(is_out, n_entries, start)
    end[~is_out] += tree.category[end[~is_out]]
    if (end >= n_entries).any():
        raise ValueError(f"node {by_list[(end >= n_entries).argmax()]} leads out of the lists")
    # The last entry of a list tells how many categories there are.
    most = tree.category[end].astype(np.int64) + 1
    return {each: int(most[feature == each].min()) for each in np.unique(feature).tolist()}


def _joined(every: Iterable[Needs]) -> Needs:
    n_features, most_categories = 0, dict[int, int]()
    for needs in every:
        n_features = max(n_features, needs.n_features)
        for feature, most in needs.most_categories.items():
            most_categories[feature] = min(most, most_categories.get(feature, most))
    return Needs(n_features, most_categories)


def _check_table(needs: Needs, table: Table) -> None:
    if table.n_features < needs.n_features:
        raise ValueError(f"a tree tests column {needs.n_features - 1} of {table.n_features}")
    for feature, most in needs.most_categories.items():
        categories = table.columns[feature].categories
        # One more: the number of a category that nobody has seen at fit.
        if categories is None or len(categories) + 1 > most:
            raise ValueError(f"a tree does not know all categories of column {feature}")
