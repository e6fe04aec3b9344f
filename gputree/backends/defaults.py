"""Every verb beyond the core of the contract, in terms of the core.

A backend that inherits `Defaults` writes the verbs of `contract.Core` and overrides what it can do
faster. Sums then are `Sums` on the host, and splits, gradients and predictions are computed there,
by the array code that NumPy runs. The results are those of every other backend.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gputree import formulas, sampling
from gputree.backends import attribution
from gputree.backends.array import gradients as array_gradients
from gputree.backends.array import predict as array_predict
from gputree.backends.array import split as array_split
from gputree.backends.array.libraries import Library, NumpyLibrary
from gputree.backends.array.rate import Rating
from gputree.backends.categories import split_categories, tables_of
from gputree.backends.contract import (
    CategoryRules,
    CategorySplits,
    Core,
    Data,
    Hist,
    Item,
    Moves,
    Rates,
    RawScores,
    Result,
    Rows,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.host_walk import host_walker
from gputree.backends.seen import Seen, seen_of_cells
from gputree.backends.sums import Sums
from gputree.backends.whole import BoostRules, Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins
from gputree.data.gradients import Given, Gradients
from gputree.data.sparse import dense
from gputree.data.table import Column, Table, whole_matrix
from gputree.data.target import Channels, class_target
from gputree.dtypes import MISSING_CATEGORY, OUTSIDE, STAY, SUM, Array, HostArray
from gputree.kernels.losses import Loss
from gputree.runs import owners, spread_out
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk

_NUMPY = NumpyLibrary(np)


class Defaults(Core):
    """The verbs that follow from the core."""

    grows_whole = boosts = False
    shares_frontiers = True
    # Where the array code of this class runs.
    _lib: Library = _NUMPY
    _formulas: SimpleNamespace = formulas.HOST
    _losses: SimpleNamespace = formulas.LOSSES

    # Rows.

    def count_rows(self, rows: Rows, nodes: HostArray) -> HostArray:
        leaf = self.leaves(rows)
        n_nodes = int(nodes.max(initial=-1)) + 1
        inside = leaf[(leaf != OUTSIDE) & (leaf < n_nodes)]
        return np.bincount(inside, minlength=n_nodes)[nodes]

    def rows_at(self, rows: Rows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        leaf = self.leaves(rows)
        order = np.argsort(leaf, kind="stable")
        begin, end = (np.searchsorted(leaf[order], nodes, side) for side in ("left", "right"))
        return order[spread_out(begin, end - begin)], end - begin

    def row_keys(self, data: Data, bins: Bins, is_in: HostArray) -> HostArray:
        row, n_rows = np.flatnonzero(is_in), len(is_in)
        # Rows have codes below some root; one class is the least that they can have to sum.
        rows = self.begin(data, bins, class_target(np.zeros(n_rows, np.int32), 1, None))
        key = np.zeros(len(row), np.uint64)
        for feature in range(len(bins.features)):
            code = self.codes_of(rows, row, np.full(len(row), feature))
            number = bins.number[bins.offset[feature] + code]
            key = sampling.mix(key, number.astype(np.uint64))
        return key

    def route(self, rows: Rows, moves: Moves) -> Rows:
        row, n_rows = self.rows_at(rows, moves.node)
        move = owners(n_rows)
        code = self.codes_of(rows, row, moves.feature[move])
        slot = moves.table[moves.start[move] + code].astype(np.int64)
        node = np.where(slot == STAY, moves.node[move], moves.first_child[move] + slot)
        return self.disperse(rows, moves.node, row, node)

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        row, n_rows = self.rows_at(rows, nodes)
        low_high = [
            self._lib.extremes(self._put(owners(n_rows)), self._put(output[row]), len(nodes))
            for output in rows.target.point
        ]
        found = [[self._lib.to_host(end) for end in ends] for ends in low_high]
        return np.moveaxis(np.array(found), 2, 0)

    # The search for splits.

    def dense(self, hist: Hist) -> Sums:
        if isinstance(hist, Sums):
            return hist
        n_features = len(hist.bins.features)
        pairs = np.divmod(np.arange(hist.n_nodes * n_features), n_features)
        return Sums.of_cells(hist.bins, hist.channels, self.cells(hist, *pairs))

    def derive(self, built: Hist, siblings: Siblings, above: Hist | None) -> Hist:
        found: Sums = built.derived(siblings, above)
        return found

    def cells(self, hist: Hist, place: HostArray, feature: HostArray) -> HostArray:
        found: HostArray = hist.cells(place, feature)
        return found

    def seen(self, hist: Hist, place: HostArray, feature: HostArray) -> Seen:
        return seen_of_cells(partial(self.cells, hist), hist.bins, place, feature)

    def best_splits(self, hist: Hist, search: Search) -> Splits:
        sums = self.dense(hist)
        given = sums.array, sums.bins, sums.channels, search
        return array_split.best_splits(_NUMPY, formulas.HOST, *given)

    def rate(self, hist: Hist, search: Search) -> Rates:
        sums = self.dense(hist)
        rating = Rating(_NUMPY, formulas.HOST, sums.bins, sums.channels, search)
        return rating.of_sums(sums.array)

    def split_categories(
        self, hist: Hist, place: HostArray, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        tables = tables_of(hist.bins, self.seen(hist, place, feature), feature)
        return split_categories(tables, hist.channels, rules)

    # Boosting.

    def raw_scores(self, start: HostArray, y: HostArray, weight: HostArray | None) -> RawScores:
        return array_gradients.raw_scores(self._lib, start, y, weight)

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
        return array_gradients.gradients(
            self._lib, self._losses, *given, counts_rows=counts_rows, comm=comm
        )

    def begin_gradients(self, data: Data, bins: Bins, gradients: Gradients) -> Rows:
        return self.begin(data, bins, array_gradients.target_of(gradients))

    def gradient_sums(self, rows: Rows, gradients: Gradients, nodes: HostArray) -> HostArray:
        arrays: array_gradients.ArrayGradients = gradients.arrays
        row, n_rows = self.rows_at(rows, nodes)
        found = np.empty((len(nodes), 2), SUM)
        found[:, 1] = n_rows
        for column, wide in enumerate((arrays.gradient, arrays.hessian)):
            if wide is not None:
                # Totals are below 2**53, so that sums of floats are exact.
                found[:, column] = np.bincount(owners(n_rows), wide[row], len(nodes))
        return found

    def renew(self, raw_scores: RawScores, output: int, rows: Rows, step: HostArray) -> None:
        leaf = self.leaves(rows)
        inside = np.flatnonzero(leaf != OUTSIDE)
        raw = raw_scores.raw[output].copy()
        raw[inside] += step[leaf[inside]]
        raw_scores.raw[output] = raw

    def read_raw_scores(self, raw_scores: RawScores) -> HostArray:
        return np.stack([self._lib.to_host(raw) for raw in raw_scores.raw])

    # Whole trees and whole rounds: a frontier after another is the only way.

    def grow_whole(
        self,
        roots: Sequence[Rows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
        then: Callable[[int, Whole], Any],
    ) -> Any:
        return None

    def boost(
        self,
        data: Data,
        bins: Bins,
        raw_scores: RawScores,
        rules: BoostRules,
        takes_part: HostArray | None,
        columns: HostArray | None,
        keys: HostArray,
    ) -> Any:
        return None

    # Prediction.

    def apply(self, tree: Tree, table: Table) -> HostArray:
        if tree not in self._plans:
            self._plans[tree] = array_predict.WalkPlan.of(self._lib, Stack.of([tree]))
        leaf = np.empty(table.n_rows, np.int64)
        for rows, _, end in self._walk(self._plans[tree], table):
            leaf[rows] = self._lib.to_host(end)[0]
        return leaf

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        leaf = np.empty((table.n_rows, stack.n_trees), np.int32)
        for rows, trees, end in self._walk(self._plan(stack), table):
            leaf[rows, trees] = self._lib.to_host(end).T - stack.root[trees]
        return leaf

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        xp, width = self._lib.xp, stack.width
        total = self._put(np.tile(np.asarray(start, np.float64), (table.n_rows, 1)))
        value = self._put(stack.value)
        for rows, trees, end in self._walk(self._plan(stack), table):
            for number, first in enumerate(stack.column[trees].tolist()):
                own = total[rows, first : first + width]
                total[rows, first : first + width] = own + xp.take(value, end[number, :], axis=0)
        return self._lib.to_host(total)

    def attribute(
        self, stack: Stack, table: Table, owner: HostArray, background: Table | None
    ) -> HostArray:
        return attribution.attribute(stack, table, owner, background)

    def walker(self, table: Table) -> Walk:
        return host_walker(table)

    @cached_property
    def _plans(self) -> WeakKeyDictionary[Tree | Stack, array_predict.WalkPlan]:
        """Kept as long as the trees are, which predict many times and never change."""
        return WeakKeyDictionary()

    def _plan(self, stack: Stack) -> array_predict.WalkPlan:
        if stack not in self._plans:
            self._plans[stack] = array_predict.WalkPlan.of(self._lib, stack)
        return self._plans[stack]

    def _walk(
        self, plan: array_predict.WalkPlan, table: Table
    ) -> Iterator[tuple[slice, slice, Array]]:
        def read(used: HostArray) -> Array:
            whole = whole_matrix(table.columns)
            if isinstance(whole, np.ndarray):
                return self._put(np.ascontiguousarray(whole.T[used]))
            xp = self._lib.xp
            columns = (self._values(table.columns[at]) for at in used.tolist())
            return xp.stack([xp.astype(column, xp.float64) for column in columns])

        return array_predict.walk(self._lib, plan, table.n_rows, read)

    def _values(self, column: Column) -> Array:
        """The values of a column as floats: numbers, or category numbers, NaN where missing."""
        if column.categories is None:
            return self._lib.adopt(dense(column.values))
        category = np.asarray(column.values)
        return self._put(
            np.where(category == MISSING_CATEGORY, np.nan, category).astype(np.float32)
        )

    def _put(self, array: HostArray) -> Array:
        return self._lib.from_host(array)

    # Lanes and costs.

    @property
    def n_lanes(self) -> int:
        return 1

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return [task(item) for item in items]

    @property
    def compile_seconds(self) -> float:
        return 0.0

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        return np.full(len(n_rows), np.dtype(SUM).itemsize * bins.width * channels.n)

    def room_for_hists(self) -> int | None:
        return None

    def release(self) -> None:
        """Nothing is kept for the next call."""

    def bytes_held(self, data: Data, rows: Rows | None) -> int:
        return int(getattr(data, "nbytes", 0))
