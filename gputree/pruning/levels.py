"""What lies above and below each node, a depth at a time."""

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.tree import Tree


def least_above(tree: Tree, number: HostArray) -> HostArray:
    """The least number of all nodes above each node; infinite at the root."""
    least = np.full(tree.n_nodes, np.inf)
    parent = tree.parent
    for begin, end in tree.levels()[1:]:
        above = parent[begin:end]
        least[begin:end] = np.minimum(least[above], number[above])
    return least


def largest_below(tree: Tree, number: HostArray) -> HostArray:
    """The largest number of each node and all nodes below it."""
    largest = number.copy()
    parent = tree.parent
    for begin, end in reversed(tree.levels()[1:]):
        np.maximum.at(largest, parent[begin:end], largest[begin:end])
    return largest


def is_below(tree: Tree, chosen: HostArray) -> HostArray:
    """Which nodes have a chosen one above them."""
    return np.asarray(least_above(tree, np.where(chosen, 0.0, np.inf)) == 0.0)
