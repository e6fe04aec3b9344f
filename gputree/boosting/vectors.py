"""Rounds of one tree, whose leaves have a value for each output.

All outputs share the structure of a tree. It is searched like that of a regression with several
outputs: by the gradients of all of them, which rows weigh by the mean of their hessians. A leaf
then takes the Newton step of each output, from exact sums. Gradients and predictions are made and
kept on the host, so that every backend that grows regression trees can do it.
"""

from dataclasses import replace

import numpy as np

from gputree.backends.watched import HostWatched
from gputree.boosting.rounds import SPAN, Rounds, shifted, summed_up
from gputree.data.gradients import Gradients, wide_shift
from gputree.data.target import Channels, Target
from gputree.dtypes import SUM, HostArray
from gputree.formulas import LOSSES
from gputree.growth.builder import Grown, Start
from gputree.growth.choose_loop import grow_rooted
from gputree.growth.finish import finish_steps
from gputree.kernels.losses import Loss
from gputree.tree.tree import Tree


class VectorRounds(Rounds):
    """A boosted model of several outputs while it grows, a tree a round."""

    def _open(self, start: HostArray) -> None:
        self.raw_scores = np.array(start, np.float64)

    def some(self, number: int, most: int) -> list[list[Tree]]:
        if self.backend.can_go_over:
            self.backend.go_over()
        return [[self._vector(number)]]

    def predictions(self) -> HostArray:
        found: HostArray = self.raw_scores
        return found

    def watched(self, row: HostArray, y: HostArray, weight: HostArray) -> HostWatched:
        return HostWatched(self.predictions, row, y, weight)

    def _vector(self, number: int) -> Tree:
        """The tree of a round; the predictions move on."""
        takes_part = self.sample(number)
        inside = np.ones(len(self.y), bool) if takes_part is None else takes_part.copy()
        if self.weight is not None:
            inside &= self.weight > 0
        both = self._both(inside)
        wide = [_as_integers(part, inside) for part in both]
        grown, worth = self._grown(wide, both[1].mean(axis=0), inside, number * SPAN)
        layout = grown.layout
        end = layout.number[self.backend.leaves(grown.rows)[inside]]
        step = self._vector_steps(grown, end, [(values[:, inside], s) for values, s in wide])
        self.raw_scores[:, inside] += step[end].T
        if takes_part is not None:  # the others move on all the same
            rest = ~takes_part
            self.raw_scores[:, rest] += step[layout.number[self._ends(grown, rest)]].T
        return self._weighed(finish_steps(grown, step, worth, self.recipe.finish))

    def _both(self, inside: HostArray) -> tuple[HostArray, HostArray]:
        """Gradients and hessians, (outputs, rows) each; 0 where a row does not take part."""
        loss, raw, y = self.loss, self.raw_scores, self.y
        if isinstance(loss, Loss):
            formula = loss.formulas(LOSSES).gradient_hessian
            if loss.is_of_shares:
                most = LOSSES.highest(raw, len(raw))
                total = LOSSES.volume(raw, most, len(raw))
                pairs = [formula(y, raw[c], most, total, float(c)) for c in range(len(raw))]
            else:
                pairs = [formula(y[:, k], raw[k], loss.constant) for k in range(len(raw))]
            flat = np.ones(len(y))
            gradient = np.stack([each for each, _ in pairs])
            hessian = np.stack([flat if loss.is_flat else each for _, each in pairs])
        else:
            gradient, hessian = (np.array(part, np.float64) for part in loss(raw))
        if self.weight is not None:
            gradient, hessian = gradient * self.weight, hessian * self.weight
        return np.where(inside, gradient, 0.0), np.where(inside, hessian, 0.0)

    def _grown(
        self,
        wide: list[tuple[HostArray, int]],
        weight: HostArray,
        inside: HostArray,
        tree: int,
    ) -> tuple[Grown, HostArray]:
        """A tree by the gradients of all outputs, and what its splits are worth."""
        (value, shift), n = wide[0], int(np.count_nonzero(inside))
        whole, weight_shift = _as_integers(weight, inside)
        whole = np.where(inside, np.maximum(whole, 1), 0)
        n_outputs = len(value)
        channels = Channels(
            n_scored=n_outputs,
            is_classes=False,
            counts_rows=True,
            weight_shift=weight_shift,
            output_shift=(shift - weight_shift,) * n_outputs,
            point_shift=(shift,) * n_outputs,
            origin=(0.0,) * n_outputs,
        )
        target = Target(channels, whole, None, None, value)
        told = Gradients(channels, target.totals, n, shift, wide[1][1], None)
        # A ridge is that of one output, so that it makes steps smaller, and does not choose splits.
        rules = replace(self._rules(told, tree), ridge=0.0, category_ridge=0.0)
        start = Start.of(self.backend, self.data, self.bins, target)
        grown = grow_rooted(self.backend, start, self.bins, rules, self.recipe.budget)
        held = self.backend.bytes_held(self.data, grown.rows) + grown.peak_bytes
        self.peak_bytes = max(self.peak_bytes, held)
        node = grown.layout.node
        return grown, rules.limits.worth(grown.draft.score[node], grown.draft.sums[node])

    def _vector_steps(
        self, grown: Grown, end: HostArray, wide: list[tuple[HostArray, int]]
    ) -> HostArray:
        """What each node adds to each prediction, (nodes, outputs), of rows that end at some."""
        (gradient, gradient_shift), (hessian, hessian_shift) = wide
        n_nodes, n_outputs = len(grown.layout.node), len(gradient)
        # Totals are below 2**53, so that sums of floats are exact.
        sums = [np.bincount(end, values, n_nodes) for values in (*gradient, *hessian)]
        total = summed_up(grown.layout, np.stack(sums, axis=1).astype(SUM)).astype(np.float64)
        ridge = shifted(self.recipe.ridge, hessian_shift)
        step = LOSSES.newton(total[:, :n_outputs], total[:, n_outputs:], ridge)
        with np.errstate(over="ignore"):
            return self._taken(np.ldexp(step, hessian_shift - gradient_shift))

    def _ends(self, grown: Grown, is_in: HostArray) -> HostArray:
        """The node of the draft at which each of some rows ends that the tree has not seen."""
        channels = Channels(n_scored=1, is_classes=False, counts_rows=True)
        nothing = np.zeros((1, len(is_in)), SUM)
        target = Target(channels, is_in.astype(SUM), None, None, nothing)
        rows = self.backend.begin(self.data, self.bins, target)
        for moves in grown.draft.moves(grown.layout):
            rows = self.backend.route(rows, moves)
        found: HostArray = self.backend.leaves(rows)[is_in]
        return found


def _as_integers(values: HostArray, inside: HostArray) -> tuple[HostArray, int]:
    """Values times 2**shift as integers whose totals are exact, and the shift."""
    shift = wide_shift(int(np.count_nonzero(inside)), float(np.abs(values).max(initial=0.0)))
    return np.ascontiguousarray(np.rint(np.ldexp(values, shift)).astype(SUM)), shift
