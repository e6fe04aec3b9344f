"""Gradients and hessians of a loss as integers, and the predictions they are taken at.

Rows are taken in parts of `step` rows, so that what is found over all of them is found part by part
and put together in any order: largest magnitudes and sums of integers. Loops run over slices, from
0 on: places that might count from the end would keep them from becoming vector code.
"""

import numpy as np

from gputree.kernels.cpu.formulas import LOSSES, choose, inlined
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.words import UPPER
from gputree.kernels.losses import every_loss

larger, exp = LOSSES.larger, LOSSES.exp

# Kernels know a loss by its number: first those that are flat, at last those of shares.
_ALL = every_loss()
_FLAT = [loss for loss in _ALL if loss.is_flat]
_CURVED = [loss for loss in _ALL if not loss.is_flat and not loss.is_of_shares]
_OF_SHARES = [loss for loss in _ALL if loss.is_of_shares]
_NUMBER = {loss.formulas: number for number, loss in enumerate(_ALL)}
N_FLAT, N_ALONE = len(_FLAT), len(_FLAT) + len(_CURVED)


def number_of(loss):
    """How kernels know a loss."""
    return _NUMBER[loss.formulas]


# Each loss has a loop of its own, so that it becomes vector code.


def _flat_loop(loss):
    of_row = loss.formulas(LOSSES).gradient_hessian

    @inlined
    def loop(constant, y, raw, gradient):
        for i in range(y.shape[0]):
            gradient[i], _ = of_row(y[i], raw[i], constant)

    return loop


def _curved_loop(loss):
    of_row = loss.formulas(LOSSES).gradient_hessian

    @inlined
    def loop(constant, y, raw, gradient, hessian):
        for i in range(y.shape[0]):
            gradient[i], hessian[i] = of_row(y[i], raw[i], constant)

    return loop


def _loop_of_shares(loss):
    of_row = loss.formulas(LOSSES).gradient_hessian

    @inlined
    def loop(output, y, raw, most, total, gradient, hessian):
        for i in range(y.shape[0]):
            gradient[i], hessian[i] = of_row(y[i], raw[i], most[i], total[i], output)

    return loop


flat_loop = choose([_flat_loop(loss) for loss in _FLAT])
curved_loop = choose([_curved_loop(loss) for loss in _CURVED])
loop_of_shares = choose([_loop_of_shares(loss) for loss in _OF_SHARES])


@kernel
def flat_gradients(begin, end, step, loss, constant, y, raw, gradient):
    """Gradients of a loss whose hessian is 1."""
    first, last = begin * step, min(end * step, y.shape[0])
    flat_loop(loss, constant, y[first:last], raw[first:last], gradient[first:last])


@kernel
def curved_gradients(begin, end, step, loss, constant, y, raw, gradient, hessian):
    """Gradients and hessians of a loss of one output."""
    first, last = begin * step, min(end * step, y.shape[0])
    y, raw = y[first:last], raw[first:last]
    curved_loop(loss - N_FLAT, constant, y, raw, gradient[first:last], hessian[first:last])


@kernel
def volumes(begin, end, step, raw, most, total):
    """What the shares of several classes need of each row; raw has (outputs, rows).

    The formulas of `highest` and `volume`, for many rows an output at a time.
    """
    for part in range(begin, end):
        first, last = part * step, min((part + 1) * step, raw.shape[1])
        tops, totals = most[first:last], total[first:last]
        for i in range(tops.shape[0]):
            tops[i] = raw[0, first + i]
        for output in range(1, raw.shape[0]):
            values = raw[output, first:last]
            for i in range(values.shape[0]):
                tops[i] = larger(values[i], tops[i])
        totals[:] = 0.0
        for output in range(raw.shape[0]):
            values = raw[output, first:last]
            for i in range(values.shape[0]):
                totals[i] = totals[i] + exp(values[i] - tops[i])


@kernel
def class_gradients(begin, end, step, loss, output, y, raw, most, total, gradient, hessian):
    """Gradients and hessians of the prediction of one class.

    `output` is the number of the class, `loss` that of the loss. Each row has its largest raw score
    in `most`, and the sum of exponentials relative to that in `total`.
    """
    first, last = begin * step, min(end * step, y.shape[0])
    y, raw, most, total = y[first:last], raw[first:last], most[first:last], total[first:last]
    gradient, hessian = gradient[first:last], hessian[first:last]
    loop_of_shares(loss - N_ALONE, output, y, raw, most, total, gradient, hessian)


