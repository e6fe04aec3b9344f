"""The distinct values of wanted buckets, for the CPU backend.

Most often few values are wanted: they are gathered and sorted. Where values crowd together, most
often a few of them come again and again, each the only one of its bucket: those are weighed where
they are.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gputree.backends.cpu.lanes import Lane
from gputree.data.cuts import CROWD, LISTED_ROWS, distinct
from gputree.data.number_line import Buckets, fill_pages
from gputree.dtypes import HostArray
from gputree.kernels.buckets import BUCKETS
from gputree.kernels.cpu import binning

NONE = np.empty(0, np.int64)  # stands for weights that are not there
NO_CLASSES = np.empty(0, np.uint8)  # of the type that classes have most often
NOTHING = np.empty(0), NONE  # no values or buckets, and their weights


def page_table(lane: Lane, pages: Sequence[HostArray]) -> HostArray:
    """For each column, where the pages asked for are in a table of fine buckets."""
    page_of = lane.room("pages", (len(pages), BUCKETS + 1), np.uint16)
    for own, asked in zip(page_of, pages, strict=True):
        if asked.size:
            fill_pages(own, asked)
    return page_of


class Listing:
    """Lists the wanted values of the columns of a block."""

    def __init__(
        self, lane: Lane, block: HostArray, weight: HostArray | None, wanted: Sequence[Buckets]
    ) -> None:
        self._lane, self._block = lane, block
        self._is_weighted = weight is not None
        self._weight = NONE if weight is None else weight
        self._asked = [column for column, own in enumerate(wanted) if own.number.size]
        n_cells = max(own.n_cells for own in wanted)
        self._is_wanted = lane.room("buckets", (len(wanted), n_cells), np.bool_)
        for column in self._asked:
            self._is_wanted[column] = False
            self._is_wanted[column, wanted[column].cell] = True
        is_fine = np.array([own.is_fine for own in wanted], np.bool_)
        page_of = page_table(lane, [own.pages for own in wanted])
        self._tables = is_fine, page_of, self._is_wanted

    def by_column(self) -> list[tuple[HostArray, HostArray]]:
        """Distinct values and their weights."""
        found = self._of_few(self._asked)
        crowded = [column for column in self._asked if column not in found]
        if crowded:
            found |= self._of_many(crowded)
        return [found.get(column, NOTHING) for column in range(len(self._is_wanted))]

    def _of_few(self, asked: Sequence[int]) -> dict[int, tuple[HostArray, HostArray]]:
        """Those of columns of which few values are wanted."""
        n_columns, room = len(self._is_wanted), max(LISTED_ROWS, 2 * len(self._block) // CROWD)
        members = self._lane.room("members", (n_columns, room), self._block.dtype)
        weights = self._lane.room("weights", (n_columns, room * self._is_weighted), np.int64)
        n_found = np.zeros(n_columns, np.int64)
        columns = np.array(asked, np.int64)
        binning.gather(self._block, self._weight, columns, self._tables, members, weights, n_found)
        return {
            column: self._distinct(members[column], weights[column], n)
            for column, n in zip(asked, n_found[columns].tolist(), strict=True)
            if n <= room
        }

    def _of_many(self, crowded: Sequence[int]) -> dict[int, tuple[HostArray, HostArray]]:
        """Those of columns of which many values are wanted."""
        found = dict(zip(crowded, self._single_values(crowded), strict=True))
        rest = [column for column in crowded if self._is_wanted[column].any()]
        few = self._of_few(rest) if rest else {}
        for column in rest:
            more = few[column] if column in few else self._of_one(column)
            value, amount = map(np.append, found[column], more)
            order = np.argsort(value)
            found[column] = value[order], amount[order]
        return found

    def _single_values(self, crowded: Sequence[int]) -> list[tuple[HostArray, HostArray]]:
        """Values that have a bucket of their own, which is no longer wanted, and their weights."""
        cells = [np.flatnonzero(self._is_wanted[column]) for column in crowded]
        bound = np.cumsum([1, *(len(cell) for cell in cells)]).tolist()
        seen = self._seen(crowded, cells, bound)
        is_single = (seen["weight"] > 0) & (seen["low"] == seen["high"])
        is_left = (seen["weight"] > 0) & ~is_single
        found = []
        for column, cell, (first, last) in zip(crowded, cells, pairwise(bound), strict=True):
            self._is_wanted[column, cell] = is_left[first:last]
            single = seen[first:last][is_single[first:last]]
            found.append((single["low"].astype(np.float64) + 0.0, single["weight"].copy()))
        return found

    def _seen(
        self, columns: Sequence[int], cells: Sequence[HostArray], bound: Sequence[int]
    ) -> HostArray:
        """The smallest and the largest value and the weight in wanted cells, column by column."""
        rank = self._lane.room("rank", (len(columns), self._is_wanted.shape[1]), np.int32)
        rank[:] = 0
        for own, cell, (first, last) in zip(rank, cells, pairwise(bound), strict=True):
            own[cell] = np.arange(first, last)
        number = self._block.dtype
        # One record has all of a cell, so that it takes one line of a cache.
        seen = np.zeros(bound[-1], [("low", number), ("high", number), ("weight", np.int64)])
        seen["low"], seen["high"] = np.inf, -np.inf
        asked = np.array(columns, np.int64)
        binning.span(self._block, self._weight, asked, self._tables, rank, seen)
        return seen

    def _of_one(self, column: int) -> tuple[HostArray, HostArray]:
        """Those of one column, however many; memory is taken as values come."""
        one, n_rows = slice(column, column + 1), len(self._block)
        members = np.empty((1, n_rows), self._block.dtype)
        weights = np.empty((1, n_rows * self._is_weighted), np.int64)
        n_found, first = np.zeros((2, 1), np.int64)
        tables = tuple(table[one] for table in self._tables)
        binning.gather(self._block[:, one], self._weight, first, tables, members, weights, n_found)
        return self._distinct(members[0], weights[0], int(n_found[0]))

    def _distinct(
        self, members: HostArray, weights: HostArray, n: int
    ) -> tuple[HostArray, HostArray]:
        return distinct(members[:n], weights[:n] if self._is_weighted else None)
