"""Partial dependence from the nodes of trees, without walking a table for each point of a grid."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from gputree.data.cells import host_cells
from gputree.data.kinds import known_column
from gputree.data.schema import Schema
from gputree.dtypes import STAY, HostArray
from gputree.kernels.losses import FOR_VALUES
from gputree.tree.tree import Tree
from gputree.tree.walk import slots_of

THEIRS = "sklearn.ensemble._gb"


class Recursion:
    """A boosted model that `sklearn.inspection` may ask for partial dependence by recursion."""

    loss: Any
    init: Any
    schema_: Schema
    _start: HostArray
    _members: Any

    def __sklearn_tags__(self) -> Tags:
        introduce(Recursion)  # scikit-learn asks for tags before it chooses a method
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        return tags

    def _compute_partial_dependence_recursion(self, grid: Any, features: Any) -> HostArray:
        """What partial_dependence of scikit-learn asks for, (outputs, points of the grid)."""
        check_is_fitted(self)
        if getattr(self, "init_", None) is not None:
            warnings.warn(
                "Using recursion method with a non-constant init predictor will lead to incorrect "
                f"partial dependence values. Got init={self.init!r:.60}; use method='brute'",
                stacklevel=2,
            )
        if self._members[0].tree.value.shape[1] > 1:
            raise ValueError(
                "method='recursion' averages trees of one output each, and those of "
                "multi_strategy='one_tree' have several; use method='brute'"
            )
        values = read_grid(grid, np.asarray(features).tolist(), self.schema_)
        raw = np.tile(self._start[:, None], (1, len(grid)))
        # Where the hessian is not constant, it is what nodes call their weight.
        has_weights = isinstance(self.loss, str) and self.loss in FOR_VALUES
        has_weights = has_weights and FOR_VALUES[self.loss].is_flat
        for at, member in enumerate(self._members):
            tree = member.tree
            weight = tree.weight if has_weights else tree.n_rows
            raw[at % len(raw)] += averaged(tree, weight, values)
        return self._scaled(raw)

    def _scaled(self, raw: HostArray) -> HostArray:
        """What trees add up to, as averages of it are told."""
        return raw


def introduce(kind: type) -> None:
    """Tell scikit-learn, where it has asked, that boosting of a kind knows method='recursion'.

    `sklearn.inspection` offers it to subclasses of a class of its own. That takes long to be
    imported, so it is looked up only where somebody has done so.
    """
    base = getattr(sys.modules.get(THEIRS), "BaseGradientBoosting", None)
    if base is not None and not issubclass(kind, base):
        base.register(kind)


def read_grid(grid: Any, columns: Sequence[int], schema: Schema) -> dict[int, HostArray]:
    """The values, or the numbers of categories, of each column that a grid varies."""
    points = np.asarray(grid)
    return {
        at: np.asarray(known_column(host_cells(points[:, number]), schema, at).values)
        for number, at in enumerate(columns)
    }


def averaged(tree: Tree, weight: HostArray, values: dict[int, HostArray]) -> HostArray:
    """What a tree says of each point of a grid, on average over the columns it does not vary.

    A node that tests one of those sends a point to every child, by the children's weights.
    """
    n_points = len(next(iter(values.values())))
    reach = np.zeros((tree.n_nodes, n_points))
    reach[0] = 1.0
    for node in np.flatnonzero(~tree.is_leaf).tolist():  # parents come before their children
        first, n = int(tree.first_child[node]), int(tree.n_children[node])
        children = slice(first, first + n)
        own = values.get(int(tree.feature[node]))
        if own is None:
            share = (weight[children] / weight[children].sum())[:, None]
        else:
            share = np.arange(n)[:, None] == _slots(tree, node, own)
        reach[children] = share * reach[node]
    leaf = tree.is_leaf
    return np.asarray(tree.value[leaf, 0] @ reach[leaf])


def _slots(tree: Tree, node: int, values: HostArray) -> HostArray:
    """The child to which each value leads at a node."""
    threshold = np.full(len(values), tree.threshold[node])
    start = np.full(len(values), tree.category_start[node])
    slot = slots_of(tree, values, threshold, np.zeros(len(values), np.int64), start)
    return np.where(slot == STAY, tree.missing_slot[node], slot)
