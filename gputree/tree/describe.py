"""What the nodes and branches of a tree say, in words: text, DOT and pictures share them.

Knows trees, names and categories; must not know estimators, nor how the words are laid out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.tree.tree import Split, Tree

MOST_NAMED = 8  # items of a list before the rest is only counted
WHOLE = 1e-6  # rows that were divided and come together again are whole
SIDES = ("left", "right")


@dataclass(frozen=True)
class Question:
    """What a node, or a surrogate, asks a row."""

    feature: int
    threshold: float  # NaN where categories are tested
    slots: HostArray  # the child of each category of the column; none for numbers
    low_slot: int = 0  # the child of values up to the threshold


@dataclass(frozen=True)
class Branches:
    """The conditions of a tree's branches."""

    tree: Tree
    names: Sequence[str]
    categories: Sequence[tuple[Any, ...] | None]  # None for numeric columns
    decimals: int
    has_missing: Sequence[bool] = ()  # which columns had missing values in training
    most_named: int = MOST_NAMED  # categories

    def name(self, node: int) -> str:
        """The feature that a node tests."""
        return label_text(self.names[self.tree.feature[node]])

    def outcome(self, node: int, slot: int, width: int = 1) -> str:
        """What leads from a node to its child `slot`; signs are filled up to a width."""
        tree, question = self.tree, self._question(node)
        chosen = self._chosen(question, slot)
        takes_rest = slot == tree.missing_slot[node] and not tree.n_surrogates[node]
        if tree.kind[node] == Split.MULTIWAY and len(chosen) == 1:
            words = f"= {label_text(chosen[0])}"
        elif tree.category_start[node] >= 0 and not chosen and takes_rest:
            words = "is missing"
        else:
            words = self._condition(question, slot, chosen, width)
        if takes_rest and self._has_unseen(question):
            words += " or other"
        can_miss = bool(self.has_missing) and self.has_missing[question.feature]
        if takes_rest and can_miss and not words.startswith(("is missing", "is known")):
            words += " or missing"
        return words

    def text(self, node: int, slot: int) -> str:
        """The branch with the name of its feature, signs of one width below each other."""
        return f"{self.name(node)} {self.outcome(node, slot, width=2)}"

    def surrogates(self, node: int) -> list[str]:
        """A line a surrogate of a node, the best first, and where a row goes that none can tell."""
        tree = self.tree
        begin = int(self._first_surrogate[node])
        lines = []
        for at in range(begin, begin + int(tree.n_surrogates[node])):
            question = self._asked_by(at)
            name = label_text(self.names[question.feature])
            condition = self._condition(question, 0, self._chosen(question, 0), width=1)
            share = tree.surrogate_agreement[at]
            lines.append(f"surrogate: {name} {condition} goes left (agreement {share:.1%})")
        if lines:
            slot = int(tree.missing_slot[node])
            lines.append("otherwise: " + ("ends here" if slot == STAY else f"goes {SIDES[slot]}"))
        return lines

    @cached_property
    def _first_surrogate(self) -> HostArray:
        return self.tree.first_surrogate()

    def _question(self, node: int) -> Question:
        tree, feature = self.tree, int(self.tree.feature[node])
        threshold = float(tree.threshold[node])
        if tree.category_start[node] >= 0:
            slots = tree.slots(node, self._n_categories(feature))
        else:
            slots = self._by_threshold(feature, threshold, 0)
        return Question(feature, threshold, slots)

    def _asked_by(self, at: int) -> Question:
        """What a surrogate asks."""
        tree, feature = self.tree, int(self.tree.surrogate_feature[at])
        threshold, low_slot = float(tree.surrogate_threshold[at]), int(tree.surrogate_slot[at])
        if tree.surrogate_category_start[at] >= 0:
            slots = tree.surrogate_slots(at, self._n_categories(feature))
        else:
            slots = self._by_threshold(feature, threshold, low_slot)
        return Question(feature, threshold, slots, low_slot)

    def _n_categories(self, feature: int) -> int:
        return len(self.categories[feature] or ())

    def _by_threshold(self, feature: int, threshold: float, low_slot: int) -> HostArray:
        is_low = np.arange(self._n_categories(feature)) <= threshold
        return np.where(is_low, low_slot, 1 - low_slot)

    def _chosen(self, question: Question, slot: int) -> list[Any]:
        """The categories that go to a child."""
        known = self.categories[question.feature] or ()
        return [known[category] for category in np.flatnonzero(question.slots == slot).tolist()]

    def _has_unseen(self, question: Question) -> bool:
        """Whether the column has categories that the node has not seen and that have no child."""
        return bool((question.slots == STAY).any())

    def _condition(self, question: Question, slot: int, chosen: list[Any], width: int) -> str:
        is_low = slot == question.low_slot
        if question.threshold == math.inf:
            return "is known" if is_low else "is missing"
        if self.categories[question.feature] is None:
            sign = "<=" if is_low else ">"
            return f"{sign:<{width}} {number_text(question.threshold, self.decimals)}"
        named = list_text([label_text(category) for category in chosen], self.most_named)
        return f"in {{{named}}}"


