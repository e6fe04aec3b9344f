"""Messages about trees that a backend grows by itself, without the builder between nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gputree.data.bins import Bins
from gputree.dtypes import HostArray
from gputree.formulas import penalty
from gputree.kernels.losses import Loss
from gputree.runs import begins, spread_out

if TYPE_CHECKING:
    from gputree.backends.contract import CategoryRules

LEAST_GAIN = 5e-324  # a split gains something


@dataclass(frozen=True)
class Limits:
    """When a node is not split any more, for every loop that grows trees."""

    min_rows_split: int  # of a node, so many that two children can have enough
    min_weight_split: int
    max_depth: int | None
    max_leaves: int | None  # None: breadth-first; otherwise the best node is split next
    min_score: float
    splits_without_gain: bool
    ridge: float
    budget: int = 0  # bytes of histograms; never changes a tree

    def may_split(self, n_rows: HostArray, weight: HostArray, depth: HostArray) -> HostArray:
        """Which nodes are worth a search."""
        may = (n_rows >= self.min_rows_split) & (weight >= self.min_weight_split)
        return may if self.max_depth is None else may & (depth < self.max_depth)

    def worth(self, score: HostArray, sums: HostArray) -> HostArray:
        """What splits of nodes with such scores and sums gain, penalties of leaves counted."""
        return score if self.ridge == 0.0 else score - penalty(sums, self.ridge)

    @property
    def least_worth(self) -> float:
        """What a split must be worth."""
        return self.min_score if self.splits_without_gain else max(self.min_score, LEAST_GAIN)

    def suffices(self, worth: HostArray) -> HostArray:
        """Which best splits are good enough; impurity of the node taken for granted."""
        return np.isfinite(worth) & (worth >= self.least_worth)


@dataclass(frozen=True)
class CategoryLists:
    """Where codes go at nodes that test categories: a node lists some, all others go one way."""

    node: HostArray  # (lists,)
    n: HostArray  # (lists,) how many codes are listed
    absent: HostArray  # (lists,) the slot of all others, perhaps STAY
    code: HostArray  # (codes, list by list)
    slot: HostArray  # (codes,)


@dataclass(frozen=True, eq=False)
class Combined:
    """The combinations of columns that nodes test."""

    node: HostArray  # (combinations,)
    n_terms: HostArray  # (combinations,)
    column: HostArray  # (terms, combination by combination) ascending in each
    weight: HostArray  # (terms,)

    def of(self, nodes: HostArray, n_nodes: int) -> tuple[HostArray, "Combined"]:
        """Which of some nodes, of `n_nodes` in all, test combinations, and these in their order."""
        number = np.full(n_nodes, -1)
        number[self.node] = np.arange(len(self.node))
        at = np.flatnonzero(number[nodes] >= 0)
        own = number[nodes[at]]
        n = self.n_terms[own]
        term = spread_out(begins(self.n_terms)[own], n)
        return at, Combined(nodes[at], n, self.column[term], self.weight[term])


@dataclass(frozen=True)
class Whole:
    """A tree that a backend has grown by itself; (nodes,) each, children side by side.

    Or several, whose roots come first.
    """

    is_inner: HostArray  # whether the tree splits it; growth may have looked further ahead
    first_child: HostArray  # -1 where there are none
    feature: HostArray
    code: HostArray
    next_code: HostArray
    missing_slot: HostArray
    n_rows: HostArray
    depth: HostArray
    score: HostArray
    sums: HostArray  # (nodes, channels)
    rows: Any  # Rows, each at its last node
    categories: CategoryLists | None = None  # of the nodes that test some
    heuristic: frozenset[int] = frozenset()  # features where a better subset may have been missed
    threshold: HostArray | None = None  # where drawn; NaN, or None for all: midway between codes
    n_roots: int = 1
    combined: Combined | None = None  # where nodes may test combinations of columns


class FeatureCategories(NamedTuple):
    """How nominal features are split into two groups; (features,) each, as in CategoryRules.

    For rounds of boosting, ridges are in the units of the loss.
    """

    n_categories: HostArray  # how many codes are categories; where missing values are one, all are
    min_category: HostArray
    ridge: HostArray


def categories_by_feature(
    bins: Bins, categories: Sequence[tuple["CategoryRules", HostArray]]
) -> FeatureCategories:
    """Rules for categories, each with the features that go by them, as a table of all features."""
    n_categories = bins.n_values.copy()
    min_category, ridge = np.ones(len(n_categories), np.int64), np.zeros(len(n_categories))
    for rules, is_alike in categories:
        if rules.missing == "category":
            n_categories[is_alike] = bins.n_codes[is_alike]
        min_category[is_alike], ridge[is_alike] = rules.min_category, rules.ridge
    return FeatureCategories(n_categories, min_category, ridge)


@dataclass(frozen=True)
class BoostRules:
    """How the trees of a boosted model are grown and how far steps go, in the units of the loss."""

    loss: Loss
    learning_rate: float
    most_step: float  # the largest magnitude of what a leaf adds
    max_depth: int | None
    max_leaves: int | None  # None: breadth-first; otherwise the best node is split next
    min_rows: int  # in each child
    min_child_weight: float
    min_gain: float
    ridge: float
    n_drawn: int  # see Search
    budget: int  # bytes of histograms; never changes a tree
    categories: FeatureCategories | None = None  # where some features are nominal


@dataclass(frozen=True)
class Boosted:
    """Trees of whole rounds, one after another and each breadth-first; (nodes,) but for three."""

    n_nodes: HostArray  # (trees,)
    gradient_shift: HostArray  # (trees,) narrow gradients are stored times 2**gradient_shift
    weight_shift: HostArray  # (trees,)
    first_child: HostArray  # number in its tree, -1 at a leaf
    feature: HostArray  # -1 at a leaf
    code: HostArray  # the largest code that goes to child 0
    missing_slot: HostArray
    n_rows: HostArray
    weight: HostArray  # in whole units
    worth: HostArray  # what the split gains, 0 at a leaf
    step: HostArray  # what the node adds to a prediction
    peak_bytes: int  # the most that sums of nodes took at once
    categories: CategoryLists | None = None  # of nodes that test some, numbered over all trees
