"""The contract kept with plain array-API code: NumPy, torch, CuPy, array-api-strict.

With NumPy it is the fallback that is always there and the oracle of all other backends. The parts
live beside it: `coding` (values to codes), `array_rows` and `array_sums` (what nodes have), `scan`
and `row_scan` (the search for splits, in sums and from rows).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gputree.backends.array import binning as array_binning
from gputree.backends.array import gradients as array_gradients
from gputree.backends.array import histogram as array_histogram
from gputree.backends.array import row_split as array_row_split
from gputree.backends.array import split as array_split
from gputree.backends.array.histogram import ArrayHist, Tallied
from gputree.backends.array.libraries import Library
from gputree.backends.array.rate import rate
from gputree.backends.array.rows import (
    ArrayRows,
    CodedRows,
    dispersed,
    divided,
    node_of_each,
    rows_of,
)
from gputree.backends.candidates import joined
from gputree.backends.contract import (
    Moves,
    Rates,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.defaults import Defaults
from gputree.backends.host_codes import ONLY_ON_HOST, host_codes
from gputree.backends.row_lists import at_roots
from gputree.backends.seen import Seen
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column
from gputree.data.target import Channels, Target
from gputree.dtypes import Array, HostArray, code_dtype
from gputree.kernels import array_code, criteria, losses


class ArrayBackend(Defaults):
    """Trees with nothing but array operations."""

    def __init__(self, library: Library, name: str) -> None:
        self.name = name
        self.device = library.device
        self._lib = library
        operations = array_code.operations(library.xp, library.bits)
        self._formulas = criteria.compile_for(array_code.as_it_is, operations)
        self._losses = losses.tools_for(array_code.as_it_is, operations)

    # Values to codes.

    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> Array:
        if folder is not None and self.name != "numpy":
            raise ValueError(ONLY_ON_HOST.format(self.name))
        shape = n_features, n_rows
        return self._put(host_codes(shape, code_dtype(most_codes), folder, is_clear=True))

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
            return [array_binning.bucket_weights(self._lib, column, put) for column in values]
        return [
            array_binning.fine_bucket_weights(self._lib, column, put, buckets)
            for column, buckets in zip(values, within, strict=True)
        ]

    def refine(
        self, values: list[Array], weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        put = self._weight(weight)
        return [
            array_binning.distinct(self._lib, column, put, buckets)
            for column, buckets in zip(values, wanted, strict=True)
        ]

    def encode(
        self,
        data: Array,
        first_feature: int,
        values: list[Array],
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        rows = slice(first_row, first_row + values[0].shape[0])
        for i, (column, feature) in enumerate(zip(values, bins, strict=True)):
            data[first_feature + i, rows] = array_binning.codes(
                self._lib, column, feature, data.dtype
            )

    # The start of a tree.

    def begin(
        self, data: Array, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> ArrayRows:
        order, start, n_rows = at_roots(target, n_each)
        coded = CodedRows(
            data,
            bins,
            target,
            label=None if target.label is None else self._put(target.label.astype(np.int64)),
            weight=self._weight(target.weight),
            value=None if target.value is None else self._put(target.value.astype(np.float64)),
            point=None if target.point is None else self._put(target.point),
        )
        return ArrayRows(coded, self._put(order.astype(np.int64)), start, n_rows)

    def take_rows(self, data: Array, row: HostArray) -> Array:
        return self._lib.xp.take(data, self._put(row), axis=1)

    # Boosting.

    def begin_gradients(self, data: Array, bins: Bins, gradients: Gradients) -> ArrayRows:
        return array_gradients.begin(self._lib, data, bins, gradients)

    def gradient_sums(self, rows: ArrayRows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return array_gradients.sums(self._lib, rows, gradients, nodes)

    def renew(
        self,
        raw_scores: array_gradients.ArrayRawScores,
        output: int,
        rows: ArrayRows,
        step: HostArray,
    ) -> None:
        array_gradients.renew(self._lib, raw_scores, output, rows, step)

    # Growing.

    def count_rows(self, rows: ArrayRows, nodes: HostArray) -> HostArray:
        return rows.n_rows[nodes]

    def tally(self, rows: ArrayRows, nodes: HostArray) -> Tallied:
        return array_histogram.tally(self._lib, rows, nodes)

    def sum_up(self, rows: ArrayRows, nodes: HostArray) -> HostArray:
        return array_histogram.sum_up(self._lib, rows, nodes)

    def hist_of(self, rows: ArrayRows, sums: HostArray, bins: Bins) -> ArrayHist:
        return array_histogram.hist_of(self._lib, rows, sums, bins)

    def derive(self, built: Tallied, siblings: Siblings, above: ArrayHist | None) -> ArrayHist:
        return array_histogram.derive(self._lib, built, siblings, above)

    def best_splits(self, hist: Tallied | ArrayHist, search: Search) -> Splits:
        hist = self._derived(hist)
        order = np.argsort(hist.place, kind="stable")  # small nodes, then large ones as summed
        small, large = np.split(order, [len(hist.n_listed)])
        whole = self._array_search(hist, search)
        parts = []
        if small.size:
            parts.append(array_row_split.best_splits(whole.of_nodes(small), hist))
        if large.size:
            parts.append(array_split.best_splits(whole.of_nodes(large), hist.sums))
        return joined(parts, np.argsort(order))

    def rate(self, hist: Tallied | ArrayHist, search: Search) -> Rates:
        hist = self._derived(hist)
        return rate(self._array_search(hist, search), hist)

    def cells(self, hist: Tallied | ArrayHist, place: HostArray, feature: HostArray) -> HostArray:
        return array_histogram.cells(self._lib, self._derived(hist), place, feature)

    def seen(self, hist: Tallied | ArrayHist, place: HostArray, feature: HostArray) -> Seen:
        return array_histogram.seen(self._lib, self._derived(hist), place, feature)

    def span(self, rows: ArrayRows, nodes: HostArray) -> HostArray:
        row, place = rows_of(self._lib, rows, nodes)
        point = rows.coded.point
        spans = []
        assert point is not None
        for output in range(rows.coded.target.channels.n_scored):
            values = self._lib.xp.take(point[output, ...], row)
            low, high = (self._lib.highest(place, each, len(nodes)) for each in (-values, values))
            spans.append(np.stack([-self._lib.to_host(low), self._lib.to_host(high)], axis=1))
        return np.stack(spans, axis=1)

    def route(self, rows: ArrayRows, moves: Moves) -> ArrayRows:
        xp = self._lib.xp
        row, place = rows_of(self._lib, rows, moves.node)
        feature = xp.take(self._put(moves.feature.astype(np.int64)), place)
        flat = xp.reshape(rows.coded.code, (-1,))
        code = xp.astype(xp.take(flat, feature * rows.coded.target.n_rows + row), xp.int64)
        at = xp.take(self._put(moves.start.astype(np.int64)), place) + code
        slot = xp.astype(xp.take(self._put(moves.table), at), xp.int64)
        return divided(self._lib, rows, moves, row, place, slot)

    def rows_at(self, rows: ArrayRows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        row, _ = rows_of(self._lib, rows, nodes)
        return self._lib.to_host(row).astype(np.int64), rows.n_rows[nodes]

    def codes_of(self, rows: ArrayRows, row: HostArray, feature: HostArray) -> HostArray:
        code = rows.coded.code
        flat = self._lib.xp.reshape(code, (-1,))
        at = self._put(feature.astype(np.int64) * code.shape[1] + row)
        return self._lib.to_host(self._lib.xp.take(flat, at)).astype(np.int64)

    def disperse(
        self, rows: ArrayRows, nodes: HostArray, row: HostArray, node: HostArray
    ) -> ArrayRows:
        return dispersed(self._lib, rows, nodes, row, node)

    # After a tree.

    def leaves(self, rows: ArrayRows) -> HostArray:
        return node_of_each(self._lib, rows)

    # Lanes and costs.

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        return array_histogram.hist_bytes(bins, channels, n_rows)

    def bytes_held(self, data: Array, rows: ArrayRows | None) -> int:
        arrays = [data]
        if rows is not None:
            coded = rows.coded
            arrays += [rows.order, coded.label, coded.weight, coded.value, coded.point]
        return sum(_nbytes(array) for array in arrays if array is not None)

    # Helpers.

    def _derived(self, hist: Tallied | ArrayHist) -> ArrayHist:
        return array_histogram.as_tallied(self._lib, hist) if isinstance(hist, Tallied) else hist

    def _weight(self, weight: HostArray | None) -> Array | None:
        return None if weight is None else self._put(weight.astype(np.float64))


def _nbytes(array: Array) -> int:
    itemsize = array.dtype.itemsize if hasattr(array.dtype, "itemsize") else 8
    return int(np.prod(array.shape)) * int(itemsize)
