"""Minimum error: what is to be expected of leaves by the m-estimate (Cestnik and Bratko 1991)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import by_errors, share_that_ends
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Task, number, only_classes
from gputree.tree.tree import Tree


@dataclass(frozen=True)
class MinimumError(Method):
    """Bottom-up, a subtree becomes a leaf if the expected error of the leaf is not higher.

    A node of weight N predicts class c, which has the weight n in the node and the share p in all
    rows. Its expected error rate is 1 - (n + m p) / (N + m). That of a subtree is the mean of its
    children's, weighted by their rows.

    Parameters
    ----------
    m : float, default=2.0
        The weight, in rows, of the class shares of the whole table. Higher values prune more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> from gputree.pruning import MinimumError
    >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> [tree.prune(MinimumError(m=m)).get_n_leaves() for m in (0.0, 2.0, 50.0)]
    [9, 7, 3]
    """

    name: ClassVar[str] = "minimum_error"

    m: float = 2.0

    def check(self) -> None:
        """Refuse options that cannot be right."""
        number("m", self.m, 0.0)

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        only_classes(task, self.name)
        tree = task.tree
        leaf = expected_errors(tree, self.m)
        subtree = _backed_up(tree, leaf)
        why = "the expected error of the leaf is not above that of the pruned subtree"
        account = by_errors(tree, is_classes=True)
        return carry_out(self.name, tree, Verdict(leaf <= subtree, leaf, subtree, why), account)


def expected_errors(tree: Tree, m: float) -> HostArray:
    """The weight of rows that each node is expected to answer wrongly, by the m-estimate."""
    label = tree.value.argmax(axis=1)
    prior = (tree.value[0] / tree.value[0].sum())[label]
    total = tree.value.sum(axis=1)
    wrong = total - tree.value.max(axis=1)
    return np.asarray((wrong + m * (1.0 - prior)) * (tree.weight / (total + m)))


def _backed_up(tree: Tree, leaf: HostArray) -> HostArray:
    """What is expected of the children of each node, each a leaf if that is no worse."""
    parent = tree.parent
    subtree = leaf * share_that_ends(tree)
    for begin, end in reversed(tree.levels()[1:]):
        best = np.minimum(subtree[begin:end], leaf[begin:end])
        np.add.at(subtree, parent[begin:end], best)
    return subtree
