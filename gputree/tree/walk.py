"""Rows that a node cannot send on by its own test: by surrogates, or down every branch.

Backends walk rows to a leaf, or to the node where the tested value is missing and no child takes
missing values. From there on they are walked here, on the host: they are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from gputree.dtypes import MISSING_CATEGORY, STAY, HostArray
from gputree.runs import spread_out
from gputree.tree import categories
from gputree.tree.tree import Tree

Read = Callable[[int], HostArray]  # the values or category numbers of a column, by its number
# Row, node where it ends and its share there, for each end; a row that is divided has several.
Ends: TypeAlias = tuple[HostArray, HostArray, HostArray]


# What a walk asks of a node lies together: steps of a walk are as fast as memory is.
STATION = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),
        ("category_start", np.int32),
        ("first_child", np.int32),
        ("n_children", np.int32),  # 0 at a leaf, wherever `first_child` leads
        ("missing_slot", np.int32),
        ("test", np.int32),  # the node of the tree that has this test
    ]
)


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways down a tree; they may be changed between two walks."""

    station: HostArray  # (nodes,) records of STATION
    category: HostArray  # as in `Tree`
    category_slot: HostArray

    @classmethod
    def of(cls, tree: Tree) -> "Ways":
        station = np.empty(tree.n_nodes, STATION)
        for name in STATION.names or ():
            station[name] = np.arange(tree.n_nodes) if name == "test" else getattr(tree, name)
        return cls(station, tree.category, tree.category_slot)

    def is_leaf(self, node: HostArray) -> HostArray:
        return np.asarray(self.n_children(node) == 0)

    def first_child(self, node: HostArray) -> HostArray:
        return self.station["first_child"][node].astype(np.int64)

    def n_children(self, node: HostArray) -> HostArray:
        return self.station["n_children"][node].astype(np.int64)


# Where rows that are at some nodes end: at leaves, or at nodes that cannot tell.
Walk: TypeAlias = Callable[[Ways, HostArray, HostArray], HostArray]


def descend(read: Read, ways: Ways, row: HostArray, node: HostArray) -> HostArray:
    """A `Walk` on the host, a level at a time."""
    node = node.copy()
    pending = np.flatnonzero(~ways.is_leaf(node))
    while pending.size:
        here = ways.station[node[pending]]
        slot = outcomes(
            ways,
            read,
            row[pending],
            here["feature"],
            here["threshold"],
            np.zeros(len(here), np.int64),
            here["category_start"],
        )
        slot = np.where(slot == STAY, here["missing_slot"], slot)
        moves = slot != STAY
        pending = pending[moves]
        node[pending] = here["first_child"][moves] + slot[moves]
        pending = pending[~ways.is_leaf(node[pending])]
    return node


def outcomes(
    lists: Tree | Ways,
    read: Read,
    row: HostArray,
    feature: HostArray,
    threshold: HostArray,
    low_slot: HostArray,
    start: HostArray,
) -> HostArray:
    """The children to which tests lead rows, one test a row; STAY where that is not known."""
    slot = np.empty(len(row), np.int64)
    for own in _alike(feature) if len(row) else ():
        values = read(int(feature[own[0]]))[row[own]]
        slot[own] = slots_of(lists, values, threshold[own], low_slot[own], start[own])
    return slot


def _alike(number: HostArray) -> list[HostArray]:
    """Where each number occurs."""
    # Short integers are sorted much faster.
    is_short = number.max(initial=0) < np.iinfo(np.int16).max
    number = number.astype(np.int16) if is_short else number
    order = np.argsort(number, kind="stable")
    number = number[order]
    return np.split(order, 1 + np.flatnonzero(number[1:] != number[:-1]))


def stopping(tree: Tree) -> Tree:
    """The tree for backends: rows stop where surrogates have a say before the larger child has."""
    has_say = tree.n_surrogates > 0
    if not has_say.any():
        return tree
    return replace(tree, missing_slot=np.where(has_say, STAY, tree.missing_slot))


