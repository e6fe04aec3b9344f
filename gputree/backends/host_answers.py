"""Predictions and their reasons by array code: the defaults of the contract's `Answering`."""

from collections.abc import Iterator
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from gputree.backends import attribution
from gputree.backends.array import predict as array_predict
from gputree.backends.array.libraries import Library, NumpyLibrary
from gputree.backends.host_walk import host_walker
from gputree.data.sparse import dense
from gputree.data.table import Column, Table, whole_matrix
from gputree.dtypes import MISSING_CATEGORY, Array, HostArray
from gputree.kernels.losses import Link
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk


class HostAnswers:
    """Walks of tables down trees by an array library."""

    _lib: Library = NumpyLibrary(np)  # where array code runs

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

    def answer(
        self,
        stack: Stack,
        table: Table,
        start: HostArray,
        divisor: float,
        label: HostArray | None,
        link: Link | None,
    ) -> Array | None:
        return None

    def number_leaves(self, stack: Stack, table: Table) -> Array | None:
        return None

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
