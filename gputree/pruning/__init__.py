"""Pruning: methods that make smaller trees of a tree, each an object with its options."""

from gputree.pruning.cost_complexity import CostComplexity
from gputree.pruning.critical_value import CriticalValue
from gputree.pruning.error_based import ErrorBased
from gputree.pruning.minimum_error import MinimumError
from gputree.pruning.path import Path
from gputree.pruning.pessimistic import Pessimistic
from gputree.pruning.prepruning import Prepruning
from gputree.pruning.reduced_error import ReducedError
from gputree.pruning.report import PruningReport
from gputree.pruning.task import Method

__all__ = [
    "CostComplexity",
    "CriticalValue",
    "ErrorBased",
    "Method",
    "MinimumError",
    "Path",
    "Pessimistic",
    "Prepruning",
    "PruningReport",
    "ReducedError",
]
