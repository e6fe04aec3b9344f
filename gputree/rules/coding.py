"""How many bits rules take, and how many it takes to list the rows that they get wrong.

A set of rules is worth having where it saves more bits than it costs.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln

from gputree.dtypes import HostArray
from gputree.rules.condition import Condition

LN2 = math.log(2.0)
MOST_LISTED = 2**22  # items: the bits of all orders of up to so many are listed
THEORY = 0.5  # rules say the same thing in more than one way, so their bits count less

# The bits that tell an order of so many items.
Swaps: TypeAlias = Callable[[HostArray], HostArray]


def swaps_of(weight: HostArray, n_rules: int) -> Swaps:
    """The bits that tell an order of rules, or of rows of these weights.

    Where weights are whole, all numbers that are asked for are, and to look them up takes less
    time than to compute them again and again.
    """
    most = max(float(weight.sum()), n_rules) + 1.0
    if most > MOST_LISTED or (weight != np.floor(weight)).any():
        return _swaps
    listed = _swaps(np.arange(most + 1.0))
    return lambda n_items: listed[np.asarray(n_items).astype(np.int64)]


def rule_bits(rules: Sequence[tuple[Condition, ...]]) -> HostArray:
    """The bits that tell each of some rules to one who has a list of all their conditions.

    A column takes the fewer bits the more often it is used, a condition as many as it takes to
    choose among those on its column. The order of the conditions of a rule does not matter.
    """
    uses = Counter(condition.feature for rule in rules for condition in rule)
    different = Counter(each.feature for each in {each for rule in rules for each in rule})
    bits = {
        feature: math.log2(uses.total() / count) + math.log2(different[feature])
        for feature, count in uses.items()
    }
    return np.array(
        [sum(bits[each.feature] for each in rule) - _swaps(len(rule)) for rule in rules]
    )


def theory_bits(bits: HostArray, n_rules: HostArray, swaps: Swaps) -> HostArray:
    """The bits of sets of rules by the sums of their rules' bits; their order does not matter."""
    return np.asarray(THEORY * (bits - swaps(n_rules)))


def exception_bits(
    total: float, n_class: float, right: HostArray, wrong: HostArray, swaps: Swaps
) -> HostArray:
    """The bits that list the rows where rules for a class err, among those covered and the others.

    Parameters
    ----------
    total, n_class : float
        The weight of all rows, and of the rows of the class.
    right, wrong : arrays
        The weight of covered rows that are of the class, and of those that are not.
    swaps : function
        The bits that tell an order of rows.
    """
    covered = right + wrong
    return _choices(covered, wrong, swaps) + _choices(total - covered, n_class - right, swaps)


def list_bits(total: float, wrong: HostArray, n_classes: int, swaps: Swaps) -> HostArray:
    """The bits that list the rows that a list of rules gets wrong, and the classes of these."""
    wrong = np.maximum(wrong, 0.0)
    return _choices(np.asarray(total), wrong, swaps) + wrong * math.log2(max(n_classes - 1, 1))


def _swaps(n_items: HostArray | int) -> HostArray:
    """The bits that tell an order of so many items."""
    return np.asarray(gammaln(np.add(n_items, 1.0)) / LN2)


def _choices(rows: HostArray, some: HostArray, swaps: Swaps) -> HostArray:
    """The bits that tell which of the rows are meant, if it is known how many are."""
    # Differences of sums of weights may be a little below nothing.
    some = np.maximum(some, 0.0)
    others = np.maximum(rows - some, 0.0)
    return np.asarray(swaps(some + others) - swaps(some) - swaps(others))
