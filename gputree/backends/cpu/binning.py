"""Columns of values for the CPU backend: read where they are, counted, listed and coded."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.cpu.distinct import NONE, Listing, page_table
from gputree.backends.cpu.lanes import Lane
from gputree.data.bins import FeatureBins, midpoint
from gputree.data.cuts import LISTED_ROWS, distinct
from gputree.data.number_line import Buckets, bucket_in, bucket_of, table_length
from gputree.data.table import Column, whole_matrix
from gputree.dtypes import MISSING_CATEGORY, HostArray
from gputree.kernels.buckets import BUCKETS, PAGE
from gputree.kernels.cpu import binning

SIDES = "below", "above"  # of a cut


def readable(matrix: HostArray) -> HostArray:
    """The matrix as kernels take it: they are compiled for arrays that are not written to."""
    view = matrix.view()
    view.setflags(write=False)
    return view


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
    """The values of a column as floats: numbers, or category numbers, NaN where missing."""
    values = to_numpy(column.values)
    if column.categories is None:
        return values
    return np.where(values == MISSING_CATEGORY, np.nan, values).astype(np.float32)


@dataclass
class CpuValues:
    """Some columns where they are: neighbours of one matrix together, others one by one."""

    blocks: list[HostArray]  # (rows, columns of the block)
    n_missing: HostArray | None = None  # (columns,), once counted

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "CpuValues":
        whole = whole_matrix(columns)
        if whole is not None:
            return cls([readable(to_numpy(whole))])
        arrays = [floats(column) for column in columns]
        matrix = as_matrix(arrays)
        blocks = [array[:, None] for array in arrays] if matrix is None else [matrix]
        return cls([readable(block) for block in blocks])

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
    binning.count_missing(block, n_missing)
    return n_missing


def sketch(
    lane: Lane, block: HostArray, weight: HostArray | None
) -> tuple[list[tuple[HostArray, HostArray]], HostArray]:
    """Buckets of each column that hold known values, with their weights; missing values."""
    shape = block.shape[1], BUCKETS + 1
    counts = lane.room("buckets", shape, np.int32 if weight is None else np.int64)
    counts[:] = 0
    n_missing = np.zeros(len(counts), np.int64)
    binning.count(block, NONE if weight is None else weight, counts, n_missing)
    return [binning.occupied(cells[:BUCKETS]) for cells in counts], n_missing


def sketch_within(
    lane: Lane, block: HostArray, weight: HostArray | None, within: Sequence[HostArray]
) -> list[tuple[HostArray, HostArray]]:
    """Fine buckets of each column inside some coarse ones, with their weights."""
    asked = [column for column, pages in enumerate(within) if pages.size]
    page_of = page_table(lane, within)
    shape = len(within), max(table_length(pages) for pages in within)
    counts = lane.room("buckets", shape, np.int32 if weight is None else np.int64)
    counts[asked] = 0
    given = NONE if weight is None else weight
    binning.count_fine(block, given, np.array(asked, np.int64), page_of, counts)
    found = [(NONE, NONE)] * len(within)
    for column in asked:
        cell, amount = binning.occupied(counts[column, PAGE : table_length(within[column])])
        found[column] = bucket_in(PAGE + cell, within[column]), amount
    return found


def refine(
    lane: Lane, block: HostArray, weight: HostArray | None, wanted: Sequence[Buckets | None]
) -> list[tuple[HostArray, HostArray]]:
    """Distinct known values of each column inside its wanted buckets, and their weights."""
    buckets = [own for own in wanted if own is not None]
    if len(buckets) == len(wanted):
        return Listing(lane, block, weight, buckets).by_column()
    if weight is None:
        return _all_values(block)
    return [_weighted_values(line, weight) for line in block.T]


def _all_values(block: HostArray) -> list[tuple[HostArray, HostArray]]:
    """Distinct values of short columns, and how many rows have each; all columns at once."""
    ordered = np.sort(block.T, axis=1)  # missing values come last
    is_first = ordered == ordered
    n_known = np.count_nonzero(is_first, axis=1)
    is_first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    at = np.flatnonzero(is_first)
    value = ordered.ravel()[at].astype(np.float64)
    n_values = np.count_nonzero(is_first, axis=1)
    bound = np.cumsum(n_values)
    end = np.append(at[1:], 0)
    has_values = n_values > 0
    last_known = np.arange(len(ordered)) * ordered.shape[1] + n_known
    end[bound[has_values] - 1] = last_known[has_values]
    weight = end - at
    places = pairwise([0, *bound.tolist()])
    return [(value[first:last], weight[first:last]) for first, last in places]


def _weighted_values(line: HostArray, weight: HostArray) -> tuple[HostArray, HostArray]:
    """Distinct values of a short column, and the weight of each."""
    counts = (line == line) & (weight > 0)
    return distinct(line[counts], weight[counts])


def encode(lane: Lane, block: HostArray, bins: Sequence[FeatureBins], code: HostArray) -> None:
    """Write the codes of some columns, (columns, rows)."""
    if len(block) <= LISTED_ROWS:
        below, above = (np.concatenate([getattr(f, side) for f in bins]) for side in SIDES)
        first_cut = np.cumsum([0, *(len(feature.below) for feature in bins)])
        missing_code = np.array([feature.n_codes - 1 for feature in bins])
        binning.search_codes(block, midpoint(below, above), first_cut, missing_code, code)
        return
    most = max(len(feature.cut) for feature in bins)
    cut = np.full((len(bins), most + 2), np.inf)
    table = lane.room("buckets", (len(bins), BUCKETS + 1), np.uint32)
    for column, feature in enumerate(bins):
        cut[column, : len(feature.cut)] = feature.cut
        binning.tabulate(bucket_of(feature.cut), feature.n_codes - 1, table[column])
    binning.encode(block, table, cut, code)
