"""What can be fitted on several ranks, and what to do about the rest."""

from typing import Any

from gputree.estimators.base import TreeEstimator
from gputree.pruning.methods import method_of


def check_able(estimator: Any) -> None:
    """Refuse estimators that look at rows which are on other ranks."""
    name = type(estimator).__name__
    if not isinstance(estimator, TreeEstimator):
        raise ValueError(
            f"{name} cannot be fitted on a cluster yet; fit it on one machine, on rows that fit "
            "there, or fit a tree here"
        )
    _check_tree(estimator, name)


def _check_tree(tree: TreeEstimator, name: str) -> None:
    if tree.pruning is not None and method_of(tree.pruning).needs_now() != "nothing":
        raise ValueError(
            f"{name}: pruning={tree.pruning!r} judges a tree by rows, which are spread here; fit "
            "with pruning=None, and then prune(method, X, y) on rows in memory, or use ccp_alpha, "
            "'pessimistic', 'minimum_error' or 'critical_value'"
        )
    if tree.validation_fraction is not None:
        raise ValueError(
            f"{name}: validation_fraction holds out rows by their place, and rows are spread here; "
            "set it to None, and prune(method, X, y) by other rows afterwards"
        )
