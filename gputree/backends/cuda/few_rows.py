"""The search in nodes of few rows, which have no sums by code: what its kernel is given."""

from functools import cache

from gputree.backends.contract import Search
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.rows import CudaRows
from gputree.dtypes import Array
from gputree.kernels.cuda import few_rows, histogram
from gputree.kernels.cuda.gpu import SIMULATED, WARP

make_search = cache(few_rows.make_search)

KEY_BYTES, SUM_BYTES = 4, 8


def most_rows(launches: Launches, n_channels: int) -> int:
    """Rows of the largest nodes that are searched so; 0 where their sums have no room."""
    n = min(launches.tuning.few_rows, few_rows.MOST_ROWS)
    return n if n > 0 and _n_warps(launches, n_channels, n) > 0 else 0


def search(
    launches: Launches,
    rows: CudaRows,
    few: tuple[Array, int],
    n_summed: int,
    nodes: Array,
    turn: Array,
    how: Search,
    n_values: Array,
    winner: Array,
) -> None:
    """Write the best split of some nodes behind those of `n_summed` others."""
    channels, planes, tables, data = rows.target.channels, rows.planes, rows.tables, rows.data
    most = most_rows(launches, channels.n)
    n_warps = _n_warps(launches, channels.n, most)
    launches.device.launch(
        make_search(how.criterion.formulas),
        few[1],
        n_warps * WARP,
        few[0],
        n_summed,
        nodes,
        _power(most),
        len(rows.bins.features),
        turn,
        how.n_drawn,
        n_values,
        rows.order,
        data.words,
        data.row_words,
        data.code_bits,
        rows.label,
        rows.limb,
        tables.limbs,
        planes.n_limbs,
        rows.target.n_rows,
        planes.has_ones,
        planes.one_channel,
        planes.one_step,
        channels.is_classes,
        channels.n_scored,
        channels.counts_rows,
        channels.n,
        tables.unit,
        how.min_rows,
        max(1, how.min_weight),
        float(how.ridge),
        winner,
        shared=_shared_bytes(n_warps, channels.n, most),
    )


def _n_warps(launches: Launches, n_channels: int, most: int) -> int:
    """Warps of a block, each with a feature at a time: as many as their shared memory allows."""
    if SIMULATED:  # all warps of a block would have to take the same turns
        return int(_shared_bytes(1, n_channels, most) <= 4 * histogram.SHARED_WORDS)
    n_warps = launches.tuning.scan_warps
    while n_warps and _shared_bytes(n_warps, n_channels, most) > 4 * histogram.SHARED_WORDS:
        n_warps -= 1
    return n_warps


def _shared_bytes(n_warps: int, n_channels: int, most: int) -> int:
    """Sums of the node, and for each warp sums, what it has found, and its rows."""
    words = n_channels + n_warps * (n_channels + few_rows.TOLD)
    return SUM_BYTES * words + KEY_BYTES * n_warps * _power(most)


def _power(most: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (most - 1).bit_length()
