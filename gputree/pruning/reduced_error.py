"""Reduced error: a subtree goes if a leaf is right more often on other rows (Quinlan 1987)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import Account, of_sample
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Task, needed
from gputree.tree.tree import Tree


@dataclass(frozen=True)
class ReducedError(Method):
    """Bottom-up, a subtree becomes a leaf if that lowers the error on validation rows.

    For a regression the error is the squared one.

    Parameters
    ----------
    prunes_ties : bool, default=False
        Whether a subtree also goes that is as good as the leaf: the smaller tree, all else equal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> from gputree.pruning import ReducedError
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier().fit(X[::2], y[::2])
    >>> small = tree.prune(ReducedError(prunes_ties=True), X[1::2], y[1::2])
    >>> tree.get_n_leaves(), small.get_n_leaves()
    (6, 4)
    """

    name: ClassVar[str] = "reduced_error"
    needs: ClassVar[str] = "validation"

    prunes_ties: bool = False

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        account = of_sample(task.tree, needed(task.validation, self.name))
        subtree = best_below(task.tree, account)
        falls = account.as_leaf <= subtree if self.prunes_ties else account.as_leaf < subtree
        why = "the leaf has " + ("no more" if self.prunes_ties else "less")
        verdict = Verdict(
            falls, account.as_leaf, subtree, f"{why} error than the subtree, pruned before"
        )
        return carry_out(self.name, task.tree, verdict, account)


def best_below(tree: Tree, account: Account) -> HostArray:
    """The error of what is below each node, where every node below is a leaf if that is better."""
    parent = tree.parent
    below = account.at_ends.copy()
    for begin, end in reversed(tree.levels()[1:]):
        best = np.minimum(below[begin:end], account.as_leaf[begin:end])
        np.add.at(below, parent[begin:end], best)
    return below
