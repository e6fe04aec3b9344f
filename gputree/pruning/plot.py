"""Error against size, drawn by matplotlib."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.path import Path
from gputree.pruning.report import PruningReport
from gputree.tree.plot import current_axes


def draw_path(path: Path, ax: Any = None) -> Any:
    """Draw the risk of training against leaves, and the error that was measured with it."""
    ax = current_axes() if ax is None else ax
    ax.plot(path.n_leaves, path.risk, ".-", color="0.6", label="training")
    if path.error is not None:
        ax.errorbar(path.n_leaves, path.error, path.deviation, fmt=".-", label="measured")
    if path.chosen is not None and path.error is not None:
        _mark(ax, path.n_leaves[path.chosen], path.error[path.chosen])
    return _finished(ax)


def draw_report(report: PruningReport, ax: Any = None) -> Any:
    """Draw the path of a report; where it has none, the trees before and after."""
    if report.path is not None:
        path = report.path
        ax = draw_path(path, ax)
        if path.chosen is None:
            at = int(np.flatnonzero(path.alpha <= report.alpha)[-1])
            _mark(ax, path.n_leaves[at], path.risk[at])
            ax.legend()
        return ax
    ax = current_axes() if ax is None else ax
    ax.plot(report.n_leaves, report.error, ".-", label=report.measured_on)
    _mark(ax, report.n_leaves[1], report.error[1])
    return _finished(ax)


def _mark(ax: Any, n_leaves: HostArray | int, error: HostArray | float) -> None:
    ax.plot([n_leaves], [error], "o", color="C3", fillstyle="none", markersize=10, label="chosen")


def _finished(ax: Any) -> Any:
    ax.set_xlabel("leaves")
    ax.set_ylabel("error")
    ax.legend()
    return ax
