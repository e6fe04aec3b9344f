"""What the CUDA backend keeps of a table and of the rows of each node, and how rows are sorted."""

from dataclasses import dataclass, field, replace

import numpy as np

from gputree.backends.contract import Moves
from gputree.backends.cuda.launch import Launches, Tiles
from gputree.backends.cuda.plan import Groups, Planes, plan_groups
from gputree.backends.row_lists import with_room
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import STAY, Array, HostArray
from gputree.kernels.cuda import leaves, route
from gputree.runs import begins, within

# Turns round the bits of negative numbers, which order the other way.
ORDERED = np.int64(route.LARGEST)


@dataclass(frozen=True)
class CudaData:
    """The codes of a table."""

    words: Array  # (rows * row_words,) codes row by row, low bits first
    by_column: Array  # (features * rows + 1,) the same column by column; one entry where not kept
    code_bits: int
    row_words: int
    n_features: int
    n_rows: int


@dataclass(frozen=True)
class CudaTables:
    """What stays the same for a whole tree, on the device."""

    offset: Array  # (features + 1,) where each begins in a histogram
    n_values: Array  # (features,)
    unit: Array  # (scored channels,)
    summed: Array  # groups of features, as in Groups
    direct: Array
    limbs: Array  # as in Planes
    channel_plane: Array
    channel_limbs: Array


@dataclass(frozen=True)
class CudaRows:
    """The rows of each node, one node after another."""

    data: CudaData
    bins: Bins
    target: Target
    planes: Planes
    groups: Groups
    tables: CudaTables
    label: Array  # (rows,), one entry for a regression
    limb: Array  # (limbs * rows,), one entry where every row adds 1 only
    point: Array | None  # (outputs * rows,) targets, where they are no gradients
    order: Array  # (rows,) row numbers, node by node
    start: HostArray  # (nodes,) where a node's rows begin in `order`
    n_rows: HostArray  # (nodes,) how many it has; 0 for one all of whose rows have moved
    half: int = 0  # where the second half of `order` begins, if rows go to and fro between two
    kept: dict[str, Array] = field(default_factory=dict)  # what was made when it was first asked
    ends: Tiles | None = None  # the tiles of the rows at all nodes, where they were cut ahead

    @property
    def stride(self) -> int:
        """How many sums a node has."""
        return self.bins.width * self.target.channels.n


def span_keys(launches: Launches, rows: CudaRows) -> Array:
    """Integers in the order of the targets, (outputs * rows,), made when first asked for."""
    if "key" not in rows.kept:
        assert rows.point is not None
        n, point = len(rows.point), rows.point
        key = launches.device.empty(n, np.int64)
        launches.over(leaves.order_points, n, n, point, key)
        rows.kept["key"] = key
    return rows.kept["key"]


def ends_of(launches: Launches, rows: CudaRows) -> Tiles:
    """The tiles of the rows at all nodes, each with the number of its node."""
    return rows.ends or launches.cut(rows.start, rows.n_rows)[0]


def put_together(
    launches: Launches,
    data: CudaData,
    bins: Bins,
    target: Target,
    planes: Planes,
    label: Array,
    limb: Array,
    order: Array,
    start: HostArray,
    n_rows: HostArray,
    point: Array | None = None,
) -> CudaRows:
    """Rows whose channels are on the device already."""
    groups = plan_groups(bins.n_codes, planes.n_planes, data.code_bits)
    tables = CudaTables(
        *launches.constants(
            bins.offset,
            bins.n_values,
            np.array(target.channels.units),
            groups.summed,
            groups.direct,
            planes.limbs,
            planes.channel_plane.astype(np.int32),
            planes.channel_limbs,
        )
    )
    return CudaRows(
        data, bins, target, planes, groups, tables, label, limb, point, order, start, n_rows
    )


@dataclass(frozen=True)
class Destinations:
    """Where rows of moving nodes may go: to each child, and last of all nowhere."""

    numbers: HostArray  # (codes of the tested features,) by which rows are sorted
    number: HostArray  # (ways, move by move)
    first: HostArray  # (moves,) where the ways of each begin
    n_bits: int  # of the largest number

    @property
    def last(self) -> HostArray:
        """The place of each move's last way among its ways."""
        return np.diff(self.first, append=len(self.number)) - 1

    def bit(self, bit: int) -> HostArray:
        """One bit of `numbers`."""
        return (self.numbers >> bit & 1).astype(np.uint8)

    def n_left(self, bit: int, n_rows: HostArray) -> HostArray:
        """How many rows of each move have a 0 there, if the ways have `n_rows` rows."""
        return np.add.reduceat(np.where(self.number >> bit & 1, 0, n_rows), self.first)


def ways_of(moves: Moves) -> Destinations:
    """The ways of some moves; rows that stay have a number above those of all children."""
    n_ways, above = moves.n_children + 1, int(moves.n_children.max())
    stays = moves.table == STAY
    numbers = np.where(stays, above, moves.table) if stays.any() else moves.table
    first = begins(n_ways)
    number = within(n_ways)
    number[first + moves.n_children] = above
    return Destinations(
        numbers.astype(np.uint16), number, first, int(numbers.max()).bit_length() or 1
    )


def way_counts(moves: Moves, n_moving: HostArray) -> HostArray | None:
    """How many rows take each way, where the rows of each child are known."""
    if moves.n_rows is None:
        return None
    before = begins(moves.n_children)
    n_staying = n_moving - np.add.reduceat(moves.n_rows, before)
    return np.insert(moves.n_rows, before + moves.n_children, n_staying).astype(np.int64)


def with_children(
    rows: CudaRows, moves: Moves, ways: Destinations, n_found: HostArray, place: HostArray
) -> CudaRows:
    """The rows with a list for each child, and for what its parent keeps, from a place on."""
    children = moves.children
    start, n_rows = with_room(rows.start, rows.n_rows, int(children.max()) + 1)
    before = begins(n_found)
    begin = before + np.repeat(place - before[ways.first], moves.n_children + 1)
    stays = ways.first + moves.n_children
    start[children], n_rows[children] = np.delete(begin, stays), np.delete(n_found, stays)
    start[moves.node], n_rows[moves.node] = begin[stays], n_found[stays]
    return replace(rows, start=start, n_rows=n_rows, ends=None)
