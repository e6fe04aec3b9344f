"""A tree while it grows: nodes in the order in which they were made, and their best splits.

Knows numbers of nodes and sums; must not know devices.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gputree import sampling
from gputree.backends.contract import Moves, Whole
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, SUM, HostArray
from gputree.growth.seek import Found, Tables
from gputree.growth.surrogates import Surrogates
from gputree.runs import begins, spread_out

UNSPLIT = -1
NO_TABLE = -1


@dataclass(frozen=True)
class Layout:
    """The nodes of a draft that make up its tree, breadth-first."""

    node: HostArray  # (nodes,) number in the draft
    first_child: HostArray  # (nodes,) number in the tree, UNSPLIT at a leaf
    n_children: HostArray  # (nodes,) 0 at a leaf
    place: HostArray  # (nodes of the draft,) number in the tree of the node or its ancestor there


class Draft:
    """Growing arrays, one entry a node."""

    def __init__(
        self, bins: Bins, channels: Channels, totals: HostArray, key: HostArray, n_rows: int = 0
    ) -> None:
        """`totals` are the sums of the root, (channels,), and `key` what its draws follow from.

        With several rows of sums and as many keys, there are several roots.
        """
        self.bins = bins
        self.channels = channels
        n_roots = len(key)
        self.n_nodes = n_roots
        self._fields: dict[str, HostArray] = {
            "sums": totals.reshape(n_roots, -1).copy(),
            "key": key,
            "depth": np.zeros(n_roots, np.int64),
            "parent": np.full(n_roots, UNSPLIT),
            "first_child": np.full(n_roots, UNSPLIT),
            "n_children": np.full(n_roots, 2),
            "score": np.full(n_roots, -np.inf),
            "feature": np.full(n_roots, -1, FEATURE),
            "code": np.zeros(n_roots, np.int64),
            "next_code": np.zeros(n_roots, np.int64),
            "missing_slot": np.zeros(n_roots, SLOT),
            "left": np.zeros((n_roots, channels.n), SUM),
            "threshold": np.full(n_roots, np.nan),
            "table_at": np.full(n_roots, NO_TABLE),
            "children_at": np.zeros(n_roots, np.int64),
            "counted": np.full(n_roots, n_rows),
        }
        self._tables: list[Tables] = []
        self._table_ends = 0
        self._children_ends = 0
        self.surrogates: list[Surrogates] = []
        self.heuristic: set[int] = set()

    @classmethod
    def of(cls, bins: Bins, channels: Channels, whole: Whole) -> "Draft":
        """A tree that a backend has grown by itself."""
        draft = cls(bins, channels, whole.sums[0], np.zeros(1, np.uint64))
        draft._reserve(len(whole.feature))
        draft.n_nodes = len(whole.feature)
        for name in ("sums", "depth", "first_child", "score", "feature", "code", "next_code"):
            draft._fields[name][: draft.n_nodes] = getattr(whole, name)
        draft.missing_slot[:] = whole.missing_slot
        if whole.threshold is not None:
            draft.threshold[:] = whole.threshold
        divided = np.flatnonzero(whole.first_child >= 0)
        draft.parent[whole.first_child[divided]] = divided
        draft.parent[whole.first_child[divided] + 1] = divided
        draft.counted[:] = whole.n_rows
        return draft

    def __getattr__(self, name: str) -> HostArray:
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(name)
        array: HostArray = fields[name][: self.n_nodes]
        return array

    def n_rows(self, nodes: HostArray) -> HostArray:
        """How many rows some nodes have."""
        if self.channels.hides_rows:
            return self.counted[nodes]
        return self.channels.rows_of(self.sums[nodes])

    def note(self, nodes: HostArray, found: Found) -> None:
        """Remember the best splits of some nodes."""
        for name in ("score", "feature", "code", "next_code", "missing_slot", "left"):
            self._fields[name][nodes] = getattr(found.splits, name)
        if found.threshold is not None:
            self.threshold[nodes] = found.threshold
        self.heuristic |= found.heuristic
        tables = found.tables
        if tables is None:
            return
        own = nodes[tables.place]
        self.n_children[own] = tables.n_children
        self.table_at[own] = self._table_ends + begins(tables.n_codes)
        self.children_at[own] = self._children_ends + begins(tables.n_children)
        self._tables.append(tables)
        self._table_ends += len(tables.slot)
        self._children_ends += len(tables.sums)

    def divide(self, nodes: HostArray) -> Moves:
        """Make the children of some nodes, in order, and say how their rows move."""
        n_children = self.n_children[nodes]
        first = self.n_nodes + begins(n_children)
        n_new = int(n_children.sum())
        begin = self.n_nodes
        self._reserve(begin + n_new)
        self.n_nodes += n_new
        self.first_child[nodes] = first
        parent = np.repeat(nodes, n_children)
        slot = np.arange(begin, begin + n_new) - np.repeat(first, n_children)
        new = slice(begin, begin + n_new)
        self.sums[new] = self._child_sums(nodes, parent, slot)
        self.key[new] = sampling.child_keys(self.key[parent], slot)
        self.depth[new] = self.depth[parent] + 1
        self.parent[new] = parent
        n_rows = None if self.channels.hides_rows else self.channels.rows_of(self.sums[new])
        feature = self.feature[nodes]
        n_codes = self.bins.n_codes[feature]
        start = begins(n_codes)
        return Moves(nodes, feature, first, n_children, start, self.slots(nodes), n_rows)

    def layout(self, is_split: HostArray, root: int = 0) -> Layout:
        """Number the tree whose inner nodes are given, breadth-first."""
        order = [np.array([root])]
        while (inner := order[-1][is_split[order[-1]]]).size:
            n = self.n_children[inner]
            order.append(spread_out(self.first_child[inner], n))
        node = np.concatenate(order)
        n_children = np.where(is_split[node], self.n_children[node], 0)
        first_child = np.where(is_split[node], 1 + begins(n_children), UNSPLIT)
        place = np.full(self.n_nodes, UNSPLIT)
        place[node] = np.arange(len(node))
        # Nodes below a leaf have its place; other roots, and what is below them, have none.
        while (below := np.flatnonzero(self._lacks(place))).size:
            place[below] = place[self.parent[below]]
        return Layout(node, first_child, n_children, place)

    def _lacks(self, place: HostArray) -> HostArray:
        """Which nodes have no place, and a parent that has one."""
        return np.asarray((place < 0) & (self.parent >= 0) & (place[self.parent] >= 0))

    def moves(self, layout: Layout) -> Iterator[Moves]:
        """How rows move that go down the finished tree, one depth after another."""
        begin, end = 0, 1
        while (inner := begin + np.flatnonzero(layout.n_children[begin:end])).size:
            nodes = layout.node[inner]
            n_children = self.n_children[nodes]
            feature = self.feature[nodes]
            start = begins(self.bins.n_codes[feature])
            first = self.first_child[nodes]
            yield Moves(nodes, feature, first, n_children, start, self.slots(nodes), None)
            begin, end = end, end + int(n_children.sum())

    def slots(self, nodes: HostArray) -> HostArray:
        """The child of every code of the tested features, node by node."""
        feature, n_lower = self.feature[nodes], self.code[nodes] + 1
        n_values, n_codes = self.bins.n_values[feature], self.bins.n_codes[feature]
        # Codes up to the split go to child 0, others to child 1, and the last, if it stands for
        # missing values, where these go.
        slot = np.tile(np.array([0, 1, 0], SLOT), (len(nodes), 1))
        slot[:, 2] = self.missing_slot[nodes]
        n_alike = np.stack([n_lower, n_values - n_lower, n_codes - n_values], axis=1)
        at = self.table_at[nodes]
        tabled = at != NO_TABLE
        if not tabled.any():
            return np.repeat(slot.ravel(), n_alike.ravel())
        n_alike[tabled, 0], n_alike[tabled, 1], n_alike[tabled, 2] = n_codes[tabled], 0, 0
        table = np.repeat(slot.ravel(), n_alike.ravel())
        is_tabled = np.repeat(tabled, n_codes)
        table[is_tabled] = self._all_slots()[spread_out(at[tabled], n_codes[tabled])]
        return table

    def _child_sums(self, nodes: HostArray, parent: HostArray, slot: HostArray) -> HostArray:
        left = self.left[parent]
        sums = np.where((slot == 0)[:, None], left, self.sums[parent] - left)
        tabled = self.table_at[parent] != NO_TABLE
        if tabled.any():
            at = (self.children_at[parent] + slot)[tabled]
            sums[tabled] = self._all_children()[at]
        return np.asarray(sums)

    def _all_slots(self) -> HostArray:
        self._join_tables()
        return self._tables[0].slot

    def _all_children(self) -> HostArray:
        self._join_tables()
        return self._tables[0].sums

    def _join_tables(self) -> None:
        if len(self._tables) > 1:
            joined = (
                np.concatenate([getattr(part, name) for part in self._tables])
                for name in ("place", "n_codes", "n_children", "slot", "sums")
            )
            self._tables = [Tables(*joined)]

    def _reserve(self, n_nodes: int) -> None:
        for name, array in self._fields.items():
            if len(array) < n_nodes:
                grown = np.zeros((max(n_nodes, 2 * len(array)), *array.shape[1:]), array.dtype)
                grown[: len(array)] = array
                if name in ("first_child", "parent", "feature", "table_at"):
                    grown[len(array) :] = UNSPLIT
                elif name == "n_children":
                    grown[len(array) :] = 2
                elif name == "score":
                    grown[len(array) :] = -np.inf
                elif name == "threshold":
                    grown[len(array) :] = np.nan
                self._fields[name] = grown