@kernel
def weigh(begin, end, step, weight, is_inside, gradient, hessian, largest):
    """Multiply by weights, leave out rows outside, and find the largest magnitudes of each part.

    Weights, marks and hessians may be empty.
    """
    for part in range(begin, end):
        first, last = part * step, min((part + 1) * step, gradient.shape[0])
        largest[part, 0] = weighed(weight[first:last], is_inside[first:last], gradient[first:last])
        largest[part, 1] = 0.0
        if hessian.shape[0] > 0:
            curved = hessian[first:last]
            largest[part, 1] = weighed(weight[first:last], is_inside[first:last], curved)


@inner
def weighed(weight, is_inside, values):
    """Multiply by weights, leave out what is outside, and return the largest magnitude."""
    if weight.shape[0] > 0:
        for i in range(values.shape[0]):
            values[i] = values[i] * weight[i]
    if is_inside.shape[0] > 0:
        for i in range(values.shape[0]):
            values[i] = values[i] if is_inside[i] else 0.0
    # Magnitudes compare as their bits do, which vector code can put together in any order.
    bits = np.int64(0)
    for i in range(values.shape[0]):
        own = np.float64(abs(values[i])).view(np.int64)
        bits = own if own > bits else bits
    return np.int64(bits).view(np.float64)


@kernel
def widen(begin, end, step, scale, values, total):
    """Make values whole numbers, in place, and sum their magnitudes for each part."""
    for part in range(begin, end):
        own = values[part * step : (part + 1) * step]
        magnitude = np.int64(0)
        for i in range(own.shape[0]):
            own[i] = np.rint(own[i] * scale)
            magnitude += np.int64(abs(own[i]))
        total[part] = magnitude


@inner
def narrowed(wide, half, less):
    """A whole number with some bits fewer; `half` rounds."""
    return (np.int64(wide) + half) >> less


@kernel
def pack(begin, end, step, gradient, less, hessian, less_curved, is_inside, word, total):
    """Narrow gradients and hessians in one word, and their sums for each part.

    A row that takes part has a hessian of at least 1; where none are given, each is 1.
    """
    half, half_curved = (1 << less) >> 1, (1 << less_curved) >> 1
    for part in range(begin, end):
        first, last = part * step, min((part + 1) * step, gradient.shape[0])
        words, gradients = word[first:last], gradient[first:last]
        for i in range(gradients.shape[0]):
            words[i] = (narrowed(gradients[i], half, less) << UPPER) + 1
        if hessian.shape[0] > 0:
            curved = hessian[first:last]
            for i in range(gradients.shape[0]):
                words[i] += max(np.int64(0), narrowed(curved[i], half_curved, less_curved) - 1)
        if is_inside.shape[0] > 0:
            marks = is_inside[first:last]
            for i in range(gradients.shape[0]):
                words[i] = words[i] if marks[i] else 0
        running = np.int64(0)
        for i in range(gradients.shape[0]):
            running += words[i]
        total[part] = running


@kernel
def leaf_sums(begin, end, step, leaf, gradient, hessian, sums):
    """Sums of wide gradients and hessians by leaf, for each part: (parts, leaves, 2)."""
    for part in range(begin, end):
        first, last = part * step, min((part + 1) * step, leaf.shape[0])
        own, leaves, gradients = sums[part], leaf[first:last], gradient[first:last]
        curved = hessian[first:last]
        for i in range(leaves.shape[0]):
            if leaves[i] >= 0:
                at = np.uint64(leaves[i])
                own[at, 0] += np.int64(gradients[i])
                own[at, 1] += np.int64(curved[i]) if curved.shape[0] > 0 else 1


@kernel
def renew(begin, end, leaf, by_leaf, raw):
    """Add the step of its leaf to each row's prediction."""
    leaf, raw = leaf[begin:end], raw[begin:end]
    for i in range(leaf.shape[0]):
        if leaf[i] >= 0:
            raw[i] += by_leaf[np.uint64(leaf[i])]
