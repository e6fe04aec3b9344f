"""Errors of nodes: what rows cost where a node answers for them.

The error of a class tree is the weight of the rows that get another class than theirs; that of a
regression the squared distance, the mean over outputs, times weight. Sums are of integers, as in
growing, so that the order of rows does not change them.
"""

from dataclasses import dataclass

import numpy as np

from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.pruning.task import Sample
from gputree.tree.reshape import summed_up
from gputree.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Account:
    """What some rows cost in each node of a tree."""

    as_leaf: HostArray  # (nodes,) of all rows that come to the node, were it a leaf
    at_ends: HostArray  # (nodes,) of the rows that end there
    total: float  # the weight of the rows
    rows: str  # training or validation

    def of_subtrees(self, tree: Tree) -> HostArray:
        """What the leaves below each node cost together."""
        return summed_up(tree, self.at_ends)


def by_errors(tree: Tree, is_classes: bool) -> Account:
    """The account of the training rows by their errors."""
    if not is_classes:
        return by_impurity(tree)
    has_rows = tree.weight > 0  # an empty leaf has the values of its parent, but no rows
    value = np.where(has_rows[:, None], tree.value, 0.0)
    label = tree.value.argmax(axis=1)
    # Rows whose surrogates have no answer end above the leaves, and are answered there.
    ends = value - of_children(tree, value)
    as_leaf, at_ends = (
        each.sum(axis=1) - each[np.arange(tree.n_nodes), label] for each in (value, ends)
    )
    return Account(as_leaf, at_ends, float(tree.weight[0]), "training")


def by_impurity(tree: Tree) -> Account:
    """The account of the training rows by weighted impurity, which growing has lowered.

    Rows that end above the leaves cost what their node does on average.
    """
    risk = tree.weight * tree.impurity
    return Account(risk, risk * share_that_ends(tree), float(tree.weight[0]), "training")


def share_that_ends(tree: Tree) -> HostArray:
    """The share of each node's weight that goes to none of its children."""
    ends = tree.weight - of_children(tree, tree.weight)
    return np.divide(ends, tree.weight, out=np.zeros(tree.n_nodes), where=tree.weight > 0)


def of_sample(tree: Tree, sample: Sample) -> Account:
    """The account of other rows."""
    return errors_and_squares(tree, sample)[0]


def errors_and_squares(tree: Tree, sample: Sample) -> tuple[Account, Account]:
    """The account of other rows, and that of their squared errors."""
    row, node, share = sample.ends(tree)
    weight, parent = sample.weight[row] * share, tree.parent
    as_leaf = np.zeros((2, tree.n_nodes))
    at_ends: HostArray | None = None
    while at_ends is None or row.size:
        error = _errors(tree, node, sample.y[row])
        as_leaf[0] += exact_sums(node, weight * error, tree.n_nodes)
        as_leaf[1] += exact_sums(node, weight * error * error, tree.n_nodes)
        if at_ends is None:
            at_ends = as_leaf.copy()
        node = parent[node]
        inside = node >= 0
        row, node, weight = row[inside], node[inside], weight[inside]
    total = float(sample.weight.sum())
    first, second = (
        Account(mine, ends, total, "validation")
        for mine, ends in zip(as_leaf, at_ends, strict=True)
    )
    return first, second


def _errors(tree: Tree, node: HostArray, y: HostArray) -> HostArray:
    """The error of each row, if a node answers for it."""
    if y.ndim == 1:
        return (tree.value.argmax(axis=1)[node] != y).astype(np.float64)
    return np.asarray(((tree.value[node] - y) ** 2).mean(axis=1))


def of_children(tree: Tree, amount: HostArray) -> HostArray:
    """The sum over the children of each node, 0 at a leaf."""
    total = np.zeros_like(amount)
    np.add.at(total, tree.parent[1:], amount[1:])
    return total


def exact_sums(place: HostArray, amount: HostArray, n_places: int) -> HostArray:
    """Amounts of at least 0, summed by place; the order in which they come changes nothing."""
    most = amount.max(initial=0.0)
    if most == 0.0:
        return np.zeros(n_places)
    shift = TOTAL_BITS - 2 - int(np.frexp(len(amount))[1]) - int(np.frexp(most)[1])
    whole = np.bincount(place, np.rint(np.ldexp(amount, shift)), minlength=n_places)
    return np.ldexp(whole, -shift)
