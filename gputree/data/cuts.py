"""Where numeric features are cut: every midpoint, or exact weighted quantiles.

The backend counts how much weight falls into each bucket of the number line, and then lists the
distinct values of those buckets only that hold a cut. Where these hold many values, as they do if
all values are of one octave, they are divided first: the weight in their fine buckets is counted.
Counts and lists of parts of a table add up, so the cuts do not depend on how rows are spread. No
sorting of whole columns, no sampling. The values of a short table are listed at once.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gputree.comm import ALONE, Comm, total
from gputree.data.bins import Bins, FeatureBins
from gputree.data.number_line import Buckets, bucket_of, distinct_of, is_new
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MAX_BINS, HostArray
from gputree.kernels.buckets import BUCKETS, PAGE
from gputree.runs import begins, within

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Data, Values

LISTED_ROWS = 32_768  # up to here sorting a column is cheaper than clearing its buckets

# Where more than this share of the weight is in buckets that hold a cut, their fine buckets are
# counted: sorting the values of so many rows takes longer than to read the column once more.
CROWD = 16
FINE_A_VALUE = 4  # fine buckets that are cleared and looked through while one value is sorted
MOST_DIVIDED = BUCKETS // PAGE  # buckets: the fine ones take no more room than all coarse ones

NO_BUCKETS = np.empty(0, np.int64)

# Columns that are coded together. Neighbours in a matrix share cache lines of 64 bytes, but the
# buckets of each one take as much as 4 bytes of a million rows do.
MOST_TOLD = 2**15  # values of a column that ranks tell one another rather than count once more
MOST_TOGETHER = 16
CELLS_TOGETHER = 2**16  # of a short table: its columns are many, and each call has its cost
BYTES_A_ROW = 8  # room for buckets, in all lanes; as much again as half of the codes take


def bin_table(
    backend: "Backend",
    table: Table,
    weight: HostArray | None,
    max_bins: int,
    comm: Comm = ALONE,
) -> tuple[Bins, "Data"]:
    """Cut every feature into at most `max_bins` codes, plus one for missing values; code it.

    Where others have further rows, the backend asks them, too; all of them ask alike.
    """
    max_bins, n_rows = checked_bins(max_bins), int(total(comm, table.n_rows))
    categories = [column.categories for column in table.columns]
    data = backend.reserve(table.n_features, table.n_rows, most_codes(categories, max_bins))

    def code(block: range) -> list[FeatureBins]:
        columns = table.columns[block.start : block.stop]
        values = backend.hold(columns)
        most = None if comm.size == 1 else MOST_TOLD
        found = find_cuts(backend, columns, values, weight, max_bins, n_rows, most)
        backend.encode(data, block.start, values, found)
        return found

    blocks = blocks_of(table.n_features, n_rows, backend.n_lanes)
    return Bins(tuple(chain.from_iterable(backend.each(code, blocks)))), data


def checked_bins(max_bins: int) -> int:
    """The most bins of a feature."""
    if not isinstance(max_bins, int | np.integer) or not 2 <= max_bins <= MAX_BINS:
        raise ValueError(
            f"max_bins={max_bins!r}: an integer from 2 to {MAX_BINS} is needed, since a bin takes "
            "one byte or two"
        )
    return int(max_bins)


def most_codes(categories: Sequence[tuple[Any, ...] | None], max_bins: int) -> int:
    """What no code of a table reaches."""
    return max(max_bins, *(len(each or ()) for each in categories)) + 1


def code_table(backend: "Backend", table: Table, bins: Bins) -> "Data":
    """Code a table by cuts that are known."""
    data = backend.reserve(table.n_features, table.n_rows, int(bins.n_codes.max()))

    def code(block: range) -> None:
        values = backend.hold(table.columns[block.start : block.stop])
        backend.encode(data, block.start, values, bins.features[block.start : block.stop])

    backend.each(code, blocks_of(table.n_features, table.n_rows, backend.n_lanes))
    return data


def blocks_of(n_features: int, n_rows: int, n_lanes: int) -> list[range]:
    """Blocks of neighbouring features, about as many for each lane."""
    at_once = (BYTES_A_ROW + n_features // 2) * n_rows // (4 * BUCKETS)
    if n_rows > LISTED_ROWS:
        most = min(max(1, at_once // n_lanes), MOST_TOGETHER)
    else:
        most = max(MOST_TOGETHER, CELLS_TOGETHER // max(n_rows, 1))
    n_blocks = min(n_features, n_lanes * -(-n_features // (most * n_lanes)))
    bound = [-(-n_features * i // n_blocks) for i in range(n_blocks + 1)]
    return [range(first, last) for first, last in pairwise(bound)]


def find_cuts(
    backend: "Backend",
    columns: Sequence[Column],
    values: "Values",
    weight: HostArray | None,
    max_bins: int,
    n_rows: int,
    most_listed: int | None = None,
) -> list[FeatureBins]:
    """The cuts of some columns of a table with so many rows; `most_listed` as in `to_divide`."""
    if n_rows <= LISTED_ROWS:
        listed = backend.refine(values, weight, [None] * len(columns))
        cuts = [_cuts_of_values(*found, max_bins) for found in listed]
    else:
        plans = [
            # Categories are cut whatever their values are: there is nothing to ask.
            CutSearch(*found, max_bins if column.kind is Kind.NUMERIC else 1)
            for column, found in zip(columns, backend.sketch(values, weight), strict=True)
        ]
        within = [plan.to_divide(most_listed) for plan in plans]
        if any(buckets.size for buckets in within):
            for plan, found in zip(plans, backend.sketch(values, weight, within), strict=True):
                plan.divide(*found)
        wanted = [plan.wanted() for plan in plans]
        for plan, found in zip(plans, backend.refine(values, weight, wanted), strict=True):
            plan.learn(*found)
        cuts = [plan.neighbours() for plan in plans]
    # A missing value counts even in a row without weight: a later fit may give it one.
    return [
        _feature_bins(column, *own, n_missing > 0)
        for column, own, n_missing in zip(
            columns, cuts, backend.count_missing(values).tolist(), strict=True
        )
    ]


def _cuts_of_values(
    value: HostArray, weight: HostArray, max_bins: int
) -> tuple[HostArray, HostArray]:
    """The values on both sides of each cut of a feature of which all values are known."""
    value = value + 0.0  # -0.0 and 0.0 are one value
    if len(value) <= max_bins:
        return value[:-1], value[1:]
    reached = np.cumsum(weight)
    return _around(value, np.searchsorted(reached, quantile_ranks(int(reached[-1]), max_bins)))


def _around(value: HostArray, at: HostArray) -> tuple[HostArray, HostArray]:
    """The values on both sides of cuts that lie behind values at some places, each but the last."""
    at = distinct_of(at)
    at = at[at + 1 < len(value)]
    return value[at], value[at + 1]


def _feature_bins(
    column: Column, below: HostArray, above: HostArray, has_missing: bool
) -> FeatureBins:
    if column.categories is not None:
        return category_bins(column.name, column.kind, column.categories, has_missing)
    return FeatureBins(column.name, column.kind, None, below, above, has_missing)


def category_bins(
    name: str, kind: Kind, categories: tuple[Any, ...], has_missing: bool
) -> FeatureBins:
    """The bins of categories: a code per category."""
    number = np.arange(len(categories), dtype=np.float64)
    return FeatureBins(name, kind, categories, number[:-1], number[1:], has_missing)


def quantile_ranks(total: int, n_bins: int) -> HostArray:
    """Weights ceil(j * total / n_bins), j = 1 .. n_bins-1, without overflow."""
    share, rest = divmod(total, n_bins)
    j = np.arange(1, n_bins, dtype=np.int64)
    return j * share + -(-j * rest // n_bins)


class CutSearch:
    """What is known of one numeric feature, and what must still be asked."""

    def __init__(self, bucket: HostArray, weight: HostArray, max_bins: int) -> None:
        self.max_bins = max_bins
        self.total = int(weight.sum())
        self.divided = NO_BUCKETS  # coarse buckets in whose place their fine ones are listed
        self.needed = NO_BUCKETS  # places of the buckets whose values are asked for
        self.value: HostArray = np.empty(0)  # their distinct values, sorted
        self.weight: HostArray = np.empty(0, np.int64)
        self._list(bucket * PAGE, weight)

    def _list(self, first: HostArray, weight: HostArray) -> None:
        self.first = first  # the first fine bucket of each bucket that holds values
        self.held = weight  # in each of them
        self.reached = np.cumsum(weight)  # up to the end of each of them

    @cached_property
    def ranks(self) -> HostArray:
        return quantile_ranks(self.total, self.max_bins)

    def _with_cuts(self) -> HostArray:
        """The places of the buckets that hold a cut."""
        if len(self.first) <= self.max_bins:  # perhaps every value gets a code of its own
            return np.arange(len(self.first))
        return distinct_of(np.searchsorted(self.reached, self.ranks))

    def to_divide(self, most_listed: int | None = None) -> HostArray:
        """The buckets that hold a cut, if dividing them costs less than to sort their values.

        With `most_listed`, if they hold more than that.
        """
        at = self._with_cuts()
        # A bucket between empty ones most likely holds one value, which cannot be divided.
        is_next = np.diff(self.first, prepend=-2 * PAGE, append=0) == PAGE
        has_neighbour = (is_next[:-1] | is_next[1:])[at]
        amount = int(self.held[at[has_neighbour]].sum())
        if most_listed is None:
            is_crowded = amount * CROWD > self.total and amount * FINE_A_VALUE > len(at) * PAGE
        else:
            is_crowded = amount > most_listed
        return self.first[at] // PAGE if is_crowded and len(at) < MOST_DIVIDED else NO_BUCKETS

    def divide(self, fine: HostArray, weight: HostArray) -> None:
        """Put fine buckets in the place of those that hold a cut, if they were asked for."""
        if not fine.size:
            return
        at = self._with_cuts()
        self.divided = self.first[at] // PAGE
        others = np.delete(self.first, at)
        before = np.searchsorted(fine, others)
        weight = np.insert(weight, before, np.delete(self.held, at))
        self._list(np.insert(fine, before, others), weight)

    def wanted(self) -> Buckets:
        """The buckets whose values are needed to place the cuts."""
        at = self._with_cuts()
        # The value after a cut may be the first of the next bucket.
        is_needed = np.zeros(len(self.first) + 1, bool)
        is_needed[at] = is_needed[at + 1] = True
        self.needed = np.flatnonzero(is_needed[:-1])
        first = self.first[self.needed]
        if not self.divided.size:
            return Buckets(first // PAGE)
        # The next bucket may be a coarse one: all its fine ones are wanted then.
        n_fine = np.where(np.isin(first // PAGE, self.divided), 1, PAGE)
        step = within(n_fine)
        return Buckets(np.repeat(first, n_fine) + step, is_fine=True)

    def learn(self, value: HostArray, weight: HostArray) -> None:
        """Take in the distinct values of the buckets asked for, sorted."""
        self.value, self.weight = value + 0.0, weight  # -0.0 and 0.0 are one value

    def neighbours(self) -> tuple[HostArray, HostArray]:
        """The values on both sides of each cut."""
        if len(self.needed) == len(self.first) and len(self.value) <= self.max_bins:
            return self.value[:-1], self.value[1:]
        return _around(self.value, self._at_ranks())

    def _at_ranks(self) -> HostArray:
        """The first value up to which each rank's weight is reached."""
        left_out = self.reached[self.needed] - np.cumsum(self.held[self.needed])
        bucket = np.searchsorted(self.reached, self.ranks)
        rank = self.ranks - left_out[np.searchsorted(self.needed, bucket)]
        return np.searchsorted(np.cumsum(self.weight), rank)


def distinct(members: HostArray, weights: HostArray | None) -> tuple[HostArray, HostArray]:
    """Distinct values, sorted, and how much weight each has."""
    if weights is None:
        members.sort()
    else:
        order = np.argsort(members)
        members, weights = members[order], weights[order]
    first = np.flatnonzero(is_new(members))
    if weights is None:
        count = np.diff(np.append(first, len(members)))
    else:
        count = np.add.reduceat(weights, first) if len(first) else weights
    return members[first].astype(np.float64), count


def cuts_by_bucket(cut: HostArray) -> tuple[HostArray, HostArray]:
    """How many cuts lie below each bucket, and how many inside it."""
    inside = np.bincount(bucket_of(cut), minlength=BUCKETS)
    return begins(inside), inside


def searched_codes(values: HostArray, feature: FeatureBins) -> HostArray:
    """The codes of a short column: how many cuts lie below each value, or the missing code."""
    code = np.searchsorted(feature.cut, values, side="left")
    return np.where(np.isnan(values), feature.n_codes - 1, code)
