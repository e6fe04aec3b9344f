"""Choose among the rules for one class.

All functions take `cover`, a sparse (rules, rows) matrix of ones: which rules cover which rows.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gputree.dtypes import HostArray
from gputree.rules.coding import exception_bits, swaps_of, theory_bits
from gputree.runs import owners, spread_out

MOST_EXACT = 12  # rules: all 4096 sets of them are tried
LEAST_SAVED = 1e-6  # bits: what rounding saves is nothing

# The bits of sets of rules: by their own bits, their number, and what they cover, right and wrong.
Length: TypeAlias = Callable[[HostArray, HostArray, HostArray, HostArray], HostArray]


def by_description_length(
    cover: Any, bits: HostArray, is_class: HostArray, weight: HostArray
) -> HostArray:
    """Which rules to keep, so that they and the rows where they err take the fewest bits."""
    total, n_class = float(weight.sum()), float(weight[is_class].sum())

    swaps = swaps_of(weight, len(bits))

    def length(own: HostArray, count: HostArray, right: HostArray, wrong: HostArray) -> HostArray:
        theory = theory_bits(own, count, swaps)
        return theory + exception_bits(total, n_class, right, wrong, swaps)

    sides = np.column_stack([weight * is_class, weight * ~is_class])
    if len(bits) <= MOST_EXACT:
        return _best_set(cover, bits, sides, length)
    climbs = [_climb(cover, bits, sides, length, start) for start in (True, False)]
    return min(climbs, key=lambda climb: climb[0])[1]


def greedily(cover: Any, is_class: HostArray, weight: HostArray) -> HostArray:
    """Which rules to keep: always the one that adds the most, as long as it is more often right.

    What a rule adds are the rows that no rule kept before covers.
    """
    signed = np.where(is_class, weight, -weight)
    kept = np.zeros(cover.shape[0], bool)
    while not kept.all():
        gain = np.where(kept, 0.0, cover @ signed)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        kept[best] = True
        signed[cover.indices[cover.indptr[best] : cover.indptr[best + 1]]] = 0.0
    return kept


def _best_set(cover: Any, bits: HostArray, sides: HostArray, length: Length) -> HostArray:
    """The best of all sets of rules; a set is the number with its rules' bits."""
    n_rules = len(bits)
    n_sets = 2**n_rules
    mark = cover.T @ (1 << np.arange(n_rules))  # of each row: the set of all rules that cover it
    within = np.stack([np.bincount(mark, side, minlength=n_sets) for side in sides.T])
    # Sum over all subsets of each set: the rows that no rule outside of it covers.
    for rule in range(n_rules):
        halves = within.reshape(2, -1, 2, 2**rule)
        halves[:, :, 1] += halves[:, :, 0]
    missed = within[:, ::-1]  # by no rule of the set: the complement has all that cover the row
    right, wrong = sides.sum(axis=0)[:, None] - missed
    member = (np.arange(n_sets)[:, None] >> np.arange(n_rules)) & 1
    best = int(length(member @ bits, member.sum(axis=1), right, wrong).argmin())
    return np.asarray(member[best] == 1)


def _climb(
    cover: Any, bits: HostArray, sides: HostArray, length: Length, start: bool
) -> tuple[float, HostArray]:
    """From all rules or from none, add or drop one rule at a time while that saves bits."""
    kept = np.full(len(bits), start)
    by_row = cover.tocsc()
    n_rules = np.diff(by_row.indptr)  # that cover each row
    n_covering = np.asarray(cover.T @ kept.astype(np.int64))
    # Dropping a rule uncovers the rows that it alone covers; adding one covers more.
    alone = cover @ (sides * (n_covering == 1)[:, None])
    more = cover @ (sides * (n_covering == 0)[:, None])
    covered = sides[n_covering > 0].sum(axis=0)
    while True:
        now = float(length(bits[kept].sum(), kept.sum(), covered[0], covered[1]))
        sign = np.where(kept, -1, 1)
        right, wrong = (covered + np.where(kept[:, None], -alone, more)).T
        lengths = length(bits[kept].sum() + sign * bits, kept.sum() + sign, right, wrong)
        best = int(lengths.argmin())
        if lengths[best] > now - LEAST_SAVED:
            return now, kept
        # Only rows of this rule change, and sums of whole weights are exact.
        row = cover.indices[cover.indptr[best] : cover.indptr[best + 1]]
        n_covering[row] += sign[best]
        kept[best] = not kept[best]
        # Rows that two others cover as well are no rule's own before and after.
        row = row[n_covering[row] <= 1 + kept[best]]
        after, before = n_covering[row], n_covering[row] - sign[best]
        own, n = sides[row], n_rules[row]
        rule, owner = by_row.indices[spread_out(by_row.indptr[row], n)], owners(n)
        for total, number in ((alone, 1), (more, 0)):
            change = (own * _difference(after == number, before == number))[owner]
            for side in range(2):
                total[:, side] += np.bincount(rule, change[:, side], minlength=len(bits))
        covered = covered + (own * _difference(after > 0, before > 0)).sum(axis=0)


def _difference(after: HostArray, before: HostArray) -> HostArray:
    """1 where something has become true, -1 where it was; (rows, 1)."""
    return (after.astype(np.float64) - before)[:, None]
