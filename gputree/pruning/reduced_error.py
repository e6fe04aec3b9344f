"""Reduced error: a subtree goes if a leaf is right more often on other rows (Quinlan 1987)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import Account, of_sample, total_weight
from gputree.pruning.parts import distributions
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Sample, Task, needed, only_classes
from gputree.tree.tree import Tree

SHARES = ("training", "validation")
UNIT = 2.0**-20  # of the weight of a row


@dataclass(frozen=True)
class ReducedError(Method):
    """Bottom-up, a subtree becomes a leaf if that lowers the error on validation rows.

    For a regression the error is the squared error.

    Parameters
    ----------
    prunes_ties : bool, default=False
        Whether a subtree that is exactly as good as the leaf is pruned, too.
    row_shares : {'training', 'validation'}, default='training'
        Which rows determine how a row with a missing value is divided among the branches: the
        training rows or, for classification, the validation rows, as in Weka's J48 -R.

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
    row_shares: str = "training"

    def check(self) -> None:
        """Refuse options that cannot be right."""
        if self.row_shares not in SHARES:
            raise ValueError(
                f"row_shares={self.row_shares!r} is unknown; choose from {list(SHARES)}"
            )

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        sample = needed(task.validation, self.name)
        if self.row_shares == "validation":
            only_classes(task, self.name)
            account = divided_by_themselves(task.tree, sample)
        else:
            account = of_sample(task.tree, sample)
        subtree = best_below(task.tree, account)
        falls = account.as_leaf <= subtree if self.prunes_ties else account.as_leaf < subtree
        why = "not above" if self.prunes_ties else "below"
        verdict = Verdict(
            falls,
            account.as_leaf,
            subtree,
            f"the error of the leaf is {why} that of the pruned subtree",
        )
        return carry_out(self.name, task.tree, verdict, account)


def divided_by_themselves(tree: Tree, sample: Sample) -> Account:
    """The account of other rows, which are divided among branches by their own weights there."""
    n_classes = tree.value.shape[1]
    known = sample.y < n_classes
    weight = np.where(known, sample.weight, 0.0)
    counts = distributions(tree, sample.read, np.where(known, sample.y, 0), weight)
    errors = counts.sum(axis=1) - counts[np.arange(tree.n_nodes), tree.value.argmax(axis=1)]
    # Shares are rounded; what differs by no more than that ties.
    errors = np.rint(errors / UNIT) * UNIT
    ends = np.where(tree.is_leaf, errors, 0.0)
    return Account(errors, ends, total_weight(sample), "validation")


def best_below(tree: Tree, account: Account) -> HostArray:
    """The error of what is below each node, where every node below is a leaf if that is better."""
    parent = tree.parent
    below = account.at_ends.copy()
    for begin, end in reversed(tree.levels()[1:]):
        best = np.minimum(below[begin:end], account.as_leaf[begin:end])
        np.add.at(below, parent[begin:end], best)
    return below
