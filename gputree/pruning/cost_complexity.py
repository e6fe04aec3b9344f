"""Cost-complexity pruning: a price for each leaf (Breiman et al. 1984)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import (
    Account,
    by_errors,
    by_impurity,
    errors_and_squares,
    size_of_errors,
)
from gputree.pruning.path import Path, measured, path_of
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Method, Pruned, Sample, Task, number
from gputree.pruning.weakest_link import weakest_links
from gputree.shares import exponent_of
from gputree.tree.tree import Tree

RULES = ("min", "one_se")
RISKS = ("error", "impurity")
LARGEST = np.finfo(np.float64).max  # a price at which the root is a leaf


@dataclass(frozen=True)
class CostComplexity(Method):
    """The subtree with the smallest risk plus `alpha` per leaf.

    Without `alpha`, it is chosen among the alphas at which the tree changes: on validation rows if
    there are any, otherwise by cross-validation. For each fold, a tree is grown on the other rows,
    pruned with the geometric means of neighbouring alphas, and evaluated on the fold.

    Parameters
    ----------
    alpha : float, optional
        The cost of a leaf, as a share of the rows, or in squared units of the target.
    risk : {'error', 'impurity'}, default='error'
        The risk of a tree: the error rate, as in Breiman's book and in rpart, or the impurity, as
        in scikit-learn. For a regression both are the mean squared error.
    cv : int or sequence of int, default=10
        The number of folds, or the fold of each row.
    rule : {'min', 'one_se'}, default='min'
        The lowest error, or the smallest tree whose error is within one standard error of it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import CARTClassifier
    >>> from gputree.pruning import CostComplexity
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier(pruning=CostComplexity(cv=5, rule="one_se")).fit(X, y)
    >>> tree.get_n_leaves()
    3
    >>> tree.prune(CostComplexity(alpha=0.3)).get_n_leaves()
    2
    """

    name: ClassVar[str] = "cost_complexity"
    needs: ClassVar[str] = "folds"

    alpha: float | None = None
    risk: str = "error"
    cv: int | tuple[int, ...] = 10
    rule: str = "min"

    def __post_init__(self) -> None:
        if not isinstance(self.cv, int) and isinstance(self.cv, Iterable):
            object.__setattr__(self, "cv", tuple(np.asarray(self.cv).tolist()))

    def check(self) -> None:
        """Refuse options that cannot be right."""
        if self.alpha is not None:
            number("alpha", self.alpha, 0.0)
        for name, value, choices in (("risk", self.risk, RISKS), ("rule", self.rule, RULES)):
            if value not in choices:
                raise ValueError(f"{name}={value!r} is unknown; choose from {', '.join(choices)}")
        _check_folds(self.cv)

    def needs_now(self) -> str:
        """Rows are needed where alpha is to be chosen."""
        return "nothing" if self.alpha is not None else self.needs

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        tree = task.tree
        account = self.account(tree, task.is_classes)
        links = weakest_links(tree, account)
        path = path_of(tree, account, links)
        if self.alpha is None:
            path = self._choose(path.without_ties(), task, links.alpha / account.total)
            assert path.chosen is not None
            alpha = float(path.alpha[path.chosen])
        else:
            alpha = float(self.alpha)
        link = links.alpha / account.total
        price = np.full(tree.n_nodes, alpha)
        why = "each further leaf saves at most alpha"
        verdict = Verdict(link <= alpha, price, link, why, ("cost per leaf", "saving per leaf"))
        return carry_out(self.name, tree, verdict, account, alpha=alpha, path=path)

    def account(self, tree: Tree, is_classes: bool) -> Account:
        """What the training rows cost in each node."""
        if self.risk == "impurity":
            return by_impurity(tree)
        return by_errors(tree, is_classes)

    def _choose(self, path: Path, task: Task, link: HostArray) -> Path:
        """The path with the error of each of its trees, and the choice among them."""
        tested = _Tested(len(path.alpha), size_of_errors(task.tree, task.is_classes))
        if task.validation is not None:
            # The trees of the path themselves are asked, so no mean of their alphas is needed.
            tested.add(task.tree, link, task.validation, path.alpha)
            how = "validation rows"
        elif task.folds is not None:
            between = np.append(_means(path.alpha), LARGEST)
            for tree, sample in task.folds(self.cv):
                account = self.account(tree, task.is_classes)
                own = weakest_links(tree, account).alpha / account.total
                tested.add(tree, own, sample, between)
            how = "cross-validation"
        else:
            raise ValueError(
                "pruning by 'cost_complexity' has to choose alpha: give alpha, or the training "
                "rows as X and y for cross-validation"
            )
        error, deviation = tested.result()
        return self._chosen(replace(path, error=error, deviation=deviation, measured_by=how))

    def _chosen(self, path: Path) -> Path:
        """The smallest tree of those that are as good."""
        assert path.error is not None
        limit = path.limit if self.rule == "one_se" else path.error.min()
        return replace(path, chosen=int(np.flatnonzero(path.error <= limit)[-1]))


def _means(alpha: HostArray) -> HostArray:
    """The geometric means of neighbouring alphas; in a power of two, so that none overflows."""
    unit = exponent_of(alpha.max())
    alpha = np.ldexp(alpha, -unit)
    return np.ldexp(np.sqrt(alpha[:-1] * alpha[1:]), unit)


class _Tested:
    """The errors of samples, and their squares, in the trees at some alphas."""

    def __init__(self, n_alphas: int, apart: int) -> None:
        self._sums = np.zeros((2, n_alphas))
        self._total = 0.0
        self._apart = apart  # errors are squared in units of 2**apart
        self._unit: int | None = None  # of weights: that of the first sample

    def add(self, tree: Tree, link: HostArray, sample: Sample, at: HostArray) -> None:
        """Ask the trees at some alphas for the rows of a sample."""
        accounts = errors_and_squares(tree, sample, self._apart)
        unit = accounts[0].unit
        self._unit = unit if self._unit is None else self._unit
        found = np.stack([measured(tree, link, account, at) for account in accounts])
        self._sums += np.ldexp(found, unit - self._unit)
        self._total += math.ldexp(accounts[0].total, unit - self._unit)

    def result(self) -> tuple[HostArray, HostArray]:
        """The mean error at each alpha, and its standard error."""
        total = max(self._total, np.finfo(np.float64).tiny)
        errors, squares = np.ldexp(self._sums[0], -self._apart), self._sums[1]
        deviation = np.sqrt(np.maximum(squares - errors * errors / total, 0.0)) / total
        # Weights are counts of rows: the more of them, the surer the mean.
        with np.errstate(over="ignore"):
            return self._sums[0] / total, np.ldexp(deviation, self._apart - (self._unit or 0) // 2)


def _check_folds(cv: Any) -> None:
    if isinstance(cv, tuple):
        if len(set(cv)) < 2:
            raise ValueError("cv has one fold only; rows are needed outside of it")
    elif isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ValueError(f"cv={cv!r}: an integer of at least 2, or the fold of each row, is needed")
