"""Shapley values of trees: the plan that all backends share, and the way with array operations.

`kernels.cpu.attribute` explains the method. Here all rows go through a tree together, with the
same operations in the same order as there, so that both give the same bits.
"""

from dataclasses import dataclass

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Table
from gputree.dtypes import STAY, HostArray
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import slots_of


@dataclass(frozen=True)
class Quadrature:
    """How exactly to integrate, and how deep to go."""

    n_points: HostArray  # (trees,)
    point: HostArray  # (most + 1, most) line n has the points of the quadrature of n points
    weight: HostArray  # (most + 1, most)
    most_depth: int

    @classmethod
    def of(cls, stack: Stack, owner: HostArray) -> "Quadrature":
        """As many points as integrate without error what so many features on a path make."""
        depths = [len(tree.levels()) - 1 for tree in stack.trees]
        n_used = [len(np.unique(owner[tree.feature[~tree.is_leaf]])) for tree in stack.trees]
        # Of d features the others than one make a polynomial of degree d - 1; n points do 2n - 1.
        n_points = (np.minimum(depths, n_used) + 1) // 2
        most = int(n_points.max())
        point, weight = np.zeros((2, most + 1, max(1, most)))
        for n in np.unique(n_points[n_points > 0]).tolist():
            at, amount = np.polynomial.legendre.leggauss(n)
            point[n, :n], weight[n, :n] = (at + 1) / 2, amount / 2
        return cls(n_points, point, weight, max(depths))


def attribute(stack: Stack, table: Table, owner: HostArray, background: Table | None) -> HostArray:
    """The verb of the contract, with NumPy."""
    plan = Quadrature.of(stack, owner)
    result = np.zeros((table.n_rows, int(owner.max()) + 1, stack.n_outputs))
    values = [to_numpy(column.values) for column in table.columns]
    for number, tree in enumerate(stack.trees):
        first, n = int(stack.column[number]), int(plan.n_points[number])
        sums = result[:, :, first : first + stack.width]
        rule = plan.point[n, :n], plan.weight[n, :n]
        passage = _Passage(tree, stack.values_of(number), owner, rule, sums)
        if background is None:
            passage.go(values, None)
            continue
        others = [to_numpy(column.values) for column in background.columns]
        for row in range(background.n_rows):
            passage.go(values, [column[row : row + 1] for column in others])
    return result if background is None else result / background.n_rows


class _Passage:
    """All rows on their way through one tree."""

    def __init__(
        self,
        tree: Tree,
        value: HostArray,
        owner: HostArray,
        rule: tuple[HostArray, HostArray],
        sums: HostArray,
    ) -> None:
        self._tree, self._value, self._owner = tree, value, owner
        self._point, self._weight = rule
        self._sums = sums  # (rows, features, width)
        self._share = tree.share

    def go(self, values: list[HostArray], others: list[HostArray] | None) -> None:
        """Add what the features of each row are credited with."""
        self._values, self._others = values, others
        ones = np.ones(len(self._sums))
        self._below(0, [ones for _ in self._point], {})

    def _below(
        self, node: int, product: list[HostArray], passed: dict[int, tuple[HostArray, float]]
    ) -> list[HostArray]:
        """What lies below a node at each point, (rows, width); `passed` has known and unknown."""
        tree = self._tree
        if tree.first_child[node] < 0:
            return [at[:, None] * self._value[node] for at in product]
        total = [np.zeros((len(self._sums), self._value.shape[1])) for _ in product]
        own = int(self._owner[tree.feature[node]])
        was_known, was_unknown = passed.get(own, (np.ones(len(self._sums)), 1.0))
        had = was_known - was_unknown
        earlier = [_inverse(was_unknown + t * had) for t in self._point]
        slot = self._slots(node, self._values)
        other = STAY if self._others is None else self._slots(node, self._others)[0]
        for turn in range(int(tree.n_children[node])):
            child = int(tree.first_child[node]) + turn
            share = float(self._share[child])
            known = was_known * np.where(slot == STAY, share, slot == turn)
            unknown = was_unknown * (share if other == STAY else float(other == turn))
            if unknown == 0.0 and not known.any():
                continue
            gain = known - unknown
            now = [unknown + t * gain for t in self._point]
            parts = zip(product, earlier, now, strict=True)
            reached = self._below(
                child,
                [above * before * after for above, before, after in parts],
                {**passed, own: (known, unknown)},
            )
            credit = np.zeros_like(self._sums[:, own])
            for q, weight in enumerate(self._weight):
                per_unit = gain * _inverse(now[q]) - had * earlier[q]
                credit += weight * reached[q] * per_unit[:, None]
                total[q] += reached[q]
            self._sums[:, own] += credit
        return total

    def _slots(self, node: int, values: list[HostArray]) -> HostArray:
        """The child that each row takes, STAY where it is divided."""
        tree, column = self._tree, values[self._tree.feature[node]]
        first = np.zeros(1, np.int64)
        here = slice(node, node + 1)
        slot = slots_of(tree, column, tree.threshold[here], first, tree.category_start[here])
        return np.where(slot == STAY, np.int64(tree.missing_slot[node]), slot)


def _inverse(factor: HostArray) -> HostArray:
    """One over a factor; rows that cannot get here have 0, and nothing to divide."""
    return 1.0 / np.where(factor > 0, factor, 1.0)
