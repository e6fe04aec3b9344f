"""A backend for some of a table's rows, which has the sums of all of them.

It holds a backend that computes with its own rows, and a `Comm` to those who have the others.
Coding values, moving rows and predicting are each rank's own affair. What a builder decides by is
summed up: counts, cuts, histograms, gradients. So every rank decides alike.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gputree.backends.contract import (
    Backend,
    CategoryRates,
    CategoryRules,
    CategorySplits,
    Other,
    Rates,
    RawScores,
    Residuals,
    Rows,
    Search,
    Siblings,
    Splits,
    Values,
    Watched,
)
from gputree.backends.defaults import Defaults
from gputree.backends.residuals import HostResiduals
from gputree.backends.seen import Seen
from gputree.backends.sums import Sums
from gputree.backends.watched import HostOther, HostWatched
from gputree.cluster.comm import Ranks
from gputree.cluster.sums import Columns, SpreadHist
from gputree.comm import ALONE, Comm, largest, total
from gputree.data.cuts import distinct
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Table
from gputree.dtypes import SUM, HostArray
from gputree.kernels.buckets import BUCKETS, PAGE
from gputree.kernels.losses import Loss

ALL_PAGES = np.arange(BUCKETS // PAGE)


def of_own_rows(verb: str) -> Callable[..., Any]:
    """A verb that the local backend has, and that does not ask for the rows of others."""

    def ask(self: "ClusterBackend", *args: Any, **kwargs: Any) -> Any:
        return getattr(self._local, verb)(*args, **kwargs)

    return ask


class ClusterBackend(Defaults):
    """The rows here, and the sums of all."""

    counts_freely = False

    def __init__(self, local: Backend, comm: Ranks, n_rows: int) -> None:
        """All ranks together have so many rows."""
        self.name, self.device = local.name, local.device
        self._local, self._comm, self._n_rows = local, comm, n_rows
        self._columns: Columns | None = None  # of the table that was last asked about

    reserve, hold, encode = map(of_own_rows, ("reserve", "hold", "encode"))
    begin, take_rows, codes_of = map(of_own_rows, ("begin", "take_rows", "codes_of"))
    disperse, leaves, route = map(of_own_rows, ("disperse", "leaves", "route"))
    detour, row_order = map(of_own_rows, ("detour", "row_order"))
    rows_at, row_keys, walker = map(of_own_rows, ("rows_at", "row_keys", "walker"))
    apply, leaves_of, sum_leaves = map(of_own_rows, ("apply", "leaves_of", "sum_leaves"))
    raw_scores, begin_gradients = map(of_own_rows, ("raw_scores", "begin_gradients"))
    renew, read_raw_scores = map(of_own_rows, ("renew", "read_raw_scores"))
    room_for_hists, release = map(of_own_rows, ("room_for_hists", "release"))
    bytes_held = of_own_rows("bytes_held")

    # Cuts.

    def count_missing(self, values: Values) -> HostArray:
        return total(self._comm, self._local.count_missing(values))

    def sketch(
        self, values: Values, weight: HostArray | None, within: Sequence[HostArray] | None = None
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.sketch(values, weight, within)
        every = [steps_of(*own) for own in held]
        told = [pickle.loads(each) for each in self._comm.gather(pickle.dumps(every))]
        pages = [ALL_PAGES] * len(held) if within is None else within
        return [counted(own, *parts) for own, *parts in zip(pages, *told, strict=True)]

    def refine(
        self, values: Values, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.refine(values, weight, wanted)
        every = [(narrowed(value), narrowed(amount)) for value, amount in held]
        told = [pickle.loads(each) for each in self._comm.gather(pickle.dumps(every))]
        found = []
        for parts in zip(*told, strict=True):  # of a column
            value, amount = map(np.concatenate, zip(*parts, strict=True))
            # -0.0 and 0.0 are one value.
            found.append(distinct(value.astype(np.float64) + 0.0, amount.astype(SUM)))
        return found

    # Rows at nodes, and their sums.

    def tally(self, rows: Rows, nodes: HostArray) -> SpreadHist:
        sums = self._local.sum_up(rows, nodes)
        if sums.dtype == np.int32 and self._n_rows >= 2**31:
            sums = sums.astype(np.int64)
        bins = rows.bins
        if self._columns is None or self._columns.bins is not bins:
            self._columns = Columns(bins, self._comm)
        return SpreadHist(self._local, self._columns, rows, rows.target.channels, sums)

    def derive(self, built: SpreadHist, siblings: Siblings, above: SpreadHist | None) -> SpreadHist:
        return built.derived(siblings, above)

    def dense(self, hist: SpreadHist) -> Sums:
        return self._local.dense(hist.whole().here)

    def best_splits(self, hist: SpreadHist, search: Search) -> Splits:
        return hist.best_splits(search)

    def rate(self, hist: SpreadHist, search: Search) -> Rates:
        return hist.rate(search)

    def cells(self, hist: SpreadHist, place: HostArray, feature: HostArray) -> HostArray:
        # Whoever asks for all codes of a feature asks for other features next.
        return self._local.cells(hist.whole().here, place, feature)

    def seen(self, hist: SpreadHist, place: HostArray, feature: HostArray) -> Seen:
        return hist.seen(place, feature)

    def rate_categories(
        self,
        hist: SpreadHist,
        place: HostArray,
        feature: HostArray,
        rules: CategoryRules,
        most_seen: HostArray,
    ) -> CategoryRates:
        return hist.rate_categories(place, feature, rules, most_seen)

    def split_categories(
        self, hist: SpreadHist, seen: Seen, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        # Nothing but the shape of the sums is asked for, and those who ask have the same `seen`.
        return self._local.split_categories(hist, seen, feature, rules)

    def count_rows(self, rows: Rows, nodes: HostArray) -> HostArray:
        return total(self._comm, self._local.count_rows(rows, nodes))

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        has_some = np.flatnonzero(self._local.count_rows(rows, nodes))
        own = self._local.span(rows, nodes[has_some])
        low, high = np.full((2, len(nodes), own.shape[1]), [[[np.inf]], [[-np.inf]]])
        low[has_some], high[has_some] = own[..., 0], own[..., 1]
        low, high = largest(self._comm, [-low, high])  # one message for both
        return np.stack([-low, high], axis=2)

    # Boosting: gradients are integers of a scale that all ranks agree on.

    def gradients(
        self,
        raw_scores: RawScores,
        loss: Loss | Given,
        takes_part: HostArray | None,
        *,
        counts_rows: bool,
        comm: Comm = ALONE,
    ) -> Iterator[Gradients]:
        given = raw_scores, loss, takes_part
        return self._local.gradients(*given, counts_rows=counts_rows, comm=self._comm)

    def gradient_sums(self, rows: Rows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return total(self._comm, self._local.gradient_sums(rows, gradients, nodes))

    def watched(
        self, raw_scores: RawScores, row: HostArray, y: HostArray, weight: HostArray
    ) -> Watched:
        return HostWatched(partial(self.read_raw_scores, raw_scores), row, y, weight, self._comm)

    def residuals(self, raw_scores: RawScores, rows: Rows, number: HostArray) -> Residuals:
        own = self._local.residuals(raw_scores, rows, number)
        assert isinstance(own, HostResiduals)  # ranks compute on the CPU
        return own.with_those_of(self._comm)

    def other_rows(self, table: Table, start: HostArray, y: HostArray, weight: HostArray) -> Other:
        return HostOther(self.apply, table, start, y, weight, self._comm)

    @property
    def compile_seconds(self) -> float:
        return self._local.compile_seconds


def narrowed(numbers: HostArray) -> HostArray:
    """The same numbers in as few bytes as hold them."""
    if numbers.dtype == np.float64:
        with np.errstate(over="ignore"):
            single = numbers.astype(np.float32)
        return single if np.array_equal(single, numbers) else numbers
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def steps_of(bucket: HostArray, weight: HostArray) -> tuple[int, HostArray, HostArray]:
    """Buckets as the first one and steps from each to the next, which are short; and weights."""
    first = int(bucket[0]) if len(bucket) else 0
    return first, narrowed(np.diff(bucket)), narrowed(weight)


def counted(
    pages: HostArray, *parts: tuple[int, HostArray, HostArray]
) -> tuple[HostArray, HostArray]:
    """The buckets of some pages that any rank has, with the weights of all."""
    counts = np.zeros(len(pages) * PAGE, SUM)
    for first, step, weight in parts:
        if len(weight):
            bucket = first + np.concatenate([[0], np.cumsum(step, dtype=np.int64)])
            cell = np.searchsorted(pages, bucket // PAGE) * PAGE + bucket % PAGE
            counts[cell] += weight
    at = np.flatnonzero(counts)
    return pages[at // PAGE] * PAGE + at % PAGE, counts[at]
