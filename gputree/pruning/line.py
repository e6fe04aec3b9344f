"""Parts of rows at the leaves of a tree, from left to right, so that a node has a run of them."""

from dataclasses import fields

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.parts import Parts
from gputree.runs import spread_out
from gputree.tree.reshape import summed_up
from gputree.tree.tree import Tree


class Line:
    """The parts of all leaves in the order of these.

    Nodes are known by their places from left to right, a node before its children. A node that
    becomes a leaf, or gets the children of one of its children, keeps its place: what is below it
    lies between the places that were below it.
    """

    def __init__(self, tree: Tree, parts: Parts) -> None:
        n_below = summed_up(tree, np.ones(tree.n_nodes, np.int64))
        self.first = _places(tree, n_below)
        self._last = self.first + n_below - 1
        self.parts: Parts = parts.among(self._order(parts))
        self._place: HostArray = self.first[self.parts.node]  # of each part's leaf
        self._divided: HostArray = np.flatnonzero(~self.parts.is_whole)

    def runs(self, node: HostArray) -> tuple[HostArray, HostArray]:
        """Where the parts below each node begin and end."""
        begin = np.searchsorted(self._place, self.first[node])
        return begin, np.searchsorted(self._place, self._last[node], side="right")

    def divided(self, begin: HostArray, end: HostArray) -> tuple[HostArray, HostArray]:
        """Parts of divided rows in some runs, and how many each run has."""
        low, high = (np.searchsorted(self._divided, bound) for bound in (begin, end))
        return self._divided[spread_out(low, high - low)], high - low

    def make_leaves(self, node: HostArray) -> None:
        """Let all parts below some nodes end at these."""
        begin, end = self.runs(node)
        at = spread_out(begin, end - begin)
        leaf = np.repeat(node, end - begin)
        self.parts.node[at], self._place[at] = leaf, self.first[leaf]

    def renew(self, node: HostArray, parts: Parts) -> None:
        """Replace the parts below some nodes, none of which is below another, by others."""
        node = node[np.argsort(self.first[node])]
        begin, end = self.runs(node)
        parts = parts.among(self._order(parts))
        place = self.first[parts.node]
        at = spread_out(begin, end - begin)
        if parts.is_whole.all() and self.parts.is_whole[at].all():
            # Every node has as many as it had.
            self.parts.put(at, parts)
            self._place[at] = place
            return
        own = np.searchsorted(place, self.first[node])
        runs = list(zip(begin.tolist(), end.tolist(), own.tolist(), strict=True))
        self.parts = Parts(
            *(
                _spliced(getattr(self.parts, each.name), getattr(parts, each.name), runs)
                for each in fields(Parts)
            )
        )
        self._place = _spliced(self._place, place, runs)
        self._divided = np.flatnonzero(~self.parts.is_whole)

    def _order(self, parts: Parts) -> HostArray:
        return np.argsort(self.first[parts.node], kind="stable")


def _spliced(old: HostArray, new: HostArray, runs: list[tuple[int, int, int]]) -> HostArray:
    """An array with runs of another in the place of its own: begin, end, and begin in the other.

    Divided rows have many parts: what stays is copied as it lies, and nothing is sorted again.
    """
    pieces, done = [], 0
    for (begin, end, first), after in zip(runs, [*runs[1:], (0, 0, len(new))], strict=True):
        pieces += [old[done:begin], new[first : after[2]]]
        done = end
    return np.concatenate([*pieces, old[done:]])


def _places(tree: Tree, n_below: HostArray) -> HostArray:
    """The place of each node from left to right, by the number of nodes at and below each."""
    place = np.zeros(tree.n_nodes, np.int64)
    parent = tree.parent
    for begin, end in tree.levels()[1:]:
        over = parent[begin:end]
        before = np.cumsum(n_below[begin:end]) - n_below[begin:end]
        place[begin:end] = place[over] + 1 + before - before[tree.first_child[over] - begin]
    return place
