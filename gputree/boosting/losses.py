"""Losses by name: where a model starts, how its sums become answers, how far off they are.

Means are of integers, and logarithms and exponentials are the portable ones: models start, and
stop early, alike on every machine.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gputree.boosting.leaves import Huber, Quantile, Refine, weighted_quantile
from gputree.boosting.rounds import Objective
from gputree.data.slopes import Loss, wide_shift
from gputree.data.target import LARGEST_TARGET
from gputree.data.weights import brought_near_one
from gputree.dtypes import HostArray
from gputree.formulas import HOST, LOSSES

LN_2 = 0.6931471805599453
BLOCK_ROWS = 2**12  # whose intermediate values stay in the cache
MOST_SHARE = 1.0 - 2.0**-52  # a class that has all of the weight starts with finite log-odds
# What a leaf adds at most to a logarithm: the way from that of 2**-52 to that of 2**52.
LARGEST_LOG_STEP = 2.0 * 52.0 * LN_2
LEAST_MEAN = 2.0**-52  # of counts that are all 0, which have a logarithm then


@dataclass(frozen=True)
class Named:
    """A loss that a model can be asked to make small."""

    loss: Loss
    start: Callable[[HostArray, HostArray], HostArray]  # of target and weights: (outputs,)
    mean: Callable[[HostArray, HostArray, HostArray], float]  # of target, weights, sums
    refine: Refine | None = None  # where leaves look at ranks of residuals
    bend: float = 1.0  # what curvatures are multiplied by
    most_step: float = LARGEST_TARGET  # what a leaf adds at most
    # Slopes and curvatures by the host, from the target, where backends have no loss of the name.
    slopes: Callable[[HostArray], Objective] | None = None


def for_numbers(name: str, y: HostArray, weight: HostArray, share: float) -> Named:
    """The loss of a regression; `share` is the quantile, or that of Huber's small residuals."""
    if name == "squared_error":
        return Named(Loss("squared"), _at_mean, _squared)
    if name == "absolute_error":
        return Named(Loss("absolute"), _at_quantile(0.5), _pinball(0.5, 2.0), Quantile(0.5))
    if name == "quantile":
        return Named(
            Loss("quantile", share), _at_quantile(share), _pinball(share, 1.0), Quantile(share)
        )
    if name == "huber":
        middle = weighted_quantile(y, weight, 0.5)
        most = weighted_quantile(np.abs(y - middle), weight, share)
        return Named(Loss("huber", most), _at_quantile(0.5), _huber(most), Huber(most))
    if name == "gamma":
        most = LARGEST_LOG_STEP
        return Named(Loss("squared"), _at_log_mean, _gamma, most_step=most, slopes=_gamma_slopes)
    return Named(Loss("poisson"), _at_log_mean, _poisson, most_step=LARGEST_LOG_STEP)


def for_classes(n_classes: int, name: str = "log_loss") -> Named:
    """The deviance of two classes or of several, or the exponential loss of two."""
    if name == "exponential":
        return Named(
            Loss("squared"),
            _at_log_odds,
            _exponential,
            most_step=LARGEST_LOG_STEP,
            slopes=_exponential_slopes,
        )
    if n_classes <= 2:
        return Named(Loss("logistic"), _at_log_odds, _logistic, most_step=LARGEST_LOG_STEP)
    # Only differences of logits count, so the steps of all of them sum to 0: along such steps the
    # deviance is curved more than along one logit. With two classes this is the logistic loss.
    bend = n_classes / (n_classes - 1.0)
    start = _at_log_shares(n_classes)
    return Named(Loss("softmax"), start, _softmax, bend=bend, most_step=LARGEST_LOG_STEP)


def shares(raw: HostArray) -> HostArray:
    """Shares of classes from sums of (outputs, rows); (rows, classes)."""
    found = np.empty((raw.shape[1], max(2, len(raw))))
    for first in range(0, raw.shape[1], BLOCK_ROWS):
        _put_shares(raw[:, first : first + BLOCK_ROWS], found[first : first + BLOCK_ROWS])
    return found


def _put_shares(raw: HostArray, found: HostArray) -> None:
    if len(raw) == 1:
        second = 1.0 / (1.0 + LOSSES.exp(-raw[0]))
        found[:, 0], found[:, 1] = 1.0 - second, second
        return
    raw = np.ascontiguousarray(raw)
    most = LOSSES.highest(raw, len(raw))
    # One exponential a class, which `volume` would take once more.
    part = [LOSSES.exp(each - most) for each in raw]
    total = sum(part[1:], part[0])
    for output, own in enumerate(part):
        found[:, output] = own / total


