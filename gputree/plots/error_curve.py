"""How the error of an ensemble falls with its trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.boosting.model import GradientBoosting
from gputree.dtypes import HostArray
from gputree.ensembles.averaging import Averaging
from gputree.ensembles.base import Ensemble
from gputree.plots.axes import SMALL, new_axes, series_colour, tidy
from gputree.plots.models import fitted


def plot_error_curve(
    model: Any, X: Any = None, y: Any = None, *, label: str | None = None, ax: Any = None
) -> Any:
    """Draw the error of an ensemble after one, two, ... trees, and mark the lowest.

    Without rows, the errors measured during the fit are drawn: the out-of-bag error of forests and
    bagging (`oob_score=True`), or the loss of gradient boosting on validation rows
    (`early_stopping=True`, or `X_val` and `y_val`). With rows, their error is drawn. To compare
    rows or models, call the function again with the axes that it returns.

    The error is the error rate, or the mean squared error; for gradient boosting, the mean loss.

    Parameters
    ----------
    model : fitted ensemble
        A forest, bagging, AdaBoost or gradient boosting.
    X, y : table and target, optional
        Rows to predict.
    label : str, optional
        The name of the curve in the legend; by default the rows it was measured on.
    ax : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from gputree import RandomForestClassifier, plot_error_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> ax = plot_error_curve(forest, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('trees', 'error rate')
    >>> bool(ax.lines[0].get_ydata()[-1] == forest.oob_error_curve_[-1])
    True
    """
    fitted(model)
    if not isinstance(model, Ensemble):
        raise TypeError(
            f"{type(model).__name__} is not an ensemble and has no error curve; plot_pruning shows "
            "that of a pruned tree"
        )
    if (X is None) != (y is None):
        raise ValueError("X and y go together; give both or neither")
    if X is None:
        curve, measured_on = _kept(model)
    else:
        curve, measured_on = _measured(model, X, y), "the rows given"
    return _draw(curve, label or measured_on, model, new_axes(ax))


def _kept(model: Ensemble) -> tuple[HostArray, str]:
    """The curve that the fit has kept, and of what."""
    if isinstance(model, GradientBoosting):
        remedy = "fit with early_stopping=True or X_val and y_val"
        name, measured_on = "validation_score_", "validation rows"
        if getattr(model, "_scores", None) is not None:
            raise ValueError("the fit has kept scores, which rise, and no errors; give X and y")
    elif isinstance(model, Averaging):
        remedy, name, measured_on = "fit with oob_score=True", "oob_error_curve_", "out of bag"
    else:
        raise ValueError("AdaBoost keeps no errors on held-out rows; give X and y")
    if not hasattr(model, name):
        raise ValueError(f"the fit has kept no errors; {remedy}, or give X and y")
    return np.asarray(getattr(model, name)), measured_on


def _measured(model: Any, X: Any, y: Any) -> HostArray:
    if isinstance(model, GradientBoosting):
        return np.array(list(model.staged_loss(X, y)))
    return np.array(list(_errors(model, X, to_numpy(y))))


def _errors(model: Any, X: Any, y: HostArray) -> Iterator[float]:
    for found in model.staged_predict(X):
        said = to_numpy(found)
        if said.shape != y.shape:
            raise ValueError(f"y has shape {y.shape}, but the predictions have shape {said.shape}")
        wrong = said != y if hasattr(model, "classes_") else (said - y) ** 2
        yield float(np.mean(wrong))


def _draw(curve: HostArray, label: str, model: Ensemble, ax: Any) -> Any:
    number = np.arange(1, len(curve) + 1)
    colour = series_colour(sum(line.get_gid() == "errors" for line in ax.lines))
    ax.plot(number, curve, color=colour, label=label, gid="errors")
    if np.isfinite(curve).any():
        at = int(np.nanargmin(curve))
        least = f"lowest: {curve[at]:.4g} at {number[at]}"
        ax.plot([number[at]], [curve[at]], "o", color=colour, ms=6, label=least)
    is_rounds = isinstance(model, GradientBoosting)
    ax.set_xlabel("rounds" if is_rounds else "trees")
    ax.set_ylabel(_measure(model))
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax, grid="y")
    ax.legend(fontsize=SMALL)
    return ax


def _measure(model: Ensemble) -> str:
    if isinstance(model, GradientBoosting):
        loss = "of one's own" if callable(model.loss) else model.loss.replace("_", " ")
        return f"mean loss ({loss})"
    return "error rate" if hasattr(model, "classes_") else "mean squared error"
