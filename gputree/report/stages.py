"""How the error falls with the number of trees.

Knows ensembles; must not know how a curve is drawn.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from gputree.arrays import to_numpy
from gputree.dtypes import HostArray
from gputree.ensembles.averaging import Averaging
from gputree.ensembles.base import Ensemble
from gputree.ensembles.members import answers as tree_answers
from gputree.report.answers import ClassAnswers, NumberAnswers
from gputree.report.plain import numbers, thinned
from gputree.report.scores import LEAST_SHARE

MOST_ROWS = 5000
MOST_CELLS = 20_000_000  # rows times trees
WRONG, SQUARES, LOG_LOSS = "error rate", "mean squared error", "log loss"


def learning_curves(model: Any, X: Any, answers: ClassAnswers | NumberAnswers) -> dict[str, Any]:
    """Curves over the trees of an ensemble; no lines for a single tree."""
    lines: list[dict[str, Any]] = []
    notes: list[str] = []
    if not isinstance(model, Ensemble):
        return {"lines": lines, "notes": notes}
    n_rows = len(answers.true)
    most = min(MOST_ROWS, max(100, MOST_CELLS // model._n_steps()))
    row = np.arange(n_rows)
    if n_rows > most:
        row = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
        X = _safe_indexing(X, row)
        notes.append(f"Measured on {most:,} of the {n_rows:,} rows, drawn at random.")
    what, error = _staged(model, X, answers, row)
    lines.append(_line("rows of this report", what, error))
    lines += _known_from_fit(model, what)
    step = "rounds" if hasattr(model, "n_iter_") else "trees"
    return {"lines": lines, "notes": notes, "step": step, "what": what}


def _staged(
    model: Any, X: Any, answers: ClassAnswers | NumberAnswers, row: HostArray
) -> tuple[str, HostArray]:
    """The error after each tree, or each round."""
    if isinstance(answers, ClassAnswers):
        known = answers.known[row]
        true = answers.true[row][known]
        if isinstance(model, Averaging):
            stages = ((each.argmax(axis=1)[known] != true).mean() for each in _means(model, X))
            return WRONG, np.array(list(stages))
        if hasattr(model, "n_iter_"):
            at = np.arange(len(true))
            shares = (to_numpy(each)[known][at, true] for each in model.staged_predict_proba(X))
            stages = (-np.log(np.maximum(each, LEAST_SHARE)).mean() for each in shares)
            return LOG_LOSS, np.array(list(stages))
        label = model.classes_[true]
        stages = ((to_numpy(each)[known] != label).mean() for each in model.staged_predict(X))
        return WRONG, np.array(list(stages))
    target = answers.true[row]
    predictions: Iterator[Any] = (
        _means(model, X) if isinstance(model, Averaging) else model.staged_predict(X)
    )
    squares = (
        ((to_numpy(each).reshape(target.shape) - target) ** 2).mean() for each in predictions
    )
    return SQUARES, np.array(list(squares))


def _means(model: Averaging, X: Any) -> Iterator[HostArray]:
    """The mean prediction of the first one, two, ... trees."""
    total: Any = 0.0
    every = tree_answers(model._at(), model._members, model._table(X))
    for n, found in enumerate(every, 1):
        total = total + found
        yield total / n


def _known_from_fit(model: Any, what: str) -> list[dict[str, Any]]:
    """The curve that the fit itself has measured, if any."""
    if isinstance(model, Averaging) and getattr(model, "_oob", None) is not None:
        return [_line("out-of-bag rows", what, model.oob_error_curve_)]
    watched = getattr(model, "_watched", None)
    if watched:
        # Of a squared error, losses keep the half; a curve of squares has the whole.
        is_squared = what == SQUARES and getattr(model, "loss", "") == "squared_error"
        if what == LOG_LOSS or is_squared:
            error = np.array(watched) * (2.0 if is_squared else 1.0)
            return [_line("validation rows of the fit", what, error)]
    return []


def _line(name: str, what: str, error: HostArray) -> dict[str, Any]:
    best = int(np.nanargmin(error)) if np.isfinite(error).any() else None
    step, kept = thinned(np.arange(1, len(error) + 1), error, most=300)
    return {
        "name": name,
        "what": what,
        "x": step.tolist(),
        "y": numbers(kept, 5),
        "best": None if best is None else [best + 1, numbers(error[best : best + 1], 5)[0]],
    }
