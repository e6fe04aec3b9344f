"""The pruning path: error against the size of the tree, or against alpha."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator
from gputree.plots.axes import BLUE, GREY, RED, SMALL, new_axes, tidy
from gputree.pruning.path import Path
from gputree.pruning.report import PruningReport

BY = ("leaves", "alpha")
MANY_LEAVES = 200  # from here on their number is shown by its logarithm


def plot_pruning(what: Any, ax: Any = None, *, by: str = "leaves") -> Any:
    """Draw the error of every tree on the pruning path, and mark the one that was chosen.

    If alpha was chosen by cross-validation or on validation rows, these errors are drawn with one
    standard error up and down. The dashed line is one standard error above the lowest error; a
    square marks the smallest tree below it, which `rule="one_se"` takes.

    Parameters
    ----------
    what : pruned estimator, or path
        An estimator with a pruned tree, or the result of `cost_complexity_pruning_path`.
    ax : matplotlib Axes, optional
        Where to draw; those of a new figure by default.
    by : {'leaves', 'alpha'}, default='leaves'
        The horizontal axis: the number of leaves, or the smallest alpha for which a tree is the
        best.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from gputree import CARTClassifier, plot_pruning
    >>> tree = CARTClassifier().fit(*load_iris(return_X_y=True))
    >>> ax = plot_pruning(tree, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('leaves', 'error')
    >>> [text.get_text() for text in ax.get_legend().get_texts()]  # doctest: +NORMALIZE_WHITESPACE
    ['training', 'lowest + 1 standard error', '1 standard error: 4 leaves', 'chosen: 7 leaves',
     'cross-validation']
    """
    parameters.one_of("by", by, dict.fromkeys(BY))
    if isinstance(what, Path):
        return _draw_path(what, new_axes(ax), by)
    if isinstance(what, TreeEstimator):
        report = getattr(what, "pruning_report_", None)
        if report is None:
            raise ValueError(
                "the tree was not pruned, so there is nothing to plot; give pruning= to the "
                "estimator, or draw what tree.prune(...) returns"
            )
        return _draw_report(report, ax, by)
    if not hasattr(what, "ccp_alphas"):
        raise TypeError(f"a pruned tree of gputree or a path of pruning is needed; got {what!r}")
    path = Path(what.ccp_alphas, what.n_leaves, what.impurities)
    return _draw_path(path, new_axes(ax), by, measure="impurity")


def _draw_path(path: Path, ax: Any, by: str, *, measure: str = "error") -> Any:
    x = path.n_leaves if by == "leaves" else path.alpha
    # A tree is the choice from its own alpha up to the next one; between trees there is none.
    line = {"drawstyle": "steps-post" if by == "alpha" else "default", "marker": "."}
    ax.plot(x, path.risk, color=GREY, label="training", **line)
    if path.error is not None:
        label = path.measured_by or "measured"
        ax.errorbar(
            x, path.error, path.deviation, color=BLUE, label=label, lw=1.5, capsize=2, **line
        )
        if path.deviation is not None:
            _draw_limit(ax, x, path)
        if path.chosen is not None:
            _mark(ax, x[path.chosen], path.error[path.chosen], path.n_leaves[path.chosen])
    return _finished(ax, x, by, measure)


def _draw_limit(ax: Any, x: HostArray, path: Path) -> None:
    """The line of one standard error, and the smallest tree below it."""
    assert path.error is not None
    ax.axhline(path.limit, color=BLUE, ls="--", lw=1, label="lowest + 1 standard error")
    at = int(np.flatnonzero(path.error <= path.limit)[-1])
    label = f"1 standard error: {_leaves(path.n_leaves[at])}"
    ax.plot([x[at]], [path.error[at]], "s", color=BLUE, fillstyle="none", ms=10, label=label)


def _draw_report(report: PruningReport, ax: Any, by: str) -> Any:
    """The path of a report; where it has none, the trees before and after."""
    path = report.path
    if path is None:
        if by == "alpha":
            raise ValueError(
                f"by='alpha': pruning by {report.method!r} does not use alpha; use by='leaves'"
            )
        ax = new_axes(ax)
        sizes = np.array(report.n_leaves)
        ax.plot(sizes, report.error, ".-", color=BLUE, label=f"{report.measured_on} rows")
        _mark(ax, sizes[1], report.error[1], sizes[1])
        return _finished(ax, sizes, by, "error")
    ax = _draw_path(path, new_axes(ax), by)
    if path.chosen is None:
        at = int(np.flatnonzero(path.alpha <= report.alpha)[-1])
        x = path.n_leaves if by == "leaves" else path.alpha
        _mark(ax, x[at], path.risk[at], path.n_leaves[at])
        ax.legend(fontsize=SMALL)
    return ax


def _mark(ax: Any, x: float, error: float, n_leaves: int) -> None:
    label = f"chosen: {_leaves(n_leaves)}"
    ax.plot([x], [error], "o", color=RED, fillstyle="none", mew=2, ms=10, label=label)


def _leaves(n: int) -> str:
    return f"{n:,} {'leaf' if n == 1 else 'leaves'}"


def _finished(ax: Any, x: HostArray, by: str, measure: str) -> Any:
    ax.set_xlabel("leaves" if by == "leaves" else "alpha, the cost of a leaf")
    ax.set_ylabel(measure)
    if by == "alpha" and x.max() > 0:
        least = np.floor(np.log10(x[x > 0].min()))  # so that 0 and the first power stay apart
        ax.set_xscale("symlog", linthresh=float(10.0**least))
    elif by == "leaves" and x.max() > MANY_LEAVES:
        ax.set_xscale("log")
    elif by == "leaves":
        ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax, grid="y")
    ax.legend(fontsize=SMALL)
    return ax
