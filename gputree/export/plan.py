"""What a fitted model computes, told in one way for every format.

Each row walks the trees; what the nodes say where it ends is put together, and a link makes the
answer of it. Knows trees and columns; must not know estimators, nor any format.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.data.schema import Schema
from gputree.data.table import Kind
from gputree.dtypes import STAY, HostArray
from gputree.tree.directions import Directions
from gputree.tree.tree import Tree

# From what the trees add up to, divided by `divisor`, to the answer.
IDENTITY = "identity"
LOGISTIC = "logistic"  # the log-odds of the second of two classes
SOFTMAX = "softmax"
EXPONENTIAL = "exponential"
SAMME = "samme"  # AdaBoost's mean say for each class

# How trees are put together.
SUM = "sum"
VOTES = "votes"  # the class of each tree's largest share has the tree's say
MEDIAN = "median"  # by the trees' say


class NotExportable(ValueError):
    """A format cannot hold the model; the message says why, and what helps."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Trees, what their nodes say, and how an answer comes of it."""

    estimator: str  # the name of its class
    schema: Schema
    missing: str  # as at the fit
    trees: tuple[Tree, ...]  # features numbered as in the schema
    values: tuple[HostArray, ...]  # (nodes, width) for each tree
    column: tuple[int, ...]  # the first output that each tree adds to
    start: HostArray  # (outputs,)
    divisor: float = 1.0
    link: str = IDENTITY
    combine: str = SUM
    say: HostArray | None = None  # (trees,) of VOTES and MEDIAN
    classes: HostArray | None = None

    def __post_init__(self) -> None:
        if self.link == LOGISTIC and self.classes is not None and len(self.classes) != 2:
            raise NotExportable(
                f"the {self.estimator} has seen one class only, which other formats cannot "
                "express; fit it on rows of two classes, or use to_json"
            )

    @property
    def n_outputs(self) -> int:
        return len(self.start)

    @property
    def n_answers(self) -> int:
        """How many numbers a row gets."""
        return 2 if self.link == LOGISTIC else self.n_outputs

    @property
    def answer_names(self) -> list[str]:
        """A name for each of them."""
        if self.classes is not None:
            return [f"probability_{label}" for label in self.classes.tolist()]
        if self.n_answers == 1:
            return ["prediction"]
        return [f"prediction_{number}" for number in range(self.n_answers)]

    @property
    def is_divided(self) -> bool:
        """Whether a row may go down several branches at once."""
        return self.missing == "fractional" and any(may_stop(tree).any() for tree in self.trees)

    @property
    def has_surrogates(self) -> bool:
        return any(bool(tree.n_surrogates.any()) for tree in self.trees)

    @property
    def unknown_categories_are_refused(self) -> bool:
        return self.schema.unknown == "error" and any(
            categories is not None for categories in self.schema.categories
        )

    def categories_of(self, feature: int) -> tuple[Any, ...]:
        return self.schema.categories[feature] or ()

    def unknown_of(self, feature: int) -> str:
        """What becomes of categories not seen at fit: 'missing', 'majority' or 'error'."""
        is_ordered = self.schema.kinds[feature] is Kind.ORDINAL
        unknown = self.schema.unknown
        return "missing" if is_ordered and unknown == "majority" else unknown

    @property
    def directions(self) -> Directions | None:
        """The combinations of columns that a single tree tests, if it tests any."""
        own = self.trees[0].directions
        return own if own is not None and len(own) else None

    def refuse_combinations(self, name: str) -> None:
        """Refuse tests of several columns at once."""
        if self.directions is not None:
            raise NotExportable(
                f"{name} tests one column per node, but {self.estimator} tests combinations; use "
                "to_onnx, to_python, to_c, to_sql or to_json, or fit a tree that tests one column "
                "per node, such as DecisionTreeClassifier"
            )

    def refuse_divided(self, name: str) -> None:
        """Refuse rows that go down several branches."""
        if self.is_divided:
            raise NotExportable(
                f"{name} cannot send a row down several branches, as missing='fractional' does; "
                "fit with missing='direction', or use to_python, to_c, to_sql or to_json"
            )

    def refuse_surrogates(self, name: str) -> None:
        """Refuse tests of other columns where a value is missing."""
        if self.has_surrogates:
            raise NotExportable(
                f"{name} tests one column per node, but missing='surrogate' tests others if its "
                "value is missing; fit with missing='direction', or use to_onnx, to_sql, "
                "to_python, to_c or to_json"
            )

    def refuse_stops(self, name: str) -> None:
        """Refuse rows that end at nodes with children."""
        if any(may_stop(tree).any() for tree in self.trees):
            raise NotExportable(
                f"{name} cannot stop a row at a node with children, as this model does with some "
                "missing values; fit with missing='direction', or use to_onnx, to_sql, to_python, "
                "to_c or to_json"
            )

    def refuse_median(self, name: str) -> None:
        """Refuse what is not a sum over trees."""
        if self.combine == MEDIAN:
            raise NotExportable(
                f"{name} adds trees up, but {self.estimator} predicts their median; use to_onnx, "
                "to_python, to_c or to_json"
            )


