"""Errors of nodes: what rows cost where a node answers for them.

The error of a class tree is the weight of the rows that get another class than theirs; that of a
regression the squared distance, the mean over outputs, times weight. Sums are of integers, as in
growing, so that the order of rows does not change them.
"""

import math
from dataclasses import dataclass

import numpy as np

from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.pruning.task import Sample
from gputree.shares import exponent_of
from gputree.tree.reshape import summed_up
from gputree.tree.tree import Tree

ORDINARY = 100  # weights up to 2**100 leave room for the squares of targets


@dataclass(frozen=True, eq=False)
class Account:
    """What some rows cost in each node of a tree."""

    as_leaf: HostArray  # (nodes,) of all rows that come to the node, were it a leaf
    at_ends: HostArray  # (nodes,) of the rows that end there
    total: float  # the weight of the rows
    rows: str  # training or validation
    unit: int = 0  # weights are taken in 2**unit, where their products would overflow otherwise

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

    Rows that end above the leaves cost what their node does on average. Weights are taken in a
    power of two near the weight of all rows, so that no product overflows.
    """
    weight = np.ldexp(tree.weight, -exponent_of(tree.weight[0]))
    risk = weight * tree.impurity
    return Account(risk, risk * share_that_ends(tree), float(weight[0]), "training")


def share_that_ends(tree: Tree) -> HostArray:
    """The share of each node's weight that goes to none of its children."""
    ends = tree.weight - of_children(tree, tree.weight)
    return np.divide(ends, tree.weight, out=np.zeros(tree.n_nodes), where=tree.weight > 0)


def of_sample(tree: Tree, sample: Sample) -> Account:
    """The account of other rows."""
    return errors_and_squares(tree, sample, size_of_errors(tree, sample.y.ndim == 1))[0]


def errors_and_squares(tree: Tree, sample: Sample, apart: int = 0) -> tuple[Account, Account]:
    """The account of other rows, and that of their squared errors in units of 4**apart."""
    row, node, share = sample.ends(tree)
    unit = _unit(sample.weight)
    every = np.ldexp(sample.weight, -unit)
    weight, parent = every[row] * share, tree.parent
    as_leaf = np.zeros((2, tree.n_nodes))
    at_ends: HostArray | None = None
    while at_ends is None or row.size:
        error = _errors(tree, node, sample.y[row])
        in_units = np.ldexp(error, -apart)
        as_leaf[0] += exact_sums(node, weight * error, tree.n_nodes)
        as_leaf[1] += exact_sums(node, weight * in_units * in_units, tree.n_nodes)
        if at_ends is None:
            at_ends = as_leaf.copy()
        node = parent[node]
        inside = node >= 0
        row, node, weight = row[inside], node[inside], weight[inside]
    total = math.fsum(every.tolist())
    first, second = (
        Account(mine, ends, total, "validation", unit)
        for mine, ends in zip(as_leaf, at_ends, strict=True)
    )
    return first, second


def size_of_errors(tree: Tree, is_classes: bool) -> int:
    """The exponent of an error's size: errors of a regression are squares, and may be huge."""
    return 0 if is_classes else exponent_of(float(tree.impurity[0]))


def _unit(weight: HostArray) -> int:
    """An even exponent near the largest weight's, where it is out of the ordinary; 0 otherwise."""
    exponent = exponent_of(weight.max(initial=0.0))
    return exponent + exponent % 2 if abs(exponent) > ORDINARY else 0


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


def total_weight(sample: Sample) -> float:
    """The weight of all rows, rounded once: the order in which they come changes nothing."""
    return math.fsum(sample.weight.tolist())


def exact_sums(place: HostArray, amount: HostArray, n_places: int) -> HostArray:
    """Amounts of at least 0, summed by place; the order in which they come changes nothing."""
    most = amount.max(initial=0.0)
    if most == 0.0:
        return np.zeros(n_places)
    shift = TOTAL_BITS - 2 - exponent_of(len(amount)) - exponent_of(most)
    whole = np.bincount(place, np.rint(np.ldexp(amount, shift)), minlength=n_places)
    return np.ldexp(whole, -shift)
