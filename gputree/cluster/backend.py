"""A backend for some of a table's rows, which has the sums of all of them.

It holds a backend that computes with its own rows, and a `Comm` to those who have the others.
Coding values, moving rows and predicting are each rank's own affair. What a builder decides by is
summed up: counts, cuts, histograms, gradients. So every rank decides alike.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gputree.backends.array import gradients as array_gradients
from gputree.backends.contract import Backend, Data, Hist, Moves, RawScores, Rows, Values
from gputree.backends.defaults import Defaults
from gputree.backends.sums import Sums
from gputree.comm import Comm, largest, smallest, total
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import distinct
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.kernels.buckets import BUCKETS, PAGE
from gputree.kernels.losses import Loss
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk


class ClusterBackend(Defaults):
    """The rows here, and the sums of all."""

    def __init__(self, local: Backend, comm: Comm) -> None:
        self.name, self.device = local.name, local.device
        self._local, self._comm = local, comm

    # Values to codes.

    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> Data:
        return self._local.reserve(n_features, n_rows, most_codes, folder)

    def hold(self, columns: Sequence[Column]) -> Values:
        return self._local.hold(columns), len(columns)

    def count_missing(self, values: Values) -> HostArray:
        return total(self._comm, self._local.count_missing(values[0]))

    def sketch(
        self, values: Values, weight: HostArray | None, within: Sequence[HostArray] | None = None
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.sketch(values[0], weight, within)
        # What is counted of a column takes the same room on every rank, however many there are.
        pages = [None] * values[1] if within is None else within
        return [self._counted(*own, page) for own, page in zip(held, pages, strict=True)]

    def _counted(
        self, bucket: HostArray, weight: HostArray, pages: HostArray | None
    ) -> tuple[HostArray, HostArray]:
        """The weight that all ranks have in each bucket of a column."""
        if pages is None:
            counts = np.zeros(BUCKETS, np.int64)
            counts[bucket] = weight
        else:
            counts = np.zeros(len(pages) * PAGE, np.int64)
            counts[np.searchsorted(pages, bucket // PAGE) * PAGE + bucket % PAGE] = weight
        self._comm.add(counts)
        at = np.flatnonzero(counts)
        return at if pages is None else pages[at // PAGE] * PAGE + at % PAGE, counts[at]

    def refine(
        self, values: Values, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        held = self._local.refine(values[0], weight, wanted)
        n = np.array([len(value) for value, _ in held], np.int64)
        message = [n, *(value + 0.0 for value, _ in held), *(each for _, each in held)]
        found: list[list[tuple[HostArray, HostArray]]] = [[] for _ in held]
        for own in self._comm.gather(b"".join(part.tobytes() for part in message)):
            n, rest = np.split(np.frombuffer(own, np.int64), [len(held)])
            value, amount = np.split(rest, 2)
            ends = np.cumsum(n)[:-1]
            columns = np.split(value.view(np.float64), ends), np.split(amount, ends)
            for column, *part in zip(found, *columns, strict=True):
                column.append((part[0], part[1]))
        return [distinct(*map(np.concatenate, zip(*column, strict=True))) for column in found]

    def encode(
        self,
        data: Data,
        first_feature: int,
        values: Values,
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        self._local.encode(data, first_feature, values[0], bins, first_row)

    # Rows at nodes, and their sums.

    def begin(
        self, data: Data, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> Rows:
        return self._local.begin(data, bins, target, n_each)

    def take_rows(self, data: Data, row: HostArray) -> Data:
        return self._local.take_rows(data, row)

    def tally(self, rows: Rows, nodes: HostArray) -> Hist:
        sums: Sums = self._local.dense(self._local.tally(rows, nodes))
        self._comm.add(sums.array)
        return sums

    def codes_of(self, rows: Rows, row: HostArray, feature: HostArray) -> HostArray:
        return self._local.codes_of(rows, row, feature)

    def disperse(self, rows: Rows, nodes: HostArray, row: HostArray, node: HostArray) -> Rows:
        return self._local.disperse(rows, nodes, row, node)

    def leaves(self, rows: Rows) -> HostArray:
        return self._local.leaves(rows)

    def count_rows(self, rows: Rows, nodes: HostArray) -> HostArray:
        return total(self._comm, self._local.count_rows(rows, nodes))

    def rows_at(self, rows: Rows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        return self._local.rows_at(rows, nodes)

    def row_keys(self, data: Data, bins: Bins, is_in: HostArray) -> HostArray:
        return self._local.row_keys(data, bins, is_in)

    def route(self, rows: Rows, moves: Moves) -> Rows:
        return self._local.route(rows, moves)

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        n_rows = self._local.count_rows(rows, nodes)
        has_some = np.flatnonzero(n_rows)
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
    ) -> Iterator[Gradients]:
        return array_gradients.gradients(
            self._lib,
            self._losses,
            raw_scores,
            loss,
            takes_part,
            counts_rows=counts_rows,
            comm=self._comm,
        )

    def gradient_sums(self, rows: Rows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return total(self._comm, super().gradient_sums(rows, gradients, nodes))

    # After a tree: each rank walks its own rows.

    def apply(self, tree: Tree, table: Table) -> HostArray:
        return self._local.apply(tree, table)

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        return self._local.leaves_of(stack, table)

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        return self._local.sum_leaves(stack, table, start)

    def walker(self, table: Table) -> Walk:
        return self._local.walker(table)

    # Costs.

    @property
    def compile_seconds(self) -> float:
        return self._local.compile_seconds

    def room_for_hists(self) -> int | None:
        return self._local.room_for_hists()

    def release(self) -> None:
        self._local.release()

    def bytes_held(self, data: Data, rows: Rows | None) -> int:
        return self._local.bytes_held(data, rows)
