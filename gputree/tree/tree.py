"""A finished tree as a struct of flat, read-only arrays.

Nodes are numbered breadth-first: the root is 0, the children of a node are consecutive, and
children of earlier nodes come first. So equal trees have equal arrays. Knows no estimators.
"""

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.categories import table_of
from gputree.tree.directions import Directions
from gputree.tree.familiar import FamiliarTree


class Split(IntEnum):
    """How a node sends its rows to its children."""

    LEAF = 0
    THRESHOLD = 1  # value <= threshold goes to child 0, a larger one to child 1
    SUBSET = 2  # some categories go to child 0, others to child 1
    MULTIWAY = 3  # a child per category; categories that the node did not see share an empty one


def _read_only(array: HostArray) -> HostArray:
    array.setflags(write=False)
    return array


def _may_change(array: HostArray) -> bool:
    """Whether somebody may write to an array, or to that of which it is a part."""
    base = array.base
    is_owned = base is None or (isinstance(base, np.ndarray) and not _may_change(base))
    return bool(array.flags.writeable) or not is_owned


def nothing() -> HostArray:
    """An array that is left out."""
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Tree:
    """One decision tree; row `i` of every array of nodes describes node `i`.

    Where a node tests categories, `category_start` is where its list begins in `category` and
    `category_slot`; `gputree.tree.categories` tells what is in a list. STAY says that the node has
    not seen a category.
    """

    kind: HostArray  # (nodes,) a Split
    feature: HostArray  # (nodes,) the column tested, -1 at a leaf
    threshold: HostArray  # (nodes,) NaN where none is compared with
    missing_slot: HostArray  # (nodes,) the child that takes rows whose tested value is missing
    first_child: HostArray  # (nodes,) -1 at a leaf
    gain: HostArray  # (nodes,) impurity decrease of the split, 0 at a leaf
    impurity: HostArray  # (nodes,)
    n_rows: HostArray  # (nodes,) training rows that reached the node
    weight: HostArray  # (nodes,) their weight
    value: HostArray  # (nodes, outputs) class weights, or the means of a regression tree

    # Left out, what follows says: two children a node, thresholds only, no surrogates.

    # (nodes,) 0 at a leaf
    n_children: HostArray = field(default_factory=nothing)
    # (nodes,) -1 where no categories are tested
    category_start: HostArray = field(default_factory=nothing)
    # (nodes,) tests for rows whose tested value is missing
    n_surrogates: HostArray = field(default_factory=nothing)
    # (entries of lists,) node after node, then surrogate after surrogate
    category: HostArray = field(default_factory=nothing)
    category_slot: HostArray = field(default_factory=nothing)
    # (surrogates,) node by node, the best first
    surrogate_feature: HostArray = field(default_factory=nothing)
    # (surrogates,) NaN where categories are tested
    surrogate_threshold: HostArray = field(default_factory=nothing)
    # (surrogates,) the child of values up to the threshold
    surrogate_slot: HostArray = field(default_factory=nothing)
    # (surrogates,) -1 where no categories are tested
    surrogate_category_start: HostArray = field(default_factory=nothing)
    # (surrogates,) share that goes the same way
    surrogate_agreement: HostArray = field(default_factory=nothing)
    # Combinations of columns that nodes test as further columns; None where trees have none.
    directions: Directions | None = None

    DTYPES: ClassVar[dict[str, str]] = {
        "kind": "<u1",
        "feature": "<i4",
        "threshold": "<f8",
        "missing_slot": "<u2",
        "first_child": "<i4",
        "gain": "<f8",
        "impurity": "<f8",
        "n_rows": "<i8",
        "weight": "<f8",
        "value": "<f8",
        "n_children": "<u2",
        "category_start": "<i4",
        "n_surrogates": "<i4",
        "category": "<u2",
        "category_slot": "<u2",
        "surrogate_feature": "<i4",
        "surrogate_threshold": "<f8",
        "surrogate_slot": "<u2",
        "surrogate_category_start": "<i4",
        "surrogate_agreement": "<f8",
    }
    # Arrays that do not have one entry per node.
    OTHERS: ClassVar[tuple[str, ...]] = (
        "category",
        "category_slot",
        "surrogate_feature",
        "surrogate_threshold",
        "surrogate_slot",
        "surrogate_category_start",
        "surrogate_agreement",
    )

    def __post_init__(self) -> None:
        is_inner = np.ravel(self.kind) != Split.LEAF
        for name, default in (
            ("n_children", np.where(is_inner, 2, 0)),
            ("category_start", np.full(len(is_inner), -1)),
            ("n_surrogates", np.zeros(len(is_inner))),
        ):
            if not np.size(getattr(self, name)):
                object.__setattr__(self, name, default)
        for name, dtype in self.DTYPES.items():
            array = np.asarray(getattr(self, name))
            if array.dtype != dtype or not array.flags.c_contiguous or _may_change(array):
                array = _read_only(np.array(array, dtype=dtype, order="C"))
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[type["Tree"], tuple[HostArray | Directions | None, ...]]:
        """Pickles and copies go through the constructor, which makes arrays read-only again."""
        return Tree, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def n_nodes(self) -> int:
        return len(self.kind)

    # What predictions of a few rows would spend their time on is kept.

    @cached_property
    def is_leaf(self) -> HostArray:
        return _read_only(np.asarray(self.kind == Split.LEAF))

    @cached_property
    def tested(self) -> HostArray:
        """The features that nodes test, ascending."""
        return _read_only(np.unique(self.feature[~self.is_leaf]))

    @cached_property
    def on_tested(self) -> "Tree":
        """The same tree on tables that only have the columns that it tests."""
        feature = np.where(self.is_leaf, -1, np.searchsorted(self.tested, self.feature))
        return replace(self, feature=feature, directions=None)

    @cached_property
    def largest(self) -> HostArray:
        """The number of the largest value of each node, the first of several: its class."""
        return _read_only(self.value.argmax(axis=1))

    @property
    def n_leaves(self) -> int:
        return int(self.is_leaf.sum())

    @property
    def parent(self) -> HostArray:
        """The parent of each node, -1 for the root."""
        # Breadth-first, children are numbered in the order of their parents.
        parent = np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.n_children)
        return np.concatenate([np.full(1, -1, np.int32), parent])

    @property
    def share(self) -> HostArray:
        """What each node has of the weight of its parent's children; 1 for the root."""
        parent, weight = self.parent[1:], self.weight[1:]
        total = np.zeros(self.n_nodes)
        np.add.at(total, parent, weight)
        # Below a node without weight, nobody has a share.
        return np.append(1.0, weight / np.where(total > 0, total, 1.0)[parent])

    @property
    def depth(self) -> HostArray:
        """The number of splits above each node."""
        depth = np.zeros(self.n_nodes, np.int64)
        for level, (begin, end) in enumerate(self.levels()):
            depth[begin:end] = level
        return depth

    @property
    def max_depth(self) -> int:
        """The number of splits above the deepest leaf."""
        return len(self.levels()) - 1

    def levels(self) -> list[tuple[int, int]]:
        """The first node of each depth, and the first one after them."""
        bounds = [(0, 1)]
        while n_below := int(self.n_children[slice(*bounds[-1])].sum()):
            bounds.append((bounds[-1][1], bounds[-1][1] + n_below))
        return bounds

    @property
    def class_shares(self) -> HostArray:
        """The share of each class in each node of a tree for classes, (nodes, classes)."""
        return np.asarray(self.value / self.value.sum(axis=1, keepdims=True))

    def familiar(self, n_features: int, n_classes: int | None) -> FamiliarTree:
        """The tree as scikit-learn's trees show theirs, made once; None classes: a regression."""
        how = n_features, n_classes
        if how not in self._familiar:
            self._familiar[how] = FamiliarTree(self, *how)
        return self._familiar[how]

    @cached_property
    def _familiar(self) -> dict[tuple[int, int | None], FamiliarTree]:
        return {}

    def first_surrogate(self) -> HostArray:
        """Where the surrogates of each node begin."""
        return np.cumsum(self.n_surrogates, dtype=np.int64) - self.n_surrogates

    def slots(self, node: int, n: int) -> HostArray:
        """The children of the first `n` categories at a node that tests categories."""
        return table_of(int(self.category_start[node]), n, self.category, self.category_slot)

    def surrogate_slots(self, at: int, n: int) -> HostArray:
        """The same of a surrogate."""
        start = int(self.surrogate_category_start[at])
        return table_of(start, n, self.category, self.category_slot)

    def importances(self, n_features: int) -> HostArray:
        """The share of each feature in the total weighted impurity decrease; sums to 1 or is 0."""
        inner = ~self.is_leaf
        # Powers of two round nothing, and so divided, no product overflows.
        weight, gain = (
            np.ldexp(each[inner], -np.frexp(each.max())[1]) for each in (self.weight, self.gain)
        )
        total = np.bincount(self.feature[inner], weight * gain, minlength=n_features)
        if self.directions is not None:
            # Columns of a combination have an equal share in what it gains.
            share = total[n_features:] / self.directions.n_terms
            own = np.repeat(share, self.directions.n_terms)
            total = total[:n_features] + np.bincount(
                self.directions.column, own, minlength=n_features
            )
        return total / total.sum() if total.sum() > 0 else total
