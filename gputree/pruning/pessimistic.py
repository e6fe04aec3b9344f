"""Pessimistic pruning: training errors and half an error a leaf (Quinlan 1987)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.pruning.errors import by_errors
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Task, number, only_classes
from gputree.tree.reshape import summed_up


@dataclass(frozen=True)
class Pessimistic(Method):
    """A subtree becomes a leaf if the leaf is worse by at most one standard error.

    Let E be the errors of the leaves below a node, plus `penalty` for each leaf. With N rows, the
    standard error is sqrt(E (N - E) / N). The errors of the node as a leaf, plus its penalty, must
    not exceed E plus `n_errors` standard errors. No validation rows are needed. Leaves without rows
    are not counted.

    Parameters
    ----------
    penalty : float, default=0.5
        The number of errors added per leaf.
    n_errors : float, default=1.0
        The number of standard errors by which a leaf may be worse.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> DecisionTreeClassifier(pruning="pessimistic").fit(X, y).get_n_leaves()
    4
    """

    name: ClassVar[str] = "pessimistic"

    penalty: float = 0.5
    n_errors: float = 1.0

    def check(self) -> None:
        """Refuse options that cannot be right."""
        number("penalty", self.penalty, 0.0)
        number("n_errors", self.n_errors, 0.0)

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        only_classes(task, self.name)
        tree = task.tree
        account = by_errors(tree, is_classes=True)
        n_leaves = summed_up(tree, (tree.is_leaf & (tree.weight > 0)).astype(np.float64))
        subtree = account.of_subtrees(tree) + self.penalty * n_leaves
        leaf = account.as_leaf + self.penalty
        weight = np.maximum(tree.weight, np.finfo(np.float64).tiny)
        spread = np.sqrt(np.maximum(subtree * (weight - subtree) / weight, 0.0))
        limit = subtree + self.n_errors * spread
        why = "the leaf, with its penalty, is within the standard error of the subtree"
        return carry_out(self.name, tree, Verdict(leaf <= limit, leaf, limit, why), account)
