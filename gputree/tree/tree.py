"""A finished tree as a struct of flat, read-only arrays.

Nodes are numbered breadth-first: the root is 0, the children of a node are consecutive, and
children of earlier nodes come first. So equal trees have equal arrays. Knows no estimators.
"""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray


class Split(IntEnum):
    """How a node sends its rows to its children."""

    LEAF = 0
    THRESHOLD = 1  # value <= threshold goes to child 0, a larger one to child 1


@dataclass(frozen=True, eq=False)
class Tree:
    """One decision tree; row `i` of every array describes node `i`."""

    kind: HostArray  # (nodes,) a Split
    feature: HostArray  # (nodes,) the column tested, -1 at a leaf
    threshold: HostArray  # (nodes,) NaN at a leaf
    missing_slot: HostArray  # (nodes,) the child that takes rows whose tested value is missing
    first_child: HostArray  # (nodes,) -1 at a leaf
    gain: HostArray  # (nodes,) impurity decrease of the split, 0 at a leaf
    impurity: HostArray  # (nodes,)
    n_rows: HostArray  # (nodes,) training rows that reached the node
    weight: HostArray  # (nodes,) their weight
    value: HostArray  # (nodes, outputs) class weights, or the means of a regression tree

    DTYPES: ClassVar[dict[str, str]] = {
        "kind": "<u1",
        "feature": "<i4",
        "threshold": "<f8",
        "missing_slot": "<u1",
        "first_child": "<i4",
        "gain": "<f8",
        "impurity": "<f8",
        "n_rows": "<i8",
        "weight": "<f8",
        "value": "<f8",
    }

    def __post_init__(self) -> None:
        for field in fields(self):
            array = np.array(getattr(self, field.name), dtype=self.DTYPES[field.name], order="C")
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)

    def __reduce__(self) -> tuple[type["Tree"], tuple[HostArray, ...]]:
        """Pickles and copies go through the constructor, which makes arrays read-only again."""
        return Tree, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_nodes(self) -> int:
        return len(self.kind)

    @property
    def is_leaf(self) -> HostArray:
        return np.asarray(self.kind == Split.LEAF)

    @property
    def n_leaves(self) -> int:
        return int(self.is_leaf.sum())

    @property
    def parent(self) -> HostArray:
        """The parent of each node, -1 for the root."""
        parent = np.full(self.n_nodes, -1, np.int32)
        inner = np.flatnonzero(~self.is_leaf)
        for slot in (0, 1):
            parent[self.first_child[inner] + slot] = inner
        return parent

    @property
    def depth(self) -> HostArray:
        """The number of splits above each node."""
        depth = np.zeros(self.n_nodes, np.int64)
        nodes = np.zeros(1, np.int64)
        for level in range(self.n_nodes):
            depth[nodes] = level
            inner = nodes[~self.is_leaf[nodes]]
            if not inner.size:
                break
            nodes = np.concatenate([self.first_child[inner], self.first_child[inner] + 1])
        return depth

    def importances(self, n_features: int) -> HostArray:
        """The share of each feature in the total weighted impurity decrease; sums to 1 or is 0."""
        inner = ~self.is_leaf
        total = np.bincount(
            self.feature[inner], weights=(self.weight * self.gain)[inner], minlength=n_features
        )
        return total / total.sum() if total.sum() > 0 else total
