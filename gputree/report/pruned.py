"""Size against error: of the pruning of a tree, or of what could be pruned.

Knows reports of pruning; must not know how a curve is drawn.
"""

from typing import Any

import numpy as np

from gputree.pruning.errors import by_impurity
from gputree.pruning.path import Path, path_of
from gputree.pruning.report import PruningReport
from gputree.report.plain import number, numbers, thinned
from gputree.tree.tree import Tree


def pruning_curve(tree: Tree, report: PruningReport | None) -> dict[str, Any] | None:
    """The curve of a single tree; None for one that cannot be smaller."""
    if report is not None:
        return _of_report(report)
    if tree.n_nodes < 2:
        return None
    path = path_of(tree, by_impurity(tree)).without_ties()
    return {
        "why": "The tree was not pruned. The curve shows what cost-complexity pruning would give: "
        "the impurity on the training rows against the number of leaves.",
        "facts": [],
        "axis": "impurity",
        "lines": [_line("training", path.n_leaves, path.risk)],
        "chosen": [tree.n_leaves, number(path.risk[0])],
    }


def _of_report(report: PruningReport) -> dict[str, Any]:
    before, after = report.n_leaves
    facts = [
        ["method", report.method.replace("_", " ")],
        ["leaves", f"{before:,} before, {after:,} after"],
        ["nodes", f"{report.n_nodes[0]:,} before, {report.n_nodes[1]:,} after"],
        [
            f"error, {report.measured_on} rows",
            f"{report.error[0]:.4g} before, {report.error[1]:.4g} after",
        ],
    ]
    if report.alpha is not None:
        facts.append(["alpha", f"{report.alpha:.6g}"])
    n = len(report.nodes)
    why = f"{n:,} {'node' if n == 1 else 'nodes'} became {'a leaf' if n == 1 else 'leaves'}"
    why += f": {report.why}." if n else "."
    found: dict[str, Any] = {"why": why, "facts": facts, "axis": "error"}
    if report.path is None:
        return found | {
            "lines": [_line(f"{report.measured_on} rows", report.n_leaves, report.error)],
            "chosen": [after, number(report.error[1])],
        }
    return found | _of_path(report.path, report.alpha or 0.0)


def _of_path(path: Path, alpha: float) -> dict[str, Any]:
    lines = [_line("training", path.n_leaves, path.risk)]
    if path.error is not None:
        lines.append(_line("measured", path.n_leaves, path.error, path.deviation))
    at = path.chosen
    if at is None:
        at = int(np.flatnonzero(path.alpha <= alpha)[-1])
    height = path.risk if path.error is None else path.error
    return {"lines": lines, "chosen": [int(path.n_leaves[at]), number(height[at])]}


def _line(name: str, n_leaves: Any, error: Any, deviation: Any = None) -> dict[str, Any]:
    spread = np.zeros(len(error)) if deviation is None else np.asarray(deviation)
    size, height, reach = thinned(np.asarray(n_leaves), np.asarray(error), spread)
    line: dict[str, Any] = {"name": name, "x": size.tolist(), "y": numbers(height, 5)}
    if deviation is not None:
        line |= {"low": numbers(height - reach, 5), "high": numbers(height + reach, 5)}
    return line
