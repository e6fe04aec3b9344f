"""Sums of nodes on the device: rows into histograms, and the sums of siblings."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import numpy as np

from gputree.backends.contract import Siblings
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import sum_table
from gputree.backends.cuda.rows import CudaRows
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import histogram
from gputree.runs import begins

make_sum = cache(histogram.make_sum)
make_scatter = cache(histogram.make_scatter)

FEW_TILES = 4  # of a node, on average, that the host lists


class Source(NamedTuple):
    """What sums follow from that are not written yet: their search writes them."""

    built: Array  # sums of tallied nodes
    own_place: Array  # (nodes,) places among those
    above: Array  # sums of parents
    above_place: Array  # (nodes,) places among those; -1: the node itself was tallied


@dataclass(frozen=True)
class CudaHist:
    """Sums of some nodes."""

    rows: CudaRows
    sums: Array  # (nodes * places * channels,)
    n_nodes: int
    source: Source | None = None

    @classmethod
    def following(cls, rows: CudaRows, n_nodes: int, source: Source, launches: Launches) -> Self:
        """Room for sums that a search will write."""
        sums = launches.device.empty(n_nodes * rows.stride, source.built.dtype)
        return cls(rows, sums, n_nodes, source)

    @property
    def bins(self) -> Bins:
        return self.rows.bins

    @property
    def channels(self) -> Channels:
        return self.rows.target.channels


def tally(launches: Launches, rows: CudaRows, nodes: HostArray) -> CudaHist:
    """Sums of some nodes, each in its place."""
    start, n_rows = rows.start[nodes], rows.n_rows[nodes]
    step, is_small = launches.tuning.tile_rows, n_rows < launches.tuning.direct_rows
    large, small = np.flatnonzero(~is_small), np.flatnonzero(is_small)
    n_tiles = -(-n_rows[large] // step)
    n, rest = int(n_tiles.sum()), sum_table(start[small], n_rows[small], small, step)
    if n > FEW_TILES * len(large):  # a list of them is made where it is read
        args = start[large], n_rows[large], begins(n_tiles), large
        *told, others = launches.device.pack(*args, rest)
        tiles = launches.device.empty(n * histogram.TILE_COLUMNS, np.int64)
        launches.over(histogram.list_sum_tiles, n, len(large), n, step, *told, tiles)
    else:
        table = sum_table(start[large], n_rows[large], large, step)
        tiles, others = launches.device.pack(table, rest)
    n_others = len(rest) // histogram.TILE_COLUMNS
    return tally_tiles(launches, rows, len(nodes), (tiles, n), (others, n_others))


def tally_tiles(
    launches: Launches,
    rows: CudaRows,
    n_nodes: int,
    large: tuple[Array, int],
    small: tuple[Array, int] | None = None,
) -> CudaHist:
    """Sums of nodes whose rows are cut into large tiles, or are a small one; with how many."""
    groups = rows.groups
    sums = launches.device.zeros(n_nodes * rows.stride, rows.planes.sum_dtype)
    if groups.n_summed:
        _sum(launches, rows, *large, sums)
    if small is not None:
        _scatter(launches, rows, *small, 0, groups.n_direct, sums)
    # Features too wide for shared memory.
    _scatter(launches, rows, *large, groups.n_direct, groups.n_unfit, sums)
    return CudaHist(rows, sums, n_nodes)


def derive(
    launches: Launches, built: CudaHist, siblings: Siblings, above: CudaHist | None
) -> CudaHist:
    """Sums of a frontier from those tallied and those of the parents."""
    if above is None and np.array_equal(siblings.built, np.arange(built.n_nodes)):
        return built
    n_nodes, stride = len(siblings.node), built.rows.stride
    own, parent = launches.device.pack(
        siblings.built.astype(np.int64), siblings.parent.astype(np.int64)
    )
    sums = launches.device.empty(n_nodes * stride, built.sums.dtype)
    launches.over(
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
    return CudaHist(built.rows, sums, n_nodes)


def _sum(launches: Launches, rows: CudaRows, tile: Array, n_tiles: int, sums: Array) -> None:
    """Add tiles by way of shared memory."""
    if not n_tiles:
        return
    groups, planes, data, tables = rows.groups, rows.planes, rows.data, rows.tables
    launches.device.launch(
        make_sum(data.code_bits, groups.is_wide, *planes.adds),
        n_tiles * groups.n_summed,
        launches.tuning.sum_threads,
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
        rows.stride,
        sums,
        shared=groups.shared_bytes,
    )


def _scatter(
    launches: Launches,
    rows: CudaRows,
    tile: Array,
    n_tiles: int,
    first_group: int,
    n_groups: int,
    sums: Array,
) -> None:
    """Add tiles to the sums of some groups of features directly."""
    if not n_tiles * n_groups:
        return
    planes, data = rows.planes, rows.data
    launches.device.launch(
        make_scatter(data.code_bits, *planes.adds),
        n_tiles * n_groups,
        min(launches.tuning.threads, launches.tuning.sum_threads),
        tile,
        first_group,
        n_groups,
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
        rows.stride,
        sums,
    )
