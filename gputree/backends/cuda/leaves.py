"""What rows are off by at the nodes of a tree, on the device; and the node of each row."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gputree.backends.agreed_quantiles import ALMOST
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.rows import CudaRows, ends_of
from gputree.backends.cuda.sorting import sorted_by
from gputree.dtypes import OUTSIDE, Array, HostArray
from gputree.kernels.cuda import leaves as kernels
from gputree.kernels.cuda import route
from gputree.runs import begins


def marked(launches: Launches, rows: CudaRows, number: HostArray) -> Array:
    """The number of each row's node, OUTSIDE where a row takes no part; (rows,)."""
    n_rows = rows.target.n_rows
    leaf = launches.device.empty(n_rows, np.int32)
    launches.over(route.fill, n_rows, n_rows, OUTSIDE, leaf)
    own = launches.device.upload(number.astype(np.int32))
    launches.over_tiles(route.mark, ends_of(launches, rows), own, rows.order, leaf)
    return leaf


def _collected(launches: Launches, rows: CudaRows) -> Array:
    """The rows at all nodes, node by node, with nothing between."""
    tiles, (ahead,) = launches.cut(rows.start, rows.n_rows, rows.start - begins(rows.n_rows))
    collected = launches.device.empty(max(1, int(rows.n_rows.sum())), np.int32)
    launches.over_tiles(route.collect, tiles, ahead, rows.order, collected)
    return collected


class CudaResiduals:
    """What the rows of a tree are off by; see `contract.Residuals`.

    Rows are sorted by leaf, residual and weight. Of rows that all weigh 1, the place of a quantile
    is known; otherwise weights are added up.
    """

    def __init__(
        self,
        launches: Launches,
        rows: CudaRows,
        number: HostArray,
        y: Array,
        raw: Array,
        weight: Array | None,
    ) -> None:
        """The rows of a node have its `number`; one `weight` a row, or None for 1."""
        self._launches, self._y, self._raw, self._weight = launches, y, raw, weight
        self._row = _collected(launches, rows)
        self._leaf = marked(launches, rows, number)
        self._n_nodes = int(number.max()) + 1
        has_number = number >= 0
        n_rows = np.zeros(len(number), np.int64)
        n_rows[: len(rows.n_rows)] = rows.n_rows[: len(number)]
        self._n_each = np.bincount(number[has_number], n_rows[has_number], self._n_nodes).astype(
            np.int64
        )
        self._n = int(self._n_each.sum())
        self._start = begins(self._n_each)
        self._nodes = launches.device.pack(self._start, self._n_each)

    def quantile(self, share: float) -> HostArray:
        dev, n_nodes = self._launches.device, self._n_nodes
        row = self._by_residual
        value, found = self._residuals(row)[0], dev.empty(n_nodes, np.float64)
        if self._weight is not None:
            args = n_nodes, share, *self._nodes, value, self._weights(row)[0], found
            self._launches.over(kernels.reach, n_nodes, *args)
            return dev.download(found)[:n_nodes]
        # The sums of weights are 1, 2, ...: the first one that reaches the share of the last.
        least = np.ceil(share * self._n_each.astype(np.float64) * ALMOST).astype(np.int64)
        place = self._start + np.clip(least - 1, 0, np.maximum(self._n_each - 1, 0))
        place = np.where(self._n_each > 0, place, 0)
        self._launches.over(kernels.pick_each, n_nodes, n_nodes, dev.upload(place), value, found)
        return np.where(self._n_each > 0, dev.download(found)[:n_nodes], 0.0)

    def clipped_mean(self, most: float) -> HostArray:
        dev, n_nodes = self._launches.device, self._n_nodes
        middle = self.quantile(0.5)
        clipped = dev.upload(middle), float(most)
        row = self._by_residual
        if self._weight is not None:  # residuals that are clipped differ in their weights only
            row = self._sorted(self._row, lambda row: self._clipped(row, *clipped)[1])
        own = dev.upload(np.ones(1)) if self._weight is None else self._weights(row)[0]
        total, moved = dev.empty(n_nodes, np.float64), dev.empty(n_nodes, np.float64)
        value = self._clipped(row, *clipped)[0]
        args = n_nodes, *self._nodes, value, own, total, moved
        self._launches.over(kernels.add_in_order, n_nodes, *args)
        whole, apart = (dev.download(part)[:n_nodes] for part in (total, moved))
        return np.asarray(middle + apart / np.where(whole > 0.0, whole, 1.0))

    @cached_property
    def _by_residual(self) -> Array:
        return self._sorted(self._row, lambda row: self._residuals(row)[1])

    def _sorted(self, row: Array, key_of: Callable[[Array], Array]) -> Array:
        """Rows by leaf, the key, and weight."""
        launches, n = self._launches, self._n
        if self._weight is not None:
            row = sorted_by(launches, n, self._weights(row)[1], row)
        row = sorted_by(launches, n, key_of(row), row, has_sign=True)
        key = launches.device.empty(n, np.int64)
        launches.over(kernels.take_leaves, n, n, row, self._leaf, key)
        return sorted_by(launches, n, key, row, (self._n_nodes - 1).bit_length())

    def _residuals(self, row: Array) -> tuple[Array, Array]:
        """The residuals of rows, and keys to sort them by."""
        return self._taken(kernels.take_residuals, row, self._y, self._raw)

    def _clipped(self, row: Array, middle: Array, most: float) -> tuple[Array, Array]:
        """What they are above the middle of their node, but not more than `most`."""
        given = self._y, self._raw, self._leaf, middle, most
        return self._taken(kernels.take_clipped, row, *given)

    def _weights(self, row: Array) -> tuple[Array, Array]:
        return self._taken(kernels.take_weights, row, self._weight)

    def _taken(self, kernel: Any, row: Array, *given: Any) -> tuple[Array, Array]:
        dev, n = self._launches.device, self._n
        value, key = dev.empty(n, np.float64), dev.empty(n, np.int64)
        self._launches.over(kernel, n, n, row, *given, value, key)
        return value, key
