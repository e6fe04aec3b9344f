"""Trees whose predictions go one way with a feature, or that keep some features apart.

A tree under constraints is searched on the host, from sums that the backend hands over: a split
depends on the values its node may take, and on the features tested above it. Boosted trees answer
with steps, which are chosen as large as the bounds allow; other trees with means, and there a
split of such a feature whose means are out of bounds is not made.
"""

from dataclasses import dataclass, fields

import numpy as np

from gputree.backends.candidates import (
    among_drawn,
    are_admissible,
    first_best,
    following,
    missing_slots,
    scores,
)
from gputree.backends.contract import NO_SPLIT, Backend, Hist, Moves, Search, Splits
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, HostArray
from gputree.formulas import penalty
from gputree.runs import owners, within


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a tree must keep to."""

    monotone: HostArray  # (features,) 1: predictions never fall with it, -1: they never rise
    groups: HostArray | None = None  # (groups, features) which ones may be on one path
    is_of_means: bool = False  # nodes answer with means or shares of classes, not with steps


class NodeConstraints:
    """How the constraints hold in each node of a growing tree."""

    def __init__(self, constraints: Constraints, channels: Channels, ridge: float) -> None:
        """`ridge` is in the units of the loss."""
        self.constraints, self.channels, self.ridge = constraints, channels, ridge
        self.low, self.high = np.full(1, -np.inf), np.full(1, np.inf)
        n_groups = 0 if constraints.groups is None else len(constraints.groups)
        self.active = np.ones((1, n_groups), bool)  # groups that hold all features tested above

    def allowed(self, nodes: HostArray) -> HostArray | None:
        """Which features each node may test; None for all."""
        groups = self.constraints.groups
        if groups is None:
            return None
        return np.asarray((self.active[nodes].astype(np.int64) @ groups.astype(np.int64)) > 0)

    def pass_on(self, moves: Moves, sums: HostArray) -> None:
        """What holds in the children of divided nodes; `sums` are those of all nodes."""
        parent = np.repeat(moves.node, moves.n_children)
        children = moves.children
        n_nodes = len(sums)
        for name in ("low", "high", "active"):
            old = getattr(self, name)
            new = np.zeros((n_nodes, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            new[children] = new[parent]
            setattr(self, name, new)
        owner, slot = owners(moves.n_children), within(moves.n_children)
        way = self.constraints.monotone[moves.feature]
        value = self.values(children, sums[children])
        middle = np.add.reduceat(value, np.cumsum(moves.n_children) - moves.n_children) / 2.0
        is_upper = np.where(way[owner] > 0, slot == 1, slot == 0)
        bound = way[owner] != 0
        at = children[bound & is_upper]
        self.low[at] = np.maximum(self.low[at], middle[owner[bound & is_upper]])
        at = children[bound & ~is_upper]
        self.high[at] = np.minimum(self.high[at], middle[owner[bound & ~is_upper]])
        if self.constraints.groups is not None:
            self.active[children] &= self.constraints.groups[:, moves.feature[owner]].T

    def values(self, nodes: HostArray, sums: HostArray) -> HostArray:
        """What nodes of such sums answer, within their bounds."""
        gradient, hessian = self._real(sums)
        return self._clipped(gradient, hessian, self.low[nodes], self.high[nodes])

    def best_splits(
        self,
        backend: Backend,
        hist: Hist,
        bins: Bins,
        search: Search,
        nodes: HostArray,
        sums: HostArray,
    ) -> Splits:
        """The best thresholds of some nodes."""
        allowed, at = self.allowed(nodes), np.arange(len(nodes))
        may = np.ones((len(nodes), len(bins.features)), bool) if allowed is None else allowed
        if search.is_ordered is not None:
            may = may & search.is_ordered
        every = []
        for number, feature in enumerate(bins.features):
            cells = backend.cells(hist, at, np.full(len(nodes), number))
            cells = cells.reshape(len(nodes), int(bins.n_codes[number]), -1)
            known, missing = cells[:, : feature.n_values], cells[:, feature.n_values :].sum(axis=1)
            every.append(self._of_feature(number, known, missing, search, nodes, sums))
        found = {
            field.name: np.stack([getattr(each, field.name) for each in every], axis=1)
            for field in fields(Splits)
        }
        found["score"] = among_drawn(np.where(may, found["score"], NO_SPLIT), search)
        best = first_best(found["score"])
        return Splits(**{name: values[at, best] for name, values in found.items()})

    def _of_feature(
        self,
        feature: int,
        known: HostArray,
        missing: HostArray,
        search: Search,
        nodes: HostArray,
        sums: HostArray,
    ) -> Splits:
        """The best thresholds of a feature, from sums of (nodes, codes, channels)."""
        n_nodes, channels = len(nodes), self.channels
        is_here = channels.weight_of(known) > 0
        has_missing = channels.weight_of(missing) > 0
        # Candidates come code by code, and for each with missing values right, then left.
        running = np.cumsum(known, axis=1)
        left = np.stack([running, running + missing[:, None]], axis=2)
        may = np.stack([is_here, is_here & has_missing[:, None]], axis=2)
        score = self._scores(left, sums, nodes, search, int(self.constraints.monotone[feature]))
        score = np.where(may, score, NO_SPLIT).reshape(n_nodes, -1)
        at, best = np.arange(n_nodes), first_best(score)
        code, side = best // 2, best % 2
        own = left[at, code, side]
        return Splits(
            score=score[at, best],
            feature=np.full(n_nodes, feature, FEATURE),
            code=code,
            next_code=following(is_here)[at, code],
            missing_slot=missing_slots(channels, own, sums - own, missing, side),
            left=own,
        )

    def _scores(
        self, left: HostArray, sums: HostArray, nodes: HostArray, search: Search, way: int
    ) -> HostArray:
        """Scores of (nodes, codes, sides), NO_SPLIT where a rule or the constraint forbids one."""
        channels = self.channels
        total = sums[:, None, None]
        right = total - left
        low, high = self.low[nodes][:, None, None], self.high[nodes][:, None, None]
        may = are_admissible(channels, left, total, search)
        worth, values = [], []
        with np.errstate(divide="ignore", invalid="ignore"):
            for part in (left, right, total):
                gradient, hessian = self._real(part)
                value = self._clipped(gradient, hessian, low, high)
                curved = hessian + self.ridge
                worth.append(-(2.0 * (gradient * value) + curved * (value * value)))
                values.append(value)
        if way:
            may &= (values[1] - values[0]) * way >= 0.0
        # In the units of all scores, and as if the ridge had not yet taken its part.
        shift = 2 * channels.point_shift[0] - channels.weight_shift
        gain = np.ldexp(worth[0] + worth[1] - worth[2], shift)
        score = gain + penalty(sums, search.ridge)[:, None, None]
        return np.where(may, score, NO_SPLIT)

    def _real(self, sums: HostArray) -> tuple[HostArray, HostArray]:
        """Gradient and hessian in the units of the loss."""
        gradient = np.ldexp(sums[..., 1].astype(np.float64), -self.channels.point_shift[0])
        return gradient, np.ldexp(sums[..., 0].astype(np.float64), -self.channels.weight_shift)

    def _clipped(
        self, gradient: HostArray, hessian: HostArray, low: HostArray, high: HostArray
    ) -> HostArray:
        return np.asarray(np.clip(-gradient / (hessian + self.ridge), low, high))


class MeanConstraints(NodeConstraints):
    """The same where nodes answer with the mean of one output, or the share of a second class.

    As in scikit-learn, a split is scored without regard to the bounds, and one of a feature with a
    way to go is out of the question where the mean of a child breaks them. Means are in the units
    of the channels.
    """

    def values(self, nodes: HostArray, sums: HostArray) -> HostArray:
        """The means of nodes of such sums, within their bounds."""
        return np.asarray(np.clip(self._means(sums), self.low[nodes], self.high[nodes]))

    def _scores(
        self, left: HostArray, sums: HostArray, nodes: HostArray, search: Search, way: int
    ) -> HostArray:
        total = sums[:, None, None]
        low, high = self.low[nodes][:, None, None], self.high[nodes][:, None, None]
        may: HostArray | bool = True
        if way:
            with np.errstate(divide="ignore", invalid="ignore"):
                may = self._in_order(left, total - left, low, high, way)
        return scores(self.channels, left, total, search, may)

    def are_kept(
        self, nodes: HostArray, feature: HostArray, left: HostArray, total: HostArray
    ) -> HostArray:
        """Which splits keep to the constraints, each of a node by a feature."""
        way = self.constraints.monotone[feature]
        low, high = self.low[nodes], self.high[nodes]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (way == 0) | self._in_order(left, total - left, low, high, way)

    def _in_order(
        self,
        left: HostArray,
        right: HostArray,
        low: HostArray,
        high: HostArray,
        way: HostArray | int,
    ) -> HostArray:
        """Whether the means of two children are within their bounds and go a way."""
        below, above = self._means(left), self._means(right)
        may = np.asarray((above - below) * way >= 0.0)
        for mean in (below, above):
            may &= (low <= mean) & (mean <= high)
        return may

    def _means(self, sums: HostArray) -> HostArray:
        weight = self.channels.weight_of(sums).astype(np.float64)
        return np.asarray(sums[..., 1].astype(np.float64) / weight)


def constraints_for(constraints: Constraints, channels: Channels, ridge: float) -> NodeConstraints:
    """The constraints of a tree that begins to grow."""
    kind = MeanConstraints if constraints.is_of_means else NodeConstraints
    return kind(constraints, channels, ridge)
