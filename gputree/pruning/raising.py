"""Pruning in which the largest branch of a node may take its place.

All rows of the node then go through that branch, and the node is pruned again. Nodes of a depth are
judged at once, from the deepest on.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.formulas import HOST
from gputree.pruning.empty import (
    table_entries,
    with_a_leaf_per_category,
    with_largest_for_unknown,
    with_shared_leaves,
)
from gputree.pruning.line import Line
from gputree.pruning.parts import Course, Parts, distribution
from gputree.runs import begins, spread_out
from gputree.shares import fine_weights
from gputree.tree.reshape import reshaped
from gputree.tree.tree import Tree
from gputree.tree.walk import Read, Walk

Estimate = Callable[[HostArray], HostArray]  # the errors of leaves, by their class weights

FEW = 100  # sorting is faster than a look at all nodes if there are so many to a number sorted
TIE = 1e-6  # branches whose weights are not further apart are equally large


class Raising:
    """A tree that is being pruned; its nodes keep their numbers until it is done."""

    def __init__(
        self,
        tree: Tree,
        read: Read,
        label: HostArray,
        estimate: Estimate,
        slack: float,
        walk: Walk | None = None,
    ) -> None:
        self._tree = with_a_leaf_per_category(tree)
        self._course = Course(self._tree, read, walk)
        self._label, self._estimate, self._slack = label, estimate, slack
        n_nodes = self._tree.n_nodes
        self._rank = _ranks(self._tree)
        # Weights are whole numbers of 2**-shift.
        self._shift = 0
        self._counts = np.zeros((n_nodes, tree.value.shape[1]))
        self._whole = self._counts.copy()  # of rows that were never divided, here or below
        self._standing = np.zeros(n_nodes)  # the weight of these
        self._n_rows = np.zeros(n_nodes, np.int64)
        self._below = np.zeros(n_nodes)  # the estimated errors of a subtree
        self._place = np.zeros(n_nodes, np.int64)  # of a node among those counted at once
        self._is_touched = np.ones(n_nodes, bool)  # has other rows than when it was judged
        self._is_new = np.zeros(n_nodes, bool)  # has other rows, or another test, than it had

    def pruned(self, weight: HostArray, impurity: str) -> Tree:
        """The pruned tree."""
        root = np.zeros(1, np.int64)
        whole, self._shift = fine_weights(weight)
        self._line = Line(self._tree, self._sent_down(root, Parts.of(whole)))
        self._prune(root)
        return self._finished(impurity)

    # Rows

    def _sent_down(self, node: HostArray, parts: Parts) -> Parts:
        """The parts of leaves below some nodes, all of which count what passes them."""
        leaf = self._course.leaves(parts) if parts.is_whole.all() else None
        if leaf is None:
            return self._divided(parts)
        parts = replace(parts, node=leaf)
        leaf = self._compact(leaf)
        self._counts[leaf] = self._counts_at(leaf, parts)
        self._n_rows[leaf] = np.bincount(self._place[parts.node], minlength=len(leaf))
        self._set_whole(leaf, self._counts[leaf])
        for level in reversed(self._course.levels(node)):
            inner = level[~self._course.is_leaf(level)]
            if inner.size:
                self._counts[inner] = self._sum_of_children(inner, self._counts)
                self._n_rows[inner] = self._sum_of_children(inner, self._n_rows)
        return parts

    def _divided(self, parts: Parts) -> Parts:
        """The same a level at a time, where rows are divided as others go."""
        ends = []
        while len(parts):
            node = self._compact(parts.node)
            self._counts[node] = self._counts_at(node, parts)
            self._n_rows[node] = np.bincount(self._place[parts.node], minlength=len(node))
            parts, ended = self._moved_on(parts)
            ends.append(ended)
            leaf = self._compact(ended.node)
            self._set_whole(leaf, self._counts_at(leaf, ended.among(ended.is_whole)))
        return Parts.joined(ends)

    def _moved_on(self, parts: Parts, standing: HostArray | None = None) -> tuple[Parts, Parts]:
        """The parts of inner nodes, a step further, and those of leaves."""
        is_end = self._course.is_leaf(parts.node)
        ended, parts = parts.among(is_end), parts.among(~is_end)
        return self._course.step(parts, standing) if len(parts) else parts, ended

    def _arrived(self, parts: Parts) -> Parts:
        """Parts of leaves, where nobody counts what passes."""
        leaf = self._course.leaves(parts)
        if leaf is not None:
            return replace(parts, node=leaf)
        ends = []
        while len(parts):
            parts, ended = self._moved_on(parts, self._standing)
            ends.append(ended)
        return Parts.joined(ends)

    def _counts_at(self, node: HostArray, parts: Parts) -> HostArray:
        """The class weights of nodes whose places are noted."""
        local = replace(parts, node=self._place[parts.node])
        return distribution(local, self._label, len(node), self._counts.shape[1])

    def _compact(self, node: HostArray) -> HostArray:
        """The different nodes among some, with their places noted."""
        if len(node) < len(self._place) // FEW:
            different = np.unique(node)
        else:
            is_there = np.zeros(len(self._place), bool)
            is_there[node] = True
            different = np.flatnonzero(is_there)
        self._place[different] = np.arange(len(different))
        return different

    # Pruning

    def _prune(self, roots: HostArray) -> None:
        """Prune the subtrees of some nodes."""
        for nodes in reversed(self._course.levels(roots)):
            # What has the rows it had is settled.
            level = nodes[self._is_touched[nodes]]
            is_leaf = self._course.is_leaf(level)
            leaf = level[is_leaf]
            self._below[leaf] = self._errors(self._counts[leaf])
            self._judge(level[~is_leaf])

    def _judge(self, node: HostArray) -> None:
        """Settle some nodes whose children are settled."""
        while node.size:
            below = self._sum_of_children(node, self._below)
            # Rows that the node or one below it has divided are whole in no child.
            self._set_whole(node, self._sum_of_children(node, self._whole))
            as_leaf = self._errors(self._counts[node])
            largest = self._largest(node)
            as_branch = self._as_branch(node, largest, as_leaf)
            becomes_leaf = (as_leaf <= below + self._slack) & (as_leaf <= as_branch + self._slack)
            is_raised = ~becomes_leaf & (as_branch <= below + self._slack)
            self._below[node] = np.where(becomes_leaf, as_leaf, below)
            self._course.make_leaves(node[becomes_leaf])
            self._line.make_leaves(node[becomes_leaf])
            node = self._raise(node[is_raised], largest[is_raised])

    def _errors(self, counts: HostArray) -> HostArray:
        """The estimated errors of leaves of these class weights."""
        return self._estimate(np.ldexp(counts, -self._shift))

    def _sum_of_children(self, node: HostArray, what: HostArray) -> HostArray:
        n = self._course.n_children(node)
        return np.add.reduceat(what[self._course.children(node)], begins(n))

    def _set_whole(self, node: HostArray, counts: HostArray) -> None:
        self._whole[node], self._standing[node] = counts, counts.sum(axis=1)

    def _largest(self, node: HostArray) -> HostArray:
        """The child of most weight, the last one of equals."""
        n = self._course.n_children(node)
        child = self._course.children(node)
        weight = np.ldexp(self._counts[child].sum(axis=1), -self._shift)
        most = np.maximum.reduceat(weight, begins(n))
        rank = np.where(weight >= np.repeat(most, n) - TIE, self._rank[child], -1)
        order = np.lexsort((rank, np.repeat(np.arange(len(node)), n)))
        return child[order[np.cumsum(n) - 1]]

    def _as_branch(self, node: HostArray, largest: HostArray, as_leaf: HostArray) -> HostArray:
        """The estimated errors of each node if all of its rows went to its largest child."""
        errors = as_leaf.copy()
        # A child that is a leaf would be the leaf that the node can become.
        is_open = ~self._course.is_leaf(largest)
        node, largest = node[is_open], largest[is_open]
        if node.size:
            errors[is_open] = self._with_others(node, largest)
        return errors

    def _with_others(self, node: HostArray, largest: HostArray) -> HostArray:
        """The estimated errors of branches when the other rows of their nodes join theirs.

        Whole rows of a branch stay where they are: most rows are spared the way.
        """
        moving, left = self._leaving(node, largest)
        arrived = self._arrived(moving)
        leaf = self._compact(np.concatenate([arrived.node, left]))
        counts = self._whole[leaf] + self._counts_at(leaf, arrived)
        errors = self._below[largest]
        first = self._line.first
        branch = np.searchsorted(first[largest], first[leaf], side="right") - 1
        np.add.at(errors, branch, self._errors(counts) - self._below[leaf])
        return errors

    def _leaving(self, node: HostArray, largest: HostArray) -> tuple[Parts, HostArray]:
        """The parts that would come to the largest children, and the leaves of these they leave."""
        line = self._line
        (begin, end), (own_begin, own_end) = line.runs(node), line.runs(largest)
        own, n_own = line.divided(own_begin, own_end)
        n = np.concatenate([own_begin - begin, end - own_end])
        at = np.append(spread_out(np.concatenate([begin, own_end]), n), own)
        target = np.repeat(np.tile(largest, 3), np.append(n, n_own))
        return replace(line.parts.among(at), node=target).merged(), line.parts.node[own]

    def _raise(self, node: HostArray, branch: HostArray) -> HostArray:
        """Put branches in the place of their nodes and prune below these."""
        if node.size:
            self._course.move_up(node, branch)
            self._send_again(node)
            self._prune(self._course.children(node))
        return node

    def _send_again(self, node: HostArray) -> None:
        """Send the parts of some nodes down, whose tests are others now."""
        every = np.concatenate(self._course.levels(node))
        before = self._counts[every]
        self._counts[every] = 0.0
        self._n_rows[every] = 0
        leaf = every[self._course.is_leaf(every)]
        self._set_whole(leaf, self._counts[leaf])
        begin, end = self._line.runs(node)
        at = spread_out(begin, end - begin)
        own = replace(self._line.parts.among(at), node=np.repeat(node, end - begin))
        self._line.renew(node, self._sent_down(node, own.merged()))
        self._is_touched[every] = (self._counts[every] != before).any(axis=1)
        self._is_new[every] = True

    # The result

    def _finished(self, impurity: str) -> Tree:
        order = np.concatenate(self._course.levels(np.zeros(1, np.int64)))
        is_new = self._is_new[order]
        own = self._statistics(order, impurity)
        for name, found in own.items():
            old = getattr(self._tree, name)[order]
            own[name] = np.where(is_new[:, None] if found.ndim > 1 else is_new, found, old)
        is_leaf = self._course.is_leaf(order)
        tree = reshaped(self._tree, self._course.test(order), is_leaf, **own)
        return with_shared_leaves(with_largest_for_unknown(tree, is_new))

    def _statistics(self, order: HostArray, impurity: str) -> dict[str, HostArray]:
        """What nodes have by their rows; `order` holds all nodes, breadth-first."""
        n_children = self._course.n_children(order)
        parent = np.append(0, np.repeat(np.arange(len(order)), n_children))
        counts = np.ldexp(self._counts[order], -self._shift)
        weight = counts.sum(axis=1)
        # An empty leaf answers as its parent does.
        value = np.where(weight[:, None] > 0, counts, counts[parent])
        measure = getattr(HOST, impurity)(value.T, value.sum(axis=1), value.shape[1])
        inside = np.bincount(parent[1:], (weight * measure)[1:], minlength=len(order))
        return {
            "gain": np.maximum(measure - inside / np.where(weight > 0, weight, 1.0), 0.0),
            "impurity": measure,
            "n_rows": self._n_rows[order],
            "weight": weight,
            "value": value,
        }


def _ranks(tree: Tree) -> HostArray:
    """The place of each child among its siblings: by its first category, where it has some."""
    parent = tree.parent
    rank = np.arange(tree.n_nodes) - np.append(0, tree.first_child[parent[1:]])
    owner, category, slot = table_entries(tree)
    own = np.flatnonzero((category >= 0) & (slot != STAY))[::-1]
    rank[tree.first_child[owner[own]] + slot[own]] = category[own]
    return rank
