"""Mean losses of rows that are watched, on the device: rows of a fit, and rows of another table."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.device import Device
from gputree.backends.cuda.launch import Launches
from gputree.data.averages import Weighing
from gputree.dtypes import STAY, Array, HostArray
from gputree.kernels.cuda import gradients as kernels
from gputree.kernels.cuda import predict
from gputree.kernels.losses import Loss
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

# Kernels are made once for each set of constants.
make_losses = cache(kernels.make_losses)
make_leaves_of = cache(predict.make_leaves_of)


class Scores(Protocol):
    """Targets and predictions of some rows."""

    @property
    def y(self) -> Array:
        """Of the rows, (rows,)."""

    @property
    def raw(self) -> Array:
        """Predictions, (outputs * rows,)."""

    @property
    def n_outputs(self) -> int: ...

    @property
    def n_rows(self) -> int: ...


class CudaWatched:
    """Some rows whose mean loss is asked for; see `contract.Watched`."""

    def __init__(
        self, launches: Launches, scores: Scores, row: HostArray, weight: HostArray
    ) -> None:
        self._launches, self._scores, self._n = launches, scores, len(row)
        self._weighing = Weighing.of(weight)
        near = self._weighing.near
        if (near == near[0]).all():
            near = near[:1]
        self._row, self._near = launches.device.pack(row.astype(np.int32), near)

    def mean_loss(self, loss: Loss) -> float:
        dev, scores, n = self._launches.device, self._scores, self._n
        weighted, largest = dev.empty(n, np.float64), dev.zeros(1, np.int64)
        self._launches.over_rows(
            make_losses(loss.formulas, loss.is_of_shares),
            n,
            scores.n_rows,
            scores.n_outputs,
            float(loss.constant),
            self._row,
            scores.y,
            scores.raw,
            self._near,
            weighted,
            largest,
        )
        most = float(dev.download(largest).view(np.float64)[0])
        if not np.isfinite(most):
            return np.inf
        shift, total = self._weighing.shift_for(most), dev.zeros(1, np.int64)
        self._launches.over_rows(kernels.add_losses, n, 2.0**shift, weighted, total)
        return self._weighing.mean(int(dev.download(total)[0]), shift)


class CudaOther:
    """Rows of another table, to whose predictions trees are added; see `contract.Other`."""

    def __init__(
        self,
        launches: Launches,
        values: CudaValues,
        start: HostArray,
        y: HostArray,
        weight: HostArray,
    ) -> None:
        self._launches, self._values = launches, values
        self.n_outputs, self.n_rows = start.shape
        self.y, self.raw = launches.device.pack(np.asarray(y, np.float64), start)
        self._leaf = launches.device.empty(self.n_rows, np.int32)
        self._watched = CudaWatched(launches, self, np.arange(self.n_rows), weight)

    def add(self, trees: Sequence[Tree]) -> None:
        for output, tree in enumerate(trees):
            stack, n_rows = Stack.of([tree]), self.n_rows
            has_categories = bool((stack.category_start >= 0).any())
            every = np.arange(self._values.n_columns)
            *nodes, step = packed(self._launches.device, stack, every, tree.value[:, 0])
            args = 1, n_rows, self._values.values, *nodes, self._leaf
            self._launches.over(make_leaves_of(has_categories, STAY), n_rows, *args)
            begin = output * n_rows
            args = n_rows, self._leaf, step, begin, self.raw
            self._launches.over(kernels.add_steps, n_rows, *args)

    def predictions(self) -> HostArray:
        return self._launches.device.download(self.raw).reshape(self.n_outputs, self.n_rows)

    def mean_loss(self, loss: Loss) -> float:
        return self._watched.mean_loss(loss)


def packed(device: Device, stack: Stack, used: HostArray, *more: HostArray) -> list[Array]:
    """Trees as kernels of `predict` walk them on a table of some columns; more travels along."""
    feature = stack.joined("feature")
    return device.pack(
        stack.root,
        np.searchsorted(used, np.maximum(feature, used[0])).astype(np.int32),
        stack.joined("threshold"),
        stack.joined("missing_slot"),
        stack.joined("first_child"),
        stack.category_start,
        stack.joined("category"),
        stack.joined("category_slot"),
        *more,
    )
