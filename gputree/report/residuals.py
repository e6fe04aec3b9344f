"""Predicted and actual numbers side by side, and what is left between them.

Knows answers; must not know models.
"""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.report.answers import NumberAnswers
from gputree.report.columns import bounds, number_bars, steps_of
from gputree.report.plain import number, numbers

MOST_POINTS = 1200  # a point a row up to here; shades of a grid beyond
N_CELLS = 48  # of the grid, each way
MOST_OUTPUTS = 4
N_RESIDUAL_BARS = 41


def residual_charts(answers: NumberAnswers) -> list[dict[str, Any]]:
    """Charts of each output, the first ones where there are many."""
    n_outputs = answers.true.shape[1]
    return [_output(answers, at, n_outputs) for at in range(min(n_outputs, MOST_OUTPUTS))]


def _output(answers: NumberAnswers, at: int, n_outputs: int) -> dict[str, Any]:
    true, said = answers.true[:, at], answers.said[:, at]
    left = said - true
    low, middle, high = np.quantile(left, [0.1, 0.5, 0.9])
    return {
        "name": "" if n_outputs == 1 else f"output {at}",
        "agreement": cloud(true, said),
        "residuals": cloud(said, left),
        "bars": number_bars(left, N_RESIDUAL_BARS),
        "within": numbers([low, middle, high], 4),
    }


def cloud(x: HostArray, y: HostArray) -> dict[str, Any]:
    """Points, or how many of them lie in each cell of a grid."""
    if len(x) <= MOST_POINTS:
        return {"x": numbers(x, 5), "y": numbers(y, 5)}
    (x_low, x_high), (y_low, y_high) = bounds(x), bounds(y)
    cell = steps_of(x, x_low, x_high, N_CELLS) * N_CELLS + steps_of(y, y_low, y_high, N_CELLS)
    count = np.bincount(cell, minlength=N_CELLS**2)
    used = np.flatnonzero(count)
    return {
        "cells": N_CELLS,
        "x_range": [number(x_low), number(x_high)],
        "y_range": [number(y_low), number(y_high)],
        "at": used.tolist(),
        "count": count[used].tolist(),
    }
