"""Critical value: a split has to gain enough, or one below it (Mingers 1987)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gputree.pruning.errors import by_errors
from gputree.pruning.levels import largest_below
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Task, number


@dataclass(frozen=True)
class CriticalValue(Method):
    """A node stays inner if its split, or one below it, reaches the critical value.

    The gain of a split is the decrease of the impurity of its node: `nodes_.gain`.

    Parameters
    ----------
    value : float, default=0.01
        The minimum gain.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> from gputree.pruning import CriticalValue
    >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> [tree.prune(CriticalValue(value)).get_n_leaves() for value in (0.0, 0.35, 0.5)]
    [9, 8, 1]
    """

    name: ClassVar[str] = "critical_value"

    value: float = 0.01

    def check(self) -> None:
        """Refuse options that cannot be right."""
        number("value", self.value, 0.0)

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        tree = task.tree
        best = largest_below(tree, tree.gain)
        account = by_errors(tree, task.is_classes)
        bound = np.full(tree.n_nodes, float(self.value))
        why = "no split reaches the critical value"
        verdict = Verdict(best < bound, bound, best, why, ("needed gain", "best gain"))
        return carry_out(self.name, tree, verdict, account)
