"""From values to buckets, distinct values and codes, in array-API code.

Most buckets of the number line hold no cut, so their values share one code, read from a table;
only the others are searched.
"""

from typing import Any

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.data.bins import FeatureBins
from gputree.data.cuts import LISTED_ROWS, cuts_by_bucket, searched_codes
from gputree.data.number_line import Buckets, bucket_in, fill_pages, table_length
from gputree.dtypes import Array, HostArray
from gputree.kernels.buckets import BUCKETS, PAGE, ordered_bucket, ordered_fine_bucket


def buckets(lib: Library, values: Array) -> Array:
    """The bucket of each value, int64; that of NaN means nothing."""
    return lib.xp.astype(ordered_bucket(short_bits(lib, values)), lib.xp.int64)


def fine_cells(lib: Library, values: Array, pages: HostArray) -> Array:
    """The cell of each value in a table with these pages of fine buckets."""
    xp = lib.xp
    page_of = np.empty(BUCKETS + 1, np.int64)
    fill_pages(page_of, pages)
    bucket = xp.astype(ordered_fine_bucket(short_bits(lib, values)), xp.int64)
    return xp.take(lib.from_host(page_of), bucket // PAGE) * PAGE + bucket % PAGE


def short_bits(lib: Library, values: Array) -> Array:
    """The bits of each value as a float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = lib.xp.astype(values, lib.xp.float32) + 0.0  # -0.0 equals 0.0
    return lib.bits(single, "int32")


def known(lib: Library, values: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """The values that are not missing and have weight, with their weights."""
    xp = lib.xp
    keep = ~xp.isnan(values) if weight is None else ~xp.isnan(values) & (weight > 0)
    if bool(xp.all(keep)):
        return values, weight
    return values[keep], None if weight is None else weight[keep]


def bucket_weights(
    lib: Library, values: Array, weight: Array | None
) -> tuple[HostArray, HostArray]:
    """The buckets that hold known values, and their weights."""
    some, some_weight = known(lib, values, weight)
    count = lib.to_host(lib.count(buckets(lib, some), BUCKETS, some_weight))
    occupied = np.flatnonzero(count)
    return occupied, count[occupied]


def fine_bucket_weights(
    lib: Library, values: Array, weight: Array | None, within: HostArray
) -> tuple[HostArray, HostArray]:
    """The fine buckets inside some coarse ones that hold known values, and their weights."""
    if not within.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    some, some_weight = known(lib, values, weight)
    cell = fine_cells(lib, some, within)
    count = lib.to_host(lib.count(cell, table_length(within), some_weight))
    occupied = PAGE + np.flatnonzero(count[PAGE:])
    return bucket_in(occupied, within), count[occupied]


def distinct(
    lib: Library, values: Array, weight: Array | None, wanted: Buckets | None
) -> tuple[HostArray, HostArray]:
    """Distinct known values inside the wanted buckets and their weights, sorted by value."""
    xp = lib.xp
    if wanted is not None and not wanted.number.size:
        return np.empty(0), np.empty(0, np.int64)
    values, weight = known(lib, values, weight)
    if wanted is not None:
        keep = is_inside(lib, values, wanted)
        values, weight = values[keep], None if weight is None else weight[keep]
    if weight is None:
        value, count = xp.unique_counts(values)
    else:
        value, group = xp.unique_inverse(values)
        count = lib.count(group, value.shape[0], weight)
    return lib.to_host(value).astype(np.float64), lib.to_host(count).astype(np.int64)


def is_inside(lib: Library, values: Array, wanted: Buckets) -> Array:
    """Which values are in wanted buckets."""
    is_wanted = np.zeros(wanted.n_cells, bool)
    is_wanted[wanted.cell] = True
    cell = fine_cells(lib, values, wanted.pages) if wanted.is_fine else buckets(lib, values)
    return lib.xp.take(lib.from_host(is_wanted), cell)


def codes(lib: Library, values: Array, feature: FeatureBins, dtype: Any) -> Array:
    """The code of each value: how many cuts lie below it, or the missing code."""
    xp = lib.xp
    if values.shape[0] <= LISTED_ROWS:
        return xp.astype(lib.from_host(searched_codes(lib.to_host(values), feature)), dtype)
    bucket = buckets(lib, values)
    first, inside = cuts_by_bucket(feature.cut)
    code = xp.take(xp.astype(lib.from_host(first), dtype), bucket)
    search = xp.nonzero(xp.take(lib.from_host(inside > 0), bucket))[0]
    if search.shape[0]:
        members = xp.astype(xp.take(values, search), xp.float64)
        found = xp.searchsorted(lib.from_host(feature.cut), members, side="left")
        code = lib.replaced(code, search, xp.astype(found, dtype))
    missing = xp.nonzero(xp.isnan(values))[0]
    if missing.shape[0]:
        last = lib.from_host(np.full(missing.shape[0], feature.n_codes - 1))
        code = lib.replaced(code, missing, xp.astype(last, dtype))
    return code
