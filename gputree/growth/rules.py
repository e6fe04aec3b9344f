"""When a node may be split, and which splits count.

Knows the draft and the contract; must not know devices or kinds of arrays.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gputree import sampling
from gputree.backends.contract import CategoryRules, Search
from gputree.backends.whole import Limits
from gputree.comm import smallest
from gputree.data.target import Channels, Target
from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.growth.constraints import Constraints
from gputree.growth.draft import Draft
from gputree.growth.random_splits import RandomSearch
from gputree.growth.ratio import RatioRules
from gputree.growth.surrogates import Style
from gputree.kernels.criteria import NATS, Criterion

if TYPE_CHECKING:
    from gputree.growth.combining import Combinations

MOST_SHIFT = 960  # of scales
SLACK = 1e-7  # rows that were divided and come together again are whole


@dataclass(frozen=True)
class Rules:
    """The stopping rules of a tree, in the units of its channels."""

    criterion: Criterion
    max_depth: int | None = None
    max_leaves: int | None = None
    min_rows_split: int = 2
    min_rows_leaf: int = 1
    min_weight_split: int = 0
    min_weight_leaf: int = 0
    min_score: float = 0.0  # a split with a lower score is refused
    splits_without_gain: bool = True  # an impure node is split even if its best score is 0
    n_drawn: int | None = None  # features tried at each node; None: all
    seed: int = 0
    missing: str = "direction"  # or category, fractional, surrogate
    surrogates: Style = field(default_factory=Style)
    is_multiway: bool = False  # a child per category, or two children
    subset_method: str = "auto"  # see backends.categories
    most_exact: int = 10
    list_length: int = 8
    is_random: bool = False  # one split a feature is drawn, instead of searching all
    ratio: RatioRules | None = None  # features are chosen by their gain ratio
    least_share: float = 0.0  # see Search
    most_least_weight: int = 0
    ridge: float = 0.0  # see Search
    category_ridge: float = 0.0  # the same for splits of categories
    min_category: int = 1  # see CategoryRules
    most_whole: int = 0  # categories of a column up to which none is too rare
    constraints: Constraints | None = None
    columns: HostArray | None = None  # (features,) which ones the tree may test; None: all
    combinations: "Combinations | None" = None  # of columns that nodes may test, too

    @property
    def is_rated(self) -> bool:
        """Whether features are compared on the host, by the rows whose value is known."""
        return self.ratio is not None or self.missing in ("fractional", "surrogate")

    @property
    def categories(self) -> CategoryRules:
        """How nominal features are split."""
        missing = self.missing
        if self.is_rated:
            missing = "category" if missing == "category" else "known"
        return CategoryRules(
            criterion=self.criterion,
            min_rows=self.min_rows_leaf,
            min_weight=self.min_weight_leaf,
            is_multiway=self.is_multiway,
            method=self.subset_method,
            most_exact=self.most_exact,
            list_length=self.list_length,
            missing=missing,
            ridge=self.category_ridge,
            min_category=self.min_category,
        )

    @cached_property
    def limits(self) -> Limits:
        """When a node is not split any more."""
        return Limits(
            min_rows_split=max(self.min_rows_split, 2 * self.min_rows_leaf),
            min_weight_split=max(self.min_weight_split, 2 * self.min_weight_leaf),
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_score=self.min_score,
            splits_without_gain=self.splits_without_gain,
            ridge=self.ridge,
        )

    def may_split(self, draft: Draft, nodes: HostArray) -> HostArray:
        """Which nodes are worth a search."""
        channels = draft.channels
        sums = draft.sums[nodes]
        weight = channels.weight_of(sums)
        may = self.limits.may_split(draft.n_rows(nodes), weight, draft.depth[nodes])
        if channels.is_classes:
            may &= (sums[:, channels.scored] > 0).sum(axis=1) > 1
        return may

    def search(self, draft: Draft | None, nodes: HostArray, n_features: int) -> Search:
        """The search to make in some nodes; without a draft, what is common to all of them."""
        draws = self.n_drawn is not None and self.n_drawn < n_features
        rank = None
        if (draws or self.is_random) and draft is not None:
            rank = sampling.feature_ranks(draft.key[nodes], n_features)
        search = Search(
            criterion=self.criterion,
            min_rows=self.min_rows_leaf,
            min_weight=self.min_weight_leaf,
            n_drawn=self.n_drawn if draws and self.n_drawn is not None else n_features,
            rank=rank,
            least_share=self.least_share,
            most_least_weight=self.most_least_weight,
            ridge=self.ridge,
            is_ordered=self.columns,
            is_random=self.is_random,
            projections=None if self.combinations is None else self.combinations.projections,
        )
        if self.is_random and draft is not None:
            return RandomSearch.like(search, draft.key[nodes])
        return search


def weight_floor(fraction: float, total: int) -> int:
    """The least integer weight that is at least a fraction of the total."""
    return int(np.ceil(fraction * total))


def rows_floor(n_rows: int, target: Target) -> int:
    """The weight that so many rows have at least, in whole units, if some of them are divided.

    Fractions of a row are no rows: enough of them have to come together.
    """
    weight = target.weight
    assert weight is not None
    lightest = float(smallest(target.comm, weight[weight > 0].min(initial=2**TOTAL_BITS)))
    return int(min(np.ceil(n_rows * lightest * (1.0 - SLACK)), 2.0**TOTAL_BITS))


def score_floor(min_impurity_decrease: float, channels: Channels, total: int) -> float:
    """The score of a split that lowers the impurity of the whole tree by the given amount."""
    if min_impurity_decrease <= 0.0:
        return 0.0
    # As in scikit-learn, a decrease that misses the bound by rounding only is accepted.
    least = min_impurity_decrease - np.finfo(np.float64).eps
    with np.errstate(over="ignore"):  # more than tiny targets could ever decrease: infinite
        return float(np.ldexp(least * total, -score_shift(channels))) * mean_over(channels)


def score_shift(channels: Channels) -> int:
    """The s for which score / weight * 2**s is the impurity decrease, summed over outputs."""
    if channels.is_classes:
        return 0
    return -min(channels.output_shift) * (1 if channels.is_counts else 2)


def in_units_of(criterion: Criterion, channels: Channels) -> Criterion:
    """The criterion for targets of such channels; the function of a user gets the user's units."""
    if criterion.user is None:
        return criterion
    shift = channels.weight_shift - score_shift(channels)
    coarsest = 0 if channels.is_classes else min(channels.output_shift)
    user = replace(
        criterion.user,
        weight_scale=_power(-channels.weight_shift),
        value_scale=_power(-channels.weight_shift - coarsest),
        score_scale=_power(shift) * mean_over(channels),
        origin=channels.origin or (0.0,) * channels.n_scored,
    )
    return replace(criterion, user=user)


def _power(exponent: int) -> float:
    """A power of two; those of tiny and of huge targets end where scores still fit."""
    return math.ldexp(1.0, max(-MOST_SHIFT, min(exponent, MOST_SHIFT)))


def mean_over(channels: Channels) -> float:
    """The impurity of several outputs is the mean of theirs; that of counts is not in bits."""
    if channels.is_classes:
        return 1
    return channels.n_scored / (NATS if channels.is_counts else 1.0)
