"""The contract kept by CUDA kernels.

Codes lie row by row in 32-bit words, rows are listed node by node, and all nodes of a frontier are
handled by one launch of each kernel. Sizes of nodes are known on the host, which lays out the work;
it waits for the device once a frontier, for the winners.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gputree.backends.categories import tables_of
from gputree.backends.contract import (
    CategoryRules,
    CategorySplits,
    Moves,
    Rates,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cuda import binning as cuda_binning
from gputree.backends.cuda import gradients as cuda_gradients
from gputree.backends.cuda import route as cuda_route
from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.device import Device
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import AUTOMATIC, Tuning, route_table, scatter_items, sum_table
from gputree.backends.cuda.rows import CudaData, CudaRows, attached
from gputree.backends.cuda.split import rates_of, splits_of
from gputree.backends.defaults import Defaults
from gputree.backends.door import check_outputs, check_walk
from gputree.backends.host_codes import ONLY_ON_HOST
from gputree.backends.row_lists import at_roots, dispersed_lists
from gputree.backends.sums import Sums
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import OUTSIDE, STAY, Array, HostArray
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import histogram, predict, route, split
from gputree.kernels.cuda.gpu import WARP
from gputree.kernels.losses import Loss
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

ORDERED = np.int64(0x7FFFFFFFFFFFFFFF)
LEAST_ROWS = 2**12  # that are predicted together

# Kernels are made once for each set of constants.
make_sum = cache(histogram.make_sum)
make_scatter = cache(histogram.make_scatter)
make_scan = cache(split.make_scan)
make_rate = cache(split.make_rate)
make_choose = cache(split.make_choose)
make_leaves_of = cache(predict.make_leaves_of)
make_sum_leaves = cache(predict.make_sum_leaves)


@dataclass(frozen=True)
class CudaHist:
    """Sums of some nodes."""

    rows: CudaRows
    sums: Array  # (nodes * places * channels,)
    n_nodes: int

    @property
    def bins(self) -> Bins:
        return self.rows.bins

    @property
    def channels(self) -> Channels:
        return self.rows.target.channels


class CudaBackend(Defaults):
    """Trees by CUDA kernels."""

    name = "cuda"

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
    ) -> Iterator[Gradients]:
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
        stride = rows.bins.width * rows.target.channels.n
        sums = self._device.zeros(len(nodes) * stride, rows.planes.sum_dtype)
        start, n_rows = rows.start[nodes], rows.n_rows[nodes]
        is_small = n_rows < self._tuning.direct_rows
        few, many = (
            sum_table(start[some], n_rows[some], some, self._tuning.tile_rows)
            for some in (np.flatnonzero(is_small), np.flatnonzero(~is_small))
        )
        n_few, n_many = (len(table) // histogram.TILE_COLUMNS for table in (few, many))
        items = scatter_items(rows.groups, n_few, n_many)
        tile, *on_device = self._device.pack(np.concatenate([few, many]), *items)
        if n_many and rows.groups.n_summed:
            self._sum(rows, tile[len(few) :], n_many, stride, sums)
        if items[0].size:
            self._scatter(rows, (*on_device, tile), len(items[0]), stride, sums)
        return CudaHist(rows, sums, len(nodes))

    def derive(self, built: CudaHist, siblings: Siblings, above: CudaHist | None) -> CudaHist:
        rows = built.rows
        stride = rows.bins.width * rows.target.channels.n
        n_nodes = len(siblings.node)
        if above is None and np.array_equal(siblings.built, np.arange(built.n_nodes)):
            return built
        sums = self._device.empty(n_nodes * stride, built.sums.dtype)
        own, parent = self._device.pack(
            siblings.built.astype(np.int64), siblings.parent.astype(np.int64)
        )
        self._launches.over(
            histogram.derive,
            n_nodes * stride,
            n_nodes,
            stride,
            built.sums,
            own,
            built.sums if above is None else above.sums,
            parent,
            sums,
        )
        return CudaHist(rows, sums, n_nodes)

    def best_splits(self, hist: CudaHist, search: Search) -> Splits:
        if not self._searches(hist, search):
            return super().best_splits(hist, search)
        rows, dev = hist.rows, self._device
        channels = rows.target.channels
        n_items = hist.n_nodes * len(rows.bins.features)
        if search.rank is None:
            (rank,) = self._launches.constants(np.zeros(1, np.int32))
        else:
            rank = dev.upload(search.rank.astype(np.int32))
        trimmed, score = dev.empty(n_items, np.float64), dev.empty(n_items, np.float64)
        key = dev.empty(n_items, np.int64)
        table, shape = self._searched(hist, search)
        rules = search.min_rows, max(1, search.min_weight), float(search.ridge)
        scan = make_scan(search.criterion.formulas)
        self._scan(scan, hist, *table, *shape, rows.tables.unit, *rules, trimmed, score, key)
        width = split.LEFT + channels.n
        winner = dev.empty(hist.n_nodes * width, np.int64)
        n_warps = self._tuning.scan_warps
        dev.launch(
            make_choose(),
            -(-hist.n_nodes // n_warps),
            n_warps * WARP,
            *table,
            rank,
            search.n_drawn,
            *shape,
            trimmed,
            score,
            key,
            winner,
        )
        found = dev.download(winner).reshape(hist.n_nodes, width)
        return splits_of(found)

    def split_categories(
        self, hist: CudaHist, place: HostArray, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        tables = tables_of(hist.bins, self.seen(hist, place, feature), feature)
        return self._host.split_tables(tables, hist.channels, rules)

    def rate(self, hist: CudaHist, search: Search) -> Rates:
        if not self._searches(hist, search):
            return super().rate(hist, search)
        shape = hist.n_nodes, len(hist.rows.bins.features), split.RATE_COLUMNS
        rate = self._device.empty(int(np.prod(shape)), np.int64)
        self._scan(
            make_rate(search.criterion.formulas),
            hist,
            *(part for parts in self._searched(hist, search) for part in parts),
            hist.rows.tables.unit,
            search.min_rows,
            max(1, search.min_weight),
            float(search.least_share),
            search.most_least_weight,
            rate,
        )
        found = self._device.download(rate).reshape(shape)
        return rates_of(found)

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
        point = rows.target.point
        assert point is not None
        if "key" not in rows.kept:
            bits = (point + 0.0).view(np.int64)
            rows.kept["key"] = self._device.upload(np.where(bits < 0, bits ^ ORDERED, bits))
        n_outputs = len(point)
        n = len(nodes) * n_outputs
        low, high = self._device.pack(np.full(n, ORDERED), np.full(n, ~ORDERED))
        table = route_table(rows.start[nodes], rows.n_rows[nodes], self._tuning.route_rows)
        args = rows.order, n_outputs, rows.target.n_rows, rows.kept["key"], low, high
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

    def _searches(self, hist: CudaHist, search: Search) -> bool:
        """Whether there are kernels for a search; others are made on the host.

        A warp keeps two sums of each channel in shared memory.
        """
        return search.criterion.user is None and self._scan_warps(hist.channels.n) > 0

    def _searched(
        self, hist: CudaHist, search: Search
    ) -> tuple[tuple[Any, ...], tuple[bool | int, ...]]:
        """Sums with what has to be known to read them, and the shape of their channels."""
        rows, channels = hist.rows, hist.rows.target.channels
        n_values = rows.tables.n_values
        if search.is_ordered is not None:
            # Where there are no values, there are no thresholds.
            shown = np.where(search.is_ordered, rows.bins.n_values, 0)
            (n_values,) = self._launches.constants(shown)
        stride = rows.bins.width * channels.n
        bounds = stride, rows.tables.offset, n_values
        table = hist.n_nodes, len(rows.bins.features), hist.sums, *bounds
        return table, (channels.is_classes, channels.n_scored, channels.counts_rows, channels.n)

    def _scan(self, kernel: Any, hist: CudaHist, *args: Any) -> None:
        """Launch a kernel with a warp for every node and feature."""
        n_channels = hist.rows.target.channels.n
        n_warps = self._scan_warps(n_channels)
        blocks = -(-hist.n_nodes * len(hist.rows.bins.features) // n_warps)
        shared = 16 * n_warps * n_channels
        self._device.launch(kernel, blocks, n_warps * WARP, *args, shared=shared)

    def _sum(self, rows: CudaRows, tile: Array, n_tiles: int, stride: int, sums: Array) -> None:
        """Sum the tiles of large nodes in shared memory."""
        groups, planes, data, tables = rows.groups, rows.planes, rows.data, rows.tables
        self._device.launch(
            make_sum(data.code_bits, groups.is_wide, *planes.adds),
            n_tiles * groups.n_summed,
            self._tuning.sum_threads,
            tile,
            groups.n_summed,
            tables.summed,
            data.words,
            data.row_words,
            rows.order,
            rows.label,
            rows.limb,
            tables.limbs,
            rows.target.n_rows,
            planes.one_plane,
            planes.one_step,
            planes.n_planes,
            tables.channel_plane,
            tables.channel_limbs,
            rows.target.channels.n,
            tables.offset,
            stride,
            sums,
            shared=groups.shared_bytes,
        )

    def _scatter(
        self,
        rows: CudaRows,
        items: tuple[Array, ...],
        n_items: int,
        stride: int,
        sums: Array,
    ) -> None:
        """Add small nodes, and features too wide for shared memory, without it.

        `items` are the tile and the group of each block, and the tiles.
        """
        planes, data = rows.planes, rows.data
        self._device.launch(
            make_scatter(data.code_bits, *planes.adds),
            n_items,
            min(self._tuning.threads, self._tuning.sum_threads),
            *items,
            rows.tables.direct,
            data.words,
            data.row_words,
            rows.order,
            rows.label,
            rows.limb,
            rows.tables.limbs,
            rows.target.n_rows,
            planes.one_channel,
            planes.one_step,
            rows.target.channels.n,
            rows.tables.offset,
            stride,
            sums,
        )

    def _scan_warps(self, n_channels: int) -> int:
        """Warps of a block: fewer where the sums of many classes take their shared memory."""
        fit = 4 * histogram.SHARED_WORDS // (16 * n_channels)
        return min(self._tuning.scan_warps, fit)