def average(values: HostArray, weight: HostArray) -> float:
    """The weighted mean by exact sums; infinite where one of the values is."""
    if not np.isfinite(values).all():
        return np.inf
    near, _ = brought_near_one(weight)
    assert near is not None
    weight, weighted = near, values * near
    shifts = [wide_shift(len(part), float(np.abs(part).max())) for part in (weighted, weight)]
    top, bottom = (
        int(np.rint(part * 2.0**shift).astype(np.int64).sum())
        for part, shift in zip((weighted, weight), shifts, strict=True)
    )
    return float(np.ldexp(top / bottom, shifts[1] - shifts[0]))


def logarithm(x: HostArray) -> HostArray:
    """The natural logarithm."""
    return np.asarray(HOST.log2(np.asarray(x, np.float64)) * LN_2)


# Where models start.


def _at_mean(y: HostArray, weight: HostArray) -> HostArray:
    return np.array([average(y, weight)])


def _at_log_mean(y: HostArray, weight: HostArray) -> HostArray:
    mean = _at_mean(y, weight)
    return logarithm(np.where(mean > 0.0, mean, LEAST_MEAN))


def _at_quantile(share: float) -> Callable[[HostArray, HostArray], HostArray]:
    return lambda y, weight: np.array([weighted_quantile(y, weight, share)])


def _at_log_odds(y: HostArray, weight: HostArray) -> HostArray:
    share = np.clip(_at_mean(y, weight), 1.0 - MOST_SHARE, MOST_SHARE)
    return logarithm(share / (1.0 - share))


def _at_log_shares(n_classes: int) -> Callable[[HostArray, HostArray], HostArray]:
    def start(y: HostArray, weight: HostArray) -> HostArray:
        total = np.array([average(y == c, weight) for c in range(n_classes)])
        share = logarithm(np.clip(total / total.sum(), 1.0 - MOST_SHARE, 1.0))
        return np.asarray(share - average(share, np.ones(n_classes)))

    return start


# How far off sums are, (outputs, rows).


def _squared(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    with np.errstate(over="ignore"):
        return average((raw[0] - y) ** 2, weight) / 2.0


def _pinball(share: float, scale: float) -> Callable[[HostArray, HostArray, HostArray], float]:
    def mean(y: HostArray, weight: HostArray, raw: HostArray) -> float:
        apart = y - raw[0]
        return scale * average(np.maximum(share * apart, (share - 1.0) * apart), weight)

    return mean


def _huber(most: float) -> Callable[[HostArray, HostArray, HostArray], float]:
    def mean(y: HostArray, weight: HostArray, raw: HostArray) -> float:
        apart = np.abs(y - raw[0])
        small = np.minimum(apart, most)
        with np.errstate(over="ignore"):
            return average(small * (apart - small / 2.0), weight)

    return mean


def _poisson(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    return average(LOSSES.exp(raw[0]) - y * raw[0], weight)


def _gamma(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    return average(raw[0] + _ratio(y, raw), weight)


def _gamma_slopes(y: HostArray) -> Objective:
    def slopes(raw: HostArray) -> tuple[HostArray, HostArray]:
        ratio = _ratio(y, raw)[None, :]
        return 1.0 - ratio, ratio

    return slopes


def _ratio(y: HostArray, raw: HostArray) -> HostArray:
    """How many times the target is what is predicted."""
    return np.minimum(y * LOSSES.exp(-raw[0]), LARGEST_TARGET)


def _exponential(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    return average(_wrongness(y, raw), weight)


def _exponential_slopes(y: HostArray) -> Objective:
    def slopes(raw: HostArray) -> tuple[HostArray, HostArray]:
        wrong = _wrongness(y, raw)[None, :]
        return np.where(y > 0.0, -0.5, 0.5) * wrong, 0.25 * wrong

    return slopes


def _wrongness(y: HostArray, raw: HostArray) -> HostArray:
    """The exponential of half the log-odds that a row's own class is short of."""
    short = np.where(y > 0.0, -0.5, 0.5) * raw[0]
    return np.minimum(LOSSES.exp(short), LARGEST_TARGET)


def _logistic(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    # log(1 + exp(r)) without the exponential of a large number.
    beyond = logarithm(1.0 + LOSSES.exp(-np.abs(raw[0])))
    return average(np.maximum(raw[0], 0.0) + beyond - y * raw[0], weight)


def _softmax(y: HostArray, weight: HostArray, raw: HostArray) -> float:
    most = LOSSES.highest(raw, len(raw))
    total = logarithm(LOSSES.volume(raw, most, len(raw))) + most
    own = np.take_along_axis(raw, y.astype(np.int64)[None, :], axis=0)[0]
    return average(total - own, weight)
