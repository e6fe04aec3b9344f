"""The rounds of boosting: gradients, one tree per output, steps.

Knows the contract and the growth of trees; must not know devices, or estimators.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from gputree import sampling
from gputree.backends.contract import (
    Backend,
    CategoryRules,
    Data,
    Marks,
    RawScores,
    Watched,
)
from gputree.backends.lots import Lots
from gputree.backends.whole import BoostRules, FeatureCategories, categories_by_feature
from gputree.boosting.losses import Refine
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins
from gputree.data.gradients import MOST_RIDGE, MOST_WEIGHT, Given, Gradients
from gputree.dtypes import SUM, HostArray
from gputree.formulas import LOSSES
from gputree.growth.builder import Grown, Start
from gputree.growth.choose_loop import grow_rooted
from gputree.growth.constraints import Constraints
from gputree.growth.draft import TreeLayout
from gputree.growth.finish import Finish, finish_steps, said_weight
from gputree.growth.rules import Rules
from gputree.growth.seek import alike
from gputree.growth.several import finish_rounds
from gputree.kernels.criteria import SQUARED_ERROR
from gputree.kernels.losses import Loss
from gputree.tree.tree import Tree

# Gradients and hessians of a user's own loss, (outputs, rows) each, from predictions of that shape.
Objective: TypeAlias = Callable[[HostArray], tuple[HostArray, HostArray]]

SPAN = 2**16  # outputs of a round have numbers of their own among all trees

CELLS_TOGETHER = 2**22  # values of a table that rounds of one call look at: a tenth of a second


@dataclass(frozen=True)
class Recipe:
    """How trees are grown and how far each step goes, in the units of the loss.

    Those depend on the weights of rows, which are given divided by 2**weight_exponent.
    """

    learning_rate: float = 0.1
    most_step: float = np.inf  # the largest magnitude of what a leaf adds
    weight_exponent: int = 0
    max_depth: int | None = 6
    max_leaves: int | None = None
    min_rows_split: int = 2
    min_rows_leaf: int = 1
    min_child_weight: float = 1.0
    min_gain: float = 0.0
    ridge: float = 0.0
    category_ridge: float = 0.0
    min_rows_category: int = 1
    most_whole: int = 0  # see Rules
    row_share: float = 1.0
    column_share: float = 1.0
    n_drawn: int | None = None  # columns tried at each node
    constraints: Constraints | None = None
    seed: int = 0
    missing: str = "direction"
    subset_method: str = "auto"
    budget: int = 2**28
    finish: Finish = field(default_factory=lambda: Finish(None))


class Rounds:
    """A boosted model while it grows."""

    def __init__(
        self,
        backend: Backend,
        data: Data,
        bins: Bins,
        y: HostArray,
        weight: HostArray | None,
        start: HostArray,
        loss: Loss | Objective,
        recipe: Recipe,
        refine: Refine | None = None,
        inside: HostArray | None = None,
        rank: HostArray | None = None,
        comm: Comm = ALONE,
    ) -> None:
        """`start` has the predictions to begin with, (outputs, rows).

        Trees see only the rows `inside`; the others are predicted all the same. Rows are drawn by
        their `rank`, or by their number.
        """
        self.backend, self.data, self.bins = backend, data, bins
        self.y, self.weight, self.loss, self.recipe, self.refine = y, weight, loss, recipe, refine
        self.n_outputs = len(start)
        self.lots = Lots(len(y), inside, rank, weight, comm)
        self.peak_bytes = 0
        self.raw_scores: RawScores = None
        self._open(start)

    def _open(self, start: HostArray) -> None:
        """Let the backend keep predictions, and draw rows."""
        self.raw_scores = self.backend.raw_scores(start, self.y, self.weight)
        self.urn = self.backend.urn(self.raw_scores, self.lots)

    def some(self, number: int, most: int) -> list[list[Tree]]:
        """The trees of one round or of several, but at most so many; the predictions move on."""
        if self.backend.can_go_over:
            self._go_over()
        n_outputs, n_features = self.n_outputs, len(self.bins.features)
        n_cells = max(1, len(self.y)) * n_features * n_outputs
        n_rounds = min(most, max(1, CELLS_TOGETHER // n_cells))
        trees = self._boosted(number, n_rounds)
        if trees is None:
            return [self._next(number)]
        return [trees[first : first + n_outputs] for first in range(0, len(trees), n_outputs)]

    def _go_over(self) -> None:
        """Let the backend go on that takes over, from the predictions so far."""
        raw = self.predictions()
        self.backend.go_over()
        self._open(raw)

    def _boosted(self, number: int, n_rounds: int) -> list[Tree] | None:
        """The trees of some rounds by the backend alone; None where it has no way to."""
        recipe, loss, n_features = self.recipe, self.loss, len(self.bins.features)
        is_plain = self.refine is None and recipe.constraints is None
        is_plain &= recipe.subset_method == "auto"
        # Whoever has two leaves of so many rows has enough to split.
        is_plain &= recipe.min_rows_split <= max(2, 2 * recipe.min_rows_leaf)
        if not (isinstance(loss, Loss) and is_plain and self.backend.boosts):
            return None
        rules = BoostRules(
            loss=loss,
            learning_rate=recipe.learning_rate,
            most_step=recipe.most_step,
            max_depth=recipe.max_depth,
            max_leaves=recipe.max_leaves,
            min_rows=recipe.min_rows_leaf,
            min_child_weight=recipe.min_child_weight,
            min_gain=recipe.min_gain,
            ridge=recipe.ridge,
            n_drawn=n_features if recipe.n_drawn is None else min(recipe.n_drawn, n_features),
            budget=recipe.budget,
            categories=self._categories(),
        )
        numbers = np.arange(number, number + n_rounds)
        tree = (numbers[:, None] * SPAN + np.arange(self.n_outputs)).ravel()
        keys = sampling.root_key(recipe.seed, tree)
        found = self.backend.boost(
            self.data,
            self.bins,
            self.raw_scores,
            rules,
            self._samples(numbers.tolist()),
            self._columns(keys),
            sampling.root_key(_seeds(keys)),
        )
        if found is None:
            return None
        held = self.backend.bytes_held(self.data, None) + found.peak_bytes
        self.peak_bytes = max(self.peak_bytes, held)
        return finish_rounds(found, self.bins, recipe.finish, recipe.weight_exponent)

    def _categories(self) -> FeatureCategories | None:
        """How trees split nominal features; None where there are none."""
        recipe, bins = self.recipe, self.bins
        if not bins.is_nominal.any():
            return None
        categories = CategoryRules(
            criterion=SQUARED_ERROR,
            min_rows=recipe.min_rows_leaf,
            min_weight=0,
            missing=recipe.missing,
            ridge=recipe.ridge + recipe.category_ridge,
            min_category=recipe.min_rows_category,
        )
        return categories_by_feature(bins, alike(categories, bins, recipe.ridge, recipe.most_whole))

    def _next(self, number: int) -> list[Tree]:
        """The trees of a round, one an output; the predictions move on."""
        recipe, backend = self.recipe, self.backend
        takes_part = backend.drawn(self.urn, recipe.seed, number, recipe.row_share)
        trees, steps = [], []
        for output, gradients in enumerate(self._gradients(takes_part)):
            grown, rules = self._grow(gradients, tree=number * SPAN + output)
            step = self._steps(grown, gradients)
            sums = grown.draft.sums[grown.layout.node]
            worth = rules.limits.worth(grown.draft.score[grown.layout.node], sums)
            trees.append(self._weighed(finish_steps(grown, step, worth, recipe.finish)))
            steps.append((grown, step[grown.layout.number]))
        # A loss of several outputs looks at all predictions, so none moves before the last tree.
        for output, (grown, by_node) in enumerate(steps):
            backend.renew(self.raw_scores, output, grown.rows, by_node)
            if takes_part is not None:  # the others move on all the same
                moves, table = grown.draft.moves(grown.layout), (self.data, self.bins)
                backend.pass_on(self.raw_scores, output, *table, takes_part, moves, by_node)
        return trees

    def sample(self, number: int) -> HostArray | None:
        """The rows that a round sees, on the host; None for all."""
        return self.lots.drawn(self.recipe.seed, number, self.recipe.row_share)

    def _samples(self, numbers: list[int]) -> HostArray | None:
        """The same of some rounds, (rounds, rows)."""
        samples = [self.sample(number) for number in numbers]
        if all(sample is None for sample in samples):
            return None
        everyone = np.ones(len(self.y), np.bool_)
        return np.stack([everyone if sample is None else sample for sample in samples])

    def predictions(self) -> HostArray:
        """What the model says of its own rows so far, (outputs, rows)."""
        return self.backend.read_raw_scores(self.raw_scores)

    def watched(self, row: HostArray, y: HostArray, weight: HostArray) -> Watched:
        """Some rows, with their targets and weights, whose loss is looked at after rounds."""
        return _Watched(self, row, y, weight)

    def _gradients(self, takes_part: Marks | None) -> Iterator[Gradients]:
        loss: Loss | Given
        loss = self.loss if isinstance(self.loss, Loss) else Given(*self.loss(self.predictions()))
        counts_rows = self.recipe.min_rows_leaf > 1 or self.recipe.min_rows_split > 2
        return self.backend.gradients(self.raw_scores, loss, takes_part, counts_rows=counts_rows)

    def _grow(self, gradients: Gradients, tree: int) -> tuple[Grown, Rules]:
        rules = self._rules(gradients, tree)
        rows = self.backend.begin_gradients(self.data, self.bins, gradients)
        start = Start(rows, gradients.channels, gradients.totals, gradients.n_rows)
        grown = grow_rooted(self.backend, start, self.bins, rules, self.recipe.budget)
        held = self.backend.bytes_held(self.data, grown.rows) + grown.peak_bytes
        self.peak_bytes = max(self.peak_bytes, held)
        return grown, rules

    def _rules(self, gradients: Gradients, tree: int) -> Rules:
        """The recipe in the units of a tree's channels."""
        channels = gradients.channels
        recipe = self.recipe
        shift = channels.weight_shift
        least = np.ceil(shifted(recipe.min_child_weight, shift, MOST_WEIGHT))
        key = sampling.root_key(recipe.seed, tree)
        columns = self._columns(key)
        return Rules(
            criterion=SQUARED_ERROR,
            max_depth=recipe.max_depth,
            max_leaves=recipe.max_leaves,
            min_rows_split=recipe.min_rows_split,
            min_rows_leaf=recipe.min_rows_leaf,
            min_weight_leaf=max(1, int(least)),
            min_score=shifted(recipe.min_gain, 2 * channels.point_shift[0] - shift),
            splits_without_gain=False,
            n_drawn=recipe.n_drawn,
            seed=int(_seeds(key)[0]),
            missing=recipe.missing,
            subset_method=recipe.subset_method,
            ridge=shifted(recipe.ridge, shift, MOST_RIDGE),
            category_ridge=shifted(recipe.ridge + recipe.category_ridge, shift, MOST_RIDGE),
            min_category=self._min_category(gradients),
            most_whole=recipe.most_whole,
            columns=None if columns is None else columns[0],
            constraints=recipe.constraints,
        )

    def _columns(self, keys: HostArray) -> HostArray | None:
        """The columns that each tree may test, (trees, features); None for all."""
        share, n_features = self.recipe.column_share, len(self.bins.features)
        if share == 1.0:
            return None
        n_drawn = max(1, round(share * n_features))
        return np.asarray(sampling.feature_ranks(~keys, n_features) < n_drawn)

    def _min_category(self, gradients: Gradients) -> int:
        """The least rows of a category, or the hessian that so many have on average."""
        least = self.recipe.min_rows_category
        if least == 1 or gradients.channels.counts_rows:
            return least
        return max(1, int(np.ceil(least * (int(gradients.totals[0]) / max(1, gradients.n_rows)))))

    def _steps(self, grown: Grown, gradients: Gradients) -> HostArray:
        """What each node of a tree adds to a prediction; leaves take exact sums, or refine them."""
        layout = grown.layout
        if self.refine is not None:
            residuals = self.backend.residuals(self.raw_scores, grown.rows, layout.number)
            return self._taken(self.refine(residuals))
        gradient, hessian = self._sums(grown, gradients).astype(np.float64).T
        step = LOSSES.newton(gradient, hessian, shifted(self.recipe.ridge, gradients.hessian_shift))
        with np.errstate(over="ignore"):
            step = np.ldexp(step, gradients.hessian_shift - gradients.gradient_shift)
        if grown.constraints is not None:
            low, high = grown.constraints.low[layout.node], grown.constraints.high[layout.node]
            step = np.clip(step, low, high)
        return self._taken(step)

    def _taken(self, step: HostArray) -> HostArray:
        """Steps as far as they are gone."""
        with np.errstate(over="ignore"):
            return np.clip(
                self.recipe.learning_rate * step, -self.recipe.most_step, self.recipe.most_step
            )

    def _weighed(self, tree: Tree) -> Tree:
        """The tree with the weights that its rows were given."""
        return replace(tree, weight=said_weight(tree.weight, self.recipe.weight_exponent))

    def _sums(self, grown: Grown, gradients: Gradients) -> HostArray:
        """Exact sums of gradient and hessian in each node of a tree, (nodes, 2)."""
        layout = grown.layout
        nodes = np.arange(grown.draft.n_nodes)
        sums = np.zeros((len(layout.node), 2), SUM)
        # Rows may be further down than the tree goes, where growth has looked ahead.
        np.add.at(sums, layout.number, self.backend.gradient_sums(grown.rows, gradients, nodes))
        return summed_up(layout, sums)


