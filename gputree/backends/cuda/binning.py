"""Columns of values for the CUDA backend: brought to the device, counted, listed and coded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gputree.backends.cuda.device import Device
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import estimate_memory, row_words
from gputree.backends.cuda.rows import CudaData
from gputree.data.bins import FeatureBins
from gputree.data.cuts import distinct
from gputree.data.number_line import Buckets, bucket_in, fill_pages, table_length
from gputree.data.sparse import dense
from gputree.data.table import Column, whole_matrix
from gputree.dtypes import MISSING_CATEGORY, Array, HostArray, code_dtype
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import binning
from gputree.kernels.cuda.gpu import WARP

BUCKETS = binning.BUCKETS
MOST_BLOCKS = 2**16  # of a launch

make_encode = cache(binning.make_encode)
make_turn = cache(binning.make_turn)


@dataclass
class CudaValues:
    """Columns one after another."""

    values: Array  # (columns * rows,)
    n_columns: int
    n_rows: int
    n_missing: HostArray | None = None  # (columns,), once counted
    # The weights that were last brought, which are asked for more than once.
    weight: tuple[HostArray | None, Array] | None = None


def reserve(device: Device, n_features: int, n_rows: int, most_codes: int) -> CudaData:
    code_bits = 8 * np.dtype(code_dtype(most_codes)).itemsize
    n_words = row_words(n_features, code_bits)
    is_by_column = has_room_by_column(device, n_features, n_rows, code_bits)
    return CudaData(
        device.zeros(n_rows * n_words, np.uint32),
        # One more: the last code alone would be taken for no copy.
        device.empty(n_features * n_rows + 1 if is_by_column else 1, f"u{code_bits // 8}"),
        code_bits,
        n_words,
        n_features,
        n_rows,
    )


def has_room_by_column(device: Device, n_features: int, n_rows: int, code_bits: int) -> bool:
    """Whether there is room for a copy of the codes by columns; an error if for nothing."""
    free = device.free_bytes()
    if free is None:
        return True
    with_copy, without = (
        estimate_memory(n_rows, n_features, code_bits=code_bits, is_by_column=copy).total
        for copy in (True, False)
    )
    if without > free:
        raise OutOfMemory(
            f"{n_rows:,} rows x {n_features:,} features need about {without / 2**30:.1f} GiB "
            f"on {device.name}, and {free / 2**30:.1f} GiB are free; use fewer columns or "
            "rows, max_bins of at most 255, a larger device, or device='cpu'"
        )
    return with_copy < 0.8 * free


def hold(launches: Launches, columns: Sequence[Column]) -> CudaValues:
    matrix = whole_matrix(columns)
    found = None if matrix is None else hold_rows(launches, matrix, np.arange(len(columns)))
    if found is not None:
        return found
    arrays = [_floats(column) for column in columns]
    is_double = any(str(array.dtype).endswith("float64") for array in arrays)
    dtype = np.float64 if is_double else np.float32
    return CudaValues(launches.device.columns(arrays, dtype), len(arrays), len(arrays[0]))


def hold_rows(launches: Launches, matrix: Array, used: HostArray) -> CudaValues | None:
    """Some columns of a matrix that lies row by row, turned on the device; None for another one.

    A matrix of the host travels some rows at a time.
    """
    dev, n_rows, n_columns = launches.device, matrix.shape[0], len(used)
    if isinstance(matrix, np.ndarray):
        row_step, column_step = matrix.strides
        if not column_step == matrix.itemsize < abs(row_step):
            return None
        values = dev.empty(n_columns * n_rows, matrix.dtype)
        most = max(1, launches.tuning.staged_bytes // (n_columns * matrix.itemsize))
        first_used, place = int(used[0]), np.arange(n_columns)
        is_block = int(used[-1]) - first_used == n_columns - 1
        for first in range(0, n_rows, most):
            part = matrix[first : first + most]
            if is_block:
                part = part[:, first_used : first_used + n_columns]
            else:
                part = np.take(part, used, axis=1)
            _turn(launches, n_rows, first, len(part), dev.upload(part), n_columns, place, values)
        return CudaValues(values, n_columns, n_rows)
    lying = dev.lying(matrix)
    if lying is None:
        return None
    values = dev.empty(n_columns * n_rows, lying.memory.dtype)
    place = used * lying.column_step
    _turn(launches, n_rows, 0, n_rows, lying.memory, lying.row_step, place, values)
    return CudaValues(values, n_columns, n_rows)


def _turn(
    launches: Launches,
    n_rows: int,
    first_row: int,
    n_turned: int,
    source: Array,
    row_step: int,
    place: HostArray,
    values: Array,
) -> None:
    """Write some rows of a matrix into columns of `n_rows` rows."""
    kernel = make_turn(np.dtype(str(values.dtype)).itemsize == 8)
    threads = launches.tuning.route_threads  # whole warps
    n_squares = -(-n_turned // WARP) * -(-len(place) // WARP)
    [on_device] = launches.constants(place.astype(np.int64))
    args = len(place), n_rows, first_row, n_turned, source, row_step, on_device, values
    launches.device.launch(kernel, min(n_squares, MOST_BLOCKS), threads, *args)


def count_missing(launches: Launches, values: CudaValues) -> HostArray:
    if values.n_missing is None:
        _, values.n_missing = _count(launches, values, None)
    return values.n_missing


def sketch(
    launches: Launches,
    values: CudaValues,
    weight: HostArray | None,
    within: Sequence[HostArray] | None = None,
) -> list[tuple[HostArray, HostArray]]:
    if within is not None:
        return _sketch_within(launches, values, weight, within)
    counts, values.n_missing = _count(launches, values, weight)
    bucket = [np.flatnonzero(cells) for cells in counts]
    return [(own, cells[own]) for own, cells in zip(bucket, counts, strict=True)]


def _count(
    launches: Launches, values: CudaValues, weight: HostArray | None
) -> tuple[HostArray, HostArray]:
    """Weight by column and bucket, and missing values by column."""
    dev, n_columns = launches.device, values.n_columns
    counts = dev.zeros(n_columns * BUCKETS, np.int32 if weight is None else np.int64)
    n_missing = dev.zeros(n_columns, np.int32)
    args = n_columns, values.n_rows, values.values, _weight(dev, values, weight), counts, n_missing
    launches.over(binning.count, n_columns * values.n_rows, *args)
    missing = dev.download(n_missing)[:n_columns].astype(np.int64)
    return dev.download(counts).reshape(n_columns, BUCKETS).astype(np.int64), missing


def _sketch_within(
    launches: Launches,
    values: CudaValues,
    weight: HostArray | None,
    within: Sequence[HostArray],
) -> list[tuple[HostArray, HostArray]]:
    """Weight in the fine buckets of some coarse ones."""
    dev, n_columns = launches.device, values.n_columns
    n_cells = max(table_length(pages) for pages in within)
    counts = dev.zeros(n_columns * n_cells, np.int32 if weight is None else np.int64)
    launches.over(
        binning.count_fine,
        n_columns * values.n_rows,
        *(n_columns, values.n_rows, values.values, _weight(dev, values, weight)),
        *(_pages(dev, within), n_cells, counts),
    )
    found = dev.download(counts).reshape(n_columns, n_cells).astype(np.int64)
    cell = [np.flatnonzero(cells) for cells in found]
    return [
        (bucket_in(own, pages), cells[own])
        for own, pages, cells in zip(cell, within, found, strict=True)
    ]


@dataclass(frozen=True)
class Wanted:
    """The buckets that are asked for, as kernels look them up."""

    is_fine: Array  # (columns,)
    page_of: Array  # (columns * coarse buckets,)
    n_cells: int
    is_wanted: HostArray  # (columns, cells)

    def told(self, device: Device) -> tuple[Any, ...]:
        """What kernels are told."""
        return self.is_fine, self.page_of, self.n_cells, device.upload(self.is_wanted)


def refine(
    launches: Launches,
    values: CudaValues,
    weight: HostArray | None,
    wanted: Sequence[Buckets | None],
) -> list[tuple[HostArray, HostArray]]:
    asked = [Buckets(np.arange(BUCKETS)) if own is None else own for own in wanted]
    n_cells = max(own.n_cells for own in asked)
    is_wanted = np.zeros((values.n_columns, n_cells), np.uint8)
    for cells, own in zip(is_wanted, asked, strict=True):
        cells[own.cell] = 1
    dev = launches.device
    is_fine = dev.upload(np.array([own.is_fine for own in asked], np.uint8))
    among = Wanted(is_fine, _pages(dev, [own.pages for own in asked]), n_cells, is_wanted)
    found = _few_values(launches, values, weight, among)
    if len(found) < values.n_columns:
        is_wanted[list(found)] = 0
        room = values.n_rows if None in wanted else values.n_rows // 8 + 1
        listed = _many_values(launches, values, weight, among, room)
        found = {**dict(enumerate(listed)), **found}
    return [found[at] for at in range(values.n_columns)]


def _few_values(
    launches: Launches, values: CudaValues, weight: HostArray | None, among: Wanted
) -> dict[int, tuple[HostArray, HostArray]]:
    """Distinct values and their weights, of the columns that have few."""
    dev, n_columns, n_slots = launches.device, values.n_columns, launches.tuning.value_slots
    seen = dev.zeros(n_columns * n_slots, np.int64)
    counts = dev.zeros(n_columns * n_slots, np.int32 if weight is None else np.int64)
    n_found = dev.zeros(n_columns, np.int32)
    args = values.values, _weight(dev, values, weight), *among.told(dev), n_slots
    n = n_columns, values.n_rows
    launches.over(
        binning.list_distinct, n_columns * values.n_rows, *n, *args, seen, counts, n_found
    )
    few = np.flatnonzero(dev.download(n_found)[:n_columns] <= n_slots // 2)
    slots = few * n_slots, np.full(len(few), n_slots)
    own, held = (launches.picked(table, *slots).reshape(-1, n_slots) for table in (seen, counts))
    found = {}
    for at, bits, amount in zip(few.tolist(), own, held, strict=True):
        is_filled = bits != 0
        value = (~bits[is_filled]).view(np.float64)
        order = np.argsort(value)
        found[at] = value[order], amount[is_filled][order].astype(np.int64)
    return found


def _many_values(
    launches: Launches, values: CudaValues, weight: HostArray | None, among: Wanted, room: int
) -> list[tuple[HostArray, HostArray]]:
    """The same of all columns, from the values of all rows that have a say: the host sorts them."""
    dev, n_columns = launches.device, values.n_columns
    told = values.values, _weight(dev, values, weight), *among.told(dev)
    while True:
        members = dev.empty(n_columns * room, values.values.dtype)
        # One more: a single row would be taken for none.
        row = dev.empty(1 if weight is None else n_columns * room + 1, np.int32)
        n_found = dev.zeros(n_columns, np.int32)
        n = n_columns, values.n_rows
        args = room, members, row, n_found
        launches.over(binning.gather, n_columns * values.n_rows, *n, *told, *args)
        n_members = dev.download(n_found)[:n_columns].astype(np.int64)
        if int(n_members.max()) <= room:
            break
        room = int(n_members.max())
    pieces, bound = (np.arange(n_columns) * room, n_members), np.cumsum(n_members)[:-1]
    value = np.split(launches.picked(members, *pieces), bound)
    if weight is None:
        return [distinct(own, None) for own in value]
    rows = np.split(launches.picked(row, *pieces), bound)
    return [distinct(own, weight[at]) for own, at in zip(value, rows, strict=True)]


def encode(
    launches: Launches,
    data: CudaData,
    first_feature: int,
    values: CudaValues,
    bins: Sequence[FeatureBins],
    first_row: int = 0,
) -> None:
    n_rows = values.n_rows
    if n_rows < data.n_rows:
        # The kernel takes all columns to be as long as the table, so that parts of columns are
        # coded one by one, with views in which each is where the kernel expects it.
        for at, feature in enumerate(bins):
            number = first_feature + at
            start = number * (data.n_rows - n_rows) + first_row
            by_column = data.by_column if len(data.by_column) == 1 else data.by_column[start:]
            part = replace(
                data,
                words=data.words[first_row * data.row_words :],
                by_column=by_column,
                n_rows=n_rows,
            )
            column = CudaValues(values.values[at * n_rows : (at + 1) * n_rows], 1, n_rows)
            encode(launches, part, number, column, [feature])
        return
    dtype = values.values.dtype
    cuts = [_not_above(feature.cut, dtype) for feature in bins]
    cut_start = np.cumsum([0, *(len(cut) for cut in cuts)]).astype(np.int32)
    missing = np.array([feature.n_codes - 1 for feature in bins], np.int32)
    upload = launches.device.upload
    launches.over(
        make_encode(data.code_bits),
        data.n_rows,
        len(bins),
        data.n_rows,
        values.values,
        upload(np.concatenate(cuts)),
        upload(cut_start),
        upload(missing),
        first_feature,
        data.row_words,
        data.words,
        data.by_column,
    )


def _weight(device: Device, values: CudaValues, weight: HostArray | None) -> Array:
    """The weights of the rows, or that of each."""
    if values.weight is None or values.weight[0] is not weight:
        there = device.upload(np.ones(1, np.int32) if weight is None else weight)
        values.weight = weight, there
    return values.weight[1]


def _pages(device: Device, pages: Sequence[HostArray]) -> Array:
    """For each column, where the pages asked for are in a table of fine buckets."""
    page_of = np.zeros((len(pages), BUCKETS + 1), np.uint16)
    for own, asked in zip(page_of, pages, strict=True):
        fill_pages(own, asked)
    return device.upload(page_of)


def _floats(column: Column) -> Array:
    """The values of a column as floats: numbers, or category numbers, NaN where missing."""
    if column.categories is None:
        return dense(column.values)
    values = np.asarray(column.values)
    return np.where(values == MISSING_CATEGORY, np.nan, values).astype(np.float32)


def _not_above(cut: HostArray, dtype: Any) -> HostArray:
    """Cuts in the precision of the values, rounded down: the same values lie above them."""
    rounded = cut.astype(dtype)
    return np.where(rounded > cut, np.nextafter(rounded, rounded.dtype.type(-np.inf)), rounded)
