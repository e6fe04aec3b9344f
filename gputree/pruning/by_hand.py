"""Cuts that somebody asks for, and those that change no answer."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import by_errors
from gputree.pruning.report import Verdict, carry_out
from gputree.pruning.task import Pruned, Task
from gputree.tree.reshape import summed_up
from gputree.tree.tree import Tree


def cut_by_hand(task: Task, nodes: Any) -> Pruned:
    """Make leaves of the nodes with some numbers."""
    tree = task.tree
    number = np.atleast_1d(np.asarray(nodes))
    if number.size and (number.dtype.kind not in "iu" or number.ndim != 1):
        raise ValueError(f"nodes={nodes!r}: numbers of nodes are needed")
    if number.size and not (number.min() >= 0 and number.max() < tree.n_nodes):
        raise ValueError(f"nodes={nodes!r}: the tree has nodes 0 to {tree.n_nodes - 1}")
    chosen = np.zeros(tree.n_nodes, bool)
    chosen[number.astype(np.int64)] = True
    return _cut(task, chosen, "by hand", "chosen by hand")


def merge_alike(task: Task) -> Pruned:
    """Make leaves of the nodes below which all leaves say what the node itself says."""
    tree = task.tree
    says = tree.value.argmax(axis=1)[:, None] if task.is_classes else tree.value
    return _cut(task, _all_alike(tree, says), "simplify", "all leaves below say the same")


def _all_alike(tree: Tree, says: HostArray) -> HostArray:
    """Which nodes have no node below them that says something else."""
    differs = np.zeros(tree.n_nodes)
    differs[1:] = (says[1:] != says[tree.parent[1:]]).any(axis=1)
    # All below are as their parents are, if no one but the node itself differs from its parent.
    return np.asarray(summed_up(tree, differs) - differs == 0.0)


def _cut(task: Task, chosen: HostArray, method: str, why: str) -> Pruned:
    account = by_errors(task.tree, task.is_classes)
    verdict = Verdict(chosen, account.as_leaf, account.of_subtrees(task.tree), why)
    return carry_out(method, task.tree, verdict, account)
