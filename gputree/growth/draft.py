"""A tree while it grows: nodes in the order in which they were made, and their best splits.

Knows numbers of nodes and sums; must not know devices.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.contract import Moves
from gputree.backends.whole import CategoryLists, Whole
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, STAY, SUM, HostArray
from gputree.growth.seek import Found
from gputree.growth.surrogates import Surrogates
from gputree.nodes import Nodes
from gputree.runs import begins, owners, spread_out

UNSPLIT = -1
NOT_LISTED = -1
NOT_SUMMED = -1


@dataclass(frozen=True)
class TreeLayout:
    """The nodes of a draft that make up its tree, breadth-first."""

    node: HostArray  # (nodes,) number in the draft
    first_child: HostArray  # (nodes,) number in the tree, UNSPLIT at a leaf
    n_children: HostArray  # (nodes,) 0 at a leaf
    number: HostArray  # (nodes of the draft,) number in the tree of the node or its ancestor there


class Draft(Nodes):
    """The nodes of a tree under construction, and where each sends its codes."""

    def __init__(
        self, bins: Bins, channels: Channels, totals: HostArray, key: HostArray, n_rows: int = 0
    ) -> None:
        """`totals` are the sums of the root, (channels,), and `key` what its draws follow from.

        With several rows of sums and as many keys, there are several roots.
        """
        self.bins = bins
        self.channels = channels
        n_roots = len(key)
        roots = {
            "sums": totals.reshape(n_roots, -1).copy(),
            "key": key,
            "counted": np.full(n_roots, n_rows),
        }
        blank = {
            "depth": (0, np.int64),
            "parent": (UNSPLIT, np.int64),
            "first_child": (UNSPLIT, np.int64),
            "n_children": (2, np.int64),
            "score": (-np.inf, np.float64),
            "feature": (-1, FEATURE),
            "code": (0, np.int64),
            "next_code": (0, np.int64),
            "missing_slot": (0, SLOT),
            "left": (0, SUM, channels.n),
            "threshold": (np.nan, np.float64),
            "listed_at": (NOT_LISTED, np.int64),
            "n_listed": (0, np.int64),
            "absent": (0, SLOT),
            "children_at": (NOT_SUMMED, np.int64),
        }
        super().__init__(roots, blank)
        # Codes of categories with their slots, and sums of children, as nodes were noted.
        self._lists: list[tuple[HostArray, HostArray]] = []
        self._children: list[HostArray] = []
        self._lists_end = 0
        self._children_end = 0
        self.surrogates: list[Surrogates] = []
        self.heuristic: set[int] = set()

    @classmethod
    def of(cls, bins: Bins, channels: Channels, whole: Whole) -> "Draft":
        """A tree that a backend has grown by itself, or several in one."""
        n = whole.n_roots
        draft = cls(bins, channels, whole.sums[:n], np.zeros(n, np.uint64))
        draft.n_nodes = len(whole.feature)
        for name in ("sums", "depth", "first_child", "score", "feature", "code", "next_code"):
            draft.field[name] = getattr(whole, name)
        draft.field["counted"] = whole.n_rows
        del draft.field["left"], draft.field["key"]  # nobody makes more nodes
        draft.reserve(draft.n_nodes)
        draft.missing_slot[:] = whole.missing_slot
        if whole.threshold is not None:
            draft.threshold[:] = whole.threshold
        divided = np.flatnonzero(whole.first_child >= 0)
        draft.parent[whole.first_child[divided]] = divided
        draft.parent[whole.first_child[divided] + 1] = divided
        if whole.categories is not None:
            draft._note_lists(whole.categories)
            draft.missing_slot[whole.categories.node] = _missing_slots(draft, whole.categories)
            draft.heuristic |= whole.heuristic
        return draft

    def has_threshold(self, nodes: HostArray) -> HostArray:
        """Which of some nodes have two children that a threshold and a side for missing make."""
        is_tabled = self.children_at[nodes] != NOT_SUMMED
        return np.asarray((self.listed_at[nodes] == NOT_LISTED) & ~is_tabled)

    def n_rows(self, nodes: HostArray) -> HostArray:
        """How many rows some nodes have."""
        if self.channels.hides_rows:
            return self.counted[nodes]
        return self.channels.rows_of(self.sums[nodes])

    def recount(self, n_rows: HostArray) -> None:
        """Take in how many rows are at each node at the end, where that was not known before."""
        for depth in range(int(self.depth.max()), 0, -1):
            own = np.flatnonzero(self.depth == depth)
            np.add.at(n_rows, self.parent[own], n_rows[own])
        self.counted[:] = n_rows

    def note(self, nodes: HostArray, found: Found) -> None:
        """Remember the best splits of some nodes."""
        for name in ("score", "feature", "code", "next_code", "missing_slot", "left"):
            self.field[name][nodes] = getattr(found.splits, name)
        if found.threshold is not None:
            self.threshold[nodes] = found.threshold
        self.heuristic |= found.heuristic
        tables = found.tables
        if tables is None:
            return
        own = nodes[tables.place]
        self.n_children[own] = tables.n_children
        self._note_lists(replace(tables.categories, node=nodes[tables.categories.node]))
        self.children_at[own] = self._children_end + begins(tables.n_children)
        self._children.append(tables.sums)
        self._children_end += len(tables.sums)

    def _note_lists(self, lists: CategoryLists) -> None:
        self.listed_at[lists.node] = self._lists_end + begins(lists.n)
        self.n_listed[lists.node], self.absent[lists.node] = lists.n, lists.absent
        self._lists.append((lists.code, lists.slot))
        self._lists_end += len(lists.code)

    def divide(self, nodes: HostArray) -> Moves:
        """Make the children of some nodes, in order, and say how their rows move."""
        n_children, begin = self.n_children[nodes], self.n_nodes
        first = self.add_children(nodes, n_children)
        summed = np.flatnonzero(self.children_at[nodes] != NOT_SUMMED)
        if summed.size:
            self._children = [np.concatenate(self._children)]
            at = spread_out(self.children_at[nodes[summed]], n_children[summed])
            self.sums[spread_out(first[summed], n_children[summed])] = self._children[0][at]
        n_rows = None
        if not self.channels.hides_rows:
            n_rows = self.channels.rows_of(self.sums[begin:])
        return self._moves(nodes, n_rows)

    def _moves(self, nodes: HostArray, n_rows: HostArray | None = None) -> Moves:
        """How rows of divided nodes move."""
        feature, first = self.feature[nodes], self.first_child[nodes]
        start = begins(self.bins.n_codes[feature])
        n_children, slots = self.n_children[nodes], self.slots(nodes)
        return Moves(nodes, feature, first, n_children, start, slots, n_rows)

    def layout(self, is_split: HostArray, root: int = 0) -> TreeLayout:
        """Number the tree whose inner nodes are given, breadth-first."""
        node = self._breadth_first(is_split, root)
        n_children = np.where(is_split[node], self.n_children[node], 0)
        first_child = np.where(is_split[node], 1 + begins(n_children), UNSPLIT)
        number = np.full(self.n_nodes, UNSPLIT)
        number[node] = np.arange(len(node))
        # Nodes below a leaf have its number; other roots, and what is below them, have none.
        while (below := np.flatnonzero(self._lacks(number))).size:
            number[below] = number[self.parent[below]]
        return TreeLayout(node, first_child, n_children, number)

    def _breadth_first(self, is_split: HostArray, root: int) -> HostArray:
        """The nodes of the tree: the root, then the children of each in their order."""
        if self.n_nodes - 1 == int(self.n_children[is_split].sum()):
            # All nodes: most growth makes those of a depth from left to right.
            node = np.argsort(self.depth, kind="stable")
            inner = node[is_split[node]]
            below = spread_out(self.first_child[inner], self.n_children[inner])
            if np.array_equal(below, node[1:]):
                return node
        order = [np.array([root])]
        while (inner := order[-1][is_split[order[-1]]]).size:
            order.append(spread_out(self.first_child[inner], self.n_children[inner]))
        return np.concatenate(order)

    def _lacks(self, number: HostArray) -> HostArray:
        """Which nodes have no number, and a parent that has one."""
        return np.asarray((number < 0) & (self.parent >= 0) & (number[self.parent] >= 0))

    def moves(self, layout: TreeLayout) -> Iterator[Moves]:
        """How rows move that go down the finished tree, one depth after another."""
        begin, end = 0, 1
        while (inner := begin + np.flatnonzero(layout.n_children[begin:end])).size:
            moves = self._moves(layout.node[inner])
            yield moves
            begin, end = end, end + int(moves.n_children.sum())

    def slots(self, nodes: HostArray) -> HostArray:
        """The child of every code of the tested features, node by node."""
        feature, n_lower = self.feature[nodes], self.code[nodes] + 1
        n_values, n_codes = self.bins.n_values[feature], self.bins.n_codes[feature]
        # Codes up to the split go to child 0, others to child 1, and the last, if it stands for
        # missing values, where these go.
        slot = np.tile(np.array([0, 1, 0], SLOT), (len(nodes), 1))
        slot[:, 2] = self.missing_slot[nodes]
        n_alike = np.stack([n_lower, n_values - n_lower, n_codes - n_values], axis=1)
        listed = np.flatnonzero(self.listed_at[nodes] != NOT_LISTED)
        n_alike[listed] = np.stack([n_codes, 0 * n_codes, 0 * n_codes], axis=1)[listed]
        slot[listed, 0] = self.absent[nodes[listed]]
        table = np.repeat(slot.ravel(), n_alike.ravel())
        if listed.size:
            self._put_listed(table, nodes[listed], begins(n_codes)[listed])
        return table

    def lists(self, nodes: HostArray) -> CategoryLists:
        """Where some nodes that test categories send them, without the code of missing values."""
        self._lists = [_joined(self._lists)]
        code, slot = self._lists[0]
        n = self.n_listed[nodes]
        at, owner = spread_out(self.listed_at[nodes], n), owners(n)
        is_value = code[at] < self.bins.n_values[self.feature[nodes]][owner]
        at, owner = at[is_value], owner[is_value]
        n = np.bincount(owner, minlength=len(nodes))
        return CategoryLists(nodes, n, self.absent[nodes], code[at], slot[at])

    def _put_listed(self, table: HostArray, nodes: HostArray, start: HostArray) -> None:
        """Write the slots of listed codes to the tables of nodes, which begin at `start`."""
        self._lists = [_joined(self._lists)]
        code, slot = self._lists[0]
        n = self.n_listed[nodes]
        at = spread_out(self.listed_at[nodes], n)
        table[np.repeat(start, n) + code[at]] = slot[at]


def _joined(lists: list[tuple[HostArray, HostArray]]) -> tuple[HostArray, HostArray]:
    """Codes and slots of all lists."""
    if len(lists) == 1:
        return lists[0]
    code, slot = zip(*lists, strict=True)
    return np.concatenate(code), np.concatenate(slot)


def _missing_slots(draft: Draft, lists: CategoryLists) -> HostArray:
    """Where nodes send the code of missing values, STAY where their features have none."""
    n_values, n_codes = (
        number[draft.feature[lists.node]] for number in (draft.bins.n_values, draft.bins.n_codes)
    )
    slot = np.where(n_codes > n_values, lists.absent, SLOT(STAY))
    owner = owners(lists.n)
    is_missing = lists.code >= n_values[owner]
    slot[owner[is_missing]] = lists.slot[is_missing]
    return slot
