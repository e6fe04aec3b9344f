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
    Hist,
    Other,
    RawScores,
    Residuals,
    Rows,
    Values,
    Watched,
)
from gputree.backends.defaults import Defaults
from gputree.backends.residuals import HostResiduals
from gputree.backends.sums import Sums
from gputree.backends.watched import HostOther, HostWatched
from gputree.comm import ALONE, Comm, largest, smallest, total
from gputree.data.cuts import distinct
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.kernels.buckets import BUCKETS, PAGE
from gputree.kernels.losses import Loss


def _of_own_rows(verb: str) -> Callable[..., Any]:
    """A verb that the local backend has, and that does not ask for the rows of others."""

    def ask(self: "ClusterBackend", *args: Any, **kwargs: Any) -> Any:
        return getattr(self._local, verb)(*args, **kwargs)

    return ask


class ClusterBackend(Defaults):
    """The rows here, and the sums of all."""

    def __init__(self, local: Backend, comm: Comm) -> None:
        self.name, self.device = local.name, local.device
        self._local, self._comm = local, comm

    reserve, hold, encode = map(_of_own_rows, ("reserve", "hold", "encode"))
    begin, take_rows, codes_of = map(_of_own_rows, ("begin", "take_rows", "codes_of"))
    disperse, leaves, route = map(_of_own_rows, ("disperse", "leaves", "route"))
    detour, row_order = map(_of_own_rows, ("detour", "row_order"))
    rows_at, row_keys, walker = map(_of_own_rows, ("rows_at", "row_keys", "walker"))
    apply, leaves_of, sum_leaves = map(_of_own_rows, ("apply", "leaves_of", "sum_leaves"))
    raw_scores, begin_gradients = map(_of_own_rows, ("raw_scores", "begin_gradients"))
    renew, read_raw_scores = map(_of_own_rows, ("renew", "read_raw_scores"))
    room_for_hists, release = map(_of_own_rows, ("room_for_hists", "release"))
    bytes_held = _of_own_rows("bytes_held")

    # Cuts.

    def count_missing(self, values: Values) -> HostArray:
        return total(self._comm, self._local.count_missing(values))

    def sketch(
        self, values: Values, weight: HostArray | None, within: Sequence[HostArray] | None = None
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.sketch(values, weight, within)
        every = np.arange(BUCKETS // PAGE)
        pages = [every] * len(held) if within is None else within
        return [self._counted(*own, page) for own, page in zip(held, pages, strict=True)]

    def _counted(
        self, bucket: HostArray, weight: HostArray, pages: HostArray
    ) -> tuple[HostArray, HostArray]:
        """The weight that all ranks have in each bucket of some pages: of a bounded size."""
        counts = np.zeros(len(pages) * PAGE, np.int64)
        counts[np.searchsorted(pages, bucket // PAGE) * PAGE + bucket % PAGE] = weight
        self._comm.add(counts)
        at = np.flatnonzero(counts)
        return pages[at // PAGE] * PAGE + at % PAGE, counts[at]

    def refine(
        self, values: Values, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.refine(values, weight, wanted)
        every = map(pickle.loads, self._comm.gather(pickle.dumps(held)))
        found = []
        for parts in zip(*every, strict=True):  # of a column
            value, amount = map(np.concatenate, zip(*parts, strict=True))
            found.append(distinct(value + 0.0, amount))  # -0.0 and 0.0 are one value
        return found

    # Rows at nodes, and their sums.

    def tally(self, rows: Rows, nodes: HostArray) -> Hist:
        sums: Sums = self._local.dense(self._local.tally(rows, nodes))
        self._comm.add(sums.array)
        return sums

    def count_rows(self, rows: Rows, nodes: HostArray) -> HostArray:
        return total(self._comm, self._local.count_rows(rows, nodes))

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        has_some = np.flatnonzero(self._local.count_rows(rows, nodes))
        own = self._local.span(rows, nodes[has_some])
        low, high = np.full((2, len(nodes), own.shape[1]), [[[np.inf]], [[-np.inf]]])
        low[has_some], high[has_some] = own[..., 0], own[..., 1]
        return np.stack([smallest(self._comm, low), largest(self._comm, high)], axis=2)

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