def slots_of(
    lists: Tree | Ways,
    values: HostArray,
    threshold: HostArray,
    low_slot: HostArray,
    start: HostArray,
) -> HostArray:
    """The children to which values of one column lead; STAY where that is not known.

    One test a value: a threshold, up to which values go to `low_slot`, or a list of categories
    that begins at `start`.
    """
    if values.dtype.kind == "f":
        slot = np.where(values <= threshold, low_slot, 1 - low_slot.astype(np.int64))
        return np.where(np.isnan(values), STAY, slot)
    slot = np.where(values <= threshold, low_slot, 1 - low_slot.astype(np.int64))
    start = np.broadcast_to(start, slot.shape)
    listed = np.flatnonzero(start >= 0)
    slot[listed] = categories.slots_of(
        start[listed], values[listed], lists.category, lists.category_slot
    )
    return np.where(values == MISSING_CATEGORY, STAY, slot)


def walk_on(tree: Tree, node: HostArray, read: Read) -> HostArray:
    """Where rows end that a backend left at `node`, with the help of surrogates."""
    node = node.copy()
    pending = np.flatnonzero(tree.n_surrogates[node] > 0)
    is_primary = np.zeros(len(pending), bool)  # backends have tried the first test
    while pending.size:
        here = node[pending]
        slot = decided(tree, here, pending, is_primary, read)
        moves = (slot != STAY) & ~tree.is_leaf[here]
        node[pending[moves]] = tree.first_child[here[moves]] + slot[moves]
        pending = pending[moves]
        is_primary = np.ones(len(pending), bool)
    return node


def decided(
    tree: Tree, node: HostArray, row: HostArray, is_primary: HostArray, read: Read
) -> HostArray:
    """The child of each row at its node: by the node's own test if that is_primary, by the first
    surrogate that knows, or as all whose value is missing.
    """
    first = tree.first_surrogate()
    slot = np.full(len(node), STAY, np.int64)
    for turn in range(-1, int(tree.n_surrogates[node].max(initial=0))):
        if turn < 0:
            open_ = is_primary & ~tree.is_leaf[node]
        else:
            open_ = (slot == STAY) & (turn < tree.n_surrogates[node])
        at = np.flatnonzero(open_)
        if at.size:
            slot[at] = _test(tree, node[at], first, turn, row[at], read)
    unknown = slot == STAY
    slot[unknown] = tree.missing_slot[node[unknown]]
    return slot


def _test(
    tree: Tree, node: HostArray, first: HostArray, turn: int, row: HostArray, read: Read
) -> HostArray:
    """The outcome of a surrogate, or of the node's own test in turn -1."""
    if turn < 0:
        feature, threshold = tree.feature[node], tree.threshold[node]
        low_slot, start = np.zeros(len(node), np.int64), tree.category_start[node]
    else:
        at = first[node] + turn
        feature, threshold = tree.surrogate_feature[at], tree.surrogate_threshold[at]
        low_slot, start = tree.surrogate_slot[at], tree.surrogate_category_start[at]
    return outcomes(tree, read, row, feature, threshold, low_slot, start)


def spread(tree: Tree, node: HostArray, read: Read) -> Ends:
    """Follow every branch where a value is missing: row, leaf and share of the row, for each end.

    A branch takes the share that it has of the weight of its node.
    """
    row: HostArray = np.arange(len(node))
    share: HostArray = np.ones(len(node))
    rows: list[HostArray] = []
    leaves: list[HostArray] = []
    shares: list[HostArray] = []
    is_primary = np.zeros(len(node), bool)
    while row.size:
        is_end = tree.is_leaf[node]
        for found, part in ((rows, row), (leaves, node), (shares, share)):
            found.append(part[is_end])
        row, node, share, is_primary = (part[~is_end] for part in (row, node, share, is_primary))
        slot = np.full(len(row), STAY, np.int64)
        at = np.flatnonzero(is_primary)
        if at.size:
            none = np.zeros(0, np.int64)
            slot[at] = _test(tree, node[at], none, -1, row[at], read)
        known = slot != STAY
        parts = [(row[known], tree.first_child[node[known]] + slot[known], share[known])]
        parts.append(_branches(tree, row[~known], node[~known], share[~known]))
        row, node, share = (np.concatenate(part) for part in zip(*parts, strict=True))
        is_primary = np.ones(len(row), bool)
    every_row = np.concatenate(rows)
    order = np.argsort(every_row, kind="stable")
    return every_row[order], np.concatenate(leaves)[order], np.concatenate(shares)[order]


def _branches(
    tree: Tree, row: HostArray, node: HostArray, share: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    n = tree.n_children[node].astype(np.int64)
    child = spread_out(tree.first_child[node], n)
    part = np.repeat(share, n) * tree.share[child]
    taken = tree.weight[child] > 0
    return np.repeat(row, n)[taken], child[taken], part[taken]
