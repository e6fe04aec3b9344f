"""Scores with intervals; each says how its interval was made.

Knows answers; must not know models.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.report.answers import ClassAnswers, NumberAnswers
from gputree.report.curves import average_precision, ranked, roc_area
from gputree.report.intervals import (
    Interval,
    delong,
    of_cells,
    of_mean,
    of_root_mean,
    of_rows,
    wilson,
)
from gputree.report.plain import number

LEAST_SHARE = 1e-15  # the logarithm of 0 would make every other row meaningless


def class_scores(answers: ClassAnswers) -> list[dict[str, Any]]:
    """Scores of a classifier, the most common ones first."""
    n_classes = len(answers.names)
    hits = int((answers.true == answers.said).sum())
    known = answers.known
    true, said, share = answers.true[known], answers.said[known], answers.share[known]
    cells = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(cells, (true, said), 1)
    found = [
        _score("Accuracy", wilson(hits, len(answers.true)), "share of correct predictions"),
        _score(
            "Balanced accuracy",
            of_cells(cells, balanced_accuracy),
            "mean recall of the classes",
        ),
        _score("F1, macro", of_cells(cells, macro_f1), "mean F1 of the classes"),
    ]
    if n_classes == 2 and len(np.unique(true)) == 2:
        second = ranked(share[:, 1], true == 1)
        found += [
            _score("ROC AUC", delong(share[:, 1], true == 1), "of the second class"),
            _score(
                "Average precision",
                of_rows(len(true), lambda weight: average_precision(second, weight)),
                "of the second class",
            ),
        ]
    elif n_classes > 2 and len(np.unique(true)) > 1:
        found.append(
            _score("ROC AUC, macro", _macro_area(true, share), "mean of one class against the rest")
        )
    own = share[np.arange(len(true)), true]
    found.append(
        _score("Log loss", of_mean(-np.log(np.maximum(own, LEAST_SHARE))), "lower is better", True)
    )
    target = true[:, None] == np.arange(n_classes)
    brier = ((share - target) ** 2).sum(axis=1) / (2.0 if n_classes == 2 else 1.0)
    found.append(_score("Brier score", of_mean(brier), "lower is better", True))
    return found


def number_scores(answers: NumberAnswers) -> list[dict[str, Any]]:
    """Scores of a regression; means over the outputs where there are several."""
    apart = answers.true - answers.said
    where = "" if apart.shape[1] == 1 else ", mean of the outputs"
    n_rows = len(apart)
    found = []
    if n_rows > 1:
        r2 = of_rows(n_rows, _explained(answers.true, apart), cost=apart.shape[1])
        found.append(_score("R²", r2, "share of the variance explained" + where))
    squares = (apart**2).mean(axis=1)
    return [
        *found,
        _score("RMSE", of_root_mean(squares), "root mean squared error" + where, True),
        _score("MAE", of_mean(np.abs(apart).mean(axis=1)), "mean absolute error" + where, True),
        _score("Mean error", of_mean(-apart.mean(axis=1)), "predicted minus actual" + where, None),
    ]


def balanced_accuracy(cells: HostArray) -> float:
    """The mean recall of the classes that occur."""
    total = cells.sum(axis=1)
    return float((np.diag(cells) / np.maximum(total, 1))[total > 0].mean())


def macro_f1(cells: HostArray) -> float:
    """The mean F1 of the classes that occur or are predicted."""
    both = cells.sum(axis=0) + cells.sum(axis=1)
    return float((2.0 * np.diag(cells) / np.maximum(both, 1))[both > 0].mean())


def _macro_area(true: HostArray, share: HostArray) -> Interval:
    present = np.unique(true).tolist()
    each = [ranked(share[:, one], true == one) for one in present]

    def mean(weight: HostArray) -> float:
        area = np.array([roc_area(one, weight) for one in each])
        has = np.isfinite(area)  # a draw may leave a class without rows
        return float(area[has].mean()) if has.any() else float("nan")

    return of_rows(len(true), mean, cost=4 * len(present))


def _explained(true: HostArray, apart: HostArray) -> Callable[[HostArray], float]:
    def figure(weight: HostArray) -> float:
        total = weight.sum()
        mean = weight @ true / total
        spread = weight @ (true - mean) ** 2
        missed = weight @ apart**2
        has_spread = spread > 0
        if not has_spread.any():
            return float("nan")
        return float((1.0 - missed[has_spread] / spread[has_spread]).mean())

    return figure


def _score(
    name: str, interval: Interval, meaning: str, low_is_good: bool | None = False
) -> dict[str, Any]:
    return {
        "name": name,
        "value": number(interval.value),
        "low": number(interval.low),
        "high": number(interval.high),
        "method": interval.method,
        "meaning": meaning,
        "low_is_good": low_is_good,
    }
