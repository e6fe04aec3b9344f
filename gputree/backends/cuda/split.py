"""The search for splits on the device: what its kernels are given, and what they have found."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from gputree.backends.contract import Rates, Search, Splits
from gputree.backends.cuda.histogram import CudaHist, Source
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.rows import CudaRows
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, Array, HostArray
from gputree.kernels.cuda import histogram, split
from gputree.kernels.cuda.gpu import WARP

make_scan = cache(split.make_scan)
make_rate = cache(split.make_rate)
make_choose = cache(split.make_choose)

# The shape of channels: whether they are classes, how many are scored, whether rows are counted,
# and how many there are.
Shape: TypeAlias = tuple[bool, int, bool, int]


def can_search(launches: Launches, channels: Channels, search: Search) -> bool:
    """Whether there are kernels for a search; others are made on the host.

    A warp keeps two sums of each channel in shared memory.
    """
    return search.criterion.user is None and _scan_warps(launches, channels.n) > 0


def best_splits(launches: Launches, hist: CudaHist, search: Search) -> Splits:
    """The best split of every node."""
    dev = launches.device
    if search.rank is None:
        (rank,) = launches.constants(np.zeros(1, np.int32))
    else:
        rank = dev.upload(search.rank.astype(np.int32))
    winner = dev.empty(hist.n_nodes * (split.LEFT + hist.channels.n), np.int64)
    n_values = tested_values(launches, hist.rows, search)
    choose(launches, hist, search, n_values, rank, winner)
    return _splits_of(dev.download(winner).reshape(hist.n_nodes, -1))


def rate(launches: Launches, hist: CudaHist, search: Search) -> Rates:
    """The best threshold of every feature of every node."""
    shape = hist.n_nodes, len(hist.bins.features), split.RATE_COLUMNS
    found = launches.device.empty(int(np.prod(shape)), np.int64)
    table, channels = _searched(hist, tested_values(launches, hist.rows, search))
    _scan(
        launches,
        make_rate(search.criterion.formulas),
        hist,
        *table,
        *channels,
        hist.rows.tables.unit,
        search.min_rows,
        max(1, search.min_weight),
        float(search.least_share),
        search.most_least_weight,
        found,
    )
    return _rates_of(launches.device.download(found).reshape(shape))


def choose(
    launches: Launches,
    hist: CudaHist,
    search: Search,
    n_values: Array,
    rank: Array,
    winner: Array,
) -> None:
    """Write the best split of every node, in words, to the device; nothing is waited for."""
    dev, n_warps = launches.device, launches.tuning.scan_warps
    n_items = hist.n_nodes * len(hist.bins.features)
    trimmed, score = dev.empty(n_items, np.float64), dev.empty(n_items, np.float64)
    key = dev.empty(n_items, np.int64)
    table, shape = _searched(hist, n_values)
    rules = search.min_rows, max(1, search.min_weight), float(search.ridge)
    scan = make_scan(search.criterion.formulas)
    places = hist.rows.tables.offset  # nobody looks at them where nothing is derived
    source = hist.source or Source(hist.sums, places, hist.sums, places)
    derived = hist.source is not None, *source
    unit = hist.rows.tables.unit
    _scan(launches, scan, hist, *table, *shape, *derived, unit, *rules, trimmed, score, key)
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


def tested_values(launches: Launches, rows: CudaRows, search: Search) -> Array:
    """How many values each feature has; where there are none, there are no thresholds."""
    if search.is_ordered is None:
        return rows.tables.n_values
    (shown,) = launches.constants(np.where(search.is_ordered, rows.bins.n_values, 0))
    return shown


def _searched(hist: CudaHist, n_values: Array) -> tuple[tuple[Any, ...], Shape]:
    """Sums with what has to be known to read them, and the shape of their channels."""
    rows, channels = hist.rows, hist.channels
    bounds = rows.stride, rows.tables.offset, n_values
    table = hist.n_nodes, len(rows.bins.features), hist.sums, *bounds
    return table, (channels.is_classes, channels.n_scored, channels.counts_rows, channels.n)


def _scan(launches: Launches, kernel: Any, hist: CudaHist, *args: Any) -> None:
    """Launch a kernel with a warp for every node and feature."""
    n_channels, n_items = hist.channels.n, hist.n_nodes * len(hist.bins.features)
    n_warps = _scan_warps(launches, n_channels)
    if hist.source is not None:
        # Each warp writes the sums of its item, so none may go along with another.
        n_warps = next(n for n in range(n_warps, 0, -1) if n_items % n == 0)
    blocks = -(-n_items // n_warps)
    shared = 16 * n_warps * n_channels
    launches.device.launch(kernel, blocks, n_warps * WARP, *args, shared=shared)


def _scan_warps(launches: Launches, n_channels: int) -> int:
    """Warps of a block: fewer where the sums of many classes take their shared memory."""
    fit = 4 * histogram.SHARED_WORDS // (16 * n_channels)
    return min(launches.tuning.scan_warps, fit)


def _splits_of(found: HostArray) -> Splits:
    """The best split of each node, from a row of words each."""
    return Splits(
        score=found[:, split.SCORE].copy().view(np.float64),
        feature=found[:, split.FEATURE].astype(FEATURE),
        code=found[:, split.CODE],
        next_code=found[:, split.NEXT],
        missing_slot=found[:, split.SLOT].astype(SLOT),
        left=found[:, split.LEFT :],
    )


def _rates_of(found: HostArray) -> Rates:
    """The best threshold of each feature of each node, from a row of words each."""
    return Rates(
        score=found[..., split.RATE_SCORE].copy().view(np.float64),
        code=found[..., split.RATE_CODE],
        next_code=found[..., split.RATE_NEXT],
        left_weight=found[..., split.RATE_LEFT],
        known_weight=found[..., split.RATE_KNOWN],
        n_cuts=found[..., split.RATE_CUTS],
    )
