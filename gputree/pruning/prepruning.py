"""Prepruning: a node is split only if that helps on other rows at once."""

from dataclasses import dataclass
from typing import ClassVar

from gputree.pruning.errors import of_children, of_sample
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Task, needed


@dataclass(frozen=True)
class Prepruning(Method):
    """Top-down, a split is kept only if it lowers the error on validation rows.

    There are no options. Splits further down are not considered, so a tree that needs two splits to
    gain anything is not found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(pruning="pre")
    >>> tree.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]).get_n_leaves()
    4
    """

    name: ClassVar[str] = "pre"
    needs: ClassVar[str] = "validation"

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        # A split depends on the rows of its node alone, not on what became of other nodes, so the
        # splits that growing would try are those of the grown tree. Whether one stands depends on
        # the validation rows of its node alone, as those elsewhere are answered as before. So
        # judging node after node while growing stops at the same nodes as judging all at once.
        tree = task.tree
        account = of_sample(tree, needed(task.validation, self.name))
        inside = account.at_ends * ~tree.is_leaf
        children = of_children(tree, account.as_leaf) + inside
        verdict = Verdict(
            children >= account.as_leaf,
            account.as_leaf,
            children,
            "the split does not lower the error",
        )
        return carry_out(self.name, tree, verdict, account)
