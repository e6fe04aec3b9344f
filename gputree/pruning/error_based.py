"""C4.5's pruning: by the errors that a leaf may make at most, as far as its rows can tell.

A subtree becomes a leaf if that does not raise the estimate, or gives way to its largest branch.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.confidence import SLACK, added_errors
from gputree.pruning.raising import Raising
from gputree.pruning.report import PruningReport
from gputree.pruning.task import Method, Pruned, Task, number, only_classes
from gputree.tree.reshape import cut, summed_up
from gputree.tree.tree import Tree
from gputree.tree.walk import Read, Walk

LEAF_BONUS = 0.1  # a leaf may have so many more errors than what it replaces
COLLAPSE_SLACK = 1e-3


@dataclass(frozen=True)
class ErrorBased(Method):
    """A subtree becomes a leaf if the estimated error of the leaf is not higher (C4.5).

    The error of a leaf is estimated by the upper limit of a confidence interval of its training
    errors. The training rows are needed if branches may be raised.

    Parameters
    ----------
    confidence : float, default=0.25
        The probability that a leaf is worse than estimated, at most 0.5; lower values prune more.
    raising : bool, default=True
        Whether a node may be replaced by its largest branch.
    collapse : bool, default=True
        Whether subtrees without fewer training errors than a leaf are collapsed first.
    impurity : {'entropy', 'gini', 'error'}, default='entropy'
        The impurity of nodes whose rows change when a branch is raised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import C45Classifier
    >>> from gputree.pruning import ErrorBased
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = C45Classifier(pruning=None).fit(X, y)
    >>> small = tree.prune(ErrorBased(confidence=0.1), X, y)
    >>> tree.get_n_leaves(), small.get_n_leaves()
    (7, 4)
    """

    name: ClassVar[str] = "error_based"

    confidence: float = 0.25
    raising: bool = True
    collapse: bool = True
    impurity: str = "entropy"

    def check(self) -> None:
        """Refuse options that cannot be right."""
        number("confidence", self.confidence, 0.0)
        if not 0.0 < self.confidence <= 0.5:
            raise ValueError(f"confidence={self.confidence!r} has to be above 0 and at most 0.5")

    def needs_now(self) -> str:
        """Raised branches are judged by all rows of their node."""
        return "training" if self.raising else "nothing"

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        only_classes(task, self.name)
        if not self.raising:
            return self._reported(task.tree, self._replaced(task.tree))
        if task.training is None:
            raise ValueError(
                "raising branches needs the training rows: give X and y to prune, or set "
                "raising=False"
            )
        rows = task.training
        smaller = self.pruned(task.tree, rows.read, rows.y, rows.weight, rows.walker())
        return self._reported(task.tree, smaller)

    def _replaced(self, tree: Tree) -> Tree:
        if self.collapse:
            tree = collapsed(tree)
        return replaced(tree, self.estimated(own_counts(tree)), LEAF_BONUS + SLACK)

    def _reported(self, tree: Tree, smaller: Tree) -> Pruned:
        """Raised branches have other nodes, so that none is named."""
        none = np.empty(0, np.int64)
        report = PruningReport(
            method=self.name,
            why="the estimated error of a leaf, or of the largest branch, is not higher",
            nodes=none,
            as_leaf=none,
            as_subtree=none,
            n_nodes=(tree.n_nodes, smaller.n_nodes),
            n_leaves=(tree.n_leaves, smaller.n_leaves),
            error=(_training_error(tree), _training_error(smaller)),
            measured_on="training",
        )
        return Pruned(smaller, report)

    def pruned(
        self,
        tree: Tree,
        read: Read,
        label: HostArray,
        weight: HostArray | None = None,
        walk: Walk | None = None,
    ) -> Tree:
        """The pruned tree.

        Parameters
        ----------
        tree : Tree
            A classification tree.
        read : callable
            The values or category numbers of a column of the training rows, by its number.
        label : array of shape (n_rows,)
            The number of the class of each row.
        weight : array of shape (n_rows,), optional
            What each row weighs in the `value` of the tree.
        walk : callable, optional
            How to send rows down a tree; a level at a time by default.
        """
        if not self.raising:
            return self._replaced(tree)
        if self.collapse:
            tree = collapsed(tree)
        weight = np.ones(len(label)) if weight is None else weight
        raising = Raising(tree, read, label, self.estimated, LEAF_BONUS + SLACK, walk)
        return raising.pruned(weight, self.impurity)

    def estimated(self, counts: HostArray) -> HostArray:
        """The errors that leaves of these class weights may make; (leaves, classes)."""
        weight = counts.sum(axis=1)
        errors = weight - counts.max(axis=1)
        return errors + added_errors(weight, errors, self.confidence)


def _training_error(tree: Tree) -> float:
    """The share of the training weight that leaves label wrong."""
    counts = own_counts(tree)[tree.is_leaf]
    return float((counts.sum(axis=1) - counts.max(axis=1)).sum() / max(tree.weight[0], SLACK))


def own_counts(tree: Tree) -> HostArray:
    """The class weights of each node; an empty leaf has lent its answer."""
    return np.where(tree.weight[:, None] > 0, tree.value, 0.0)


def collapsed(tree: Tree) -> Tree:
    """The tree without subtrees that make no fewer errors in training than a leaf would."""
    counts = own_counts(tree)
    errors = counts.sum(axis=1) - counts.max(axis=1)
    below = summed_up(tree, np.where(tree.is_leaf, errors, 0.0))
    return cut(tree, np.flatnonzero(~tree.is_leaf & (below >= errors - COLLAPSE_SLACK)))


def replaced(tree: Tree, errors: HostArray, slack: float) -> Tree:
    """The tree in which leaves replace subtrees, bottom-up, that have no fewer errors.

    `errors` has those of each node if it were a leaf. A leaf may have `slack` more.
    """
    below = errors.copy()
    becomes_leaf = np.zeros(tree.n_nodes, bool)
    for begin, end in reversed(tree.levels()):
        inner = begin + np.flatnonzero(~tree.is_leaf[begin:end])
        if inner.size:
            # The level below holds the children of these nodes and no others.
            first = tree.first_child[inner]
            last = int(first[-1]) + int(tree.n_children[inner[-1]])
            total = np.add.reduceat(below[first[0] : last], first - first[0])
            is_better = errors[inner] <= total + slack
            becomes_leaf[inner] = is_better
            below[inner] = np.where(is_better, errors[inner], total)
    return cut(tree, np.flatnonzero(becomes_leaf))
