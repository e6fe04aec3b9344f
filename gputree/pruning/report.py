"""What pruning did, and why."""

from dataclasses import dataclass

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import Account
from gputree.pruning.levels import is_below
from gputree.pruning.path import Path
from gputree.pruning.task import Pruned
from gputree.tree.reshape import cut
from gputree.tree.tree import Tree

MOST_SHOWN = 10  # nodes


@dataclass(frozen=True, eq=False)
class PruningReport:
    """Facts about one pruning.

    `nodes` are the nodes of the former tree that became leaves; `as_leaf` and `as_subtree` are the
    two figures of each that `why` compares, named by `figures`. Errors are error rates, or mean
    squared errors; `measured_on` names the rows.
    """

    method: str
    why: str
    nodes: HostArray
    as_leaf: HostArray
    as_subtree: HostArray
    n_nodes: tuple[int, int]  # before and after
    n_leaves: tuple[int, int]
    error: tuple[float, float]
    measured_on: str
    figures: tuple[str, str] = ("leaf", "subtree")
    alpha: float | None = None
    path: Path | None = None

    def __str__(self) -> str:
        n = len(self.nodes)
        lines = [
            f"method   {self.method}",
            f"nodes    {self.n_nodes[0]:,} before, {self.n_nodes[1]:,} after",
            f"leaves   {self.n_leaves[0]:,} before, {self.n_leaves[1]:,} after",
            f"error    {self.error[0]:.6g} before, {self.error[1]:.6g} after "
            f"({self.measured_on} rows)",
        ]
        if self.alpha is not None:
            lines.append(f"alpha    {self.alpha:.6g}")
        lines.append(f"pruned   {n:,} {'node' if n == 1 else 'nodes'}")
        if n:
            lines[-1] += f": {self.why}"
        lines += [
            f"  node {self.nodes[at]}: {self.figures[0]} {self.as_leaf[at]:.6g}, "
            f"{self.figures[1]} {self.as_subtree[at]:.6g}"
            for at in range(min(n, MOST_SHOWN))
        ]
        if n > MOST_SHOWN:
            lines.append(f"  and {n - MOST_SHOWN:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which nodes become leaves, and the two figures of each node that decided it."""

    becomes_leaf: HostArray
    as_leaf: HostArray
    as_subtree: HostArray
    why: str
    figures: tuple[str, str] = ("leaf", "subtree")


def carry_out(
    method: str,
    tree: Tree,
    verdict: Verdict,
    account: Account,
    *,
    alpha: float | None = None,
    path: Path | None = None,
) -> Pruned:
    """The tree with some nodes as leaves, and the report."""
    chosen = verdict.becomes_leaf & ~tree.is_leaf
    gone = is_below(tree, chosen)
    nodes = np.flatnonzero(chosen & ~gone)
    smaller = cut(tree, nodes)
    after = np.where(chosen, account.as_leaf, account.at_ends)[~gone]
    total = account.total if account.total > 0 else 1.0
    report = PruningReport(
        method=method,
        why=verdict.why,
        nodes=nodes,
        as_leaf=verdict.as_leaf[nodes],
        as_subtree=verdict.as_subtree[nodes],
        n_nodes=(tree.n_nodes, smaller.n_nodes),
        n_leaves=(tree.n_leaves, smaller.n_leaves),
        error=(float(account.at_ends.sum()) / total, float(after.sum()) / total),
        measured_on=account.rows,
        figures=verdict.figures,
        alpha=alpha,
        path=path,
    )
    return Pruned(smaller, report)
