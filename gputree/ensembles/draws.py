"""Which rows each tree of an ensemble is grown on.

Draws depend on the seed, the number of the tree and what the rows hold, never on the order of
execution or of the rows. A row of weight 2 has twice the chance of one of weight 1: that of two
rows that are alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree import sampling
from gputree.data.target import LARGEST_COUNT, Target
from gputree.dtypes import SUM, HostArray
from gputree.estimators import parameters
from gputree.estimators.growing import Growing
from gputree.fit.fit import Fit


@dataclass(frozen=True, eq=False)
class Draws:
    """Samples of the rows, one a tree."""

    seed: int
    n_drawn: int  # rows of each sample
    replaces: bool  # whether a row may be drawn more than once
    order: HostArray  # (rows that count,) sorted by what they hold
    weight: HostArray | None  # (rows that count,) integers, in that order; None: all alike
    n_rows: int

    def counts(self, tree: int) -> HostArray:
        """How often each row is drawn for a tree, (rows,)."""
        seed, n = sampling.tree_seed(self.seed, tree), len(self.order)
        if not self.replaces:
            drawn = sampling.drawn_without_replacement(seed, self.n_drawn, n)
        elif self.weight is None:
            drawn = sampling.drawn_with_replacement(seed, self.n_drawn, n)
        else:
            reached = np.cumsum(self.weight)
            number = sampling.drawn_with_replacement(seed, self.n_drawn, int(reached[-1]))
            drawn = np.searchsorted(reached, number, side="right")
        counts = np.zeros(self.n_rows, SUM)
        counts[self.order] = np.bincount(drawn, minlength=n)
        return counts

    def samples(self, tree: int) -> HostArray:
        """The rows drawn for a tree, those drawn twice being there twice."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), self.counts(tree))


def content_order(growing: Growing) -> HostArray:
    """The rows that count, in an order that depends on what they hold."""
    return order_of(growing, growing.counts, growing.answers, growing.target.weight)


def order_of(fit: Fit, is_in: HostArray, answers: HostArray, weight: HostArray | None) -> HostArray:
    """Some rows, in an order that depends on their codes, answers and weights alone.

    Rows that agree in all of these are alike to every tree; they keep their order.
    """
    dataset = fit.dataset
    order: HostArray = fit.backend.row_order(dataset.data, dataset.bins, is_in, answers, weight)
    return order


def draws_of(growing: Growing, seed: int, max_samples: Any, *, replaces: bool) -> Draws:
    """The samples that the parameters of an ensemble ask for."""
    order = content_order(growing)
    weight = growing.target.weight
    n_drawn = n_samples(max_samples, growing.target, len(order), replaces=replaces)
    own = None if weight is None or not replaces else weight[order]
    return Draws(seed, n_drawn, replaces, order, own, growing.dataset.n_rows)


def n_samples(max_samples: Any, target: Target, n_counted: int, *, replaces: bool) -> int:
    """How many rows to draw for each tree, of so many that have a weight."""
    n_all = n_counted
    if replaces and target.weight is not None and target.channels.weight_shift == 0:
        total = int(target.weight.sum())
        if total <= LARGEST_COUNT:  # whole weights that small are counts of rows
            n_all = total
    if max_samples is None:
        return n_all
    if parameters.is_whole(max_samples):
        parameters.whole("max_samples", max_samples, 1)
        n_drawn = int(max_samples)
    else:
        n_drawn = max(1, int(parameters.share_above_zero("max_samples", max_samples) * n_all))
    if not replaces and n_drawn > n_counted:
        raise ValueError(
            f"max_samples={max_samples!r}: {n_drawn} rows are to be drawn without replacement from "
            f"{n_counted} that have a weight; draw fewer, or set bootstrap=True"
        )
    return n_drawn
