"""Whole trees, grown level by level on the device.

The host launches the kernels of a level and waits once, for a few counts: how many nodes come next,
and into how many tiles their rows are cut. All else stays on the device until the tree is finished.

The rows of a level are moved from one list to another, and back by the next level: a node has them
in the list of its depth, where those of others never come.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gputree.backends.contract import Search
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import split as cuda_split
from gputree.backends.cuda.histogram import CudaHist, Source
from gputree.backends.cuda.launch import Launches, Tiles
from gputree.backends.cuda.route import codes_in
from gputree.backends.cuda.rows import CudaRows, span_keys
from gputree.backends.whole import Limits, Whole
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, Array, HostArray
from gputree.kernels.cuda import grow, histogram, route, split
from gputree.kernels.cuda.gpu import WARP

FIRST_NODES = 512  # that there is room for at first

make_decide = cache(grow.make_decide)
make_doubt = cache(grow.make_doubt)
make_settle = cache(grow.make_settle)
make_list_tallied = cache(grow.make_list_tallied)
make_choose = cache(route.make_choose)
make_move = cache(route.make_move)


def can_grow(launches: Launches, channels: Channels, search: Search, limits: Limits) -> bool:
    """Whether the device can grow a tree: breadth-first, by thresholds that are all searched."""
    is_plain = not search.is_random and not search.categories and limits.max_leaves is None
    return is_plain and cuda_split.can_search(launches, channels, search)


@dataclass(frozen=True)
class _Tiles:
    """What is tallied for a level whose sums follow from those of its parents."""

    n_nodes: int  # that are tallied
    large: tuple[Array, int]  # tiles, and how many
    small: tuple[Array, int]
    built: Array  # (nodes of the level,) places among the tallied nodes
    above: Array  # (nodes of the level,) places of the parents in their level; -1: tallied itself
    parents: CudaHist | None = None  # the sums of the level before; None: all nodes are tallied


@dataclass(frozen=True)
class _Level:
    """Nodes that are searched together."""

    n: int
    n_rows: int
    frontier: Array  # (n,) their numbers
    tiles: _Tiles | None = None  # None: all of them are tallied

    def counted(self, counts: HostArray, parents: CudaHist | None) -> "_Level":
        """The level, once its sizes are known, and the sums of the parents."""
        n, n_rows = int(counts[grow.N_NEXT]), int(counts[grow.NEXT_ROWS])
        tiles = self.tiles
        if tiles is not None:
            large, small = _counted(counts, tiles.large[0], tiles.small[0])
            n_tallied = int(counts[grow.N_TALLIED])
            tiles = replace(tiles, n_nodes=n_tallied, large=large, small=small, parents=parents)
        return _Level(n, n_rows, self.frontier, tiles)


@dataclass(frozen=True)
class _Moves:
    """The nodes of a level that are split; room for as many as there could be."""

    most_tiles: int
    node: Array  # their numbers
    place: Array  # their places in the frontier
    first_tile: Array
    tile: Array  # a route table
    test: Array  # a table of thresholds
    count: Array  # see `kernels.cuda.grow`


@dataclass(frozen=True)
class _Searched:
    """The best splits of a level, and its sums where they are kept."""

    winner: Array
    hist: CudaHist | None


class LevelTree:
    """A tree that grows on rows at one root, or trees on rows at several; nodes on the device."""

    def __init__(
        self,
        launches: Launches,
        rows: CudaRows,
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
    ) -> None:
        self.launches, self.dev, self.tuning = launches, launches.device, launches.tuning
        self.rows, self.search, self.limits = rows, search, limits
        self.channels, self.bins, self.totals = rows.target.channels, rows.bins, totals
        self.width = grow.SUMS + self.channels.n
        self.n_nodes = self.n_roots = len(totals)
        self.depth_ends = [self.n_roots]  # how many nodes there are down to each depth
        self.n_values = cuda_split.tested_values(launches, rows, search)
        self.lists = [rows.order]  # of each depth; those of depths two apart are one, but for 0
        self.draws = search.n_drawn < len(self.bins.features)
        # Kernels see by the length of this whether there are any.
        self.key = self.dev.upload(np.resize(keys, FIRST_NODES) if self.draws else keys[:1])
        can_be_pure = not self.channels.is_classes and limits.splits_without_gain
        self.n_outputs = self.channels.n_scored if can_be_pure else 0
        self.span_key = span_keys(launches, rows) if can_be_pure else None
        self.node = self.dev.upload(self._roots())

    def _roots(self) -> HostArray:
        """The table of nodes at first, with room for some more."""
        node = np.zeros((max(self.n_roots, FIRST_NODES), self.width), np.int64)
        root = node[: self.n_roots]
        root[:, grow.START], root[:, grow.N_ROWS] = self.rows.start, self.rows.n_rows
        root[:, grow.FIRST_CHILD] = -1
        root[:, grow.SPLIT + split.SCORE] = np.float64(-np.inf).view(np.int64)
        root[:, grow.SPLIT + split.FEATURE] = -1
        root[:, grow.SUMS :] = self.totals
        return node

    def grown(self) -> Whole:
        """Grow to the end."""
        level = self.planted()
        while level.n:
            level = self.divided(level, self.searched(level))
        return self.finished()

    def planted(self) -> _Level:
        """The roots that may be split."""
        channels, sums = self.channels, self.totals
        may = self.limits.may_split(
            self.rows.n_rows, channels.weight_of(sums), np.zeros(self.n_roots, np.int64)
        )
        if channels.is_classes:
            may &= (sums[:, channels.scored] > 0).sum(axis=1) > 1
        frontier = np.flatnonzero(may)
        n_rows = self.rows.n_rows[frontier]
        on_device, tiles = self.dev.upload(frontier.astype(np.int32)), None
        level = _Level(len(frontier), int(n_rows.sum()), on_device)
        if self._bytes(2 * level.n) <= self.limits.budget:
            is_small = n_rows < self.tuning.direct_rows
            n_large = int((-(-n_rows[~is_small] // self.tuning.tile_rows)).sum())
            large, small, _ = self._listed_tiles(level, 0, level.n)
            counted = (large, n_large), (small, int(is_small.sum()))
            tiles = _Tiles(level.n, *counted, on_device, on_device)
        return replace(level, tiles=tiles)

    # Search.

    def searched(self, level: _Level) -> _Searched:
        """The best split of each node of a level."""
        rank, width = self._rank(level), split.LEFT + self.channels.n
        winner = self.dev.empty(level.n * width, np.int64)
        if level.tiles is not None:
            derived = self._derived(level, level.tiles)
            self._choose(derived, rank, winner)
            return _Searched(winner, derived)
        n_at_once = max(1, self.limits.budget // (2 * self._bytes(1)))
        n_features = len(self.bins.features)
        hist: CudaHist | None = None
        for first in range(0, level.n, n_at_once):
            end = min(first + n_at_once, level.n)
            hist = self._tallied(level, first, end - first)
            own = rank[first * n_features : end * n_features] if self.draws else rank
            self._choose(hist, own, winner[first * width : end * width])
        return _Searched(winner, hist if level.n <= n_at_once else None)

    def _bytes(self, n: int) -> int:
        """What the sums of some nodes take."""
        return n * self.rows.stride * np.dtype(self.rows.planes.sum_dtype).itemsize

    def _rank(self, level: _Level) -> Array:
        """The place of each feature in the draw of each node."""
        if not self.draws:
            return self.launches.constants(np.zeros(1, np.int32))[0]
        n_features = len(self.bins.features)
        rank = self.dev.empty(level.n * n_features, np.int32)
        args = level.frontier, level.n, n_features, self.key, rank
        self.launches.over(grow.rank_features, level.n * n_features, *args)
        return rank

    def _choose(self, hist: CudaHist, rank: Array, winner: Array) -> None:
        cuda_split.choose(self.launches, hist, self.search, self.n_values, rank, winner)

    def _derived(self, level: _Level, tiles: _Tiles) -> CudaHist:
        """Sums of a level from those of the smaller children and those of the parents."""
        built = cuda_histogram.tally_tiles(
            self.launches, self._listed(), tiles.n_nodes, tiles.large, tiles.small
        )
        if tiles.parents is None:
            return built
        source = Source(built.sums, tiles.built, tiles.parents.sums, tiles.above)
        return CudaHist.following(built.rows, level.n, source, self.launches)

    def _tallied(self, level: _Level, first: int, n: int) -> CudaHist:
        """Sums of some nodes of a level, all of whose rows are added up."""
        large, small, count = self._listed_tiles(level, first, n)
        counted = _counted(self.dev.download(count), large, small)
        return cuda_histogram.tally_tiles(self.launches, self._listed(), n, *counted)

    def _listed_tiles(self, level: _Level, first: int, n: int) -> tuple[Array, Array, Array]:
        """The large and the small tiles of some nodes of a level, and how many there are."""
        large, small, first_tile = self._room_for_tiles(level.n_rows, n)
        count = self.dev.empty(grow.N_COUNTS, np.int64)
        table = self.node, self.channels.n, self.tuning.direct_rows, self.tuning.tile_rows
        self._in_block(
            make_list_tallied, level.frontier, first, n, *table, first_tile, large, small, count
        )
        return large, small, count

    def _listed(self) -> CudaRows:
        """Rows in the order of the level at hand."""
        return replace(self.rows, order=self.lists[-1])

    def _room_for_tiles(self, n_rows: int, n_nodes: int) -> tuple[Array, Array, Array]:
        """Room for the large and the small tiles of so many nodes with so many rows together."""
        most = n_rows // self.tuning.tile_rows + n_nodes
        sizes = (most, n_nodes) if n_nodes else (1, 1)
        tables = [self.dev.empty(size * histogram.TILE_COLUMNS, np.int64) for size in sizes]
        return tables[0], tables[1], self.dev.empty(n_nodes, np.int64)

    # Division.

    def divided(self, level: _Level, found: _Searched) -> _Level:
        """Split the nodes of a level that are worth it; the children that are searched next."""
        dev, limits = self.dev, self.limits
        self._reserve(self.n_nodes + 2 * level.n)
        moves = self._decided(level, found.winner)
        flags = dev.empty(moves.most_tiles * (self.tuning.route_rows // WARP), np.uint32)
        n_right = dev.empty(moves.most_tiles, np.int32)
        order = self.lists[-1]
        dev.launch(
            make_choose(self.tuning.route_rows, by_threshold=True),
            moves.most_tiles,
            self.tuning.route_threads,
            moves.tile,
            moves.test,
            dev.empty(1, np.uint8),
            order,
            *codes_in(self.rows.data),
            flags,
            n_right,
        )
        # Sums of parents, of tallied children and of all children are there at once.
        derives = found.hist is not None and self._bytes(4 * level.n) <= limits.budget
        below, bound, before = self._settled(level, moves, n_right, derives=derives)
        moved = self._next_list()
        dev.launch(
            make_move(self.tuning.route_rows),
            moves.most_tiles,
            self.tuning.route_threads,
            moves.tile,
            bound,
            flags,
            before,
            order,
            moved,
        )
        self.lists.append(moved)
        counts = dev.download(moves.count)
        self.n_nodes += 2 * int(counts[grow.N_SPLIT])
        self.depth_ends.append(self.n_nodes)
        return below.counted(counts, found.hist)

    def _decided(self, level: _Level, winner: Array) -> _Moves:
        """The nodes that are split, and the tiles of their rows."""
        most_tiles, doubts = self._most_tiles(level), self._doubts(level, winner)
        empty = self.dev.empty
        moves = _Moves(
            most_tiles,
            node=empty(level.n, np.int32),
            place=empty(level.n, np.int64),
            first_tile=empty(level.n, np.int64),
            tile=empty(most_tiles * route.TILE_COLUMNS, np.int64),
            test=empty(level.n * route.THRESHOLD_COLUMNS, np.int64),
            count=empty(grow.N_COUNTS, np.int64),
        )
        self._in_block(
            make_decide,
            level.frontier,
            level.n,
            self.n_nodes,
            winner,
            self.node,
            self.channels.n,
            float(self.limits.ridge),
            float(self.limits.least_worth),
            self.n_outputs,
            *doubts,
            self.rows.tables.n_values,
            self.key,
            self.tuning.route_rows,
            most_tiles,
            moves.node,
            moves.place,
            moves.first_tile,
            moves.tile,
            moves.test,
            moves.count,
        )
        return moves

    def _doubts(self, level: _Level, winner: Array) -> tuple[Array, Array, Array]:
        """Which nodes may be pure, and the smallest and largest targets of those."""
        dev = self.dev
        place_of = dev.empty(level.n, np.int32)
        if self.span_key is None:
            return place_of, dev.empty(1, np.int64), dev.empty(1, np.int64)
        most_tiles, n_ends = self._most_tiles(level), level.n * self.n_outputs
        low, high = dev.empty(n_ends, np.int64), dev.empty(n_ends, np.int64)
        tile = dev.empty(most_tiles * route.TILE_COLUMNS, np.int64)
        self._in_block(
            make_doubt,
            level.frontier,
            level.n,
            winner,
            self.node,
            self.channels.n,
            float(self.limits.ridge),
            float(self.limits.least_worth),
            self.channels.counts_rows,
            self.n_outputs,
            self.tuning.route_rows,
            most_tiles,
            dev.empty(level.n, np.int32),
            place_of,
            dev.empty(level.n, np.int64),
            tile,
            low,
            high,
        )
        rows = self.lists[-1], self.n_outputs, self.rows.target.n_rows, self.span_key
        dev.launch(route.span, most_tiles, self.tuning.route_threads, tile, *rows, low, high)
        return place_of, low, high

    def _settled(
        self, level: _Level, moves: _Moves, n_right: Array, *, derives: bool
    ) -> tuple[_Level, Array, Array]:
        """The children, where rows of each node begin, and how many go right before each tile."""
        dev, channels, limits = self.dev, self.channels, self.limits
        n_most = 2 * level.n
        bound = dev.empty(level.n * route.BOUND_COLUMNS, np.int64)
        before = dev.empty(moves.most_tiles + 1, np.int64)
        frontier, tallied = dev.empty(n_most, np.int32), dev.empty(level.n, np.int32)
        built, above = dev.empty(n_most, np.int64), dev.empty(n_most, np.int64)
        large, small, first_tile = self._room_for_tiles(level.n_rows, level.n)
        depth = len(self.depth_ends)
        self._in_block(
            make_settle,
            self.node,
            channels.n,
            channels.is_classes,
            channels.n_scored,
            limits.min_rows_split,
            limits.min_weight_split,
            limits.max_depth is None or depth < limits.max_depth,
            derives,
            self.tuning.direct_rows,
            self.tuning.tile_rows,
            moves.most_tiles,
            moves.node,
            moves.place,
            moves.first_tile,
            n_right,
            before,
            bound,
            frontier,
            built,
            above,
            tallied,
            first_tile,
            large,
            small,
            moves.count,
        )
        tiles = _Tiles(0, (large, 0), (small, 0), built, above) if derives else None
        return _Level(0, 0, frontier, tiles), bound, before

    def _most_tiles(self, level: _Level) -> int:
        """As many tiles as the rows of a level can make, or more."""
        return level.n_rows // self.tuning.route_rows + level.n

    def _reserve(self, n_nodes: int) -> None:
        """Have room for so many nodes."""
        self.node = self._longer(self.node, n_nodes * self.width)
        if self.draws:
            self.key = self._longer(self.key, n_nodes)

    def _longer(self, array: Array, n: int) -> Array:
        if len(array) >= n:
            return array
        longer = self.dev.empty(max(n, 2 * len(array)), array.dtype)
        self.launches.over(grow.copy, len(array), len(array), array, longer)
        return longer

    def _next_list(self) -> Array:
        """Room for the rows of the next depth: what those of two depths before are in."""
        if len(self.lists) < 3:
            return self.dev.empty(len(self.rows.order), np.int32)
        return self.lists[-2]

    def _in_block(self, make: Any, *args: Any) -> None:
        """Launch a kernel of one block."""
        threads = self.tuning.grow_threads
        self.dev.launch(make(threads), 1, threads, *args)

    # The end.

    def finished(self) -> Whole:
        """The tree, and its rows at their last nodes."""
        node = self.dev.download(self.node)[: self.n_nodes * self.width]
        node = node.reshape(self.n_nodes, self.width)
        best, first_child = node[:, grow.SPLIT :], node[:, grow.FIRST_CHILD].copy()
        start, n_rows = node[:, grow.START].copy(), node[:, grow.N_ROWS].copy()
        depth = np.searchsorted(self.depth_ends, np.arange(self.n_nodes), side="right")
        is_leaf = first_child < 0
        n_ended = np.where(is_leaf, n_rows, 0)
        order, ends = self._gathered(start, n_ended, depth)
        rows = replace(self.rows, order=order, start=start, n_rows=n_ended, ends=ends)
        return Whole(
            is_inner=~is_leaf,
            first_child=first_child,
            feature=best[:, split.FEATURE].astype(FEATURE),
            code=best[:, split.CODE].copy(),
            next_code=best[:, split.NEXT].copy(),
            missing_slot=best[:, split.SLOT].astype(SLOT),
            n_rows=n_rows,
            depth=depth,
            score=best[:, split.SCORE].copy().view(np.float64),
            sums=node[:, grow.SUMS :].copy(),
            rows=rows,
        )

    def _gathered(
        self, start: HostArray, n_rows: HostArray, depth: HostArray
    ) -> tuple[Array, Tiles]:
        """All rows in one list, where leaves at even depths come to the others; and its tiles."""
        source = np.where(depth == 0, 1, np.where(depth % 2 == 0, 2, 0)).astype(np.uint8)
        tiles, (where,) = self.launches.cut(start, n_rows, source)
        if len(self.lists) == 1:
            return self.lists[0], tiles
        gathered = self.lists[1]
        second = self.lists[min(2, len(self.lists) - 1)]
        self.launches.over_tiles(route.gather, tiles, where, self.lists[0], second, gathered)
        return gathered, tiles


def _counted(
    counts: HostArray, large: Array, small: Array
) -> tuple[tuple[Array, int], tuple[Array, int]]:
    """Tables of tiles, each with how many there are."""
    return (large, int(counts[grow.N_LARGE])), (small, int(counts[grow.N_SMALL]))
