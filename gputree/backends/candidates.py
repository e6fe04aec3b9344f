"""What all searches on the host agree on: which splits are admissible, their scores, which wins.

Sums are arrays of the host with channels on the last axis, but for functions that say otherwise.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from gputree import formulas
from gputree.backends.contract import NO_SPLIT, CategoryRules, Rates, Search, Splits
from gputree.data.target import Channels
from gputree.dtypes import SLOT, Array, HostArray
from gputree.formulas import HOST
from gputree.sampling import drawn_features

EVERY = slice(None)

# Which splits are admissible.


def have_enough(
    channels: Channels,
    rules: Search | CategoryRules,
    part: tuple[Array, Array],
    whole: tuple[Array, Array],
    least: Array | None = None,
) -> Array:
    """Whether child 0 and child 1 are large enough; for the arrays of any library.

    From rows and weight of child 0 and of the node; `least` weights instead of one for all.
    """
    (rows, weight), (all_rows, all_weight) = part, whole
    least = max(1, rules.min_weight) if least is None else least
    allowed = (weight >= least) & (all_weight - weight >= least)
    if not channels.counts_rows and rules.min_rows <= 1:  # rows are their weight, which is enough
        return allowed
    return allowed & (rows >= rules.min_rows) & (all_rows - rows >= rules.min_rows)


def are_admissible(
    channels: Channels,
    left: HostArray,
    total: HostArray,
    rules: Search | CategoryRules,
    least: HostArray | None = None,
) -> HostArray:
    """The same from sums of child 0 and of the node."""
    part, whole = ((channels.rows_of(sums), channels.weight_of(sums)) for sums in (left, total))
    return have_enough(channels, rules, part, whole, least)


def least_of_share(xp: Any, known_weight: Array, search: Search) -> Array:
    """What a child has to weigh where that is a share of the known weight, given as floats."""
    floor, most = float(max(1, search.min_weight)), float(search.most_least_weight)
    least = known_weight * search.least_share
    least = xp.where(least > most, most, least)
    return xp.where(least < floor, floor, least)


def following(is_present: HostArray) -> HostArray:
    """The next code that occurs in a node after each one, -1 if there is none; (nodes, codes)."""
    n = is_present.shape[1]
    own = np.where(is_present, np.arange(n), n)
    least = np.minimum.accumulate(own[:, ::-1], axis=1)[:, ::-1]
    later = np.concatenate([least[:, 1:], np.full((len(own), 1), n)], axis=1)
    return np.where(later < n, later, -1)


# What they are worth.


def scores(
    channels: Channels,
    left: HostArray,
    total: HostArray,
    rules: Search | CategoryRules,
    is_candidate: HostArray | bool = True,
    least: HostArray | None = None,
) -> HostArray:
    """Scores of candidates from sums of child 0 and of the node; NO_SPLIT for all others.

    Only those are candidates that are admissible, too.
    """
    allowed = are_admissible(channels, left, total, rules, least) & is_candidate
    at = np.nonzero(allowed)
    left, total = left[at], np.broadcast_to(total, left.shape)[at]
    units = list(enumerate(channels.units, channels.scored.start))
    lefts, totals = (
        [sums[:, channel].astype(np.float64) * unit for channel, unit in units]
        for sums in (left, total)
    )
    part, whole = (channels.weight_of(sums).astype(np.float64) for sums in (left, total))
    weights = part + rules.ridge, whole + 2.0 * rules.ridge
    score = np.full(allowed.shape, NO_SPLIT)
    score[at] = formulas.score(rules.criterion, lefts, totals, *weights)
    return score


# Which one wins.


def trimmed(score: HostArray) -> HostArray:
    """Scores as they are compared: the higher one is better, and of equal ones the first."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(score), HOST.trim(score), NO_SPLIT)


def first_best(score: HostArray) -> HostArray:
    """The place of the best of each line."""
    return np.asarray(np.argmax(trimmed(score), axis=1))


def among_drawn(score: HostArray, search: Search) -> HostArray:
    """Scores of (nodes, features) without those of features that a node does not try."""
    if search.rank is None:
        return score
    drawn = drawn_features(search.rank, search.n_drawn, score > NO_SPLIT)
    return np.where(drawn, score, NO_SPLIT)


def missing_slots(
    channels: Channels, left: HostArray, right: HostArray, missing: HostArray, side: HostArray
) -> HostArray:
    """The child that takes missing values; `side` 1 says that child 0 is better."""
    # Rows without missing values say nothing of them: the larger child takes those to come.
    right_is_larger = channels.rows_of(left) <= channels.rows_of(right)
    return np.where(channels.weight_of(missing) == 0, right_is_larger, side == 0).astype(SLOT)


def joined(parts: Sequence[Splits], order: HostArray | slice = EVERY) -> Splits:
    """The splits of all nodes from those of some after others; perhaps in another order."""
    return Splits(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])[order]
            for field in fields(Splits)
        )
    )


def put_rates(rates: Rates, at: Any, some: Rates) -> None:
    """Write rates of some nodes, or of some features, to their place among all."""
    for field in fields(Rates):
        getattr(rates, field.name)[at] = getattr(some, field.name)
