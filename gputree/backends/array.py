"""The contract kept with plain array-API code: NumPy, torch, CuPy, array-api-strict.

With NumPy it is the fallback that is always there and the oracle of all other backends. The parts
live beside it: `coding` (values to codes) and `scan` (the search for splits).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gputree.backends import coding
from gputree.backends.contract import Item, Kin, Moves, Result, Search, Splits
from gputree.backends.libraries import Library
from gputree.backends.scan import Scanner
from gputree.data.bins import Bins, FeatureBins
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import MISSING_LEVEL, OUTSIDE, SUM, Array, HostArray, code_dtype
from gputree.tree.tree import Tree


@dataclass(frozen=True)
class ArrayRows:
    """Codes with the channels and the node of every row."""

    code: Array  # (features, rows)
    bins: Bins
    target: Target
    node: Array  # (rows,)
    label: Array | None  # (rows,) the class
    weight: Array | None  # (rows,) float64, whole numbers
    value: Array | None  # (outputs, rows) float64, whole numbers
    point: Array | None  # (outputs, rows)


@dataclass(frozen=True)
class ArrayHist:
    """Sums of some nodes."""

    bins: Bins
    channels: Channels
    sums: Array  # (nodes, channels, places) int64


class ArrayBackend:
    """Trees with nothing but array operations."""

    def __init__(self, library: Library, name: str) -> None:
        self.name = name
        self.device = library.device
        self._lib = library
        self._scanner = Scanner(library)

    # Values to codes.

    def reserve(self, n_features: int, n_rows: int, most_codes: int) -> Array:
        return self._put(np.zeros((n_features, n_rows), code_dtype(most_codes)))

    def hold(self, columns: Sequence[Column]) -> list[Array]:
        return [self._values(column) for column in columns]

    def count_missing(self, values: list[Array]) -> HostArray:
        xp = self._lib.xp
        return np.array([int(xp.count_nonzero(xp.isnan(column))) for column in values])

    def sketch(
        self,
        values: list[Array],
        weight: HostArray | None,
        within: Sequence[HostArray] | None = None,
    ) -> list[tuple[HostArray, HostArray]]:
        put = self._weight(weight)
        if within is None:
            return [coding.bucket_weights(self._lib, column, put) for column in values]
        return [
            coding.fine_bucket_weights(self._lib, column, put, buckets)
            for column, buckets in zip(values, within, strict=True)
        ]

    def refine(
        self, values: list[Array], weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        put = self._weight(weight)
        return [
            coding.distinct(self._lib, column, put, buckets)
            for column, buckets in zip(values, wanted, strict=True)
        ]

    def encode(
        self, data: Array, first_feature: int, values: list[Array], bins: Sequence[FeatureBins]
    ) -> None:
        for i, (column, feature) in enumerate(zip(values, bins, strict=True)):
            data[first_feature + i, :] = coding.codes(self._lib, column, feature, data.dtype)

    # Growing.

    def begin(self, data: Array, bins: Bins, target: Target) -> ArrayRows:
        node = np.zeros(target.n_rows, np.int64)
        if target.weight is not None:
            node[target.weight == 0] = OUTSIDE
        return ArrayRows(
            data,
            bins,
            target,
            node=self._put(node),
            label=None if target.label is None else self._put(target.label.astype(np.int64)),
            weight=self._weight(target.weight),
            value=None if target.value is None else self._put(target.value.astype(np.float64)),
            point=None if target.point is None else self._put(target.point),
        )

    def tally(self, rows: ArrayRows, nodes: HostArray) -> ArrayHist:
        xp, bins, channels = self._lib.xp, rows.bins, rows.target.channels
        row, place = self._rows_of(rows, nodes)
        sums = xp.zeros((len(nodes), channels.n, bins.width), dtype=xp.int64)
        cells = self._cells(rows, row, place)
        for feature, n_codes in enumerate(bins.n_codes.tolist()):
            code = xp.astype(xp.take(rows.code[feature, ...], row), xp.int64)
            part = slice(int(bins.offset[feature]), int(bins.offset[feature + 1]))
            for first, size, cell, weight in cells:
                length = len(nodes) * size * n_codes
                counted = self._lib.count(cell * n_codes + code, length, weight)
                counted = xp.reshape(counted, (len(nodes), size, n_codes))
                sums[:, first : first + size, part] = counted
        return ArrayHist(bins, channels, sums)

    def derive(self, built: ArrayHist, kin: Kin, above: ArrayHist | None) -> ArrayHist:
        xp = self._lib.xp
        sums = xp.take(built.sums, self._put(kin.built), axis=0)
        if above is not None:
            parent = xp.take(above.sums, self._put(np.maximum(kin.parent, 0)), axis=0)
            is_derived = self._put((kin.parent >= 0)[:, None, None])
            sums = xp.where(is_derived, parent - sums, sums)
        return ArrayHist(built.bins, built.channels, sums)

    def best_splits(self, hist: ArrayHist, search: Search) -> Splits:
        return self._scanner.best_splits(hist.sums, hist.bins, hist.channels, search)

    def span(self, rows: ArrayRows, nodes: HostArray) -> HostArray:
        row, place = self._rows_of(rows, nodes)
        spans = []
        assert rows.point is not None
        for output in range(rows.target.channels.n_scored):
            point = self._lib.xp.take(rows.point[output, ...], row)
            low, high = self._lib.extremes(place, point, len(nodes))
            spans.append(np.stack([self._lib.to_host(low), self._lib.to_host(high)], axis=1))
        return np.stack(spans, axis=1)

    def route(self, rows: ArrayRows, moves: Moves) -> ArrayRows:
        xp = self._lib.xp
        row, place = self._rows_of(rows, moves.node)
        feature = xp.take(self._put(moves.feature.astype(np.int64)), place)
        n_rows = rows.target.n_rows
        flat = xp.reshape(rows.code, (-1,))
        code = xp.astype(xp.take(flat, feature * n_rows + row), xp.int64)
        at = xp.take(self._put(moves.start.astype(np.int64)), place) + code
        slot = xp.astype(xp.take(self._put(moves.table.astype(np.int64)), at), xp.int64)
        child = xp.take(self._put(moves.first_child.astype(np.int64)), place) + slot
        return replace(rows, node=self._lib.replaced(rows.node, row, child))

    # After a tree.

    def leaves(self, rows: ArrayRows) -> HostArray:
        return self._lib.to_host(rows.node).astype(np.int64)

    def apply(self, tree: Tree, table: Table) -> HostArray:
        xp = self._lib.xp
        columns: dict[int, Array] = {}
        feature_of, threshold_of, missing_slot, first_child = (
            self._put(np.array(field, dtype))
            for field, dtype in [
                (tree.feature, np.int64),
                (tree.threshold, np.float64),
                (tree.missing_slot, np.int64),
                (tree.first_child, np.int64),
            ]
        )
        node = self._put(np.zeros(table.n_rows, np.int64))
        pending = self._put(np.arange(table.n_rows) if tree.n_nodes > 1 else np.empty(0, np.int64))
        while pending.shape[0]:
            here = xp.take(node, pending)
            tested = xp.take(feature_of, here)
            for feature in self._lib.to_host(xp.unique_values(tested)).tolist():
                if feature not in columns:
                    columns[feature] = self._values(table.columns[feature])
                at = xp.nonzero(tested == feature)[0]
                row, parent = xp.take(pending, at), xp.take(here, at)
                value = xp.astype(xp.take(columns[feature], row), xp.float64)
                slot = xp.astype(value > xp.take(threshold_of, parent), xp.int64)
                slot = xp.where(xp.isnan(value), xp.take(missing_slot, parent), slot)
                child = xp.take(first_child, parent) + slot
                node = self._lib.replaced(node, row, child)
            pending = xp.take(
                pending, xp.nonzero(xp.take(first_child, xp.take(node, pending)) >= 0)[0]
            )
        return self._lib.to_host(node)

    # Lanes and costs.

    n_lanes = 1

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return [task(item) for item in items]

    compile_seconds = 0.0

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        return np.full(len(n_rows), bins.width * channels.n * np.dtype(SUM).itemsize)

    def room_for_hists(self) -> int | None:
        return None

    def release(self) -> None:
        """Arrays belong to their library."""

    def bytes_held(self, data: Array, rows: ArrayRows | None) -> int:
        arrays = [data]
        if rows is not None:
            arrays += [rows.node, rows.label, rows.weight, rows.value, rows.point]
        return sum(_nbytes(array) for array in arrays if array is not None)

    # Helpers.

    def _put(self, array: HostArray) -> Array:
        return self._lib.from_host(array)

    def _weight(self, weight: HostArray | None) -> Array | None:
        return None if weight is None else self._put(weight.astype(np.float64))

    def _values(self, column: Column) -> Array:
        """The values of a column as floats: numbers, or level numbers, NaN where missing."""
        if column.levels is None:
            return self._lib.adopt(column.values)
        level = np.asarray(column.values)
        return self._put(np.where(level == MISSING_LEVEL, np.nan, level).astype(np.float32))

    def _rows_of(self, rows: ArrayRows, nodes: HostArray) -> tuple[Array, Array]:
        """The rows at some nodes, and the place of each one's node among them."""
        xp = self._lib.xp
        place = np.full(int(nodes.max()) + 2, OUTSIDE, np.int64)
        place[nodes] = np.arange(len(nodes))
        # Nodes above the wanted ones read the last entry, and so does -1 where nodes are outside.
        last = len(place) - 1
        node = xp.where(rows.node < 0, last, xp.clip(rows.node, 0, last))
        at = xp.take(self._put(place), node)
        row = xp.nonzero(at >= 0)[0]
        return row, xp.take(at, row)

    def _cells(
        self, rows: ArrayRows, row: Array, place: Array
    ) -> list[tuple[int, int, Array, Array | None]]:
        """First channel, number of channels, cell and weight of each sum to take over the rows."""
        take, channels = self._lib.xp.take, rows.target.channels
        weight = None if rows.weight is None else take(rows.weight, row)
        cells: list[tuple[int, int, Array, Array | None]] = []
        if rows.label is not None:
            n = channels.n_scored
            cells.append((0, n, place * n + take(rows.label, row), weight))
        else:
            assert rows.value is not None
            cells.append((0, 1, place, weight))
            cells += [
                (1 + output, 1, place, take(rows.value[output, ...], row))
                for output in range(channels.n_scored)
            ]
        if channels.counts_rows:
            cells.append((channels.n - 1, 1, place, None))
        return cells


def _nbytes(array: Array) -> int:
    itemsize = array.dtype.itemsize if hasattr(array.dtype, "itemsize") else 8
    return int(np.prod(array.shape)) * int(itemsize)
