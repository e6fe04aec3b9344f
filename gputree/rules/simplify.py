"""Leave out conditions of a rule that its pessimistic accuracy can do without."""

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.confidence import error_limit


def needed(
    unmet: HostArray, is_wrong: HostArray, weight: HostArray, confidence: float
) -> list[int]:
    """The conditions of one rule that are kept, by number.

    One condition after the other is left out, always the one without which the limit of the error
    is the lowest, as long as it does not rise.

    Parameters
    ----------
    unmet : (conditions, rows) bools
        Which rows do not meet which condition.
    is_wrong : (rows,) bools
        Which rows are of another class than the rule answers with.
    weight : (rows,)
        Their weights.
    confidence : float
        The chance that the limit is exceeded.
    """
    kept = list(range(len(unmet)))
    n_unmet = unmet.sum(axis=0, dtype=np.int32)
    limit = _limit(_weights(n_unmet == 0, is_wrong, weight), confidence)
    while kept:
        now = _weights(n_unmet == 0, is_wrong, weight)
        # Without a condition, a rule covers also the rows that fail at it alone.
        limits = _limit(now + _at_one(unmet[kept], n_unmet, is_wrong, weight), confidence)
        best = int(limits.argmin())
        if limits[best] > limit:
            break
        limit = limits[best]
        n_unmet -= unmet[kept.pop(best)]
    return kept


def _limit(weights: HostArray, confidence: float) -> HostArray:
    return error_limit(weights.sum(axis=-1), weights[..., 1], confidence)


def _weights(covered: HostArray, is_wrong: HostArray, weight: HostArray) -> HostArray:
    """The weight of the rows covered: right and wrong."""
    return np.bincount(is_wrong[covered], weight[covered], minlength=2)


def _at_one(
    unmet: HostArray, n_unmet: HostArray, is_wrong: HostArray, weight: HostArray
) -> HostArray:
    """For each condition the weight of rows, right and wrong, that fail at it alone."""
    row = np.flatnonzero(n_unmet == 1)
    which = unmet[:, row].argmax(axis=0)
    sums = np.bincount(2 * which + is_wrong[row], weight[row], minlength=2 * len(unmet))
    return sums.reshape(-1, 2)
