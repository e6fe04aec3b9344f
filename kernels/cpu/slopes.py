"""Slopes and curvatures of a loss as integers, and the predictions they are taken at.

Rows are taken in parts of `step` rows, so that what is found over all of them is found part by part
and put together in any order: largest magnitudes and sums of integers.
"""

import numpy as np

from gputree.kernels.cpu.formulas import LOSSES
from gputree.kernels.cpu.jit import kernel
from gputree.kernels.cpu.words import UPPER

NUMBERS = {
    "squared": 0,
    "absolute": 1,
    "huber": 2,
    "quantile": 3,
    "poisson": 4,
    "logistic": 5,
}

squared, absolute, huber, quantile = (
    LOSSES.squared, LOSSES.absolute, LOSSES.huber, LOSSES.quantile,
)  # fmt: skip
poisson, logistic, softmax = LOSSES.poisson, LOSSES.logistic, LOSSES.softmax
highest, volume = LOSSES.highest, LOSSES.volume


@kernel
def flat_slopes(begin, end, step, loss, constant, y, raw, slope):
    """Slopes of a loss whose curvature is 1."""
    first, last = begin * step, min(end * step, y.shape[0])
    if loss == 0:
        for i in range(first, last):
            slope[i] = squared(y[i], raw[i], constant)
    elif loss == 1:
        for i in range(first, last):
            slope[i] = absolute(y[i], raw[i], constant)
    elif loss == 2:
        for i in range(first, last):
            slope[i] = huber(y[i], raw[i], constant)
    else:
        for i in range(first, last):
            slope[i] = quantile(y[i], raw[i], constant)


@kernel
def curved_slopes(begin, end, step, loss, constant, y, raw, slope, curvature):
    """Slopes and curvatures of a loss of one output."""
    first, last = begin * step, min(end * step, y.shape[0])
    if loss == 4:
        for i in range(first, last):
            slope[i], curvature[i] = poisson(y[i], raw[i], constant)
    else:
        for i in range(first, last):
            slope[i], curvature[i] = logistic(y[i], raw[i], constant)


@kernel
def volumes(begin, end, step, raw, most, total):
    """What the shares of several classes need of each row; raw has (outputs, rows)."""
    for i in range(begin * step, min(end * step, raw.shape[1])):
        most[i] = highest(raw[:, i], raw.shape[0])
        total[i] = volume(raw[:, i], most[i], raw.shape[0])


@kernel
def class_slopes(begin, end, step, output, y, raw, most, total, slope, curvature):
    """Slopes and curvatures of the prediction of one class."""
    for i in range(begin * step, min(end * step, raw.shape[0])):
        slope[i], curvature[i] = softmax(y[i], raw[i], most[i], total[i], output)


@kernel
def weigh(begin, end, step, weight, is_inside, slope, curvature, largest):
    """Multiply by weights, leave out rows outside, and find the largest magnitudes of each part.

    Weights, marks and curvatures may be empty.
    """
    for part in range(begin, end):
        steep, curved = 0.0, 0.0
        for i in range(part * step, min((part + 1) * step, slope.shape[0])):
            if weight.shape[0] > 0:
                slope[i] = slope[i] * weight[i]
                if curvature.shape[0] > 0:
                    curvature[i] = curvature[i] * weight[i]
            if is_inside.shape[0] > 0 and not is_inside[i]:
                slope[i] = 0.0
                if curvature.shape[0] > 0:
                    curvature[i] = 0.0
            steep = max(steep, abs(slope[i]))
            if curvature.shape[0] > 0:
                curved = max(curved, curvature[i])
        largest[part, 0] = steep
        largest[part, 1] = curved


@kernel
def widen(begin, end, step, scale, values, total):
    """Make values whole numbers, in place, and sum their magnitudes for each part."""
    for part in range(begin, end):
        magnitude = np.int64(0)
        for i in range(part * step, min((part + 1) * step, values.shape[0])):
            values[i] = np.rint(values[i] * scale)
            magnitude += np.int64(abs(values[i]))
        total[part] = magnitude


@kernel
def narrowed(wide, less):
    """A whole number with some bits fewer."""
    return np.int64(wide) if less == 0 else (np.int64(wide) + (1 << (less - 1))) >> less


@kernel
def pack(begin, end, step, slope, less, curvature, less_curved, is_inside, word, total):
    """Narrow slopes and curvatures in one word, and their sums for each part.

    A row that takes part has a curvature of at least 1; where none are given, each is 1.
    """
    for part in range(begin, end):
        running = np.int64(0)
        for i in range(part * step, min((part + 1) * step, slope.shape[0])):
            curved = np.int64(1)
            if curvature.shape[0] > 0:
                curved = max(np.int64(1), narrowed(curvature[i], less_curved))
            own = (narrowed(slope[i], less) << UPPER) + curved
            if is_inside.shape[0] > 0 and not is_inside[i]:
                own = np.int64(0)
            word[i] = own
            running += own
        total[part] = running


@kernel
def leaf_sums(begin, end, step, leaf, slope, curvature, sums):
    """Sums of wide slopes and curvatures by leaf, for each part: (parts, leaves, 2)."""
    for part in range(begin, end):
        own = sums[part]
        for i in range(part * step, min((part + 1) * step, leaf.shape[0])):
            at = leaf[i]
            if at >= 0:
                own[at, 0] += np.int64(slope[i])
                own[at, 1] += np.int64(curvature[i]) if curvature.shape[0] > 0 else 1


@kernel
def renew(begin, end, leaf, by_leaf, raw):
    """Add the step of its leaf to each row's prediction."""
    for i in range(begin, end):
        if leaf[i] >= 0:
            raw[i] += by_leaf[leaf[i]]
