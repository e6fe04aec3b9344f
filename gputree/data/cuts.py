"""Where numeric features are cut: every midpoint, or exact weighted quantiles.

Works in rounds: the backend counts how much weight falls into each of 65,536 buckets of the
number line, and then lists the distinct values of those buckets only that hold a cut. Counts and
lists of parts of a table add up, so the cuts do not depend on how rows are spread. No sorting of
whole columns, no sampling.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MAX_BINS, HostArray

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Data, Values

BUCKETS = 65_536  # the sign, exponent and 7 leading fraction bits of a value rounded to float32


COLUMNS_AT_ONCE = 8  # 32 bytes a row of float32: what coding holds beside the codes


def bin_table(
    backend: "Backend", table: Table, weight: HostArray | None, max_bins: int
) -> tuple[Bins, "Data"]:
    """Cut every feature into at most `max_bins` codes, plus one for missing values; code it."""
    if not 2 <= max_bins <= MAX_BINS:
        raise ValueError(
            f"max_bins={max_bins} is outside 2..{MAX_BINS}: a code takes one byte, or two"
        )
    most_levels = max((len(column.levels or ()) for column in table.columns), default=0)
    data = backend.reserve(table.n_features, table.n_rows, max(max_bins, most_levels) + 1)
    features: list[FeatureBins] = []
    for first in range(0, table.n_features, COLUMNS_AT_ONCE):
        columns = table.columns[first : first + COLUMNS_AT_ONCE]
        values = backend.hold(columns)
        found = find_cuts(backend, columns, values, weight, max_bins)
        backend.encode(data, first, values, found)
        features += found
    return Bins(tuple(features)), data


def find_cuts(
    backend: "Backend",
    columns: Sequence[Column],
    values: "Values",
    weight: HostArray | None,
    max_bins: int,
) -> list[FeatureBins]:
    """The cuts of some columns."""
    counts = backend.sketch(values, weight)
    for column, count in zip(columns, counts, strict=True):
        if not count[:BUCKETS].any():
            raise ValueError(f"column {column.name!r} has no known value; drop it before fitting")
    plans = [_Plan(count[:BUCKETS], max_bins) for count in counts]
    nothing = np.empty(0, np.int64)
    while True:
        wanted = [
            plan.missing() if column.kind is Kind.NUMERIC else nothing
            for plan, column in zip(plans, columns, strict=True)
        ]
        if not any(buckets.size for buckets in wanted):
            break
        for plan, found in zip(plans, backend.refine(values, weight, wanted), strict=True):
            plan.learn(*found)
    return [
        _feature_bins(column, plan, bool(count[BUCKETS]))
        for column, plan, count in zip(columns, plans, counts, strict=True)
    ]


def _feature_bins(column: Column, plan: "_Plan", has_missing: bool) -> FeatureBins:
    if column.levels is not None:
        number = np.arange(len(column.levels), dtype=np.float64)
        below, above = number[:-1], number[1:]
    else:
        below, above = plan.neighbours()
    return FeatureBins(column.name, column.kind, column.levels, below, above, has_missing)


def quantile_ranks(total: int, n_bins: int) -> HostArray:
    """Weights ceil(j * total / n_bins), j = 1 .. n_bins-1, without overflow."""
    share, rest = divmod(total, n_bins)
    j = np.arange(1, n_bins, dtype=np.int64)
    return j * share + -(-j * rest // n_bins)


class _Plan:
    """What is known of one numeric feature, and what must still be asked."""

    def __init__(self, count: HostArray, max_bins: int) -> None:
        self.max_bins = max_bins
        self.occupied = np.flatnonzero(count)  # buckets that hold values
        self.reached = np.cumsum(count[self.occupied])  # weight up to the end of each of them
        self.ranks = quantile_ranks(int(self.reached[-1]), max_bins)
        self.known = np.zeros(len(self.occupied), bool)
        self.value: HostArray = np.empty(0)  # distinct values of the known buckets, sorted
        self.weight: HostArray = np.empty(0, np.int64)
        self.place: HostArray = np.empty(0, np.int64)  # which occupied bucket each value is in

    def missing(self) -> HostArray:
        """Buckets whose values are needed next; none when the cuts can be placed."""
        if len(self.occupied) <= self.max_bins:
            needed = np.arange(len(self.occupied))  # perhaps every value gets a code of its own
        elif not self.known.any():
            needed = np.unique(np.searchsorted(self.reached, self.ranks))
        else:
            at = self._at_ranks()
            is_last = np.append(self.place[1:] != self.place[:-1], True)
            neighbour = self.place[at[is_last[at]]] + 1
            needed = np.unique(neighbour[neighbour < len(self.occupied)])
        return self.occupied[needed[~self.known[needed]]]

    def learn(self, value: HostArray, weight: HostArray) -> None:
        """Take in the distinct values of the buckets asked for."""
        if not len(value):
            return
        value = np.concatenate([self.value, value])
        weight = np.concatenate([self.weight, weight])
        order = np.argsort(value, kind="stable")
        self.value, self.weight = value[order], weight[order]
        self.place = np.searchsorted(self.occupied, bucket_of(self.value))
        self.known[self.place] = True

    def neighbours(self) -> tuple[HostArray, HostArray]:
        """The values on both sides of each cut."""
        if self.known.all() and len(self.value) <= self.max_bins:
            return self.value[:-1], self.value[1:]
        at = np.unique(self._at_ranks())
        at = at[at + 1 < len(self.value)]
        return self.value[at], self.value[at + 1]

    def _at_ranks(self) -> HostArray:
        """The first value up to which each rank's weight is reached."""
        before = np.concatenate([[0], self.reached[:-1]])[self.place]
        inside = np.cumsum(self.weight)
        first = np.append(True, self.place[1:] != self.place[:-1])
        start = (inside - self.weight)[first][np.cumsum(first) - 1]
        return np.searchsorted(before + inside - start, self.ranks)


def bucket_of(value: HostArray) -> HostArray:
    """The bucket of each known value: monotone in the value, the same on every backend."""
    with np.errstate(over="ignore"):
        single = value.astype(np.float32) + np.float32(0.0)  # -0.0 equals 0.0
    return ordered_bucket(single.view(np.int32)).astype(np.int64)


def ordered_bucket(bits: HostArray) -> HostArray:
    """The bucket from the bits of a float32, as an int32.

    The bits of a negative float grow with its magnitude; flipping them puts all floats in order.
    """
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> 16) + (BUCKETS // 2)


def cuts_by_bucket(cut: HostArray) -> tuple[HostArray, HostArray]:
    """How many cuts lie below each bucket, and how many inside it."""
    inside = np.bincount(bucket_of(cut), minlength=BUCKETS)
    return np.cumsum(inside) - inside, inside
