"""A tree while it grows: nodes in the order in which they were made, and their best splits.

Knows numbers of nodes and sums; must not know devices.
"""

from dataclasses import dataclass

import numpy as np

from gputree import sampling
from gputree.backends.contract import Moves, Splits
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, SUM, HostArray

UNSPLIT = -1


@dataclass(frozen=True)
class Layout:
    """The nodes of a draft that make up its tree, breadth-first."""

    node: HostArray  # (nodes,) number in the draft
    first_child: HostArray  # (nodes,) number in the tree, UNSPLIT at a leaf
    place: HostArray  # (nodes of the draft,) number in the tree of the node or its ancestor there


class Draft:
    """Growing arrays, one entry a node."""

    def __init__(self, bins: Bins, channels: Channels, totals: HostArray, seed: int) -> None:
        self.bins = bins
        self.channels = channels
        self.n_nodes = 1
        self._fields: dict[str, HostArray] = {
            "sums": totals[None, :].copy(),
            "key": sampling.root_key(seed),
            "depth": np.zeros(1, np.int64),
            "parent": np.full(1, UNSPLIT),
            "first_child": np.full(1, UNSPLIT),
            "score": np.full(1, -np.inf),
            "feature": np.full(1, -1, FEATURE),
            "code": np.zeros(1, np.int64),
            "next_code": np.zeros(1, np.int64),
            "missing_slot": np.zeros(1, SLOT),
            "left": np.zeros((1, channels.n), SUM),
        }

    def __getattr__(self, name: str) -> HostArray:
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(name)
        array: HostArray = fields[name][: self.n_nodes]
        return array

    def note(self, nodes: HostArray, splits: Splits) -> None:
        """Remember the best splits of some nodes."""
        for name in ("score", "feature", "code", "next_code", "missing_slot", "left"):
            self._fields[name][nodes] = getattr(splits, name)

    def divide(self, nodes: HostArray) -> Moves:
        """Make the children of some nodes, in order, and say how their rows move."""
        first = self.n_nodes + 2 * np.arange(len(nodes))
        self._reserve(self.n_nodes + 2 * len(nodes))
        self.n_nodes += 2 * len(nodes)
        self.first_child[nodes] = first
        left, key, depth = self.left[nodes], self.key[nodes], self.depth[nodes] + 1
        for slot, sums in enumerate((left, self.sums[nodes] - left)):
            self.sums[first + slot] = sums
            self.key[first + slot] = sampling.child_keys(key, slot)
            self.depth[first + slot] = depth
            self.parent[first + slot] = nodes
        return self._moves(nodes, first)

    def layout(self, is_split: HostArray) -> Layout:
        """Number the tree whose inner nodes are given, breadth-first."""
        order = [np.zeros(1, np.int64)]
        while (inner := order[-1][is_split[order[-1]]]).size:
            first = self.first_child[inner]
            order.append(np.stack([first, first + 1], axis=1).ravel())
        node = np.concatenate(order)
        first_child = np.full(len(node), UNSPLIT)
        inner = is_split[node]
        first_child[inner] = 1 + 2 * np.arange(inner.sum())
        place = np.full(self.n_nodes, UNSPLIT)
        place[node] = np.arange(len(node))
        # A parent has a lower number than its children, so one sweep hands places down.
        for number in np.flatnonzero(place < 0).tolist():
            place[number] = place[self.parent[number]]
        return Layout(node, first_child, place)

    def _moves(self, nodes: HostArray, first_child: HostArray) -> Moves:
        feature, n_lower = self.feature[nodes], self.code[nodes] + 1
        n_values, n_codes = self.bins.n_values[feature], self.bins.n_codes[feature]
        # Codes up to the split go to child 0, others to child 1, and the last, if it stands for
        # missing values, where these go.
        slot = np.tile(np.array([0, 1, 0], SLOT), (len(nodes), 1))
        slot[:, 2] = self.missing_slot[nodes]
        n_alike = np.stack([n_lower, n_values - n_lower, n_codes - n_values], axis=1)
        table = np.repeat(slot.ravel(), n_alike.ravel())
        n_left = self.channels.rows_of(self.left[nodes])
        return Moves(nodes, feature, first_child, np.cumsum(n_codes) - n_codes, table, n_left)

    def _reserve(self, n_nodes: int) -> None:
        for name, array in self._fields.items():
            if len(array) < n_nodes:
                grown = np.zeros((max(n_nodes, 2 * len(array)), *array.shape[1:]), array.dtype)
                grown[: len(array)] = array
                if name in ("first_child", "parent", "feature"):
                    grown[len(array) :] = UNSPLIT
                elif name == "score":
                    grown[len(array) :] = -np.inf
                self._fields[name] = grown
