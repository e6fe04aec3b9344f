"""The contract kept by CUDA kernels.

Codes lie row by row in 32-bit words, rows are listed node by node, and all nodes of a frontier are
handled by one launch of each kernel. Sizes of nodes are known on the host, which lays out the work;
it waits for the device once a frontier, for the winners.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from gputree.backends.categories import tables_of
from gputree.backends.contract import (
    CategoryRules,
    CategorySplits,
    Moves,
    Rates,
    Result,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cuda import binning as cuda_binning
from gputree.backends.cuda import gradients as cuda_gradients
from gputree.backends.cuda import grow as cuda_grow
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import route as cuda_route
from gputree.backends.cuda import split as cuda_split
from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.device import Device
from gputree.backends.cuda.histogram import CudaHist
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import AUTOMATIC, Tuning, route_table
from gputree.backends.cuda.rows import ORDERED, CudaData, CudaRows, attached, span_keys
from gputree.backends.defaults import Defaults
from gputree.backends.door import check_outputs, check_walk
from gputree.backends.host_codes import ONLY_ON_HOST
from gputree.backends.row_lists import at_roots, dispersed_lists
from gputree.backends.sums import Sums
from gputree.backends.whole import Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import OUTSIDE, STAY, Array, HostArray
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import predict, route
from gputree.kernels.losses import Loss
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

LEAST_ROWS = 2**12  # that are predicted together

# Kernels are made once for each set of constants.
make_leaves_of = cache(predict.make_leaves_of)
make_sum_leaves = cache(predict.make_sum_leaves)


class CudaBackend(Defaults):
    """Trees by CUDA kernels."""

    name = "cuda"
    grows_whole = True

    def __init__(self, device: Device, tuning: Tuning = AUTOMATIC, n_threads: int = 1) -> None:
        self._device = device
        self._n_threads = n_threads  # of what the host computes
        self._tuning = tuning
        self._launches = Launches(device, tuning)
        self.device = device.name

    # Lanes and costs.

    @property
    def compile_seconds(self) -> float:
        return self._device.compile_seconds + self._host.compile_seconds

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        # Sums of counts and of gradients have 32 bits; not all channels tell whether they are
        # gradients.
        is_short = channels.hides_rows or (channels.is_classes and not channels.counts_rows)
        n_bytes = bins.width * channels.n * (4 if is_short else 8)
        return np.full(len(n_rows), n_bytes + 24 * len(bins.features))

    def bytes_held(self, data: CudaData, rows: CudaRows | None) -> int:
        arrays = [data.words, data.by_column]
        if rows is not None:
            arrays += [rows.label, rows.limb, rows.order]
            if rows.data is not data:
                arrays.append(rows.data.words)
        return sum(int(array.nbytes) for array in arrays)

    def room_for_hists(self) -> int | None:
        free = self._device.free_bytes()
        return None if free is None else free // 2

    def release(self) -> None:
        self._device.release()

    # Values to codes.

    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> CudaData:
        if folder is not None:
            raise ValueError(ONLY_ON_HOST.format(self.name))
        return cuda_binning.reserve(self._device, n_features, n_rows, most_codes)

    def hold(self, columns: Sequence[Column]) -> CudaValues:
        return cuda_binning.hold(self._device, columns)

    def count_missing(self, values: CudaValues) -> HostArray:
        return cuda_binning.count_missing(self._launches, values)

    def sketch(
        self,
        values: CudaValues,
        weight: HostArray | None,
        within: Sequence[HostArray] | None = None,
    ) -> list[tuple[HostArray, HostArray]]:
        return cuda_binning.sketch(self._launches, values, weight, within)

    def refine(
        self, values: CudaValues, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        return cuda_binning.refine(self._launches, values, weight, wanted)

    def encode(
        self,
        data: CudaData,
        first_feature: int,
        values: CudaValues,
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        cuda_binning.encode(self._launches, data, first_feature, values, bins, first_row)

    # The start of a tree.

    def begin(
        self, data: CudaData, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> CudaRows:
        return attached(self._launches, data, bins, target, *at_roots(target, n_each))

    def take_rows(self, data: CudaData, row: HostArray) -> CudaData:
        return cuda_route.copied(self._launches, data, row)

    # Boosting.

    def raw_scores(
        self, start: HostArray, y: HostArray, weight: HostArray | None
    ) -> cuda_gradients.CudaRawScores:
        return cuda_gradients.raw_scores(self._device, start, y, weight)

    def gradients(
        self,
        raw_scores: cuda_gradients.CudaRawScores,
        loss: Loss | Given,
        takes_part: HostArray | None,
        *,
        counts_rows: bool,
        comm: Comm = ALONE,
    ) -> Iterator[Gradients]:
        assert comm.size == 1, "scales are found on the device, for the rows that are there"
        return cuda_gradients.gradients(
            self._launches, raw_scores, loss, takes_part, counts_rows=counts_rows
        )

    def begin_gradients(self, data: CudaData, bins: Bins, gradients: Gradients) -> CudaRows:
        return cuda_gradients.begin(self._launches, data, bins, gradients)

    def gradient_sums(self, rows: CudaRows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return cuda_gradients.sums(self._launches, rows, gradients, nodes)

    def renew(
        self, raw_scores: cuda_gradients.CudaRawScores, output: int, rows: CudaRows, step: HostArray
    ) -> None:
        cuda_gradients.renew(self._launches, raw_scores, output, rows, step)

    def read_raw_scores(self, raw_scores: cuda_gradients.CudaRawScores) -> HostArray:
        return self._device.download(raw_scores.raw).reshape(-1, raw_scores.n_rows)

    # Growing.

    def count_rows(self, rows: CudaRows, nodes: HostArray) -> HostArray:
        return rows.n_rows[nodes]

    def tally(self, rows: CudaRows, nodes: HostArray) -> CudaHist:
        return cuda_histogram.tally(self._launches, rows, nodes)

    def derive(self, built: CudaHist, siblings: Siblings, above: CudaHist | None) -> CudaHist:
        return cuda_histogram.derive(self._launches, built, siblings, above)

    def best_splits(self, hist: CudaHist, search: Search) -> Splits:
        if not cuda_split.can_search(self._launches, hist.channels, search):
            return super().best_splits(hist, search)
        return cuda_split.best_splits(self._launches, hist, search)

    def split_categories(
        self, hist: CudaHist, place: HostArray, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        tables = tables_of(hist.bins, self.seen(hist, place, feature), feature)
        return self._host.split_tables(tables, hist.channels, rules)

    def rate(self, hist: CudaHist, search: Search) -> Rates:
        if not cuda_split.can_search(self._launches, hist.channels, search):
            return super().rate(hist, search)
        return cuda_split.rate(self._launches, hist, search)

    def dense(self, hist: CudaHist) -> Sums:
        bins, channels = hist.bins, hist.channels
        cells = self._device.download(hist.sums).reshape(-1, channels.n)
        return Sums.of_cells(bins, channels, cells)

    def cells(self, hist: CudaHist, place: HostArray, feature: HostArray) -> HostArray:
        bins, n_channels = hist.rows.bins, hist.rows.target.channels.n
        first = (place * bins.width + bins.offset[feature]) * n_channels
        found = self._launches.picked(hist.sums, first, bins.n_codes[feature] * n_channels)
        return found.reshape(-1, n_channels).astype(np.int64)

    def span(self, rows: CudaRows, nodes: HostArray) -> HostArray:
        n_outputs, key = rows.target.channels.n_scored, span_keys(self._launches, rows)
        n = len(nodes) * n_outputs
        low, high = self._device.pack(np.full(n, ORDERED), np.full(n, ~ORDERED))
        table = route_table(rows.start[nodes], rows.n_rows[nodes], self._tuning.route_rows)
        args = rows.order, n_outputs, rows.target.n_rows, key, low, high
        self._launches.tiled(route.span, table, [], *args)
        found = np.stack([self._device.download(low), self._device.download(high)], axis=1)
        bits = np.where(found < 0, found ^ ORDERED, found)
        return bits.view(np.float64).reshape(len(nodes), n_outputs, 2)

    def route(self, rows: CudaRows, moves: Moves) -> CudaRows:
        return cuda_route.routed(self._launches, rows, moves)

    def rows_at(self, rows: CudaRows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        n_rows = rows.n_rows[nodes]
        return self._launches.picked(rows.order, rows.start[nodes], n_rows).astype(np.int64), n_rows

    def codes_of(self, rows: CudaRows, row: HostArray, feature: HostArray) -> HostArray:
        return cuda_route.codes_of(self._launches, rows, row, feature)

    def disperse(
        self, rows: CudaRows, nodes: HostArray, row: HostArray, node: HostArray
    ) -> CudaRows:
        listed = self._device.download(rows.order), rows.start, rows.n_rows
        order, start, n_rows = dispersed_lists(*listed, nodes, row, node)
        return replace(rows, order=self._device.upload(order), start=start, n_rows=n_rows)

    # Whole trees.

    def grow_whole(
        self,
        roots: Sequence[CudaRows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
        then: Callable[[int, Whole], Result],
    ) -> list[Result] | None:
        channels = roots[0].target.channels
        if len(roots) > 1 or not cuda_grow.can_grow(self._launches, channels, search, limits):
            return None
        tree = cuda_grow.LevelTree(self._launches, roots[0], totals, keys, search, limits)
        return [then(0, tree.grown())]

    # After a tree.

    def leaves(self, rows: CudaRows) -> HostArray:
        node = np.flatnonzero(rows.n_rows)
        leaf = self._device.upload(np.full(rows.target.n_rows, OUTSIDE, np.int32))
        table = route_table(rows.start[node], rows.n_rows[node], self._tuning.route_rows)
        self._launches.tiled(route.mark, table, [node.astype(np.int32)], rows.order, leaf)
        return self._device.download(leaf)

    def apply(self, tree: Tree, table: Table) -> HostArray:
        return self.leaves_of(Stack.of([tree]), table)[:, 0].astype(np.int64)

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        has_categories, used, nodes = self._nodes(stack, table)
        kernel, found = make_leaves_of(has_categories, STAY), []
        for held in self._blocks(table, used, 4 * stack.n_trees):
            leaf = self._device.empty(stack.n_trees * held.n_rows, np.int32)
            args = stack.n_trees, held.n_rows, held.values, *nodes, leaf
            self._launches.over(kernel, held.n_rows, *args)
            found.append(self._device.download(leaf).reshape(stack.n_trees, held.n_rows))
        return np.concatenate(found, axis=1).T if len(found) > 1 else found[0].T

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        check_outputs(stack, len(start))
        has_categories, used, nodes = self._nodes(stack, table)
        kernel, found = make_sum_leaves(has_categories, STAY), []
        value, column, initial = self._device.pack(
            stack.value, stack.column, np.asarray(start, np.float64)
        )
        payload = stack.width, value, column, stack.n_outputs, initial
        for held in self._blocks(table, used, 8 * stack.n_outputs):
            total = self._device.empty(stack.n_outputs * held.n_rows, np.float64)
            args = stack.n_trees, held.n_rows, held.values, *nodes, *payload, total
            self._launches.over(kernel, held.n_rows, *args)
            found.append(self._device.download(total).reshape(stack.n_outputs, held.n_rows))
        return np.concatenate(found, axis=1).T if len(found) > 1 else found[0].T

    def attribute(
        self, stack: Stack, table: Table, owner: HostArray, background: Table | None
    ) -> HostArray:
        return self._host.attribute(stack, table, owner, background)

    # Helpers.

    @cached_property
    def _host(self) -> CpuBackend:
        """Whoever computes what there are no kernels for."""
        return CpuBackend(self._n_threads)

    def _nodes(self, stack: Stack, table: Table) -> tuple[bool, HostArray, list[Array]]:
        """Whether categories are tested, the columns that are, and the trees on the device."""
        check_walk(stack, table)
        feature = stack.joined("feature")
        # Where all trees are leaves, a column is brought that nobody looks at.
        used = np.unique(feature[feature >= 0]) if (feature >= 0).any() else np.zeros(1, np.int64)
        nodes = self._device.pack(
            stack.root,
            np.searchsorted(used, np.maximum(feature, used[0])).astype(np.int32),
            stack.joined("threshold"),
            stack.joined("missing_slot"),
            stack.joined("first_child"),
            stack.category_start,
            stack.joined("category"),
            stack.joined("category_slot"),
        )
        return bool((stack.category_start >= 0).any()), used, nodes

    def _blocks(self, table: Table, used: HostArray, n_bytes: int) -> Iterator[CudaValues]:
        """Some columns of as many rows at a time as there is memory for.

        `n_bytes` is what the answer of a row takes.
        """
        columns = [table.columns[at] for at in used.tolist()]
        free, n_rows = self._device.free_bytes(), table.n_rows
        row_bytes = 8 * len(columns) + n_bytes
        most = n_rows if free is None else free // (2 * row_bytes)
        if free is not None and most < min(n_rows, LEAST_ROWS):
            raise OutOfMemory(
                f"{LEAST_ROWS:,} rows need {LEAST_ROWS * row_bytes / 2**20:.1f} MiB on "
                f"{self.device}, and {free / 2**20:.1f} MiB are free; use device='cpu'"
            )
        if most >= n_rows:
            yield self.hold(columns)
            return
        for first in range(0, n_rows, most):
            rows = slice(first, first + most)
            yield self.hold([replace(column, values=column.values[rows]) for column in columns])