class _Watched:
    """Rows that are watched by the backend whose turn it is."""

    def __init__(self, rounds: Rounds, row: HostArray, y: HostArray, weight: HostArray) -> None:
        self._rounds, self._rows = rounds, (row, y, weight)
        self._of: RawScores = None

    def mean_loss(self, loss: Loss) -> float:
        raw_scores = self._rounds.raw_scores
        if self._of is not raw_scores:
            self._of = raw_scores
            self._watched = self._rounds.backend.watched(raw_scores, *self._rows)
        return self._watched.mean_loss(loss)


def shifted(value: float, shift: int, most: float = np.inf) -> float:
    """A number of the units of the loss in those of channels, but not more than the most."""
    with np.errstate(over="ignore"):
        return float(min(np.ldexp(value, shift), most))


def _seeds(key: HostArray) -> HostArray:
    """What the draws inside of trees follow from."""
    return key >> np.uint64(1)


def summed_up(layout: TreeLayout, sums: HostArray) -> HostArray:
    """The sums of all nodes from those of the leaves."""
    inner = np.flatnonzero(layout.n_children)[::-1]
    first, n = layout.first_child[inner].tolist(), layout.n_children[inner].tolist()
    total: list[list[int]] = sums.T.tolist()  # lists are quicker where entries are asked one by one
    # Breadth-first, children have higher numbers than their parent.
    for node, begin, own in zip(inner.tolist(), first, n, strict=True):
        for each in total:
            each[node] = sum(each[begin : begin + own])
    return np.array(total, SUM).T
