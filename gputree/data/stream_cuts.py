"""Cuts of a table that is read in chunks: the same as if it were in memory.

The first sweep over the rows counts the weight in each bucket of the number line. A second counts
fine buckets, where those that hold cuts are crowded, and a third lists the distinct values around
the cuts. What is counted and listed takes at most 2 MB and 2**17 values a column. Where more
distinct values share even fine buckets, as large numbers that differ in their last digits do, the
cuts of that column are selected bit by bit, which takes at most 16 sweeps more.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gputree.arrays import to_numpy
from gputree.comm import ALONE, Comm
from gputree.data.cuts import CutSearch, blocks_of, distinct
from gputree.data.selection import Selection, first_key
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.kernels.buckets import BUCKETS, PAGE

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Values

MOST_LISTED = 2**17  # distinct values of a column

# The columns of some features, chunk by chunk, with the first row of each.
Sweep: TypeAlias = Callable[[Sequence[int]], Iterator[tuple[int, Table]]]


class Counts:
    """How much weight is in each bucket, and how many values are missing; chunk by chunk."""

    def __init__(self, n_columns: int) -> None:
        # Memory is taken when it is written to, and most buckets are empty.
        self.amount = [np.zeros(BUCKETS, np.int64) for _ in range(n_columns)]
        self.n_missing = np.zeros(n_columns, np.int64)

    def add(self, backend: "Backend", table: Table, weight: HostArray | None) -> None:
        """Count some rows."""

        def count(values: "Values", block: range) -> None:
            for at, (bucket, amount) in zip(block, backend.sketch(values, weight), strict=True):
                self.amount[at][bucket] += amount
            self.n_missing[block.start : block.stop] += backend.count_missing(values)

        by_blocks(backend, table, count)

    def plans(self, max_bins: int, comm: Comm = ALONE) -> list[CutSearch]:
        """What is known of each column, here and with others; the counts are given up."""
        plans = []
        while self.amount:
            amount = self.amount.pop(0)
            comm.add(amount)
            bucket = np.flatnonzero(amount)
            plans.append(CutSearch(bucket, amount[bucket], max_bins))
        return plans


def by_blocks(backend: "Backend", table: Table, task: Callable[["Values", range], None]) -> None:
    """Do something with blocks of columns, in the lanes of the backend."""

    def hold(block: range) -> None:
        task(backend.hold(table.columns[block.start : block.stop]), block)

    backend.each(hold, blocks_of(table.n_features, table.n_rows, backend.n_lanes))


def neighbours_of(
    backend: "Backend",
    sweep: Sweep,
    features: Sequence[int],
    plans: Sequence[CutSearch],
    weight: HostArray | None,
    comm: Comm = ALONE,
) -> list[tuple[HostArray, HostArray]]:
    """The values on both sides of each cut of some numeric features."""
    _divide(backend, sweep, features, plans, weight, comm)
    listed = [Listed(max(MOST_LISTED, 2 * plan.max_bins)) for plan in plans]
    wanted = [plan.wanted() for plan in plans]
    for first, table in sweep(features):
        own = _part(weight, first, table.n_rows)

        def refine(values: "Values", block: range, own: HostArray | None = own) -> None:
            asked = wanted[block.start : block.stop]
            for at, found in zip(block, backend.refine(values, own, asked), strict=True):
                listed[at].add(*found)

        by_blocks(backend, table, refine)
    for plan, own_values in zip(plans, listed, strict=True):
        own_values.unite(comm)
        plan.learn(*own_values.all())
    full = [at for at, own_values in enumerate(listed) if own_values.is_full]
    some = [features[at] for at in full], [plans[at] for at in full]
    selected = _select(sweep, *some, weight, comm)
    by_place = dict(zip(full, selected, strict=True))
    return [by_place[at] if at in by_place else plan.neighbours() for at, plan in enumerate(plans)]


def _divide(
    backend: "Backend",
    sweep: Sweep,
    features: Sequence[int],
    plans: Sequence[CutSearch],
    weight: HostArray | None,
    comm: Comm,
) -> None:
    """Count fine buckets where coarse ones hold more values than are to be listed."""
    pages = [plan.to_divide(MOST_LISTED // 2) for plan in plans]
    crowded = [at for at, own in enumerate(pages) if own.size]
    if not crowded:
        return
    amount = {at: np.zeros(len(pages[at]) * PAGE, np.int64) for at in crowded}
    for first, table in sweep([features[at] for at in crowded]):
        own = _part(weight, first, table.n_rows)

        def count(values: "Values", block: range, own: HostArray | None = own) -> None:
            places = crowded[block.start : block.stop]
            asked = [pages[at] for at in places]
            for at, (fine, held) in zip(places, backend.sketch(values, own, asked), strict=True):
                page = np.searchsorted(pages[at], fine // PAGE)
                amount[at][page * PAGE + fine % PAGE] += held

        by_blocks(backend, table, count)
    for at in crowded:
        comm.add(amount[at])
        cell = np.flatnonzero(amount[at])
        fine = pages[at][cell // PAGE] * PAGE + cell % PAGE
        plans[at].divide(fine, amount[at][cell])


def _select(
    sweep: Sweep,
    features: Sequence[int],
    plans: Sequence[CutSearch],
    weight: HostArray | None,
    comm: Comm,
) -> list[tuple[HostArray, HostArray]]:
    """The same for features with too many distinct values around their cuts to be listed."""
    selections = [selection_of(plan) for plan in plans]
    is_open = [True] * len(plans)
    while any(is_open):
        places = [at for at, own in enumerate(is_open) if own]
        for first, table in sweep([features[at] for at in places]):
            own = _part(weight, first, table.n_rows)
            for at, column in zip(places, table.columns, strict=True):
                selections[at].see(to_numpy(column.values), own)
        for at in places:
            is_open[at] = not selections[at].end_sweep(comm)
    return [selection.neighbours() for selection in selections]


def selection_of(plan: CutSearch) -> Selection:
    """The ranks of a plan, each with the bucket that it is known to be in."""
    at = np.searchsorted(plan.reached, plan.ranks)
    first = plan.first[at]
    n_fine = np.where(np.isin(first // PAGE, plan.divided), 1, PAGE)
    rank = plan.ranks - (plan.reached - plan.held)[at]
    return Selection(first_key(first), first_key(first + n_fine) - 1, rank)


def _part(weight: HostArray | None, first: int, n_rows: int) -> HostArray | None:
    return None if weight is None else weight[first : first + n_rows]


class Listed:
    """Distinct values and their weights, put together from chunks, up to a number of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[tuple[HostArray, HostArray]] = []
        self._n_sorted = self._n_more = 0
        self.is_full = False  # there are more, and none are kept

    def add(self, value: HostArray, weight: HostArray) -> None:
        """Take in the distinct values of a chunk."""
        if self.is_full:
            return
        self._parts.append((value, weight))
        self._n_more += len(value)
        if self._n_more > max(self._n_sorted, self._most // 4):
            self._merge()

    def _merge(self) -> None:
        if len(self._parts) > 1:
            value, weight = (np.concatenate(part) for part in zip(*self._parts, strict=True))
            self._parts = [distinct(value, weight)]
        self._n_sorted, self._n_more = len(self._parts[0][0]) if self._parts else 0, 0
        self.is_full = self._n_sorted > self._most
        if self.is_full:
            self._parts = []

    def unite(self, comm: Comm) -> None:
        """Put together the values that all have."""
        if comm.size == 1:
            return
        told = comm.gather(pickle.dumps((*self.all(), self.is_full)))
        for value, weight, is_full in map(pickle.loads, told[: comm.rank] + told[comm.rank + 1 :]):
            self.add(value, weight)
            self.is_full = self.is_full or is_full

    def all(self) -> tuple[HostArray, HostArray]:
        """The values, sorted, and their weights; none if there are too many."""
        if not self.is_full:
            self._merge()
        return self._parts[0] if self._parts else (np.empty(0), np.empty(0, np.int64))
