"""The contract kept by CUDA kernels.

Codes lie row by row in 32-bit words, rows are listed node by node, and all nodes of a frontier are
handled by one launch of each kernel. Sizes of nodes are known on the host, which lays out the work;
it waits for the device once a frontier, for the winners.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gputree.backends.contract import (
    Item,
    Kin,
    LevelRules,
    LevelSplits,
    Moves,
    Rates,
    Result,
    Search,
    Splits,
)
from gputree.backends.cuda_device import Device
from gputree.backends.cuda_plan import (
    AUTOMATIC,
    Planes,
    Tuning,
    estimate_memory,
    piece_table,
    plan_groups,
    plan_planes,
    route_table,
    row_words,
    sum_table,
)
from gputree.backends.cuda_rows import (
    CudaData,
    CudaRows,
    CudaTables,
    Ways,
    way_counts,
    ways_of,
    with_children,
)
from gputree.backends.host_walk import host_walker
from gputree.backends.levels import split_levels, tables_of
from gputree.backends.row_lists import dispersed_lists
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import distinct
from gputree.data.number_line import Buckets, bucket_in, fill_pages, table_length
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target, with_copies
from gputree.dtypes import (
    FEATURE,
    MISSING_LEVEL,
    OUTSIDE,
    SLOT,
    STAY,
    Array,
    HostArray,
    code_dtype,
)
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import coding, predict, route, split, tally
from gputree.kernels.cuda.gpu import WARP
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk

BUCKETS = coding.BUCKETS
ORDERED = np.int64(0x7FFFFFFFFFFFFFFF)

# Kernels are made once for each set of constants.
make_sum = cache(tally.make_sum)
make_scatter = cache(tally.make_scatter)
make_scan = cache(split.make_scan)
make_rate = cache(split.make_rate)
make_choose_feature = cache(split.make_choose)
make_choose_child = cache(route.make_choose)
make_add_up = cache(route.make_add_up)
make_move = cache(route.make_move)
make_encode = cache(coding.make_encode)
make_apply = cache(predict.make_apply)


@dataclass
class CudaValues:
    """Columns one after another."""

    values: Array  # (columns * rows,)
    n_columns: int
    n_rows: int
    n_missing: HostArray | None = None  # (columns,), once counted


@dataclass(frozen=True)
class CudaHist:
    """Sums of some nodes."""

    rows: CudaRows
    sums: Array  # (nodes * places * channels,)
    n_nodes: int


class CudaBackend:
    """Trees by CUDA kernels."""

    name = "cuda"

    def __init__(self, device: Device, tuning: Tuning = AUTOMATIC) -> None:
        self._device = device
        self._tuning = tuning
        self.device = device.name

    # Lanes and costs.

    n_lanes = 1
    compile_seconds = 0.0

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return [task(item) for item in items]

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        n_bytes = bins.width * channels.n * np.dtype(_sum_dtype(channels)).itemsize
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

    def reserve(self, n_features: int, n_rows: int, most_codes: int) -> CudaData:
        code_bits = 8 * np.dtype(code_dtype(most_codes)).itemsize
        n_words = row_words(n_features, code_bits)
        is_by_column = self._check_memory(n_features, n_rows, code_bits)
        return CudaData(
            self._device.zeros(n_rows * n_words, np.uint32),
            self._device.empty(n_features * n_rows if is_by_column else 1, f"u{code_bits // 8}"),
            code_bits,
            n_words,
            n_features,
            n_rows,
        )

    def hold(self, columns: Sequence[Column]) -> CudaValues:
        arrays = [_floats(column) for column in columns]
        is_double = any(str(array.dtype).endswith("float64") for array in arrays)
        dtype = np.float64 if is_double else np.float32
        n_rows = len(arrays[0])
        return CudaValues(self._device.columns(arrays, dtype), len(arrays), n_rows)

    def count_missing(self, values: CudaValues) -> HostArray:
        if values.n_missing is None:
            _, values.n_missing = self._count(values, None)
        return values.n_missing

    def sketch(
        self,
        values: CudaValues,
        weight: HostArray | None,
        within: Sequence[HostArray] | None = None,
    ) -> list[tuple[HostArray, HostArray]]:
        if within is not None:
            return self._sketch_within(values, weight, within)
        counts, values.n_missing = self._count(values, weight)
        bucket = [np.flatnonzero(cells) for cells in counts]
        return [(own, cells[own]) for own, cells in zip(bucket, counts, strict=True)]

    def refine(
        self, values: CudaValues, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        asked = [Buckets(np.arange(BUCKETS)) if own is None else own for own in wanted]
        n_cells = max(own.n_cells for own in asked)
        is_wanted = np.zeros((values.n_columns, n_cells), np.uint8)
        for cells, own in zip(is_wanted, asked, strict=True):
            cells[own.cell] = 1
        room = values.n_rows if None in wanted else values.n_rows // 8 + 1
        dev = self._device
        is_fine = dev.upload(np.array([own.is_fine for own in asked], np.uint8))
        pages = self._pages([own.pages for own in asked])
        on_device, put = dev.upload(is_wanted), self._weight(weight)
        while True:
            members = dev.empty(values.n_columns * room, values.values.dtype)
            row = dev.empty(1 if weight is None else values.n_columns * room, np.int32)
            n_found = dev.zeros(values.n_columns, np.int32)
            self._over(
                coding.gather,
                values.n_columns * values.n_rows,
                *(values.n_columns, values.n_rows, values.values, put, is_fine, pages, n_cells),
                *(on_device, room, members, row, n_found),
            )
            n_members = dev.download(n_found)[: values.n_columns]
            if int(n_members.max()) <= room:
                break
            room = int(n_members.max())
        value = dev.download(members).reshape(values.n_columns, room)
        rows = None if weight is None else dev.download(row).reshape(values.n_columns, room)
        return [
            distinct(value[i, :n], None if weight is None or rows is None else weight[rows[i, :n]])
            for i, n in enumerate(n_members.tolist())
        ]

    def encode(
        self, data: CudaData, first_feature: int, values: CudaValues, bins: Sequence[FeatureBins]
    ) -> None:
        dtype = values.values.dtype
        cuts = [_not_above(feature.cut, dtype) for feature in bins]
        cut_start = np.cumsum([0, *(len(cut) for cut in cuts)]).astype(np.int32)
        missing = np.array([feature.n_codes - 1 for feature in bins], np.int32)
        upload = self._device.upload
        self._over(
            make_encode(data.code_bits),
            data.n_rows,
            len(bins),
            data.n_rows,
            values.values,
            upload(np.concatenate(cuts)),
            upload(cut_start),
            upload(missing),
            first_feature,
            data.row_words,
            data.words,
            data.by_column,
        )

    # Growing.

    def begin(self, data: CudaData, bins: Bins, target: Target) -> CudaRows:
        if target.weight is None:
            order = np.arange(target.n_rows, dtype=np.int32)
        else:
            order = np.flatnonzero(target.weight).astype(np.int32)
        start, n_rows = np.zeros(1, np.int64), np.array([len(order)], np.int64)
        return self._attached(data, bins, target, order, start, n_rows)

    def _attached(
        self,
        data: CudaData,
        bins: Bins,
        target: Target,
        order: HostArray,
        start: HostArray,
        n_rows: HostArray,
    ) -> CudaRows:
        """Codes and channels of rows that are listed node by node."""
        upload = self._device.upload
        n_classes = target.channels.n_scored if target.label is not None else 0
        label = np.zeros(1, np.uint8)
        if target.label is not None:
            label = target.label.astype(np.uint8 if n_classes <= 256 else np.int32)
        planes = plan_planes(target)
        groups = plan_groups(bins.n_codes, planes.n_planes, data.code_bits)
        tables = CudaTables(
            offset=upload(bins.offset),
            n_values=upload(bins.n_values),
            unit=upload(np.array(target.channels.units)),
            summed=upload(groups.summed),
            direct=upload(groups.direct),
            limbs=upload(planes.limbs),
            channel_plane=upload(planes.channel_plane.astype(np.int32)),
            channel_limbs=upload(planes.channel_limbs),
        )
        return CudaRows(
            data=data,
            bins=bins,
            target=target,
            planes=planes,
            groups=groups,
            tables=tables,
            label=upload(label),
            limb=self._limbs(planes, target.n_rows),
            order=upload(order),
            start=start,
            n_rows=n_rows,
        )

    def tally(self, rows: CudaRows, nodes: HostArray) -> CudaHist:
        stride = rows.bins.width * rows.target.channels.n
        dtype = _sum_dtype(rows.target.channels)
        sums = self._device.zeros(len(nodes) * stride, dtype)
        start, n_rows = rows.start[nodes], rows.n_rows[nodes]
        is_small = n_rows < self._tuning.direct_rows
        large = np.flatnonzero(~is_small)
        table = sum_table(start[large], n_rows[large], large, self._tuning.tile_rows)
        if large.size and rows.groups.n_summed:
            self._sum(rows, table, stride, sums)
        self._scatter(rows, table, np.flatnonzero(is_small), start, n_rows, stride, sums)
        return CudaHist(rows, sums, len(nodes))

    def derive(self, built: CudaHist, kin: Kin, above: CudaHist | None) -> CudaHist:
        rows = built.rows
        stride = rows.bins.width * rows.target.channels.n
        n_nodes = len(kin.node)
        if above is None and np.array_equal(kin.built, np.arange(built.n_nodes)):
            return built
        sums = self._device.empty(n_nodes * stride, built.sums.dtype)
        upload = self._device.upload
        self._over(
            tally.derive,
            n_nodes * stride,
            n_nodes,
            stride,
            built.sums,
            upload(kin.built.astype(np.int64)),
            built.sums if above is None else above.sums,
            upload(kin.parent.astype(np.int64)),
            sums,
        )
        return CudaHist(rows, sums, n_nodes)

    def best_splits(self, hist: CudaHist, search: Search) -> Splits:
        rows, dev = hist.rows, self._device
        channels = rows.target.channels
        n_items = hist.n_nodes * len(rows.bins.features)
        rank = np.zeros(1, np.int32) if search.rank is None else search.rank.astype(np.int32)
        on_device = dev.upload(rank)
        trimmed, score = dev.empty(n_items, np.float64), dev.empty(n_items, np.float64)
        key = dev.empty(n_items, np.int64)
        table, shape = self._searched(hist, search)
        least = search.min_rows, max(1, search.min_weight)
        scan = make_scan(split.FORMULAS[search.formula])
        self._scan(scan, hist, *table, *shape, rows.tables.unit, *least, trimmed, score, key)
        width = split.LEFT + channels.n
        winner = dev.empty(hist.n_nodes * width, np.int64)
        n_warps = self._tuning.scan_warps
        dev.launch(
            make_choose_feature(),
            -(-hist.n_nodes // n_warps),
            n_warps * WARP,
            *table,
            on_device,
            search.n_drawn,
            *shape,
            trimmed,
            score,
            key,
            winner,
        )
        found = dev.download(winner).reshape(hist.n_nodes, width)
        return Splits(
            score=found[:, split.SCORE].copy().view(np.float64),
            feature=found[:, split.FEATURE].astype(FEATURE),
            code=found[:, split.CODE],
            next_code=found[:, split.NEXT],
            missing_slot=found[:, split.SLOT].astype(SLOT),
            left=found[:, split.LEFT :],
        )

    def rate(self, hist: CudaHist, search: Search) -> Rates:
        shape = hist.n_nodes, len(hist.rows.bins.features), split.RATE_COLUMNS
        rate = self._device.empty(int(np.prod(shape)), np.int64)
        self._scan(
            make_rate(split.FORMULAS[search.formula]),
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
        return Rates(
            score=found[..., split.RATE_SCORE].copy().view(np.float64),
            code=found[..., split.RATE_CODE],
            next_code=found[..., split.RATE_NEXT],
            left_weight=found[..., split.RATE_LEFT],
            known_weight=found[..., split.RATE_KNOWN],
            n_cuts=found[..., split.RATE_CUTS],
        )

    def cells(self, hist: CudaHist, place: HostArray, feature: HostArray) -> HostArray:
        bins, n_channels = hist.rows.bins, hist.rows.target.channels.n
        first = (place * bins.width + bins.offset[feature]) * n_channels
        found = self._picked(hist.sums, first, bins.n_codes[feature] * n_channels)
        return found.reshape(-1, n_channels).astype(np.int64)

    def split_levels(
        self, hist: CudaHist, place: HostArray, feature: HostArray, rules: LevelRules
    ) -> LevelSplits:
        tables = tables_of(hist.rows.bins, self.cells(hist, place, feature), feature)
        return split_levels(tables, hist.rows.target.channels, rules)

    def span(self, rows: CudaRows, nodes: HostArray) -> HostArray:
        point = rows.target.point
        assert point is not None
        bits = (point + 0.0).view(np.int64)
        key = np.where(bits < 0, bits ^ ORDERED, bits)
        n_outputs = len(point)
        upload, n = self._device.upload, len(nodes) * n_outputs
        low, high = upload(np.full(n, ORDERED)), upload(np.full(n, ~ORDERED))
        table = route_table(rows.start[nodes], rows.n_rows[nodes], self._tuning.route_rows)
        self._tiled(
            route.span, table, rows.order, n_outputs, rows.target.n_rows, upload(key), low, high
        )
        found = np.stack([self._device.download(low), self._device.download(high)], axis=1)
        bits = np.where(found < 0, found ^ ORDERED, found)
        return bits.view(np.float64).reshape(len(nodes), n_outputs, 2)

    def route(self, rows: CudaRows, moves: Moves) -> CudaRows:
        start, n_rows = rows.start[moves.node], rows.n_rows[moves.node]
        ways = ways_of(moves)
        table = route_table(start, n_rows, self._tuning.route_rows)
        n_found = way_counts(moves, n_rows)
        if n_found is None:
            n_found = self._count_ways(rows, moves, ways, table)
        # Rows go from one list to the other and back; those of other nodes are in both.
        order, lists = rows.order, [self._device.copy(rows.order) for _ in range(ways.n_bits)[:2]]
        for bit in range(ways.n_bits):
            bound = np.stack([start, ways.n_left(bit, n_found)], axis=1).astype(np.int64)
            self._sort(rows.data, moves, ways.bit(bit), table, bound, order, lists[bit % 2])
            order = lists[bit % 2]
        return with_children(rows, moves, ways, n_found, order)

    def rows_at(self, rows: CudaRows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        n_rows = rows.n_rows[nodes]
        return self._picked(rows.order, rows.start[nodes], n_rows).astype(np.int64), n_rows

    def codes_of(self, rows: CudaRows, row: HostArray, feature: HostArray) -> HostArray:
        if not row.size:
            return np.empty(0, np.int64)
        upload, (code, row_step, feature_step) = self._device.upload, self._one_code(rows.data)
        found = self._device.empty(len(row), np.int32)
        pairs = upload(row.astype(np.int32)), upload(feature.astype(np.int32))
        self._over(
            route.read_codes, len(row), len(row), *pairs, code, row_step, feature_step, found
        )
        return self._device.download(found).astype(np.int64)

    def disperse(
        self,
        rows: CudaRows,
        nodes: HostArray,
        row: HostArray,
        node: HostArray,
        weight: HostArray | None = None,
    ) -> CudaRows:
        listed = self._device.download(rows.order), rows.start, rows.n_rows
        if weight is None:
            order, start, n_rows = dispersed_lists(*listed, nodes, row, node)
            return replace(rows, order=self._device.upload(order), start=start, n_rows=n_rows)
        number = rows.target.n_rows + np.arange(len(row))
        order, start, n_rows = dispersed_lists(*listed, nodes, number, node)
        target = with_copies(rows.target, row, weight)
        data = self._with_copies(rows.data, row)
        return self._attached(data, rows.bins, target, order, start, n_rows)

    # After a tree.

    def leaves(self, rows: CudaRows) -> HostArray:
        node = np.flatnonzero(rows.n_rows)
        leaf = self._device.upload(np.full(rows.target.n_rows, OUTSIDE, np.int32))
        table = route_table(rows.start[node], rows.n_rows[node], self._tuning.route_rows)
        number = self._device.upload(node.astype(np.int32))
        self._tiled(route.mark, table, number, rows.order, leaf)
        return self._device.download(leaf)

    def apply(self, tree: Tree, table: Table) -> HostArray:
        return self.apply_all([tree], table)[0].astype(np.int64)

    def walker(self, table: Table) -> Walk:
        return host_walker(table)

    def apply_all(self, trees: Sequence[Tree], table: Table) -> HostArray:
        """The leaf of each row in each tree, (trees, rows), by one launch."""
        feature = np.concatenate([tree.feature for tree in trees])
        used = np.unique(feature[feature >= 0])
        if not used.size:
            return np.zeros((len(trees), table.n_rows), np.int32)
        held = self.hold([table.columns[at] for at in used.tolist()])
        level_start, level_slot = _levels(trees)
        upload = self._device.upload
        leaf = self._device.empty(len(trees) * table.n_rows, np.int32)
        self._over(
            make_apply(bool((level_start >= 0).any()), STAY),
            table.n_rows,
            len(trees),
            table.n_rows,
            held.values,
            upload(np.cumsum([0, *(tree.n_nodes for tree in trees[:-1])])),
            upload(np.searchsorted(used, np.maximum(feature, used[0])).astype(np.int32)),
            upload(np.concatenate([tree.threshold for tree in trees])),
            upload(np.concatenate([tree.missing_slot for tree in trees])),
            upload(np.concatenate([tree.first_child for tree in trees])),
            upload(level_start),
            upload(level_slot),
            leaf,
        )
        return self._device.download(leaf).reshape(len(trees), table.n_rows)

    # Helpers.

    def _over(self, kernel: Any, n: int, *args: Any) -> None:
        """Launch a kernel whose threads stride over `n` items."""
        threads = self._tuning.threads
        blocks = max(1, min(-(-n // threads), 2**16))
        self._device.launch(kernel, blocks, threads, *args)

    def _tiled(self, kernel: Any, table: HostArray, *args: Any) -> None:
        """Launch a kernel with a block for each tile of a route table."""
        n_tiles = len(table) // route.TILE_COLUMNS
        tile = self._device.upload(table)
        self._device.launch(kernel, n_tiles, self._tuning.route_threads, tile, *args)

    def _picked(self, source: Array, start: HostArray, n: HostArray) -> HostArray:
        """Some pieces of an array of the device, one after another."""
        length = int(n.sum())
        if not length:
            return np.empty(0, source.dtype)
        table = piece_table(start, n, self._tuning.route_rows)
        picked = self._device.empty(length, source.dtype)
        n_pieces = len(table) // route.PIECE_COLUMNS
        args = self._device.upload(table), source, picked
        self._device.launch(route.pick, n_pieces, self._tuning.route_threads, *args)
        return self._device.download(picked)

    def _searched(
        self, hist: CudaHist, search: Search
    ) -> tuple[tuple[Any, ...], tuple[bool | int, ...]]:
        """Sums with what has to be known to read them, and the shape of their channels."""
        rows, channels = hist.rows, hist.rows.target.channels
        n_values = rows.tables.n_values
        if search.is_ordered is not None:
            # Where there are no values, there are no thresholds.
            n_values = self._device.upload(np.where(search.is_ordered, rows.bins.n_values, 0))
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

    def _tests(self, moves: Moves) -> Array:
        return self._device.upload(np.stack([moves.feature, moves.start], axis=1).astype(np.int64))

    def _count_ways(self, rows: CudaRows, moves: Moves, ways: Ways, table: HostArray) -> HostArray:
        """How many rows take each way."""
        n_found = self._device.zeros(len(ways.number), np.int32)
        way = np.stack([ways.first, ways.last], axis=1).astype(np.int64)
        upload = self._device.upload
        tests = self._tests(moves), upload(way), upload(ways.numbers)
        code = self._one_code(rows.data)
        self._tiled(route.count_ways, table, *tests, rows.order, *code, n_found)
        return self._device.download(n_found).astype(np.int64)

    def _sort(
        self,
        data: CudaData,
        moves: Moves,
        bits: HostArray,
        table: HostArray,
        bound: HostArray,
        order: Array,
        moved: Array,
    ) -> None:
        """Move the rows of each tile to the left or right part of their node, as a bit says."""
        dev, tuning = self._device, self._tuning
        threads, n_tiles = tuning.route_threads, len(table) // route.TILE_COLUMNS
        tile = dev.upload(table)
        flags = dev.empty(n_tiles * (tuning.route_rows // WARP), np.uint32)
        n_right, before = dev.empty(n_tiles, np.int32), dev.empty(n_tiles, np.int64)
        dev.launch(
            make_choose_child(tuning.route_rows),
            n_tiles,
            threads,
            tile,
            self._tests(moves),
            dev.upload(bits),
            order,
            *self._one_code(data),
            flags,
            n_right,
        )
        add_up = make_add_up(tuning.add_up_threads)
        dev.launch(add_up, 1, tuning.add_up_threads, n_tiles, n_right, before)
        mover = make_move(tuning.route_rows)
        dev.launch(mover, n_tiles, threads, tile, dev.upload(bound), flags, before, order, moved)

    def _with_copies(self, data: CudaData, row: HostArray) -> CudaData:
        """The codes with those of some rows once more; without a copy by columns."""
        n_rows, n_words = data.n_rows + len(row), data.n_rows * data.row_words
        longer = self._device.empty(n_rows * data.row_words, np.uint32)
        self._over(
            route.copy_rows,
            n_rows * data.row_words,
            n_words,
            len(row),
            self._device.upload(row.astype(np.int32)),
            data.row_words,
            data.words,
            longer,
        )
        none = self._device.empty(1, data.by_column.dtype)
        return replace(data, words=longer, by_column=none, n_rows=n_rows)

    def _check_memory(self, n_features: int, n_rows: int, code_bits: int) -> bool:
        """Whether there is room for a copy of the codes by columns; an error if for nothing."""
        free = self._device.free_bytes()
        if free is None:
            return True
        with_copy, without = (
            estimate_memory(n_rows, n_features, code_bits=code_bits, is_by_column=copy).total
            for copy in (True, False)
        )
        if without > free:
            raise OutOfMemory(
                f"{n_rows:,} rows x {n_features:,} features need about {without / 2**30:.1f} GiB "
                f"on {self.device}, and {free / 2**30:.1f} GiB are free; use fewer columns or "
                "rows, max_bins of at most 255, a larger device, or device='cpu'"
            )
        return with_copy < 0.8 * free

    def _weight(self, weight: HostArray | None) -> Array:
        return self._device.upload(np.ones(1, np.int32) if weight is None else weight)

    def _count(self, values: CudaValues, weight: HostArray | None) -> tuple[HostArray, HostArray]:
        """Weight by column and bucket, and missing values by column."""
        dev, n_columns = self._device, values.n_columns
        counts = dev.zeros(n_columns * BUCKETS, np.int32 if weight is None else np.int64)
        n_missing = dev.zeros(n_columns, np.int32)
        args = n_columns, values.n_rows, values.values, self._weight(weight), counts, n_missing
        self._over(coding.count, n_columns * values.n_rows, *args)
        missing = dev.download(n_missing)[:n_columns].astype(np.int64)
        return dev.download(counts).reshape(n_columns, BUCKETS).astype(np.int64), missing

    def _pages(self, pages: Sequence[HostArray]) -> Array:
        """For each column, where the pages asked for are in a table of fine buckets."""
        page_of = np.zeros((len(pages), BUCKETS + 1), np.uint16)
        for own, asked in zip(page_of, pages, strict=True):
            fill_pages(own, asked)
        return self._device.upload(page_of)

    def _sketch_within(
        self, values: CudaValues, weight: HostArray | None, within: Sequence[HostArray]
    ) -> list[tuple[HostArray, HostArray]]:
        """Weight in the fine buckets of some coarse ones."""
        n_columns, n_cells = values.n_columns, max(table_length(pages) for pages in within)
        dtype = np.int32 if weight is None else np.int64
        counts = self._device.zeros(n_columns * n_cells, dtype)
        self._over(
            coding.count_fine,
            n_columns * values.n_rows,
            *(n_columns, values.n_rows, values.values, self._weight(weight)),
            *(self._pages(within), n_cells, counts),
        )
        found = self._device.download(counts).reshape(n_columns, n_cells).astype(np.int64)
        cell = [np.flatnonzero(cells) for cells in found]
        return [
            (bucket_in(own, pages), cells[own])
            for own, pages, cells in zip(cell, within, found, strict=True)
        ]

    def _limbs(self, planes: Planes, n_rows: int) -> Array:
        n_limbs = sum(n for _, n in planes.amounts)
        limb = self._device.empty(n_limbs * n_rows, np.int32)
        begin = 0
        for amount, n in planes.amounts:
            on_device = self._device.upload(amount)
            self._device.launch(
                tally.divide,
                -(-n_rows // self._tuning.threads),
                self._tuning.threads,
                *(begin, n_rows, n, on_device, limb),
            )
            begin += n
        return limb

    def _sum(self, rows: CudaRows, table: HostArray, stride: int, sums: Array) -> None:
        """Sum the tiles of large nodes in shared memory."""
        groups, planes, data, tables = rows.groups, rows.planes, rows.data, rows.tables
        self._device.launch(
            make_sum(data.code_bits, groups.is_wide, bool(planes.amounts)),
            len(table) // tally.TILE_COLUMNS * groups.n_summed,
            self._tuning.sum_threads,
            self._device.upload(table),
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
        table: HostArray,
        small: HostArray,
        start: HostArray,
        n_rows: HostArray,
        stride: int,
        sums: Array,
    ) -> None:
        """Add small nodes, and features too wide for shared memory, without it."""
        groups, planes, data = rows.groups, rows.planes, rows.data
        few = sum_table(start[small], n_rows[small], small, self._tuning.tile_rows)
        n_large = len(table) // tally.TILE_COLUMNS if groups.n_unfit else 0
        n_few = len(few) // tally.TILE_COLUMNS
        tile = np.concatenate([few, table[: n_large * tally.TILE_COLUMNS]])
        few_items = np.divmod(np.arange(n_few * groups.n_direct), groups.n_direct)
        wide_items = np.divmod(np.arange(n_large * groups.n_unfit), max(1, groups.n_unfit))
        item_tile = np.concatenate([few_items[0], n_few + wide_items[0]])
        item_group = np.concatenate([few_items[1], groups.n_direct + wide_items[1]])
        if not item_tile.size:
            return
        upload = self._device.upload
        self._device.launch(
            make_scatter(data.code_bits, bool(planes.amounts)),
            len(item_tile),
            min(self._tuning.threads, self._tuning.sum_threads),
            upload(item_tile.astype(np.int32)),
            upload(item_group.astype(np.int32)),
            upload(tile),
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
        fit = 4 * tally.SHARED_WORDS // (16 * n_channels)
        return max(1, min(self._tuning.scan_warps, fit))

    def _one_code(self, data: CudaData) -> tuple[Array, int, int]:
        """Codes as an array, and how far apart rows and features are in it."""
        if len(data.by_column) > 1:
            return data.by_column, 1, data.n_rows
        codes = data.words.view(f"u{data.code_bits // 8}")
        return codes, data.row_words * 32 // data.code_bits, 1


def _sum_dtype(channels: Channels) -> type[np.int32] | type[np.int64]:
    """Counts of rows fit into 32 bits; sums of weights and values need 64."""
    return np.int32 if channels.is_classes and not channels.counts_rows else np.int64


def _floats(column: Column) -> Array:
    """The values of a column as floats: numbers, or level numbers, NaN where missing."""
    if column.levels is None:
        return column.values
    values = np.asarray(column.values)
    return np.where(values == MISSING_LEVEL, np.nan, values).astype(np.float32)


def _not_above(cut: HostArray, dtype: Any) -> HostArray:
    """Cuts in the precision of the values, rounded down: the same values lie above them."""
    rounded = cut.astype(dtype)
    return np.where(rounded > cut, np.nextafter(rounded, rounded.dtype.type(-np.inf)), rounded)


def _levels(trees: Sequence[Tree]) -> tuple[HostArray, HostArray]:
    """Where the slots of each node's levels begin, and the slots, tree after tree."""
    before = np.cumsum([0, *(len(tree.level_slot) for tree in trees[:-1])])
    start = [
        np.where(tree.level_start >= 0, tree.level_start + first, -1)
        for tree, first in zip(trees, before, strict=True)
    ]
    slot = np.concatenate([tree.level_slot for tree in trees])
    return np.concatenate(start).astype(np.int64), slot