@dataclass(frozen=True)
class Answers:
    """What the nodes of a tree would answer, and from how many rows."""

    tree: Tree
    class_names: Sequence[str] | None  # None: the tree tells numbers

    def leaf(self, node: int, decimals: int) -> str:
        """The answer in a line."""
        rows = self.rows(node)
        if self.class_names is None:
            return f"{self._means(node, decimals)} ({rows})"
        name, share = self._best(node)
        return f"class {name} ({rows}, {share:.1%})"

    def lines(self, node: int, decimals: int) -> list[str]:
        """The answer in the lines of a box, with the weight of every class."""
        if self.class_names is None:
            return [f"mean {self._means(node, decimals)}", self.rows(node)]
        name, share = self._best(node)
        lines = [f"class {name}", f"{self.rows(node)}, {share:.1%}"]
        # A node without rows answers with the weights of its parent: they are not its own.
        if self.tree.weight[node] > 0:
            what = "counts" if self._is_unweighted else "weights"
            lines.append(f"{what} [{list_text([amount_text(w) for w in self.tree.value[node]])}]")
        return lines

    def rows(self, node: int) -> str:
        """How many rows a node has; their weight where rows were divided among children."""
        n_rows = int(self.tree.n_rows[node])
        if n_rows and self._divides_rows:
            amount = amount_text(self.tree.weight[node])
            if not self._is_unweighted:
                return f"weight {amount}"
            return "1 row" if amount == "1" else f"{amount} rows"
        return "1 row" if n_rows == 1 else f"{n_rows} rows"

    @cached_property
    def _divides_rows(self) -> bool:
        """Whether rows are in several children of a node, which then have more than it has."""
        tree = self.tree
        below = np.bincount(tree.parent[1:], tree.n_rows[1:], minlength=tree.n_nodes)
        return bool((below > tree.n_rows).any())

    @property
    def _is_unweighted(self) -> bool:
        return bool(self.tree.weight[0] == self.tree.n_rows[0])

    def _best(self, node: int) -> tuple[str, float]:
        """The class that a node answers with, and its share."""
        assert self.class_names is not None
        value = self.tree.value[node]
        best = int(value.argmax())
        return label_text(self.class_names[best]), float(value[best] / value.sum())

    def _means(self, node: int, decimals: int) -> str:
        return ", ".join(number_text(output, decimals) for output in self.tree.value[node])


@dataclass(frozen=True)
class Boxes:
    """The nodes of a tree as boxes, down to a depth."""

    branches: Branches
    answers: Answers
    max_depth: int | None = None
    impurity: bool = False  # whether to show it

    @cached_property
    def n_nodes(self) -> int:
        """How many nodes are shown: breadth-first, they are the first ones."""
        levels = self.branches.tree.levels()
        return levels[-1 if self.max_depth is None else min(self.max_depth, len(levels) - 1)][1]

    @cached_property
    def n_children(self) -> HostArray:
        """How many children of each shown node are shown; all of them or none."""
        tree = self.branches.tree
        is_open = tree.first_child[: self.n_nodes] < self.n_nodes
        return np.where(is_open, tree.n_children[: self.n_nodes], 0).astype(np.int64)

    def lines(self, node: int) -> list[str]:
        """The text of a box; dots stand for what is below it and not shown."""
        tree, decimals = self.branches.tree, self.branches.decimals
        lines = []
        if self.n_children[node]:
            lines.append(self.branches.name(node))
        if self.impurity:
            lines.append(f"impurity {number_text(tree.impurity[node], decimals)}")
        lines += self.answers.lines(node, decimals)
        if tree.n_children[node] and not self.n_children[node]:
            lines.append("...")
        return lines


def columns_of(
    tree: Tree,
    names: Sequence[str],
    categories: Sequence[tuple[Any, ...] | None],
    has_missing: Sequence[bool],
) -> tuple[Sequence[str], Sequence[tuple[Any, ...] | None], Sequence[bool]]:
    """Names, categories, and whether values were missing: of columns, then of combinations."""
    if tree.directions is None:
        return names, categories, has_missing
    every = range(len(tree.directions))
    known = [label_text(name) for name in names]
    missing = np.asarray(has_missing)
    columns = [tree.directions.terms(number)[0] for number in every]
    return (
        (*names, *(tree.directions.text(number, known) for number in every)),
        (*categories, *(None for _ in every)),
        (*has_missing, *(bool(missing[own].any()) for own in columns)),
    )


def number_text(number: float, decimals: int) -> str:
    """A number with so many decimals, or in scientific notation where that would mislead."""
    if number != 0 and not 10.0**-decimals <= abs(number) < 1e15:
        return f"{number:.{max(decimals, 1)}e}"
    return f"{number:.{decimals}f}"


def amount_text(amount: float) -> str:
    """A count or a weight, with a decimal only where it is not whole."""
    nearest = round(float(amount))
    return str(nearest) if abs(amount - nearest) < WHOLE else number_text(amount, 1)


def label_text(label: Any) -> str:
    """A name on one line, in quotes if it could not be read without them."""
    text = str(label)
    return text if text and text.isprintable() and text == text.strip() else repr(text)


def list_text(items: Sequence[str], most: int = MOST_NAMED) -> str:
    """Items in a row; only the first ones where there are many."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])}, ... {len(items) - most} more"
