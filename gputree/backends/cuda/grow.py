"""Whole trees, grown level by level on the device.

The host launches the kernels of a level and waits once, for a few counts: how many nodes come next,
and into how many tiles their rows are cut. All else stays on the device until the tree is finished.

Nodes of few rows have no sums: they are searched from their rows (`few_rows`). All others have, and
those of a level follow from those of the level before where both have room.

The rows of a level are moved from one half of a list to the other, and back by the next level: a
node has them in the half of its depth, where those of others never come.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gputree.backends.contract import Search
from gputree.backends.cuda import few_rows
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import split as cuda_split
from gputree.backends.cuda.histogram import CudaHist, Source
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.route import codes_in, in_halves
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
class _Families:
    """What is tallied for the nodes of a level whose sums follow from those of their parents."""

    n_tallied: int
    tile: tuple[Array, int]  # tiles, and how many
    built: Array  # (nodes with sums,) places among the tallied nodes
    above: Array  # (nodes with sums,) those of the parents in their level; -1: tallied itself
    parents: CudaHist | None = None  # the sums of the level before; None: all nodes are tallied


@dataclass(frozen=True)
class _Level:
    """Nodes that are searched together: first those with sums, then those of few rows."""

    n: int
    n_rows: int
    n_summed: int
    summed_rows: int
    frontier: Array  # (n,) their numbers, from left to right
    seat: Array  # (n,) which line of the winners is theirs, see `kernels.cuda.grow.line_of`
    summed: Array  # the numbers of those with sums
    few: Array  # the numbers of those of few rows
    families: _Families | None = None  # None: all that have sums are tallied

    def counted(self, counts: HostArray, parents: CudaHist | None) -> "_Level":
        """The level, once its sizes are known, and the sums of the parents."""
        families = self.families
        if families is not None:
            tile = families.tile[0], int(counts[grow.TALLIED_TILES])
            n_tallied = int(counts[grow.N_TALLIED])
            families = replace(families, n_tallied=n_tallied, tile=tile, parents=parents)
        return replace(
            self,
            n=int(counts[grow.N_NEXT]),
            n_rows=int(counts[grow.NEXT_ROWS]),
            n_summed=int(counts[grow.N_SUMMED]),
            summed_rows=int(counts[grow.SUMMED_ROWS]),
            families=families,
        )


@dataclass(frozen=True)
class _Moves:
    """The nodes of a level that are split; room for as many as there could be."""

    most_tiles: int
    node: Array  # their numbers
    seat: Array  # their seats in the frontier
    first_tile: Array
    tile: Array  # a route table
    test: Array  # a table of thresholds
    count: Array  # see `kernels.cuda.grow`


@dataclass(frozen=True)
class _Searched:
    """The best splits of a level, and the sums of its nodes that have any, where all are kept."""

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
        self.rows = rows = in_halves(launches, rows)
        self.search, self.limits = search, limits
        self.channels, self.bins, self.totals = rows.target.channels, rows.bins, totals
        self.width = grow.SUMS + self.channels.n
        self.winner_width = split.LEFT + self.channels.n
        self.n_nodes = self.n_roots = len(totals)
        self.depth_ends = [self.n_roots]  # how many nodes there are down to each depth
        self.n_values = cuda_split.tested_values(launches, rows, search)
        self.draws = search.n_drawn < len(self.bins.features)
        self.few_rows = few_rows.most_rows(launches, self.channels.n)
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
        is_summed = n_rows > self.few_rows
        summed, few = frontier[is_summed], frontier[~is_summed]
        seat = np.where(is_summed, np.cumsum(is_summed) - 1, ~(np.cumsum(~is_summed) - 1))
        numbers = [each.astype(np.int32) for each in (frontier, seat, summed, few)]
        places = np.arange(len(summed)), np.full(len(summed), -1)
        order, seats, large, rest, built, above = self.dev.pack(*numbers, *places)
        sizes = len(frontier), int(n_rows.sum()), len(summed), int(n_rows[is_summed].sum())
        level = _Level(*sizes, order, seats, large, rest)
        if not summed.size or self._bytes(2 * len(summed)) > self.limits.budget:
            return level
        tile, _ = self._listed_tiles(level, 0, len(summed))
        n_tiles = int((-(-n_rows[is_summed] // self.tuning.tile_rows)).sum())
        families = _Families(len(summed), (tile, n_tiles), built, above)
        return replace(level, families=families)

    # Search.

    def searched(self, level: _Level) -> _Searched:
        """The best split of each node of a level."""
        winner = self.dev.empty(level.n * self.winner_width, np.int64)
        if level.n > level.n_summed:
            few = level.few, level.n - level.n_summed
            turn = self._drawn(*few, by_rank=True)
            how = self.search, self.n_values, winner
            few_rows.search(self.launches, self.rows, few, level.n_summed, self.node, turn, *how)
        return _Searched(winner, self._summed(level, winner) if level.n_summed else None)

    def _summed(self, level: _Level, winner: Array) -> CudaHist | None:
        """Search the nodes that have sums; these, if all are there at once."""
        rank = self._drawn(level.summed, level.n_summed)
        if level.families is not None:
            derived = self._derived(level, level.families)
            self._choose(derived, rank, winner)
            return derived
        n_at_once = max(1, self.limits.budget // (2 * self._bytes(1)))
        n_features, width = len(self.bins.features), self.winner_width
        hist: CudaHist | None = None
        for first in range(0, level.n_summed, n_at_once):
            end = min(first + n_at_once, level.n_summed)
            hist = None  # its memory is for those that follow
            hist = self._tallied(level, first, end - first)
            own = rank[first * n_features : end * n_features] if self.draws else rank
            self._choose(hist, own, winner[first * width : end * width])
        return hist if level.n_summed <= n_at_once else None

    def _bytes(self, n: int) -> int:
        """What the sums of some nodes take."""
        return n * self.rows.stride * np.dtype(self.rows.planes.sum_dtype).itemsize

    def _drawn(self, nodes: Array, n: int, *, by_rank: bool = False) -> Array:
        """The place of each feature in the draw of each node, or the features in that order."""
        if not self.draws:
            return self.launches.constants(np.zeros(1, np.int32))[0]
        n_features = len(self.bins.features)
        drawn = self.dev.empty(n * n_features, np.int32)
        args = nodes, n, n_features, self.key, by_rank, drawn
        self.launches.over(grow.rank_features, n * n_features, *args)
        return drawn

    def _choose(self, hist: CudaHist, rank: Array, winner: Array) -> None:
        cuda_split.choose(self.launches, hist, self.search, self.n_values, rank, winner)

    def _derived(self, level: _Level, families: _Families) -> CudaHist:
        """Sums of a level from those of the smaller children and those of the parents."""
        built = cuda_histogram.tally_tiles(
            self.launches, self.rows, families.n_tallied, families.tile
        )
        if families.parents is None:
            return built
        source = Source(built.sums, families.built, families.parents.sums, families.above)
        return CudaHist.following(built.rows, level.n_summed, source, self.launches)

    def _tallied(self, level: _Level, first: int, n: int) -> CudaHist:
        """Sums of some nodes of a level, all of whose rows are added up."""
        tile, count = self._listed_tiles(level, first, n)
        n_tiles = int(self.dev.download(count)[grow.TALLIED_TILES])
        return cuda_histogram.tally_tiles(self.launches, self.rows, n, (tile, n_tiles))

    def _listed_tiles(self, level: _Level, first: int, n: int) -> tuple[Array, Array]:
        """The tiles of some nodes of a level that have sums, and how many there are."""
        tile, first_tile = self._room_for_tiles(level.summed_rows, n)
        count = self.dev.empty(grow.N_COUNTS, np.int64)
        table = self.node, self.channels.n, self.tuning.tile_rows
        self._in_block(make_list_tallied, level.summed, first, n, *table, first_tile, tile, count)
        return tile, count

    def _room_for_tiles(self, n_rows: int, n_nodes: int) -> tuple[Array, Array]:
        """Room for the tiles of so many nodes with so many rows together."""
        most = n_rows // self.tuning.tile_rows + n_nodes
        tile = self.dev.empty(most * histogram.TILE_COLUMNS, np.int64)
        return tile, self.dev.empty(n_nodes, np.int64)

    # Division.

    def divided(self, level: _Level, found: _Searched) -> _Level:
        """Split the nodes of a level that are worth it; the children that are searched next."""
        dev, limits = self.dev, self.limits
        self._reserve(self.n_nodes + 2 * level.n)
        moves = self._decided(level, found.winner)
        flags = dev.empty(moves.most_tiles * (self.tuning.route_rows // WARP), np.uint32)
        n_right = dev.empty(moves.most_tiles, np.int32)
        order = self.rows.order
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
        derives = found.hist is not None and self._bytes(4 * level.n_summed) <= limits.budget
        below, bound, before = self._settled(level, moves, n_right, derives=derives)
        dev.launch(
            make_move(self.tuning.route_rows),
            moves.most_tiles,
            self.tuning.route_threads,
            moves.tile,
            bound,
            flags,
            before,
            order,
            order,
        )
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
            seat=empty(level.n, np.int32),
            first_tile=empty(level.n, np.int64),
            tile=empty(most_tiles * route.TILE_COLUMNS, np.int64),
            test=empty(level.n * route.THRESHOLD_COLUMNS, np.int64),
            count=empty(grow.N_COUNTS, np.int64),
        )
        self._in_block(
            make_decide,
            level.frontier,
            level.seat,
            level.n,
            level.n_summed,
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
            moves.seat,
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
            level.seat,
            level.n,
            level.n_summed,
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
        rows = self.rows.order, self.n_outputs, self.rows.target.n_rows, self.span_key
        dev.launch(route.span, most_tiles, self.tuning.route_threads, tile, *rows, low, high)
        return place_of, low, high

    def _settled(
        self, level: _Level, moves: _Moves, n_right: Array, *, derives: bool
    ) -> tuple[_Level, Array, Array]:
        """The children, where rows of each node begin, and how many go right before each tile."""
        dev, channels, limits = self.dev, self.channels, self.limits
        n_most, most_summed = 2 * level.n, 2 * level.n_summed
        bound = dev.empty(level.n * route.BOUND_COLUMNS, np.int64)
        before = dev.empty(moves.most_tiles + 1, np.int64)
        frontier, seat, few = (dev.empty(n_most, np.int32) for _ in range(3))
        summed, tallied = (dev.empty(n, np.int32) for n in (most_summed, level.n_summed))
        built, above = (dev.empty(most_summed, np.int64) for _ in range(2))
        tile, first_tile = self._room_for_tiles(level.summed_rows, level.n_summed)
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
            self.few_rows,
            self.rows.half,
            derives,
            self.tuning.tile_rows,
            moves.most_tiles,
            moves.node,
            moves.seat,
            moves.first_tile,
            n_right,
            before,
            bound,
            frontier,
            seat,
            summed,
            few,
            built,
            above,
            tallied,
            first_tile,
            tile,
            moves.count,
        )
        families = _Families(0, (tile, 0), built, above) if derives else None
        return _Level(0, 0, 0, 0, frontier, seat, summed, few, families), bound, before

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
            rows=self._ended(start, np.where(is_leaf, n_rows, 0)),
        )

    def _ended(self, start: HostArray, n_rows: HostArray) -> CudaRows:
        """The rows at their last nodes."""
        # Trees of numbers are asked where rows end, and those of gradients twice.
        ends = None if self.channels.is_classes else self.launches.cut(start, n_rows)[0]
        return replace(self.rows, start=start, n_rows=n_rows, ends=ends)
