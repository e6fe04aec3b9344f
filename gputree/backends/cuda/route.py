"""Rows to children, for the CUDA backend: which way they go, and a list for each child."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from gputree.backends.contract import Moves
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import route_table
from gputree.backends.cuda.rows import (
    CudaData,
    CudaRows,
    Destinations,
    way_counts,
    ways_of,
    with_children,
)
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import grow, route
from gputree.kernels.cuda.gpu import WARP

make_choose = cache(route.make_choose)
make_add_up = cache(route.make_add_up)
make_move = cache(route.make_move)

# Codes as an array, and how far apart rows and features are in it.
Codes: TypeAlias = tuple[Array, int, int]


@dataclass(frozen=True)
class Chosen:
    """The side of every row of some tiles."""

    tile: Array  # a route table
    flags: Array  # one bit per row, 1 for the right side
    n_right: Array  # (tiles,)


def routed(
    launches: Launches, rows: CudaRows, moves: Moves, codes: Codes | None = None
) -> CudaRows:
    """Rows to children, by codes of the table or by others.

    They go to the same places of the other half of the list, where those of no node are.
    """
    rows = in_halves(launches, rows)
    start, n_rows = rows.start[moves.node], rows.n_rows[moves.node]
    ways = ways_of(moves)
    places = start, np.where(start < rows.half, start + rows.half, start - rows.half)
    table, *other = (
        route_table(place, n_rows, launches.tuning.route_rows) for place in places[: ways.n_bits]
    )
    if not table.size:  # there is nobody to go anywhere
        return with_children(rows, moves, ways, np.zeros(len(ways.number), np.int64), start)
    dev, bits = launches.device, range(ways.n_bits)
    codes = codes or codes_in(rows.data)
    tests = np.stack([moves.feature, moves.start], axis=1).astype(np.int64)
    n_found = way_counts(moves, n_rows)
    if n_found is None and ways.n_bits > 1:
        n_found = _count_ways(launches, rows, codes, tests, ways, table)
    bounds = []
    if n_found is not None:
        bounds = [bound_of(places[1 - bit % 2], ways, bit, n_found) for bit in bits]
    test, *told = dev.pack(tests, *map(ways.bit, bits), table, *other, *bounds)
    tiles, bound = told[ways.n_bits :][: 1 + len(other)], told[ways.n_bits + 1 + len(other) :]
    for bit in bits:
        chosen = choose(launches, codes, test, told[bit], tiles[bit % 2], rows.order)
        if n_found is None:
            n_found = _sides(launches, chosen, ways, table, n_rows)
            bound = [dev.upload(bound_of(places[1], ways, bit, n_found))]
        move(launches, chosen, bound[bit], rows.order, rows.order)
    assert n_found is not None
    return with_children(rows, moves, ways, n_found, places[ways.n_bits % 2])


def in_halves(launches: Launches, rows: CudaRows) -> CudaRows:
    """The rows in a list with as much room behind them; this is made once per tree."""
    if rows.half:
        return rows
    n = len(rows.order)
    order = launches.device.empty(2 * n, rows.order.dtype)
    launches.over(grow.copy, n, n, rows.order, order)
    return replace(rows, order=order, half=n)


def bound_of(start: HostArray, ways: Destinations, bit: int, n_found: HostArray) -> HostArray:
    """Where the rows of each move will begin, and how many of them go left."""
    return np.stack([start, ways.n_left(bit, n_found)], axis=1).astype(np.int64)


def choose(
    launches: Launches, codes: Codes, test: Array, bits: Array, tile: Array, order: Array
) -> Chosen:
    """Find the side of each row of a route table: what `bits` has for its code."""
    dev, tuning = launches.device, launches.tuning
    n_tiles = len(tile) // route.TILE_COLUMNS
    flags = dev.empty(n_tiles * (tuning.route_rows // WARP), np.uint32)
    n_right = dev.empty(n_tiles, np.int32)
    dev.launch(
        make_choose(tuning.route_rows),
        n_tiles,
        tuning.route_threads,
        tile,
        test,
        bits,
        order,
        *codes,
        flags,
        n_right,
    )
    return Chosen(tile, flags, n_right)


def move(launches: Launches, chosen: Chosen, bound: Array, order: Array, moved: Array) -> None:
    """Write the rows of each tile to the left or right part of their node."""
    dev, tuning = launches.device, launches.tuning
    n_tiles = len(chosen.n_right)
    before = dev.empty(n_tiles, np.int64)
    add_up = make_add_up(tuning.add_up_threads)
    dev.launch(add_up, 1, tuning.add_up_threads, n_tiles, chosen.n_right, before)
    dev.launch(
        make_move(tuning.route_rows),
        n_tiles,
        tuning.route_threads,
        chosen.tile,
        bound,
        chosen.flags,
        before,
        order,
        moved,
    )


def codes_of(launches: Launches, rows: CudaRows, row: HostArray, feature: HostArray) -> HostArray:
    if not row.size:
        return np.empty(0, np.int64)
    dev = launches.device
    found = dev.empty(len(row), np.int32)
    pairs = dev.pack(row.astype(np.int32), feature.astype(np.int32))
    launches.over(route.read_codes, len(row), len(row), *pairs, *codes_in(rows.data), found)
    return dev.download(found).astype(np.int64)


def copied(launches: Launches, data: CudaData, lists: Sequence[tuple[Array, int]]) -> CudaData:
    """The codes of some lists of rows, each with its length; not by columns."""
    dev, n_rows, width = launches.device, sum(n for _, n in lists), data.row_words
    words, first = dev.empty(n_rows * width, np.uint32), 0
    for row, n in lists:
        own = words[first * width : (first + n) * width]
        launches.over(route.copy_rows, n * width, 0, n, row, width, data.words, own)
        first += n
    none = dev.empty(1, data.by_column.dtype)
    return replace(data, words=words, by_column=none, n_rows=n_rows)


def codes_in(data: CudaData) -> Codes:
    """The codes of a table where one of them is soonest read."""
    if len(data.by_column) > 1:
        return data.by_column, 1, data.n_rows
    codes = data.words.view(f"u{data.code_bits // 8}")
    return codes, data.row_words * 32 // data.code_bits, 1


def _sides(
    launches: Launches, chosen: Chosen, ways: Destinations, table: HostArray, n_rows: HostArray
) -> HostArray:
    """How many rows take each way where two sides are all there are: the tiles tell."""
    own_move = table.reshape(-1, route.TILE_COLUMNS)[:, route.MOVE]
    n_tile = launches.device.download(chosen.n_right)
    n_right = np.bincount(own_move, n_tile, minlength=len(n_rows)).astype(np.int64)
    n_ways = np.diff(ways.first, append=len(ways.number))
    right, left = np.repeat(n_right, n_ways), np.repeat(n_rows - n_right, n_ways)
    return np.where(ways.number == 0, left, np.where(ways.number == 1, right, 0))


def _count_ways(
    launches: Launches,
    rows: CudaRows,
    codes: Codes,
    tests: HostArray,
    ways: Destinations,
    table: HostArray,
) -> HostArray:
    """How many rows take each way."""
    dev = launches.device
    n_found = dev.zeros(len(ways.number), np.int32)
    way = np.stack([ways.first, ways.last], axis=1)
    told = tests, way.astype(np.int64), ways.numbers
    launches.tiled(route.count_ways, table, told, rows.order, *codes, n_found)
    return dev.download(n_found).astype(np.int64)
