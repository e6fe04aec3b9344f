"""The contract kept by compiled kernels on the threads of the CPU.

Rows are listed node by node. Large nodes are summed into histograms; a node with fewer rows than
`DIRECT_ROWS` is searched straight from its rows, with the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gputree.backends.contract import Kin, Moves, Search, Splits
from gputree.backends.units import relative_units
from gputree.backends.workers import Workers
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import LISTED_ROWS, bucket_of, searched_codes
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import FEATURE, MISSING_LEVEL, OUTSIDE, SLOT, HostArray, code_dtype
from gputree.kernels.buckets import BUCKETS
from gputree.kernels.cpu import coding, histogram, predict, route, split
from gputree.kernels.cpu.jit import COMPILE_TIME
from gputree.tree.tree import Tree

DIRECT_ROWS = 512  # twice the codes of an 8-bit feature: up to here both paths cost the same
CHUNK_ROWS = 16_384  # rows that one thread routes at a time
LEAST_ROWS = 8_192  # fewer rows are not worth another thread
CACHE_BYTES = 2**19  # sums of one feature that stay in the L2 cache of a core
FEATURES_TOGETHER = 64  # a cache line of codes

_NONE = np.empty(0, np.int64)  # stands for weights or classes that are not there


class Layout:
    """Codes by row, in the order the rows had when small nodes first asked for them.

    From then on the rows of a node lie near each other, however far apart they are in the table.
    """

    def __init__(self) -> None:
        self.by_row: HostArray | None = None
        self.spot: HostArray | None = None  # (rows,) where each row is in `by_row`

    def of(self, rows: "CpuRows", workers: Workers) -> tuple[HostArray, HostArray]:
        """Codes (rows, features) and spots, made at the first call."""
        if self.by_row is None or self.spot is None:
            n_features, n_rows = rows.code.shape
            self.by_row = np.empty((len(rows.order), n_features), rows.code.dtype)
            self.spot = np.empty(n_rows, np.int32)
            args = rows.order, rows.code, self.by_row, self.spot
            workers.run(histogram.lay_out, len(rows.order), *args, least=LEAST_ROWS)
        return self.by_row, self.spot

    @property
    def is_made(self) -> bool:
        return self.by_row is not None

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.by_row, self.spot) if array is not None)


@dataclass(frozen=True)
class CpuRows:
    """The rows of each node, one node after another."""

    code: HostArray  # (features, rows)
    layout: Layout
    bins: Bins
    target: Target
    label: HostArray  # (rows,), or empty for a regression
    weight: HostArray  # (rows,), or empty where every row weighs 1
    value: HostArray  # (outputs, rows), or empty for classes
    order: HostArray  # (rows,) row numbers, node by node
    start: HostArray  # (nodes,) where a node's rows begin in `order`
    n_rows: HostArray  # (nodes,) how many it has; 0 for one that was divided


@dataclass(frozen=True)
class CpuHist:
    """Sums of the large nodes among some nodes."""

    rows: CpuRows
    node: HostArray  # (nodes,)
    place: HostArray  # (nodes,) index into `sums`, -1 for a node searched from its rows
    sums: HostArray  # (large nodes, places * channels)


class CpuBackend:
    """Trees by numba kernels and threads."""

    name = "numba"
    device = "cpu"

    def __init__(self, n_threads: int) -> None:
        self._workers = Workers(n_threads)
        self._values = np.empty((0, 0))

    # Values to codes.

    def reserve(self, n_features: int, n_rows: int, most_codes: int) -> HostArray:
        return np.empty((n_features, n_rows), code_dtype(most_codes))

    def hold(self, columns: Sequence[Column]) -> HostArray:
        arrays = [_floats(column) for column in columns]
        values = self._scratch(len(arrays), len(arrays[0]), np.result_type(*arrays))
        matrix = as_matrix(arrays)
        if matrix is not None:
            self._workers.run(coding.transpose, values.shape[1], matrix, values, least=LEAST_ROWS)
        else:
            for i, array in enumerate(arrays):
                values[i] = array
        return values

    def count_missing(self, values: HostArray) -> HostArray:
        n_missing = np.empty(len(values), np.int64)
        self._workers.run(coding.count_missing, len(values), values, n_missing)
        return n_missing

    def sketch(
        self, values: HostArray, weight: HostArray | None
    ) -> list[tuple[HostArray, HostArray]]:
        dtype = np.int32 if weight is None else np.int64
        counts = np.zeros((len(values), BUCKETS + 1), dtype)
        weights = _NONE if weight is None else weight
        self._workers.run(coding.count, len(values), values, weights, counts)
        return self._workers.map(lambda i: coding.occupied(counts[i]), range(len(values)))

    def refine(
        self, values: HostArray, weight: HostArray | None, wanted: Sequence[HostArray | None]
    ) -> list[tuple[HostArray, HostArray]]:
        return self._workers.map(
            lambda i: _distinct(values[i], weight, wanted[i]), range(len(values))
        )

    def encode(
        self,
        data: HostArray,
        first_feature: int,
        values: HostArray,
        bins: Sequence[FeatureBins],
    ) -> None:
        def encode_one(i: int) -> None:
            code = data[first_feature + i]
            if values.shape[1] <= LISTED_ROWS:
                code[:] = searched_codes(values[i], bins[i])
                return
            cut = bins[i].cut
            table = np.empty(BUCKETS + 1, np.uint32)
            coding.tabulate(bucket_of(cut), bins[i].n_codes - 1, table)
            coding.encode(values[i], table, cut, code)

        self._workers.map(encode_one, range(len(values)))

    # Growing.

    def begin(self, data: HostArray, bins: Bins, target: Target) -> CpuRows:
        if target.weight is None:
            order = np.arange(target.n_rows, dtype=np.int32)
        else:
            order = np.flatnonzero(target.weight).astype(np.int32)
        n_classes = target.channels.n_scored if target.label is not None else 0
        label_dtype = np.uint8 if n_classes <= 256 else np.int32
        return CpuRows(
            code=data,
            layout=Layout(),
            bins=bins,
            target=target,
            label=_NONE if target.label is None else target.label.astype(label_dtype),
            weight=_NONE if target.weight is None else target.weight,
            value=np.empty((0, 0), np.int64) if target.value is None else target.value,
            order=order,
            start=np.zeros(1, np.int64),
            n_rows=np.array([len(order)], np.int64),
        )

    def tally(self, rows: CpuRows, nodes: HostArray) -> CpuHist:
        is_large = rows.n_rows[nodes] > DIRECT_ROWS
        place = np.where(is_large, np.cumsum(is_large) - 1, -1)
        return CpuHist(rows, nodes, place, self._sums(rows, nodes[is_large]))

    def derive(self, built: CpuHist, kin: Kin, above: CpuHist | None) -> CpuHist:
        rows = built.rows
        is_large = rows.n_rows[kin.node] > DIRECT_ROWS
        place = np.where(is_large, np.cumsum(is_large) - 1, -1)
        if above is None:
            return CpuHist(rows, kin.node, built.place[kin.built], built.sums)
        sums = np.empty((int(is_large.sum()), built.sums.shape[1]), built.sums.dtype)
        parent = np.where(kin.parent >= 0, above.place[np.maximum(kin.parent, 0)], -1)
        source = built.place[kin.built]
        # A small sibling was not summed; its large brother needs it, and its rows are few.
        lacking = np.flatnonzero(is_large & (source < 0))
        if lacking.size:
            siblings = self._sums(rows, built.node[kin.built[lacking]])
            own_place = np.arange(len(lacking))
            self._workers.run(
                histogram.derive,
                len(lacking),
                siblings,
                own_place,
                above.sums,
                parent[lacking],
                place[lacking],
                sums,
            )
        ready = np.flatnonzero(is_large & (source >= 0))
        self._workers.run(
            histogram.derive,
            len(ready),
            built.sums,
            source[ready],
            above.sums,
            parent[ready],
            place[ready],
            sums,
        )
        return CpuHist(rows, kin.node, place, sums)

    def best_splits(self, hist: CpuHist, search: Search) -> Splits:
        bins, channels = hist.rows.bins, hist.rows.target.channels
        n = len(hist.node)
        score = np.empty(n)
        winner = np.empty((n, 4), np.int64)
        left = np.empty((n, channels.n), np.int64)
        rank = np.empty((0, 0), np.int64) if search.rank is None else search.rank
        shape = (channels.is_classes, channels.n_scored, channels.counts_rows, channels.n)
        rules = (split.FORMULAS[search.formula], search.min_rows, max(1, search.min_weight))
        unit = np.array(relative_units(channels))
        for is_large in (True, False):
            chosen = np.flatnonzero((hist.place >= 0) == is_large)
            if not chosen.size:
                continue
            results = np.empty(len(chosen)), winner[chosen], left[chosen]
            ranks = rank[chosen] if search.rank is not None else rank
            common = (ranks, search.n_drawn, shape, rules, unit, *results)
            if is_large:
                self._search_sums(hist, chosen, bins, common)
            else:
                self._search_rows(hist, chosen, bins, common)
            score[chosen], winner[chosen], left[chosen] = results
        return Splits(
            score=score,
            feature=winner[:, 0].astype(FEATURE),
            code=winner[:, 1],
            next_code=winner[:, 2],
            missing_slot=winner[:, 3].astype(SLOT),
            left=left,
        )

    def span(self, rows: CpuRows, nodes: HostArray) -> HostArray:
        point = rows.target.point
        assert point is not None
        low_high = np.empty((len(nodes), len(point), 2))
        start, n_rows = rows.start[nodes], rows.n_rows[nodes]
        self._workers.run(route.span, len(nodes), start, n_rows, rows.order, point, low_high)
        return low_high

    def route(self, rows: CpuRows, moves: Moves) -> CpuRows:
        move, first, last = _chunks(rows.start[moves.node], rows.n_rows[moves.node])
        slot = np.empty(len(rows.order), np.uint8)
        n_left = np.empty(len(move), np.int64)
        self._workers.run(
            route.choose,
            len(move),
            move,
            first,
            last,
            moves.feature,
            moves.start,
            moves.table,
            rows.order,
            rows.code,
            slot,
            n_left,
        )
        n_child = np.bincount(move, n_left, minlength=len(moves.node)).astype(np.int64)
        left_at = _running(n_left, move) + rows.start[moves.node][move]
        right_at = _running(last - first - n_left, move) + (rows.start[moves.node] + n_child)[move]
        order = rows.order.copy()
        self._workers.run(
            route.scatter, len(move), first, last, left_at, right_at, slot, rows.order, order
        )
        return _with_children(rows, moves, order, n_child)

    # After a tree.

    def leaves(self, rows: CpuRows) -> HostArray:
        leaf = np.full(rows.target.n_rows, OUTSIDE, np.int32)
        node = np.flatnonzero(rows.n_rows)
        self._workers.run(
            route.mark, len(node), node, rows.start[node], rows.n_rows[node], rows.order, leaf
        )
        return leaf

    def apply(self, tree: Tree, table: Table) -> HostArray:
        leaf = np.zeros(table.n_rows, np.int64)
        used, column = np.unique(tree.feature, return_inverse=True)
        arrays = [_floats(table.columns[feature]) for feature in used if feature >= 0]
        column = column - (len(used) - len(arrays))  # leaves test nothing
        if not arrays:
            return leaf
        matrix = as_matrix([_floats(column) for column in table.columns])
        if matrix is not None:
            column = tree.feature
        else:
            matrix = np.stack(arrays, axis=1)
        self._workers.run(
            predict.apply,
            table.n_rows,
            matrix,
            column.astype(np.int32),
            tree.threshold,
            tree.missing_slot,
            tree.first_child,
            leaf,
            least=LEAST_ROWS,
        )
        return leaf

    # Costs.

    @property
    def compile_seconds(self) -> float:
        return COMPILE_TIME.seconds

    def bytes_per_node(self, bins: Bins, channels: Channels) -> int:
        return bins.width * channels.n * np.dtype(_sum_dtype(channels)).itemsize

    def bytes_held(self, data: HostArray, rows: CpuRows | None) -> int:
        held = data.nbytes
        if rows is not None:
            arrays = (rows.label, rows.weight, rows.value, rows.order)
            held += sum(array.nbytes for array in arrays) + rows.layout.nbytes
        return held

    # Helpers.

    def _scratch(self, n_columns: int, n_rows: int, dtype: np.dtype[Any]) -> HostArray:
        """Room for values, kept from one block of columns to the next: new memory is slow."""
        if self._values.dtype != dtype or self._values.shape[1] != n_rows:
            self._values = np.empty((0, n_rows), dtype)
        if len(self._values) < n_columns:
            self._values = np.empty((n_columns, n_rows), dtype)
        return self._values[:n_columns]

    def _sums(self, rows: CpuRows, nodes: HostArray) -> HostArray:
        """The histograms of some nodes, (nodes, places * channels)."""
        channels, bins = rows.target.channels, rows.bins
        sums = np.zeros((len(nodes), bins.width * channels.n), _sum_dtype(channels))
        if not len(nodes):
            return sums
        fits = sums.nbytes // len(bins.features) <= CACHE_BYTES and sums.size < 2**32
        # Listing rows in ascending order looks at every row of the table.
        are_few = 4 * int(rows.n_rows[nodes].sum()) < rows.target.n_rows
        if fits and not (are_few and rows.layout.is_made):
            self._sum_together(rows, nodes, sums)
        else:
            self._sum_one_by_one(rows, nodes, sums)
        return sums

    def _sum_together(self, rows: CpuRows, nodes: HostArray, sums: HostArray) -> None:
        """Sum a few large nodes feature by feature, over their rows in ascending order."""
        listed, cell = self._ascending(rows, nodes, sums.shape[1])
        is_all = len(listed) == rows.target.n_rows
        weight, value = rows.weight, rows.value
        self._workers.run(
            histogram.tally,
            len(rows.bins.features),
            listed,
            cell,
            weight if is_all or not weight.size else weight[listed],
            value if is_all or not value.size else value[:, listed],
            rows.code,
            rows.bins.offset,
            rows.target.channels.n,
            sums.reshape(-1),
        )

    def _ascending(
        self, rows: CpuRows, nodes: HostArray, stride: int
    ) -> tuple[HostArray, HostArray]:
        """The rows of some nodes in ascending order, and the cell where each one's sums begin."""
        place = np.full(rows.target.n_rows, -1, np.int32)
        node, first, last = _chunks(rows.start[nodes], rows.n_rows[nodes])
        self._workers.run(
            histogram.mark, len(node), node.astype(np.int32), first, last, rows.order, place
        )
        n_parts = -(-len(place) // CHUNK_ROWS)
        n_marked = np.empty(n_parts, np.int64)
        self._workers.run(histogram.count_marked, n_parts, CHUNK_ROWS, place, n_marked)
        listed = np.empty(int(n_marked.sum()), np.uint32)
        cell = np.empty(len(listed), np.uint32)
        begins_at = np.cumsum(n_marked) - n_marked
        self._workers.run(
            histogram.list_marked,
            n_parts,
            CHUNK_ROWS,
            place,
            begins_at,
            stride,
            rows.label,
            listed,
            cell,
        )
        return listed, cell

    def _sum_one_by_one(self, rows: CpuRows, nodes: HostArray, sums: HostArray) -> None:
        """Sum many smaller nodes from codes laid out by row."""
        n_features = len(rows.bins.features)
        block = min(n_features, FEATURES_TOGETHER)
        n_blocks = -(-n_features // block)
        self._workers.run(
            histogram.tally_nodes,
            len(nodes) * n_blocks,
            n_blocks,
            block,
            rows.start[nodes],
            rows.n_rows[nodes],
            rows.order,
            rows.label,
            rows.value,
            rows.weight,
            *rows.layout.of(rows, self._workers),
            rows.bins.offset,
            rows.target.channels.n,
            sums,
        )

    def _search_sums(
        self, hist: CpuHist, chosen: HostArray, bins: Bins, common: tuple[Any, ...]
    ) -> None:
        place = hist.place[chosen]
        self._workers.run(
            split.search_hist, len(chosen), place, hist.sums, bins.offset, bins.n_values, *common
        )

    def _search_rows(
        self, hist: CpuHist, chosen: HostArray, bins: Bins, common: tuple[Any, ...]
    ) -> None:
        rows, node = hist.rows, hist.node[chosen]
        laid_out = np.empty((0, 0), rows.code.dtype), np.empty(0, np.int32)
        # Laying out codes looks at every cell of the table; a few small nodes are not worth it.
        if rows.layout.is_made or 8 * int(rows.n_rows[node].sum()) > rows.target.n_rows:
            laid_out = rows.layout.of(rows, self._workers)
        self._workers.run(
            split.search_rows,
            len(chosen),
            DIRECT_ROWS,
            rows.start[node],
            rows.n_rows[node],
            rows.order,
            rows.label,
            rows.value,
            rows.weight,
            rows.code,
            *laid_out,
            bins.n_codes,
            bins.n_values,
            *common,
        )


def as_matrix(columns: Sequence[HostArray]) -> HostArray | None:
    """The (rows, columns) matrix whose neighbouring columns these are, if they are."""
    first = columns[0]
    address = [column.__array_interface__["data"][0] for column in columns]
    alike = all(c.dtype == first.dtype and c.strides == first.strides for c in columns)
    step = address[1] - address[0] if len(columns) > 1 else first.itemsize
    in_order = all(b - a == step for a, b in pairwise(address))
    if not alike or not in_order or any(column.base is not first.base for column in columns):
        return None
    if first.base is None and len(columns) > 1:
        return None
    return np.lib.stride_tricks.as_strided(
        first, (len(first), len(columns)), (first.strides[0], step), writeable=False
    )


def _floats(column: Column) -> HostArray:
    """The values of a column as floats: numbers, or level numbers, NaN where missing."""
    values = np.asarray(column.values)
    if column.levels is None:
        return values
    return np.where(values == MISSING_LEVEL, np.nan, values).astype(np.float32)


def _distinct(
    values: HostArray, weight: HostArray | None, wanted: HostArray | None
) -> tuple[HostArray, HostArray]:
    """Distinct known values of one column inside the wanted buckets, and their weights."""
    if wanted is not None and not wanted.size:
        return np.empty(0), _NONE
    is_wanted = np.full(BUCKETS + 1, wanted is None)
    if wanted is not None:
        is_wanted[wanted] = True
    is_wanted[BUCKETS] = False
    given = _NONE if weight is None else weight
    room = len(values) // 8  # few values are wanted, unless they crowd together
    while True:
        members = np.empty(room, values.dtype)
        weights = np.empty(0 if weight is None else room, np.int64)
        n = coding.gather(values, given, is_wanted, members, weights)
        if n <= room:
            break
        room = n
    members, weights = members[:n], weights[:n]
    if weight is None:
        members.sort()
    else:
        order = np.argsort(members)
        members, weights = members[order], weights[order]
    first = np.flatnonzero(np.append(True, members[1:] != members[:-1])[: len(members)])
    if weight is None:
        count = np.diff(np.append(first, len(members)))
    else:
        count = np.add.reduceat(weights, first) if len(first) else weights
    return members[first].astype(np.float64), count


def _sum_dtype(channels: Channels) -> type[np.int32] | type[np.int64]:
    """Counts of rows fit into 32 bits; sums of weights and values need 64."""
    return np.int32 if channels.is_classes and not channels.counts_rows else np.int64


def _chunks(start: HostArray, n_rows: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Cut the rows of nodes into chunks: whose they are, where they begin and end."""
    n_chunks = -(-n_rows // CHUNK_ROWS)
    owner = np.repeat(np.arange(len(start)), n_chunks)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
    first = start[owner] + number * CHUNK_ROWS
    return owner, first, np.minimum(first + CHUNK_ROWS, (start + n_rows)[owner])


def _running(count: HostArray, owner: HostArray) -> HostArray:
    """How many the chunks of the same owner before each chunk have."""
    before = np.cumsum(count) - count
    is_first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    return before - before[is_first][np.cumsum(is_first) - 1]


def _with_children(rows: CpuRows, moves: Moves, order: HostArray, n_left: HostArray) -> CpuRows:
    """The rows with a list for each child in place of its parent's."""
    n_nodes = max(len(rows.start), int(moves.first_child.max()) + 2)
    start = np.zeros(n_nodes, np.int64)
    n_rows = np.zeros(n_nodes, np.int64)
    start[: len(rows.start)] = rows.start
    n_rows[: len(rows.start)] = rows.n_rows
    left, right = moves.first_child, moves.first_child + 1
    start[left], start[right] = start[moves.node], start[moves.node] + n_left
    n_rows[left], n_rows[right] = n_left, n_rows[moves.node] - n_left
    n_rows[moves.node] = 0
    return replace(rows, order=order, start=start, n_rows=n_rows)
