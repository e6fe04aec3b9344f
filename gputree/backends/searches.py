"""What the contract says of the search for splits: what is asked for, and what was found."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from gputree.dtypes import SLOT, SUM, HostArray
from gputree.kernels.criteria import Criterion

NO_SPLIT = -np.inf  # score of a node without an admissible split


@dataclass(frozen=True)
class CategoryRules:
    """How nominal features are split."""

    criterion: Criterion
    min_rows: int
    min_weight: int
    is_multiway: bool = False
    method: str = "auto"  # or exact, ordered, principal, greedy
    # Categories of a node up to which `auto` tries all subsets of many classes.
    most_exact: int = 10
    list_length: int = 8  # categories that `greedy` looks at in each step
    missing: str = "direction"  # or category, known
    ridge: float = 0.0  # added to the weights of categories and of children
    # Categories with fewer rows in a node, or with less weight where rows are hidden, are one
    # together there, and with them go categories that the node has not. Only where subsets are
    # searched.
    min_category: int = 1


@dataclass(frozen=True, eq=False)
class Projections:
    """What nodes draw projections from, and how many."""

    values: HostArray  # (columns, rows) of the table, NaN where missing
    column: HostArray  # (columns,) their numbers in the table
    power: HostArray  # (columns,) a power of two, near to one over the spread of the column
    at_most: HostArray  # at_most[i] is the chance of at most i + 2 terms; one more has the rest
    n_tried: int  # by each node
    term_cost: float  # a split of k terms is worth its score over 1 + (k - 1) * term_cost
    is_random: bool = False  # one threshold of each is drawn

    @property
    def most_terms(self) -> int:
        """The most columns of one projection."""
        return len(self.at_most) + 2


@dataclass(frozen=True, eq=False)
class ProjectionSplits:
    """The best split of each node by one of its projections; (nodes,) each, but for the last."""

    score: HostArray  # NO_SPLIT where none is worth more than what the node had
    threshold: HostArray  # values up to it go to child 0
    missing_slot: HostArray
    left: HostArray  # (nodes, channels) sums of child 0
    n_terms: HostArray  # 0 where there is none
    column: HostArray  # (nodes, terms) places in `Projections.column`, ascending
    weight: HostArray  # (nodes, terms) the first is 1; 0 behind the last term

    @classmethod
    def none(cls, n_nodes: int, n_channels: int, most_terms: int) -> "ProjectionSplits":
        """No split in any node."""
        return cls(
            np.full(n_nodes, NO_SPLIT),
            np.full(n_nodes, np.nan),
            np.zeros(n_nodes, SLOT),
            np.zeros((n_nodes, n_channels), SUM),
            np.zeros(n_nodes, np.int64),
            np.zeros((n_nodes, most_terms), np.int64),
            np.zeros((n_nodes, most_terms)),
        )

    def put(self, at: HostArray, other: "ProjectionSplits") -> None:
        """Write the splits of some nodes to their places."""
        for field in fields(self):
            getattr(self, field.name)[at] = getattr(other, field.name)[at]


@dataclass(frozen=True)
class Search:
    """What a split must satisfy, and which features each node may use."""

    criterion: Criterion
    min_rows: int  # in each child
    min_weight: int  # in each child, in units of the weight channel
    n_drawn: int  # features to try at a node; more only while none of them can be split
    rank: HostArray | None  # (nodes, features) turn of each feature in the node's draw; None: all
    is_ordered: HostArray | None = None  # (features,) which ones have thresholds; None: all
    # Instead of `min_weight`, for `rate`: this share of the weight whose value is known, but at
    # least `min_weight` and at most `most_least_weight`.
    least_share: float = 0.0
    most_least_weight: int = 0
    ridge: float = 0.0  # added to the weight of each child where a split is scored
    # For `grow_whole`: how nominal features are split, each time with which ones, (features,).
    categories: Sequence[tuple[CategoryRules, HostArray]] = ()
    is_random: bool = False  # for `grow_whole`: one split of each feature is drawn
    # For `grow_whole`: random combinations of columns that nodes try as well.
    projections: Projections | None = None

    def of_nodes(self, some: HostArray | slice) -> "Search":
        """The search in some of the nodes."""
        return self if self.rank is None else replace(self, rank=self.rank[some])


@dataclass(frozen=True)
class Splits:
    """The best split of each node."""

    score: HostArray  # (nodes,) NO_SPLIT where none is admissible
    feature: HostArray  # (nodes,)
    code: HostArray  # (nodes,) the largest code that goes to child 0
    next_code: HostArray  # (nodes,) the smallest code above it among the node's rows
    missing_slot: HostArray  # (nodes,) the child that takes the missing code
    left: HostArray  # (nodes, channels) sums of child 0


@dataclass(frozen=True)
class Rates:
    """The best threshold of each feature of each node, by known values only; (nodes, features)."""

    score: HostArray  # NO_SPLIT where none is admissible; the others say nothing there
    code: HostArray  # the largest code that goes to child 0
    next_code: HostArray  # the smallest code above it among the node's rows
    left_weight: HostArray  # of child 0
    known_weight: HostArray  # of both children
    n_cuts: HostArray  # how many thresholds are admissible


@dataclass(frozen=True)
class CategoryRates:
    """What the best split of each pair of a node and a nominal feature is worth."""

    score: HostArray  # (pairs,) NO_SPLIT where none is admissible
    bits: HostArray  # (pairs,) weight times the bits that tell a row's branch, missing being one
    is_heuristic: HostArray  # (pairs,) whether a better split may have been missed


@dataclass(frozen=True)
class CategorySplits(CategoryRates):
    """The best split of each pair, and what it is worth."""

    n_children: HostArray  # (pairs,)
    n_seen: HostArray  # (pairs,) entries of each
    slot: HostArray  # (entries of what was seen,) the child of each, STAY where it is not known