def may_stop(tree: Tree) -> HostArray:
    """Nodes at which rows end, or are divided, although there are children."""
    return np.asarray(~tree.is_leaf & (tree.missing_slot == STAY))


@dataclass(frozen=True)
class Test:
    """One test of one column, with where each outcome leads; `rest` takes all else.

    `slots` has an entry per category of a nominal column, and is None for a threshold, up to which
    values go to `low`. A slot STAY leads to `rest`, and so do missing values; `unknown` is the slot
    of categories that were not seen at fit, where those have one of their own.
    """

    __test__ = False  # not for pytest

    feature: int
    threshold: float
    low: int
    slots: tuple[int, ...] | None
    unknown: int | None = None

    def categories_to(self, slot: int) -> list[int]:
        """The numbers of the categories that go to a child."""
        assert self.slots is not None
        return [category for category, own in enumerate(self.slots) if own == slot]


def test_at(plan: Plan, tree: Tree, node: int) -> Test:
    """The own test of a node."""
    feature, slots = int(tree.feature[node]), None
    if tree.category_start[node] >= 0:
        slots = tree.slots(node, len(plan.categories_of(feature)) + 1)
    return _test(plan, feature, float(tree.threshold[node]), 0, slots)


def surrogates_at(plan: Plan, tree: Tree, node: int) -> Iterator[Test]:
    """The tests for rows whose value is missing, the best first."""
    begin = int(tree.first_surrogate()[node]) if tree.n_surrogates[node] else 0
    for at in range(begin, begin + int(tree.n_surrogates[node])):
        feature, slots = int(tree.surrogate_feature[at]), None
        if tree.surrogate_category_start[at] >= 0:
            slots = tree.surrogate_slots(at, len(plan.categories_of(feature)) + 1)
        threshold, low = float(tree.surrogate_threshold[at]), int(tree.surrogate_slot[at])
        yield _test(plan, feature, threshold, low, slots)


def _test(plan: Plan, feature: int, threshold: float, low: int, slots: HostArray | None) -> Test:
    """A test; `slots` has one entry more than there are categories, for those nobody has seen."""
    if slots is None:
        return _ordered(plan, feature, threshold, low)
    *known, last = slots.tolist()
    unknown = last if plan.unknown_of(feature) == "majority" and last != STAY else None
    return Test(feature, threshold, low, tuple(known), unknown)


def _ordered(plan: Plan, feature: int, threshold: float, low: int) -> Test:
    """Ordered categories are categories, too: those up to the threshold go to `low`."""
    if feature >= plan.schema.n_features or plan.schema.kinds[feature] is Kind.NUMERIC:
        return Test(feature, threshold, low, None)
    n_categories = len(plan.categories_of(feature))
    slots = tuple(low if category <= threshold else 1 - low for category in range(n_categories))
    return Test(feature, threshold, low, slots)
