"""Nodes of a growing tree: arrays with one entry per node, and what children have from parents.

Knows numbers of nodes and sums; must not know rows or devices.
"""

from typing import Any

import numpy as np

from gputree import sampling
from gputree.dtypes import HostArray
from gputree.runs import begins


class Nodes:
    """Growing arrays, one entry per node.

    Each loop that grows trees has fields of its own beside those that children take from their
    parents: first_child, parent, depth, sums, left, and key where something is drawn.
    """

    def __init__(self, roots: dict[str, HostArray], blank: dict[str, tuple[Any, ...]]) -> None:
        """`roots` have what is known of them; of other fields all nodes have a value at first.

        Such a value comes with its dtype, and its shape where it is not a single number.
        """
        self.n_nodes = n = len(roots["sums"])
        self._blank = {name: value for name, (value, *_) in blank.items()}
        self.field = roots | {
            name: np.full((n, *shape), value, dtype)
            for name, (value, dtype, *shape) in blank.items()
        }

    def __getattr__(self, name: str) -> HostArray:
        fields = self.__dict__.get("field", {})
        if name not in fields:
            raise AttributeError(name)
        array: HostArray = fields[name][: self.n_nodes]
        return array

    def reserve(self, n_nodes: int) -> None:
        """Have room for so many nodes."""
        for name, array in self.field.items():
            if len(array) < n_nodes:
                shape = (max(n_nodes, 2 * len(array)), *array.shape[1:])
                grown = np.full(shape, self._blank.get(name, 0), array.dtype)
                grown[: len(array)] = array
                self.field[name] = grown

    def add_children(self, nodes: HostArray, n_children: HostArray) -> HostArray:
        """Make the children of some nodes, in order, and number the first ones.

        Child 0 has the sums `left` of its parent, and child 1 what remains.
        """
        begin = self.n_nodes
        first = begin + begins(n_children)
        self.n_nodes += int(n_children.sum())
        self.reserve(self.n_nodes)
        field, new = self.field, slice(begin, self.n_nodes)
        parent = np.repeat(nodes, n_children)
        field["first_child"][nodes] = first
        field["parent"][new] = parent
        field["depth"][new] = field["depth"][parent] + 1
        field["sums"][new] = field["sums"][parent] - field["left"][parent]
        field["sums"][first] = field["left"][nodes]
        if "key" in field:
            slot = np.arange(begin, self.n_nodes) - np.repeat(first, n_children)
            field["key"][new] = sampling.child_keys(field["key"][parent], slot)
        return first


def tallied_children(may_split: HostArray, n_rows: HostArray) -> tuple[HostArray, HostArray]:
    """The parents of which a child is searched, and for each the child to tally: the smaller.

    Both are given of the children, (parents, 2). The sums of the other child are those of the
    parent less those that are tallied.
    """
    parents = np.flatnonzero(may_split.any(axis=1))
    return parents, (n_rows[parents, 1] < n_rows[parents, 0]).astype(np.int64)
