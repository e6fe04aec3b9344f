"""How the work of a CUDA backend is cut up: groups of features, tiles of rows, limbs of amounts.

Tables of small numbers that kernels read; made on the host, and nothing here touches a device.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gputree.data.target import Channels
from gputree.dtypes import HostArray
from gputree.kernels.cuda import histogram
from gputree.kernels.cuda.gpu import SIMULATED, WARP
from gputree.runs import owners, within


@dataclass(frozen=True)
class Tuning:
    """Sizes of blocks and tiles. They change how fast a tree is grown, never the tree."""

    sum_threads: int = 512
    tile_rows: int = histogram.TILE_ROWS
    direct_rows: int = 512  # a node with fewer rows is not worth clearing shared memory
    scan_warps: int = 4
    route_threads: int = 256
    route_rows: int = 2048  # of a tile
    add_up_threads: int = 1024
    threads: int = 256  # where a thread is a row or a cell
    grow_threads: int = 1024  # of the one block that decides on all nodes of a level
    gradient_threads: int = 256
    gradient_blocks: int = 1024  # at most: each adds its part of a total to memory
    category_threads: int = 128  # of the block that divides the categories of a node
    attribution_threads: int = 128
    staged_bytes: int = 2**22  # of a matrix of the host, which travels some rows at a time
    value_slots: int = 2**13  # for distinct values of a column, twice as many as can be told apart
    sort_threads: int = 256
    sort_rows: int = 4096  # of a tile that is sorted by a digit
    few_rows: int = 512  # of the largest node that is searched from its rows, without sums by code

    def __post_init__(self) -> None:
        assert self.tile_rows <= histogram.TILE_ROWS
        assert self.route_rows % self.route_threads == 0 == self.route_threads % WARP
        assert self.gradient_threads % WARP == 0 == self.category_threads % WARP
        assert self.attribution_threads % WARP == 0
        assert self.value_slots.bit_count() == 1
        assert self.sort_rows % self.sort_threads == 0 == self.sort_threads % WARP


# Threads of the simulator are slow to start; small tiles make several of every kind.
SMALL = Tuning(
    *(2 * WARP, 16, 6, 1, 2 * WARP, 4 * WARP, 4, 8, 2 * WARP, 2 * WARP, 3),
    few_rows=5,
    category_threads=WARP,
    attribution_threads=WARP,
    staged_bytes=2**10,
    value_slots=64,
    sort_threads=2 * WARP,
    sort_rows=12 * WARP,
)
AUTOMATIC = SMALL if SIMULATED else Tuning()


@dataclass(frozen=True)
class Groups:
    """Features that are summed together, as tables of `tally.GROUP_COLUMNS` columns."""

    is_wide: bool  # groups of `summed` span four words; all others lie in one
    summed: HostArray  # in shared memory
    direct: HostArray  # all features, then once more, alone, those too wide for shared memory
    n_direct: int  # groups of all features
    n_unfit: int  # groups of features too wide for shared memory
    shared_bytes: int  # that a group needs at most

    @property
    def n_summed(self) -> int:
        return len(self.summed) // histogram.GROUP_COLUMNS


def plan_groups(
    n_codes: HostArray, n_planes: int, code_bits: int, shared_words: int = histogram.SHARED_WORDS
) -> Groups:
    """Groups as large as shared memory allows."""
    per_word = 32 // code_bits
    fits = n_codes * n_planes <= shared_words
    wide = _gather(n_codes, n_planes, 4 * per_word, shared_words)
    is_wide = bool(fits.all()) and len(wide) == -(-len(n_codes) // (4 * per_word))
    summed = wide if is_wide else _gather(n_codes, n_planes, per_word, shared_words)
    words = [
        range(first, min(first + per_word, len(n_codes)))
        for first in range(0, len(n_codes), per_word)
    ]
    unfit = [range(feature, feature + 1) for feature in np.flatnonzero(~fits).tolist()]
    most = max((len(group) * _width(n_codes, group) * n_planes for group in summed), default=0)
    return Groups(
        is_wide,
        _group_table(summed, n_codes, per_word),
        _group_table(words + unfit, n_codes, per_word),
        len(words),
        len(unfit),
        4 * most,
    )


def _gather(n_codes: HostArray, n_planes: int, per_load: int, shared_words: int) -> list[range]:
    """Neighbours whose codes come by one load, as long as their sums fit."""
    groups: list[range] = []
    for feature in np.flatnonzero(n_codes * n_planes <= shared_words).tolist():
        if groups:
            grown = range(groups[-1].start, feature + 1)
            is_near = groups[-1].stop == feature and feature % per_load
            if is_near and len(grown) * _width(n_codes, grown) * n_planes <= shared_words:
                groups[-1] = grown
                continue
        groups.append(range(feature, feature + 1))
    return groups


def _width(n_codes: HostArray, group: range) -> int:
    return int(n_codes[group.start : group.stop].max())


def _group_table(groups: list[range], n_codes: HostArray, per_word: int) -> HostArray:
    rows = [
        (g.start // per_word, g.start % per_word, len(g), g.start, _width(n_codes, g))
        for g in groups
    ]
    return np.array(rows, np.int32).reshape(-1)


@dataclass(frozen=True)
class Planes:
    """What each row adds to the sums: ones and limbs; see `kernels.cuda.tally`."""

    limb_counts: tuple[int, ...]  # in how many limbs each amount of a row comes
    limbs: HostArray  # table of `tally.LIMB_COLUMNS` columns
    n_planes: int
    has_ones: bool  # whether something counts rows
    one_plane: int
    one_channel: int
    one_step: int  # by how much the class of a row moves plane and channel of its one
    channel_plane: HostArray  # (channels,) the first plane of each
    channel_limbs: HostArray  # (channels,) how many planes it has
    sum_dtype: type[np.int32] | type[np.int64]  # of a histogram

    @property
    def n_limbs(self) -> int:
        return sum(self.limb_counts)

    @property
    def adds(self) -> tuple[bool, bool]:
        """Whether rows add limbs, and whether they add ones."""
        return self.n_limbs > 0, self.has_ones


def plan_planes(channels: Channels, is_weighted: bool, limb_counts: Sequence[int]) -> Planes:
    """Planes for channels whose amounts come in so many limbs each; the weight is the first."""
    if channels.is_classes and not is_weighted:
        one = np.ones(channels.n, np.int32)
        plane = np.arange(channels.n)
        none = np.zeros(0, np.int32)
        return Planes((), none, channels.n, True, 0, 0, 1, plane, one, np.int32)
    limbs: list[tuple[int, int, int, int, int]] = []
    plane_of: list[int] = []
    limbs_of: list[int] = []
    n_planes = 0

    def add(n_limbs: int, n_classes: int) -> None:
        nonlocal n_planes
        first_channel = len(plane_of)
        steps = (n_limbs, 1) if n_classes > 1 else (0, 0)
        limbs.extend((n_planes + k, first_channel, k, *steps) for k in range(n_limbs))
        for _ in range(n_classes):
            plane_of.append(n_planes)
            limbs_of.append(n_limbs)
            n_planes += n_limbs

    def count() -> tuple[int, int]:
        nonlocal n_planes
        plane_of.append(n_planes)
        limbs_of.append(1)
        n_planes += 1
        return n_planes - 1, len(plane_of) - 1

    one_plane, one_channel = 0, 0
    if is_weighted:
        add(limb_counts[0], channels.n_scored if channels.is_classes else 1)
    else:
        one_plane, one_channel = count()  # the weight of a row is 1
    for n_limbs in limb_counts[is_weighted:]:
        add(n_limbs, 1)
    if channels.counts_rows:
        one_plane, one_channel = count()
    return Planes(
        tuple(limb_counts),
        np.array(limbs, np.int32).reshape(-1),
        n_planes,
        not is_weighted or channels.counts_rows,
        one_plane,
        one_channel,
        0,
        np.array(plane_of, np.int64),
        np.array(limbs_of, np.int32),
        np.int64,
    )


def plan_gradients(channels: Channels, is_curved: bool) -> Planes:
    """Planes for narrow gradients, of which all sums fit into 32 bits, as do those of hessians."""
    planes = plan_planes(channels, is_curved, (1,) * (1 + is_curved))
    return replace(planes, sum_dtype=np.int32)


def magnitude(amount: HostArray) -> int:
    """The largest magnitude of some integers."""
    return max(abs(int(amount.min())), abs(int(amount.max()))) if amount.size else 0


def limb_count(most: int) -> int:
    """Limbs that hold magnitudes up to one; the last one has the sign."""
    return -(-max(most, 1).bit_length() // histogram.LIMB_BITS)


def tiles(
    start: HostArray, n_rows: HostArray, owner: HostArray, step: int
) -> tuple[HostArray, HostArray, HostArray]:
    """Rows of nodes in pieces of at most `step`: where they begin and end, and whose they are."""
    n_tiles = -(-n_rows // step)
    which = owners(n_tiles)
    first = start[which] + within(n_tiles) * step
    return first, np.minimum(first + step, (start + n_rows)[which]), owner[which]


def sum_table(start: HostArray, n_rows: HostArray, place: HostArray, step: int) -> HostArray:
    """The table of tiles that `tally` sums."""
    return np.stack(tiles(start, n_rows, place, step), axis=1).astype(np.int64).reshape(-1)


def route_table(start: HostArray, n_rows: HostArray, step: int) -> HostArray:
    """The table of tiles that `route` moves."""
    first, last, move = tiles(start, n_rows, np.arange(len(start)), step)
    move_tile = np.searchsorted(move, move)  # moves are in order, so the first tile of each
    return np.stack([first, last, move, move_tile], axis=1).astype(np.int64).reshape(-1)


def piece_table(start: HostArray, n: HostArray, step: int) -> HostArray:
    """The table of pieces that `route.pick` copies one after another."""
    first, last, _ = tiles(start, n, np.arange(len(start)), step)
    to = np.cumsum(last - first) - (last - first)
    return np.stack([first, to, last - first], axis=1).astype(np.int64).reshape(-1)


LEAST_NODES = 4  # whose sums a fit keeps at once: those of two siblings and of their parents


@dataclass(frozen=True)
class Estimate:
    """Bytes of device memory that a fit takes."""

    codes: int
    values: int  # while columns are coded, with rows on their way and lists of values
    rows: int  # row numbers, classes, amounts
    hist: int  # histograms at once

    @property
    def total(self) -> int:
        """Values are gone when rows come."""
        return self.codes + max(self.values, self.rows + self.hist)


def row_words(n_features: int, code_bits: int) -> int:
    """Words of a row of codes: a multiple of four, so that loads of 128 bits are aligned."""
    return -(-n_features // (4 * (32 // code_bits))) * 4


def estimate_memory(
    n_rows: int,
    n_features: int,
    *,
    code_bits: int = 8,
    channels: Channels | None = None,
    columns_at_once: int = 16,
    is_by_column: bool = False,
) -> Estimate:
    """What a table of this size takes; pessimistic where the data decide.

    Of histograms it takes as few as a fit can do with, which is more than that where memory is.
    """
    codes = n_rows * row_words(n_features, code_bits) * 4
    if is_by_column:
        codes += n_rows * n_features * code_bits // 8
    n_amounts = 0 if channels is None else channels.n
    is_counted = channels is None or (channels.is_classes and not channels.counts_rows)
    rows = n_rows * (4 + 4 + 1 + (0 if is_counted else 12 * n_amounts))
    cells = n_features * min(n_rows, 2**code_bits) * (2 if channels is None else channels.n)
    hist = LEAST_NODES * 8 * cells
    # A column has its values, a table of those that are distinct, and a list of an eighth of the
    # rows, each a value and the number of a row.
    of_column = n_rows * 8 + 16 * AUTOMATIC.value_slots + (n_rows // 8 + 1) * 12
    values = AUTOMATIC.staged_bytes + of_column * min(n_features, columns_at_once)
    return Estimate(codes, values, rows, hist)
