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
from gputree.data.table import Column
from gputree.dtypes import MISSING_CATEGORY, Array, HostArray, code_dtype
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import binning

BUCKETS = binning.BUCKETS

make_encode = cache(binning.make_encode)


@dataclass
class CudaValues:
    """Columns one after another."""

    values: Array  # (columns * rows,)
    n_columns: int
    n_rows: int
    n_missing: HostArray | None = None  # (columns,), once counted


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


def hold(device: Device, columns: Sequence[Column]) -> CudaValues:
    arrays = [_floats(column) for column in columns]
    is_double = any(str(array.dtype).endswith("float64") for array in arrays)
    dtype = np.float64 if is_double else np.float32
    return CudaValues(device.columns(arrays, dtype), len(arrays), len(arrays[0]))


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
    args = n_columns, values.n_rows, values.values, _weight(dev, weight), counts, n_missing
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
        *(n_columns, values.n_rows, values.values, _weight(dev, weight)),
        *(_pages(dev, within), n_cells, counts),
    )
    found = dev.download(counts).reshape(n_columns, n_cells).astype(np.int64)
    cell = [np.flatnonzero(cells) for cells in found]
    return [
        (bucket_in(own, pages), cells[own])
        for own, pages, cells in zip(cell, within, found, strict=True)
    ]


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
    room = values.n_rows if None in wanted else values.n_rows // 8 + 1
    dev = launches.device
    is_fine = dev.upload(np.array([own.is_fine for own in asked], np.uint8))
    pages = _pages(dev, [own.pages for own in asked])
    on_device, put = dev.upload(is_wanted), _weight(dev, weight)
    while True:
        members = dev.empty(values.n_columns * room, values.values.dtype)
        # One more: a single row would be taken for none.
        row = dev.empty(1 if weight is None else values.n_columns * room + 1, np.int32)
        n_found = dev.zeros(values.n_columns, np.int32)
        launches.over(
            binning.gather,
            values.n_columns * values.n_rows,
            *(values.n_columns, values.n_rows, values.values, put, is_fine, pages, n_cells),
            *(on_device, room, members, row, n_found),
        )
        n_members = dev.download(n_found)[: values.n_columns]
        if int(n_members.max()) <= room:
            break
        room = int(n_members.max())
    value = dev.download(members).reshape(values.n_columns, room)
    rows = None if weight is None else dev.download(row)[:-1].reshape(values.n_columns, room)
    return [
        distinct(value[i, :n], None if weight is None or rows is None else weight[rows[i, :n]])
        for i, n in enumerate(n_members.tolist())
    ]


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


def _weight(device: Device, weight: HostArray | None) -> Array:
    return device.upload(np.ones(1, np.int32) if weight is None else weight)


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
