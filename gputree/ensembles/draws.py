"""Which rows each tree of an ensemble is grown on.

Draws depend on the seed, the number of the tree and what the rows hold, never on the order of
execution or of the rows. A row of weight 2 has twice the chance of one of weight 1: that of two
rows that are alike.
"""

from typing import Any

import numpy as np

from gputree import sampling
from gputree.backends.places import Places
from gputree.backends.samples import ContentOrder as ContentOrder
from gputree.backends.samples import Draws as Draws
from gputree.comm import total
from gputree.data.target import LARGEST_COUNT, Target
from gputree.dtypes import SUM, HostArray
from gputree.estimators import parameters
from gputree.estimators.growing import Growing
from gputree.fit.fit import Fit


def content_order(growing: Growing) -> ContentOrder:
    """The rows that count, in an order that depends on what they hold."""
    return order_of(growing, growing.counts, growing.answers, growing.target.weight)


def order_of(
    fit: Fit, is_in: HostArray, answers: HostArray, weight: HostArray | None
) -> ContentOrder:
    """Some rows, in an order that depends on their codes, answers and weights alone."""
    dataset = fit.dataset
    table = dataset.data, dataset.bins, is_in
    row = fit.backend.row_order(*table, answers, weight)
    if dataset.comm.size == 1:
        return ContentOrder.alone(row)
    key = np.zeros(dataset.n_rows, np.uint64)
    key[is_in] = sampling.with_answers(fit.backend.row_keys(*table), answers[is_in])
    own = np.ones(len(row), SUM) if weight is None else weight[row]
    places = Places.of(dataset.comm, key[row], own)
    return ContentOrder(row, int(places.first[-1]), dataset.comm, places)


def draws_of(growing: Growing, seed: int, max_samples: Any, *, replaces: bool) -> Draws:
    """The samples that the parameters of an ensemble ask for."""
    order = content_order(growing)
    weight = growing.target.weight
    n_drawn = n_samples(max_samples, growing.target, order.n, replaces=replaces)
    own = None if weight is None or not replaces else weight[order.row]
    return Draws(seed, n_drawn, replaces, order, own, growing.dataset.n_rows)


def n_samples(max_samples: Any, target: Target, n_counted: int, *, replaces: bool) -> int:
    """How many rows to draw for each tree, of so many that have a weight."""
    n_all = n_counted
    if replaces and target.weight is not None and target.channels.weight_shift == 0:
        held = int(total(target.comm, target.weight.sum()))
        if held <= LARGEST_COUNT:  # whole weights that small are counts of rows
            n_all = held
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
