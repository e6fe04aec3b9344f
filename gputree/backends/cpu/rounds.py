"""Whole rounds of boosting on tables of few rows, for the CPU backend: one call for all of them."""

import numpy as np

from gputree.backends.cpu.gradients import CpuRawScores
from gputree.backends.cpu.grow import LONE_ROWS
from gputree.backends.cpu.interrupts import interruptions_as_such
from gputree.backends.whole import Boosted, BoostRules, CategoryLists
from gputree.data.bins import Bins
from gputree.dtypes import SLOT, HostArray
from gputree.kernels.cpu import rounds, steps
from gputree.kernels.cpu.gradients import number_of


def _bytes_of_sums(n_rows: int, bins: Bins) -> int:
    """What the sums of nodes take at most: the rows of those that have some are different ones."""
    n_places = n_rows // rounds.DIRECT_ROWS + 2
    return n_places * bins.width * rounds.CELL_BYTES


def boost(
    data: HostArray,
    bins: Bins,
    raw_scores: CpuRawScores,
    rules: BoostRules,
    takes_part: HostArray | None,
    columns: HostArray | None,
    keys: HostArray,
) -> Boosted | None:
    n_outputs, n_rows = raw_scores.raw.shape
    peak_bytes = _bytes_of_sums(n_rows, bins)
    if n_rows > LONE_ROWS or peak_bytes > rules.budget:
        return None
    n_features = len(bins.features)
    marks = np.empty((0, n_rows), np.bool_) if takes_part is None else takes_part
    n_rounds = len(keys) // n_outputs
    if raw_scores.weight.size and not raw_scores.weight.all():
        has_weight = np.broadcast_to(raw_scores.weight > 0, (n_rounds, n_rows))
        marks = has_weight.copy() if takes_part is None else takes_part & has_weight
    with interruptions_as_such():
        told, measure, tree, listed = rounds.run(
            raw_scores.y,
            raw_scores.weight,
            raw_scores.raw,
            marks,
            (data, bins.n_codes, bins.n_values, bins.offset),
            np.empty((0, n_features), np.bool_) if columns is None else columns,
            None if rules.categories is None else (bins.is_nominal, *rules.categories),
            keys,
            (number_of(rules.loss), float(rules.loss.constant)),
            (
                n_rounds,
                -1 if rules.max_depth is None else rules.max_depth,
                -1 if rules.max_leaves is None else rules.max_leaves,
                rules.min_rows,
                rules.n_drawn,
            ),
            (
                rules.learning_rate,
                rules.most_step,
                rules.min_child_weight,
                rules.min_gain,
                rules.ridge,
            ),
        )
    return Boosted(
        n_nodes=tree[:, 0],
        gradient_shift=tree[:, 1],
        weight_shift=tree[:, 2],
        first_child=told[:, steps.CHILD],
        feature=told[:, steps.FEATURE],
        code=told[:, steps.CODE],
        missing_slot=told[:, steps.SLOT],
        n_rows=told[:, steps.COUNT],
        weight=told[:, steps.AMOUNT],
        worth=measure[:, 0],
        step=measure[:, 1],
        peak_bytes=peak_bytes,
        categories=None if rules.categories is None else _lists(told, listed),
    )


def _lists(told: HostArray, listed: HostArray) -> CategoryLists:
    """The categories that nodes list, node by node."""
    own = np.flatnonzero(told[:, steps.N_CODES])
    absent = told[own, steps.ELSEWHERE].astype(SLOT)
    code, slot = listed.T
    return CategoryLists(own, told[own, steps.N_CODES], absent, code, slot.astype(SLOT))
