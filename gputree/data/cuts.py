"""Where numeric features are cut: every midpoint, or exact weighted quantiles.

The backend counts how much weight falls into each bucket of the number line, and
then lists the distinct values of those buckets only that hold a cut. Counts and lists of parts of a
table add up, so the cuts do not depend on how rows are spread. No sorting of whole columns, no
sampling. The values of a short table are listed at once.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MAX_BINS, HostArray
from gputree.kernels.buckets import BUCKETS, ordered_bucket

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Data, Values

LISTED_ROWS = 32_768  # up to here sorting a column is cheaper than clearing its buckets

# Columns that are coded together. Neighbours in a matrix share cache lines of 64 bytes, but the
# buckets of each one take as much as 4 bytes of a million rows do.
MOST_TOGETHER = 16
BYTES_A_ROW = 8  # room for buckets, in all lanes; as much again as half of the codes take


def bin_table(
    backend: "Backend", table: Table, weight: HostArray | None, max_bins: int
) -> tuple[Bins, "Data"]:
    """Cut every feature into at most `max_bins` codes, plus one for missing values; code it."""
    if not isinstance(max_bins, int | np.integer) or not 2 <= max_bins <= MAX_BINS:
        raise ValueError(
            f"max_bins={max_bins!r}: an integer from 2 to {MAX_BINS} is needed, as a code takes "
            "one byte or two"
        )
    max_bins = int(max_bins)
    most_levels = max((len(column.levels or ()) for column in table.columns), default=0)
    data = backend.reserve(table.n_features, table.n_rows, max(max_bins, most_levels) + 1)

    def code(block: range) -> list[FeatureBins]:
        columns = table.columns[block.start : block.stop]
        values = backend.hold(columns)
        found = find_cuts(backend, columns, values, weight, max_bins)
        backend.encode(data, block.start, values, found)
        return found

    blocks = _blocks(table.n_features, table.n_rows, backend.n_lanes)
    return Bins(tuple(chain.from_iterable(backend.each(code, blocks)))), data


def _blocks(n_features: int, n_rows: int, n_lanes: int) -> list[range]:
    """Blocks of neighbouring features, about as many for each lane."""
    at_once = (BYTES_A_ROW + n_features // 2) * n_rows // (4 * BUCKETS)
    most = min(max(1, at_once // n_lanes), MOST_TOGETHER) if n_rows > LISTED_ROWS else MOST_TOGETHER
    n_blocks = min(n_features, n_lanes * -(-n_features // (most * n_lanes)))
    bound = [-(-n_features * i // n_blocks) for i in range(n_blocks + 1)]
    return [range(first, last) for first, last in pairwise(bound)]


def find_cuts(
    backend: "Backend",
    columns: Sequence[Column],
    values: "Values",
    weight: HostArray | None,
    max_bins: int,
) -> list[FeatureBins]:
    """The cuts of some columns."""
    if columns[0].values.shape[0] <= LISTED_ROWS:
        listed = backend.refine(values, weight, [None] * len(columns))
        plans = [_Plan.of_values(value, count, max_bins) for value, count in listed]
    else:
        plans = [_Plan(*found, max_bins) for found in backend.sketch(values, weight)]
        wanted = [
            plan.wanted() if column.kind is Kind.NUMERIC else np.empty(0, np.int64)
            for plan, column in zip(plans, columns, strict=True)
        ]
        for plan, found in zip(plans, backend.refine(values, weight, wanted), strict=True):
            plan.learn(*found)
    # A missing value counts even in a row without weight: a later fit may give it one.
    return [
        _feature_bins(column, plan, bool(n_missing))
        for column, plan, n_missing in zip(
            columns, plans, backend.count_missing(values), strict=True
        )
    ]


def _feature_bins(column: Column, plan: "_Plan", has_missing: bool) -> FeatureBins:
    if not plan.occupied.size:
        raise ValueError(f"column {column.name!r} has no known value; drop it before fitting")
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

    def __init__(self, occupied: HostArray, weight: HostArray, max_bins: int) -> None:
        self.max_bins = max_bins
        self.occupied = occupied  # buckets that hold values
        self.reached = np.cumsum(weight)  # weight up to the end of each of them
        self.total = int(self.reached[-1]) if self.reached.size else 0
        self.known = np.zeros(len(self.occupied), bool)
        self.value: HostArray = np.empty(0)  # distinct values of the known buckets, sorted
        self.weight: HostArray = np.empty(0, np.int64)
        self.place: HostArray = np.empty(0, np.int64)  # which occupied bucket each value is in

    @classmethod
    def of_values(cls, value: HostArray, weight: HostArray, max_bins: int) -> "_Plan":
        """A plan that knows every value, as if all were in one bucket."""
        in_use = np.zeros(min(1, len(value)), np.int64)
        plan = cls(in_use, weight.sum(keepdims=True)[: len(in_use)], max_bins)
        plan.value, plan.weight = value, weight
        plan.place = np.zeros(len(value), np.int64)
        plan.known[:] = True
        return plan

    @cached_property
    def ranks(self) -> HostArray:
        return quantile_ranks(self.total, self.max_bins)

    def wanted(self) -> HostArray:
        """The buckets whose values are needed to place the cuts."""
        if len(self.occupied) <= self.max_bins:
            return self.occupied  # perhaps every value gets a code of its own
        # The value after a cut may be the first of the next bucket.
        at = np.searchsorted(self.reached, self.ranks)
        needed = np.unique(np.concatenate([at, at + 1]))
        return self.occupied[needed[needed < len(self.occupied)]]

    def learn(self, value: HostArray, weight: HostArray) -> None:
        """Take in the distinct values of the buckets asked for, sorted."""
        self.value, self.weight = value, weight
        bucket = bucket_of(value)
        is_first = np.append(True, bucket[1:] != bucket[:-1])[: len(bucket)]
        of_run = np.searchsorted(self.occupied, bucket[is_first])
        self.place = of_run[np.cumsum(is_first) - 1]
        self.known[of_run] = True

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


def distinct(members: HostArray, weights: HostArray | None) -> tuple[HostArray, HostArray]:
    """Distinct values, sorted, and how much weight each has."""
    if weights is None:
        members.sort()
    else:
        order = np.argsort(members)
        members, weights = members[order], weights[order]
    first = np.flatnonzero(np.append(True, members[1:] != members[:-1])[: len(members)])
    if weights is None:
        count = np.diff(np.append(first, len(members)))
    else:
        count = np.add.reduceat(weights, first) if len(first) else weights
    return members[first].astype(np.float64), count


def cuts_by_bucket(cut: HostArray) -> tuple[HostArray, HostArray]:
    """How many cuts lie below each bucket, and how many inside it."""
    inside = np.bincount(bucket_of(cut), minlength=BUCKETS)
    return np.cumsum(inside) - inside, inside


def searched_codes(values: HostArray, feature: FeatureBins) -> HostArray:
    """The codes of a short column: how many cuts lie below each value, or the missing code."""
    code = np.searchsorted(feature.cut, values, side="left")
    return np.where(np.isnan(values), feature.n_codes - 1, code)
