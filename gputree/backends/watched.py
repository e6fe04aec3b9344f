"""The mean loss of rows that are watched, from the predictions on the host."""

from collections.abc import Callable, Sequence

import numpy as np

from gputree.comm import ALONE, Comm
from gputree.data.averages import average
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.formulas import LOSSES
from gputree.kernels.losses import Loss
from gputree.tree.tree import Tree


def mean_loss(
    loss: Loss, y: HostArray, weight: HostArray, raw: HostArray, comm: Comm = ALONE
) -> float:
    """How far off sums of (outputs, rows) are."""
    value = loss.formulas(LOSSES).value
    with np.errstate(over="ignore"):
        if loss.is_of_shares:
            most = LOSSES.highest(raw, len(raw))
            volume = LOSSES.volume(raw, most, len(raw))
            return average(value(y, raw, most, volume, len(raw)), weight, comm)
        return average(value(y, raw[0], loss.constant), weight, comm)


def add_values(raw: HostArray, trees: Sequence[Tree], ends: Callable[[Tree], HostArray]) -> None:
    """Add the trees of a round to sums of (outputs, rows): one an output, or one of them all."""
    for output, tree in enumerate(trees):
        value = tree.value[ends(tree)]
        raw[output : output + value.shape[1]] += value.T


class HostWatched:
    """Some rows of a fit."""

    def __init__(
        self,
        read: Callable[[], HostArray],
        row: HostArray,
        y: HostArray,
        weight: HostArray,
        comm: Comm = ALONE,
    ) -> None:
        """`read` tells the predictions of all rows that are here, (outputs, rows)."""
        self._read, self._row, self._y, self._weight, self._comm = read, row, y, weight, comm

    def mean_loss(self, loss: Loss) -> float:
        raw = self._read()[:, self._row]
        return mean_loss(loss, self._y, self._weight, raw, self._comm)


class HostOther:
    """Rows of another table, to whose predictions trees are added."""

    def __init__(
        self,
        apply: Callable[[Tree, Table], HostArray],
        table: Table,
        start: HostArray,
        y: HostArray,
        weight: HostArray,
        comm: Comm = ALONE,
    ) -> None:
        """`apply` tells where rows end."""
        self._apply, self._table, self._raw = apply, table, start.copy()
        self._y, self._weight, self._comm = y, weight, comm

    def add(self, trees: Sequence[Tree]) -> None:
        add_values(self._raw, trees, lambda tree: self._apply(tree, self._table))

    def predictions(self) -> HostArray:
        return self._raw

    def mean_loss(self, loss: Loss) -> float:
        return mean_loss(loss, self._y, self._weight, self._raw, self._comm)
