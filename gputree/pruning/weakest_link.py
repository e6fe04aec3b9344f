"""Weakest links: at which cost of a leaf each node becomes one (Breiman et al. 1984, chapter 3).

With a cost alpha of each leaf, node t is as good as what is below it where

    alpha = (R(t) - R(leaves below t)) / (number of leaves below t - 1).

The weakest link, the node of the least alpha, is cut first, which changes alpha of those above it;
and so on up to the root.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import Account
from gputree.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Links:
    """When each node becomes a leaf, and what that changes.

    Leaves of the tree have alpha -inf, nodes that go before they become leaves have inf.
    """

    alpha: HostArray  # (nodes,) in the units of the risk
    rise: HostArray  # (nodes,) of the risk
    n_gone: HostArray  # (nodes,) leaves


def weakest_links(tree: Tree, account: Account) -> Links:
    """Cut all weakest links, from the leaves to the root.

    Not one by one: whatever is cut, alpha of a node above grows and nothing else changes. So a node
    of a lesser alpha than all above it, and of none greater than all below it, will be cut at that
    alpha, whatever else is cut before: all such nodes can be cut at once.
    """
    if not np.isfinite(account.as_leaf).all() or not np.isfinite(account.at_ends).all():
        raise ValueError(
            "the tree has nodes whose risk is not a finite number, so alpha cannot be "
            "computed; divide the targets by a constant and grow it again"
        )
    alpha = np.where(tree.is_leaf, -np.inf, np.inf)
    rise, n_gone = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, np.int64)
    rest = _Rest.of(tree, account)
    while rest.n_nodes > 1:
        sums = rest.summed_up()
        own_rise, n_leaves = rest.risk - sums[:, 0], sums[:, 1]
        is_inner = ~rest.is_leaf
        link = np.full(rest.n_nodes, np.inf)
        # In exact numbers alpha only grows; rounding must not make it shrink.
        link[is_inner] = np.maximum(
            own_rise[is_inner] / (n_leaves[is_inner] - 1.0), rest.least[is_inner]
        )
        falls = is_inner & rest.are_weakest(link)
        node = rest.node[falls]
        alpha[node], rise[node] = link[falls], own_rise[falls]
        n_gone[node] = n_leaves[falls].astype(np.int64) - 1
        rest = rest.without(falls, link)
    return Links(alpha, rise, n_gone)


@dataclass(frozen=True, eq=False)
class _Rest:
    """What is left of a tree; its nodes are still in breadth-first order."""

    node: HostArray  # their numbers in the whole tree
    parent: HostArray
    levels: list[tuple[int, int]]
    is_leaf: HostArray
    risk: HostArray
    at_ends: HostArray
    least: HostArray  # alpha of what has been cut below

    @classmethod
    def of(cls, tree: Tree, account: Account) -> "_Rest":
        return cls(
            node=np.arange(tree.n_nodes),
            parent=tree.parent,
            levels=tree.levels(),
            is_leaf=tree.is_leaf,
            risk=account.as_leaf,
            at_ends=account.at_ends,
            least=np.zeros(tree.n_nodes),
        )

    @property
    def n_nodes(self) -> int:
        return len(self.node)

    def summed_up(self) -> HostArray:
        """The risk and the number of the leaves below each node, (nodes, 2)."""
        total = np.stack([self.at_ends, self.is_leaf.astype(np.float64)], axis=1)
        for begin, end in reversed(self.levels[1:]):
            for column in (0, 1):
                np.add.at(total[:, column], self.parent[begin:end], total[begin:end, column])
        return total

    def are_weakest(self, link: HostArray) -> HostArray:
        """Which nodes have less than all above them, and no more than all below them."""
        below, above = link.copy(), np.full(self.n_nodes, np.inf)
        for begin, end in reversed(self.levels[1:]):
            np.minimum.at(below, self.parent[begin:end], below[begin:end])
        for begin, end in self.levels[1:]:
            over = self.parent[begin:end]
            above[begin:end] = np.minimum(above[over], link[over])
        return np.asarray((link <= below) & (link < above))

    def without(self, falls: HostArray, link: HostArray) -> "_Rest":
        """What is left once some nodes are leaves."""
        is_kept = np.ones(self.n_nodes, bool)
        least = np.where(falls, link, self.least)
        for begin, end in self.levels[1:]:
            over = self.parent[begin:end]
            is_kept[begin:end] = is_kept[over] & ~falls[over]
        for begin, end in reversed(self.levels[1:]):
            np.maximum.at(least, self.parent[begin:end], least[begin:end])
        kept = np.flatnonzero(is_kept)
        place = np.cumsum(is_kept) - 1
        bounds = np.searchsorted(kept, [begin for begin, _ in self.levels] + [self.n_nodes])
        return _Rest(
            node=self.node[kept],
            parent=np.where(self.parent[kept] >= 0, place[self.parent[kept]], -1),
            levels=[(begin, end) for begin, end in pairwise(bounds.tolist()) if begin < end],
            is_leaf=(self.is_leaf | falls)[kept],
            risk=self.risk[kept],
            at_ends=np.where(falls, self.risk, self.at_ends)[kept],
            least=least[kept],
        )
