"""Rows on their way down a tree, divided where a tested value is missing.

A part is a row, the node where it is, and its weight there: a whole number, so that the order of
rows changes no sum. Knows trees and columns; must not know why somebody sends rows down.
"""

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.runs import owners, spread_out
from gputree.shares import divided, fine_weights
from gputree.tree.tree import Tree
from gputree.tree.walk import Read, Walk, Ways, descend, outcomes, stopping


@dataclass(frozen=True)
class Parts:
    """Parts of rows; a row whose weight was divided has several."""

    row: HostArray
    node: HostArray
    weight: HostArray
    is_whole: HostArray  # whether the row was never divided

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, weight: HostArray) -> "Parts":
        """Rows of some whole weight at the root."""
        row = np.flatnonzero(weight)
        return cls(row, np.zeros(len(row), np.int64), weight[row], np.ones(len(row), bool))

    def among(self, which: HostArray) -> "Parts":
        return Parts(*(getattr(self, each.name)[which] for each in fields(self)))

    def put(self, at: HostArray, parts: "Parts") -> None:
        """Write other parts in the place of some."""
        for each in fields(self):
            getattr(self, each.name)[at] = getattr(parts, each.name)

    @classmethod
    def joined(cls, several: list["Parts"]) -> "Parts":
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(each, name) for each in several]) for name in names))

    def merged(self) -> "Parts":
        """One part where a row has several at a node."""
        if self.is_whole.all():
            return self
        some = np.flatnonzero(~self.is_whole)
        some = some[np.lexsort((self.row[some], self.node[some]))]
        is_first = np.append(True, np.diff(self.row[some]) != 0)
        is_first[1:] |= np.diff(self.node[some]) != 0
        first = np.flatnonzero(is_first)
        weight = np.add.reduceat(self.weight[some], first)
        merged = replace(self.among(some[first]), weight=weight)
        return Parts.joined([self.among(self.is_whole), merged])


class Course:
    """The ways down a tree, whose nodes may test what other nodes of it were made to test."""

    def __init__(self, tree: Tree, read: Read, walk: Walk | None = None) -> None:
        self.tree, self.read = tree, read
        # Walks stop where surrogates have a say.
        self.ways = Ways.of(stopping(tree))
        self._walk = partial(descend, read) if walk is None else walk
        self._first_surrogate = tree.first_surrogate()

    def is_leaf(self, node: HostArray) -> HostArray:
        return self.ways.is_leaf(node)

    def n_children(self, node: HostArray) -> HostArray:
        return self.ways.n_children(node)

    def test(self, node: HostArray) -> HostArray:
        """The nodes of the tree whose tests some nodes have."""
        return self.ways.station["test"][node]

    def children(self, node: HostArray) -> HostArray:
        """The children of some nodes, one node after another."""
        return spread_out(self.ways.first_child(node), self.ways.n_children(node))

    def levels(self, node: HostArray) -> list[HostArray]:
        """Some nodes, their children, the children of these, and so on."""
        levels = [node]
        while (below := self.children(levels[-1])).size:
            levels.append(below)
        return levels

    def make_leaves(self, node: HostArray) -> None:
        self.ways.station["n_children"][node] = 0

    def move_up(self, node: HostArray, below: HostArray) -> None:
        """Give nodes the tests and the children of nodes below them."""
        self.ways.station[node] = self.ways.station[below]

    def leaves(self, parts: Parts) -> HostArray | None:
        """The leaves of parts of which none will be divided; None if one will be."""
        leaf = self._walk(self.ways, parts.row, parts.node)
        return leaf if self.is_leaf(leaf).all() else None

    def step(self, parts: Parts, standing: HostArray | None = None) -> Parts:
        """Parts at inner nodes, one level further down.

        `standing` is the weight at each node of rows that are there already: rows are divided in
        proportion to all others.
        """
        slot = self._slots(parts)
        known = slot != STAY
        child = self.ways.first_child(parts.node) + np.where(known, slot, 0)
        moved = replace(parts, node=child)
        if known.all():
            return moved
        moved = moved.among(known)
        return Parts.joined([moved, self._divided(parts.among(~known), moved, standing)])

    def _slots(self, parts: Parts) -> HostArray:
        """The child of each part; STAY where it goes to all of them."""
        tree, test = self.tree, self.test(parts.node)
        start, low_slot = tree.category_start[test], np.zeros(len(test), np.int64)
        slot = outcomes(
            tree,
            self.read,
            parts.row,
            tree.feature[test],
            tree.threshold[test],
            low_slot,
            start,
        )
        unknown = np.flatnonzero(slot == STAY)
        turn = 0
        # Surrogates have their say one after another, then the child that takes missing values.
        while (asked := unknown[turn < tree.n_surrogates[test[unknown]]]).size:
            at = self._first_surrogate[test[asked]] + turn
            slot[asked] = outcomes(
                tree,
                self.read,
                parts.row[asked],
                tree.surrogate_feature[at],
                tree.surrogate_threshold[at],
                tree.surrogate_slot[at],
                tree.surrogate_category_start[at],
            )
            unknown = unknown[slot[unknown] == STAY]
            turn += 1
        slot[unknown] = tree.missing_slot[test[unknown]]
        return slot

    def _divided(self, staying: Parts, moved: Parts, standing: HostArray | None) -> Parts:
        """Parts that go to every child, in proportion to those that went to one."""
        node, place = np.unique(staying.node, return_inverse=True)
        n = self.n_children(node)
        child = self.children(node)
        known: HostArray = np.bincount(moved.node, moved.weight, minlength=self.tree.n_nodes)[child]
        if standing is not None:
            known = known + standing[child]
        total = np.bincount(owners(n), known)
        # Where no value is known, all children are alike.
        known = np.where(np.repeat(total > 0, n), known, 1.0)
        item, member, weight = divided(staying.weight, place, known, n)
        return Parts(staying.row[item], child[member], weight, np.zeros(len(weight), bool))


def distribution(parts: Parts, label: HostArray, n_nodes: int, n_classes: int) -> HostArray:
    """The whole weight of each class at each node; (nodes, classes)."""
    cell = parts.node * n_classes + label[parts.row]
    counts = np.bincount(cell, parts.weight, minlength=n_nodes * n_classes)
    return np.asarray(counts).reshape(n_nodes, n_classes)


def distributions(tree: Tree, read: Read, label: HostArray, weight: HostArray) -> HostArray:
    """The weight of each class that rows bring to each node on their way down."""
    course = Course(tree, read)
    whole, shift = fine_weights(weight)
    parts = Parts.of(whole)
    counts = np.zeros((tree.n_nodes, tree.value.shape[1]))
    while len(parts):
        counts += distribution(parts, label, *counts.shape)
        parts = parts.among(~course.is_leaf(parts.node))
        if len(parts):
            parts = course.step(parts)
    return np.ldexp(counts, -shift)
