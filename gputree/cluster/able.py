"""What can be fitted on several ranks, and what to do about the rest."""

from typing import Any

from gputree.boosting.model import GradientBoosting
from gputree.ensembles.adaboost_rounds import AdaBoost
from gputree.ensembles.averaging import Averaging
from gputree.estimators.base import TreeEstimator
from gputree.pruning.methods import method_of


def check_able(estimator: Any) -> None:
    """Refuse what looks at rows that are on other ranks."""
    name = type(estimator).__name__
    if isinstance(estimator, TreeEstimator):
        problem = _of_tree(estimator)
    elif isinstance(estimator, Averaging):
        problem = _of_forest(estimator) or _of_tree(estimator._new_stem())
    elif isinstance(estimator, GradientBoosting):
        problem = _of_boosting(estimator)
    elif isinstance(estimator, AdaBoost):
        problem = _of_tree(estimator._new_stem())
    else:
        problem = (
            "it looks at all rows at once, which are spread here; fit it on one machine, or a tree "
            "here, and use its to_rules() and prune(...)"
        )
    if problem:
        raise ValueError(f"{name}: {problem}")


def _of_tree(tree: TreeEstimator) -> str:
    if tree.combines_columns:
        return (
            "combinations of columns are fitted to the rows of a node, which are spread here; use "
            "a tree that tests single columns, or fit on one machine"
        )
    if tree.pruning is not None and method_of(tree.pruning).needs_now() != "nothing":
        return (
            f"pruning={tree.pruning!r} judges a tree by rows, which are spread here; fit with "
            "pruning=None, and then prune(method, X, y) by rows in memory, or use ccp_alpha, "
            "'pessimistic', 'minimum_error' or 'critical_value'"
        )
    if tree.validation_fraction is not None:
        return (
            "validation_fraction holds out rows by their place, and rows are spread here; set it "
            "to None, and prune(method, X, y) by other rows afterwards"
        )
    return ""


def _of_forest(forest: Averaging) -> str:
    if callable(forest.oob_score):
        return "a function for oob_score is given all rows, which are spread here; use True"
    if getattr(forest, "keep_targets", False):
        return "keep_targets keeps every row, and they are spread here; set it to False"
    return ""


def _of_boosting(model: GradientBoosting) -> str:
    loss = model.loss
    if callable(loss):
        return "a function for a loss may look at all rows, which are spread here; name a loss"
    if model.multi_strategy != "one_output_per_tree":
        return (
            "the gradients of multi_strategy='one_tree' are made from all rows at once, which are "
            "spread here; use 'one_output_per_tree'"
        )
    if model.init is not None and not isinstance(model.init, str):
        return "init is fitted on rows, which are spread here; use init=None or 'zero'"
    if not model._watches_loss():
        return f"scoring={model.scoring!r} is given all rows, which are spread here; use 'loss'"
    return ""
