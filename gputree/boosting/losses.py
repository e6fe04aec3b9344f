"""Losses of `gputree.kernels.losses` for the rows of a fit: their start, their mean, their leaves.

Means are of integers, and logarithms and exponentials are the portable ones: models start, and
stop early, alike on every machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from gputree.backends.contract import Residuals
from gputree.backends.residuals import weighted_quantile
from gputree.backends.watched import mean_loss
from gputree.comm import ALONE, Comm
from gputree.data.averages import average
from gputree.data.target import LARGEST_TARGET
from gputree.dtypes import HostArray
from gputree.formulas import LOSSES
from gputree.kernels.losses import FOR_CLASSES, FOR_TWO_CLASSES, FOR_VALUES, LOGIT, Link, Loss

# Finds the value of each node of a tree.
Refine: TypeAlias = Callable[[Residuals], HostArray]

BLOCK_ROWS = 2**12  # whose intermediate values stay in the cache
MOST_SHARE = 1.0 - 2.0**-52  # a class that has all of the weight starts with finite log-odds


@dataclass(frozen=True)
class Named:
    """A loss that a model can be asked to make small."""

    loss: Loss
    start: Callable[[HostArray, HostArray], HostArray]  # of target and weights: (outputs,)
    mean: Callable[[HostArray, HostArray, HostArray], float]  # of target, weights, sums
    refine: Refine | None = None  # where leaves look at ranks of residuals
    bend: float = 1.0  # what hessians are multiplied by
    most_step: float = LARGEST_TARGET  # what a leaf adds at most


@dataclass(frozen=True)
class Sample:
    """The target and the weights of some rows, and what losses ask about them."""

    y: HostArray
    weight: HostArray
    alpha: float = 0.5  # the quantile, or the share of Huber's small residuals
    n_outputs: int = 1
    comm: Comm = ALONE  # those who have other rows
    power: float = 1.5  # of the mean, to which Tweedie's variance is proportional

    def mean(self) -> float:
        return average(self.y, self.weight, self.comm)

    def quantile(self, share: float) -> float:
        return weighted_quantile(self.y, self.weight, share, self.comm)

    def spread(self, share: float) -> float:
        """The quantile of the distances to the median."""
        apart = np.abs(self.y - self.quantile(0.5))
        return weighted_quantile(apart, self.weight, share, self.comm)

    def log_odds(self) -> HostArray:
        """Those of the second of two classes."""
        share = np.clip(np.array([self.mean()]), 1.0 - MOST_SHARE, MOST_SHARE)
        return logarithm(share / (1.0 - share))

    def log_shares(self) -> HostArray:
        """Those of all classes, whose mean is 0."""
        each = [average(self.y == c, self.weight, self.comm) for c in range(self.n_outputs)]
        held = np.array(each)
        share = logarithm(np.clip(held / held.sum(), 1.0 - MOST_SHARE, 1.0))
        return np.asarray(share - average(share, np.ones(self.n_outputs)))


def for_numbers(
    name: str,
    y: HostArray,
    weight: HostArray,
    share: float,
    comm: Comm = ALONE,
    *,
    power: float = 1.5,
) -> Named:
    """The loss of a regression.

    `share` is the quantile, or that of Huber's small residuals; `power` is that of Tweedie's
    variance.
    """
    return named(FOR_VALUES[name], Sample(y, weight, share, comm=comm, power=power))


def for_columns(each: Sequence[Named]) -> Named:
    """The loss of several outputs, each of which has one: the mean of theirs."""
    first, n = each[0], len(each)
    if first.refine is not None:
        raise ValueError(
            f"loss={first.loss.name!r} takes quantiles of residuals for leaves, which is not "
            "supported for y with several columns; use a loss whose leaves are sums, such as "
            "'squared_error', or fit a model for each column"
        )

    def start(y: HostArray, weight: HostArray) -> HostArray:
        return np.concatenate([own.start(y[:, k], weight) for k, own in enumerate(each)])

    def mean(y: HostArray, weight: HostArray, raw: HostArray) -> float:
        return sum(own.mean(y[:, k], weight, raw[k : k + 1]) for k, own in enumerate(each)) / n

    return replace(first, start=start, mean=mean)


def for_classes(n_classes: int, name: str = "log_loss", comm: Comm = ALONE) -> Named:
    """The loss of two classes or of several."""
    if n_classes > 2 and name not in FOR_CLASSES:
        raise ValueError(
            f"loss={name!r} is only suitable for a binary classification problem, and y has "
            f"{n_classes} classes; use loss='log_loss'"
        )
    none = np.empty(0)
    if n_classes > 2:
        return named(FOR_CLASSES[name], Sample(none, none, n_outputs=n_classes, comm=comm))
    return named(FOR_TWO_CLASSES[name], Sample(none, none, comm=comm))


def named(loss: Loss, rows: Sample) -> Named:
    """A loss with the constant that follows from the rows of a fit."""
    if loss.find_constant is not None:
        loss = replace(loss, constant=float(loss.find_constant(rows)))
    return Named(
        loss,
        partial(_start, loss, rows),
        partial(mean_loss, loss, comm=rows.comm),
        None if loss.leaf is None else partial(_refined, loss),
        1.0 if loss.bend is None else loss.bend(rows.n_outputs),
        loss.link.most_step,
    )


def _start(loss: Loss, rows: Sample, y: HostArray, weight: HostArray) -> HostArray:
    found = loss.start(replace(rows, y=y, weight=weight), loss.constant)
    found = np.atleast_1d(np.asarray(found, np.float64))
    return np.asarray(found if loss.link.raw is None else loss.link.raw(LOSSES, found))


def _refined(loss: Loss, residuals: Residuals) -> HostArray:
    return np.asarray(loss.leaf(residuals, loss.constant))


def shares(raw: HostArray, link: Link = LOGIT) -> HostArray:
    """Shares of classes from sums of (outputs, rows); (rows, classes)."""
    found = np.empty((raw.shape[1], max(2, len(raw))))
    for first in range(0, raw.shape[1], BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        _put_shares(raw[:, part], link, found[part])
    return found


def _put_shares(raw: HostArray, link: Link, found: HostArray) -> None:
    if len(raw) == 1:
        second = link.answer(LOSSES)(raw[0])
        found[:, 0], found[:, 1] = 1.0 - second, second
        return
    raw = np.ascontiguousarray(raw)
    most = LOSSES.highest(raw, len(raw))
    # One exponential a class, which `volume` would take once more.
    part = [LOSSES.exp(each - most) for each in raw]
    volume = sum(part[1:], part[0])
    for output, own in enumerate(part):
        found[:, output] = own / volume


def logarithm(x: HostArray) -> HostArray:
    """The natural logarithm."""
    return np.asarray(LOSSES.log(np.asarray(x, np.float64)))
