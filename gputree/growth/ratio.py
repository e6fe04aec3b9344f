"""C4.5's choice of a feature: the best gain ratio among those that gain at least the average.

The tolerances are those of the published program and of Weka's J48, which follows it.
"""

from dataclasses import dataclass

import numpy as np

from gputree.dtypes import HostArray
from gputree.formulas import HOST

ALIKE = 1e-6  # ratios that differ by less tie; a smaller gain is none
BELOW_AVERAGE = 1e-3  # a gain may miss the average by so much
MANY_CATEGORIES = 0.3  # categories a row: a feature with so many is left out of the average


@dataclass(frozen=True)
class Rated:
    """What each feature of each node offers; (nodes, features)."""

    score: HostArray  # weight times gain of the rows whose value is known, -inf: nothing
    split_info: HostArray  # weight times the bits that tell a row's branch, unknown being one
    n_cuts: HostArray  # thresholds among which the best was chosen, 0 for categories


@dataclass(frozen=True)
class RatioRules:
    """The options of the choice."""

    corrects_gain: bool = False  # the bits that tell the threshold are taken from its gain
    in_average: HostArray | None = None  # (features,) which gains are averaged; None: all
    least_gap: float = 0.0  # between two values that a threshold separates


def choose_by_ratio(
    rated: Rated, weight: HostArray, unit: float, rules: RatioRules
) -> tuple[HostArray, HostArray]:
    """The chosen feature of each node, and whether there is one.

    `weight` has the weights of the nodes in integers, `unit` is what 1 of them weighs.
    """
    whole = weight.astype(np.float64)[:, None]
    is_valid = np.isfinite(rated.score) & (rated.split_info > 0.0)
    gain = np.where(is_valid, rated.score, 0.0) / whole
    is_cut = is_valid & (rated.n_cuts > 0)
    if rules.corrects_gain:
        gain = gain - np.where(is_cut, HOST.log2(np.maximum(rated.n_cuts, 1.0)), 0.0) / (
            whole * unit
        )
    # A threshold must gain; categories need not, until they are chosen.
    is_valid &= ~is_cut | (gain > ALIKE)
    ratio = np.where(is_valid, gain, 0.0) / np.where(is_valid, rated.split_info / whole, 1.0)
    is_counted = is_valid if rules.in_average is None else is_valid & rules.in_average
    n_counted = is_counted.sum(axis=1)
    total = np.add.accumulate(np.where(is_counted, gain, 0.0), axis=1)[:, -1]
    average = total / np.maximum(n_counted, 1)
    is_valid &= (gain >= average[:, None] - BELOW_AVERAGE) & (n_counted > 0)[:, None]
    best, chosen = np.zeros(len(ratio)), np.zeros(len(ratio), np.int64)
    for feature in range(ratio.shape[1]):
        is_better = is_valid[:, feature] & (ratio[:, feature] - best > ALIKE)
        best = np.where(is_better, ratio[:, feature], best)
        chosen = np.where(is_better, feature, chosen)
    return chosen, best > 0.0
