"""Columns of values for the CPU backend: read where they are, counted, listed and coded."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.cpu_lanes import Lane
from gputree.data.bins import FeatureBins
from gputree.data.cuts import LISTED_ROWS, bucket_of, distinct, searched_codes
from gputree.data.table import Column
from gputree.dtypes import MISSING_LEVEL, HostArray
from gputree.kernels.buckets import BUCKETS
from gputree.kernels.cpu import coding

NONE = np.empty(0, np.int64)  # stands for weights or classes that are not there


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


def floats(column: Column) -> HostArray:
    """The values of a column as floats: numbers, or level numbers, NaN where missing."""
    values = to_numpy(column.values)
    if column.levels is None:
        return values
    return np.where(values == MISSING_LEVEL, np.nan, values).astype(np.float32)


@dataclass
class CpuValues:
    """Some columns where they are: neighbours of one matrix together, others one by one."""

    blocks: list[HostArray]  # (rows, columns of the block)
    n_missing: HostArray | None = None  # (columns,), once counted

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "CpuValues":
        arrays = [floats(column) for column in columns]
        matrix = as_matrix(arrays)
        return cls([array[:, None] for array in arrays] if matrix is None else [matrix])

    @property
    def n_rows(self) -> int:
        return len(self.blocks[0])

    def with_places(self) -> list[tuple[HostArray, slice]]:
        """The blocks, and which columns each of them has."""
        bound = np.cumsum([0, *(block.shape[1] for block in self.blocks)]).tolist()
        places = [slice(first, last) for first, last in pairwise(bound)]
        return list(zip(self.blocks, places, strict=True))


def count_missing(block: HostArray) -> HostArray:
    """How many values of each column are missing."""
    n_missing = np.zeros(block.shape[1], np.int64)
    coding.count_missing(block, n_missing)
    return n_missing


def sketch(
    lane: Lane, block: HostArray, weight: HostArray | None
) -> tuple[list[tuple[HostArray, HostArray]], HostArray]:
    """Buckets of each column that hold known values, with their weights; missing values."""
    shape = block.shape[1], BUCKETS + 1
    counts = lane.room("buckets", shape, np.int32 if weight is None else np.int64)
    counts[:] = 0
    n_missing = np.zeros(len(counts), np.int64)
    coding.count(block, NONE if weight is None else weight, counts, n_missing)
    return [coding.occupied(cells) for cells in counts], n_missing


def refine(
    lane: Lane, block: HostArray, weight: HostArray | None, wanted: Sequence[HostArray | None]
) -> list[tuple[HostArray, HostArray]]:
    """Distinct known values of each column inside its wanted buckets, and their weights."""
    if any(buckets is None for buckets in wanted):
        return [_every(block[:, column], weight) for column in range(block.shape[1])]
    given = NONE if weight is None else weight
    n_rows, n_columns = block.shape
    is_wanted = lane.room("is_wanted", (n_columns, BUCKETS + 1), np.bool_)
    for column, buckets in enumerate(wanted):
        is_wanted[column] = False
        is_wanted[column, buckets] = True
    is_wanted[:, BUCKETS] = False
    room = n_rows // 8  # few values are wanted, unless they crowd together
    members = lane.room("members", (n_columns, room), block.dtype)
    weights = lane.room("weights", (n_columns, 0 if weight is None else room), np.int64)
    n_found = np.zeros(n_columns, np.int64)
    coding.gather(block, given, is_wanted, members, weights, n_found)
    found = []
    for column, n in enumerate(n_found.tolist()):
        if n <= room:
            own = members[column, :n], None if weight is None else weights[column, :n]
            found.append(distinct(*own))
        else:
            line = block[:, column : column + 1]
            found.append(_crowded(line, weight, is_wanted[column : column + 1], n))
    return found


def _every(line: HostArray, weight: HostArray | None) -> tuple[HostArray, HostArray]:
    """Distinct values and weights of a short column."""
    is_known = line == line
    if weight is None:
        return distinct(line[is_known], None)
    is_known &= weight > 0
    return distinct(line[is_known], weight[is_known])


def _crowded(
    line: HostArray, weight: HostArray | None, is_wanted: HostArray, n: int
) -> tuple[HostArray, HostArray]:
    """Distinct values and weights where many are wanted: most often a few that come again."""
    given = NONE if weight is None else weight
    bucket = np.flatnonzero(is_wanted)
    rank = np.full(BUCKETS + 1, -1, np.int32)
    rank[bucket] = np.arange(len(bucket))
    low, high = np.empty((2, len(bucket)), line.dtype)
    total = np.zeros(len(bucket), np.int64)
    coding.span(line[:, 0], given, rank, low, high, total)
    is_there = total > 0
    if (low[is_there] == high[is_there]).all():
        return low[is_there].astype(np.float64) + 0.0, total[is_there]
    members = np.empty((1, n), line.dtype)
    weights = np.empty((1, 0 if weight is None else n), np.int64)
    coding.gather(line, given, is_wanted, members, weights, np.zeros(1, np.int64))
    return distinct(members[0], None if weight is None else weights[0])


def encode(lane: Lane, block: HostArray, bins: Sequence[FeatureBins], code: HostArray) -> None:
    """Write the codes of some columns, (columns, rows)."""
    if len(block) <= LISTED_ROWS:
        for column, feature in enumerate(bins):
            code[column] = searched_codes(block[:, column], feature)
        return
    most = max(len(feature.cut) for feature in bins)
    cut = np.full((len(bins), most + 2), np.inf)
    table = lane.room("buckets", (len(bins), BUCKETS + 1), np.uint32)
    for column, feature in enumerate(bins):
        cut[column, : len(feature.cut)] = feature.cut
        coding.tabulate(bucket_of(feature.cut), feature.n_codes - 1, table[column])
    coding.encode(block, table, cut, code)
