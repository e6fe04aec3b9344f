"""Many trees one after another, with what each node adds to a prediction.

Knows the arrays of trees; must not know how the trees were made nor what their sum means.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.runs import begins
from gputree.tree.categories import Lists, quick
from gputree.tree.store import whole
from gputree.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Stack:
    """Trees whose values add up: a row adds `value` of the node where it ends, tree after tree.

    Nodes are numbered through all trees: node `i` of tree `t` is `root[t] + i`. The values of tree
    `t` are added to the outputs from `column[t]` on.
    """

    trees: tuple[Tree, ...]
    values: tuple[HostArray, ...]  # (nodes, width) float64 for each tree
    column: HostArray  # (trees,) the first output that a tree adds to
    n_outputs: int

    @classmethod
    def of(
        cls,
        trees: Sequence[Tree],
        values: Sequence[HostArray] | None = None,
        column: Sequence[int] | HostArray | None = None,
        n_outputs: int | None = None,
    ) -> Self:
        """Stack trees with values, (nodes,) or (nodes, width) for each; their own by default.

        Examples
        --------
        >>> from gputree import DecisionTreeRegressor
        >>> from gputree.tree.stack import Stack
        >>> tree = DecisionTreeRegressor().fit([[0], [1]], [3.0, 5.0]).nodes_
        >>> Stack.of([tree, tree], column=[0, 1]).value.tolist()
        [[4.0], [3.0], [5.0], [4.0], [3.0], [5.0]]
        """
        if not trees:
            raise ValueError("trees: a stack has at least one")
        given = [tree.value for tree in trees] if values is None else list(values)
        parts = [np.asarray(own, np.float64).reshape(len(own), -1) for own in given]
        for tree, own in zip(trees, parts, strict=True):
            if len(own) != tree.n_nodes:
                raise ValueError(f"values: {len(own)} of them for a tree of {tree.n_nodes} nodes")
        width = parts[0].shape[1]
        if any(own.shape[1] != width for own in parts):
            raise ValueError("values: those of all trees have the same width")
        first = np.zeros(len(trees), np.int64) if column is None else np.array(column, np.int64)
        if len(first) != len(trees):
            raise ValueError(f"column: {len(first)} numbers for {len(trees)} trees")
        n_needed = int(first.max()) + width
        n_outputs = n_needed if n_outputs is None else n_outputs
        if first.min() < 0 or n_needed > n_outputs:
            raise ValueError(f"column: trees add to outputs 0..{n_needed - 1} of {n_outputs}")
        for array in (*parts, first):
            array.setflags(write=False)
        return cls(tuple(trees), tuple(parts), first, n_outputs)

    def part(self, first: int, last: int) -> "Stack":
        """Some neighbouring trees, with nodes numbered anew."""
        own = slice(first, last)
        return Stack(self.trees[own], self.values[own], self.column[own], self.n_outputs)

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    @property
    def width(self) -> int:
        return int(self.values[0].shape[1])

    @cached_property
    def value(self) -> HostArray:
        """The values of all nodes, (nodes of all trees, width)."""
        value = whole(self.values)
        value.setflags(write=False)
        return value

    @cached_property
    def tested(self) -> HostArray:
        """The features that nodes test, alone or in combinations, ascending."""
        return np.unique(np.concatenate([tree.read for tree in self.trees]))

    @cached_property
    def root(self) -> HostArray:
        """(trees,) the number of each root."""
        return begins(np.array([tree.n_nodes for tree in self.trees], np.int64))

    @property
    def category_start(self) -> HostArray:
        """(nodes,) where the list of each node begins in `category` and `category_slot`."""
        before = begins(np.array([len(tree.category_slot) for tree in self.trees], np.int64))
        start = [
            np.where(tree.category_start >= 0, tree.category_start + first, -1)
            for tree, first in zip(self.trees, before, strict=True)
        ]
        return np.concatenate(start).astype(np.int64)

    @property
    def quick_lists(self) -> Lists:
        """Where categories go, for walks in which lists may have become tables."""
        return quick(self.category_start, self.joined("category"), self.joined("category_slot"))

    @property
    def first_child(self) -> HostArray:
        """(nodes,) the number of each node's first child, -1 at a leaf."""
        child = [
            np.where(tree.first_child >= 0, tree.first_child + first, -1)
            for tree, first in zip(self.trees, self.root, strict=True)
        ]
        return np.concatenate(child).astype(np.int64)

    def joined(self, name: str) -> HostArray:
        """An array of all trees, one after another."""
        return whole([getattr(tree, name) for tree in self.trees])

    def values_of(self, tree: int) -> HostArray:
        """The values of the nodes of one tree, (nodes, width)."""
        return self.values[tree]

    @cached_property
    def combines(self) -> bool:
        """Whether a node tests a combination of columns."""
        return any(tree.directions is not None and len(tree.directions) for tree in self.trees)

    @cached_property
    def may_stop(self) -> bool:
        """Whether a row may need more than the tests of the nodes to get to a leaf."""
        return any(
            bool(tree.n_surrogates.any() or (tree.missing_slot[~tree.is_leaf] == STAY).any())
            for tree in self.trees
        )
