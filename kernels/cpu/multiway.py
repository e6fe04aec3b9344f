"""What a child per category gains, from the sums of the categories.

The same as `multiway_score` of `gputree.backends.categories`, one pair of a node and a feature
after another: categories in their order, channel by channel.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.scoring import many_way
from gputree.kernels.cpu.split import rows_at, weight_at

log2 = SCALAR.log2


@inner
def branch_bits(weight, whole):
    """Weight times the bits that tell of a row that it took a branch."""
    if weight <= 0.0:
        return 0.0
    return weight * log2(whole / weight)


@kernel
def split(
    begin, end, cells, start, n_codes, n_values, shape, rules, unit, score, bits, n_children, slot,
    largest,
):  # fmt: skip
    """Scores, bits and slots of pairs; the codes of pair `i` begin at start[i].

    bits[i] tells the branches apart; largest[i] is the heaviest child.
    """
    is_classes, n_scored, _, n_channels = shape
    formula, min_rows, min_weight = rules
    first = 0 if is_classes else 1
    total = np.empty(n_scored)
    weights = np.empty(most_of(n_values))
    for i in range(begin, end):
        base, n_categories = start[i] * n_channels, n_values[i]
        total[:] = 0.0
        n_present, n_large, heaviest = 0, 0, -1.0
        whole = 0.0
        for category in range(n_categories):
            at = base + category * n_channels
            weight = weight_at(cells, at, is_classes, n_scored)
            weights[category] = np.float64(weight)
            if weight == 0:
                continue
            whole += weights[category]
            for c in range(n_scored):
                total[c] += np.float64(cells[at + first + c])
            if weight >= min_weight and rows_at(cells, at, shape) >= min_rows:
                n_large += 1
            slot[start[i] + category] = n_present
            if weights[category] > heaviest:
                heaviest, largest[i] = weights[category], n_present
            n_present += 1
        for c in range(n_scored):
            total[c] = total[c] * unit[c]
        for category in range(n_categories):
            if weights[category] == 0.0:
                slot[start[i] + category] = n_present
        n_children[i] = n_present + (1 if n_present < n_categories else 0)
        lost = 0.0
        if n_codes[i] > n_categories:
            at = base + n_categories * n_channels
            lost = np.float64(weight_at(cells, at, is_classes, n_scored))
        every = whole + lost
        told_bits = 0.0
        for category in range(n_categories):
            told_bits = told_bits + branch_bits(weights[category], every)
        bits[i] = told_bits + branch_bits(lost, every)
        score[i] = -np.inf
        if n_large >= 2:
            score[i] = many_way(
                formula, cells, base + first, n_channels, weights, n_categories, unit, total, whole
            )
