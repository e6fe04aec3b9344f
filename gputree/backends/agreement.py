"""How well a feature tells the children of nodes apart, from the codes that occur in these."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gputree.data.bins import Bins
from gputree.data.target import Channels, Target
from gputree.dtypes import SLOT, HostArray
from gputree.runs import begins, first_largest, owners, pieces

LEAST_ROWS = 2  # that a surrogate sends each way
N_GROUPS = 3  # of a node's rows: those of either child, and those that have stayed
CELLS_PER_BIN = 4  # up to so many cells (rows x features) per bin of sums, sorting rows costs less
NODES_AT_ONCE = 256  # by sums
ROWS_AT_ONCE = 2**17  # of nodes that are not

Backend = Any  # of `contract`, which tells of offers
Rows = Any


@dataclass(frozen=True)
class Cells:
    """The known codes of a feature that occur in some nodes, node by node and ascending.

    Counts and weights of a code are 0 where only rows have it that have stayed.
    """

    place: HostArray  # (cells,) of the node
    code: HostArray  # (cells,)
    weight: HostArray  # (2, cells) in each child
    count: HostArray  # (2, cells) rows in each child


class CellSource(Protocol):
    """Some nodes, by their sums or by their rows."""

    def cells(self, feature: int) -> Cells:
        """What they have of a feature."""
        ...


class CellsOfSums:
    """Nodes with many rows."""

    def __init__(
        self, backend: Backend, rows: Rows, bins: Bins, channels: Channels, groups: HostArray
    ) -> None:
        """`groups` are two children and the node itself, (nodes, 3)."""
        self._backend, self._bins, self._channels = backend, bins, channels
        self._shape = groups.shape
        self.filled = np.flatnonzero(backend.count_rows(rows, groups.ravel()))
        self.hist = backend.tally(rows, groups.ravel()[self.filled])

    def cells(self, feature: int) -> Cells:
        n_values, n_codes = int(self._bins.n_values[feature]), int(self._bins.n_codes[feature])
        at = np.arange(len(self.filled))
        found = self._backend.cells(self.hist, at, np.full(len(at), feature))
        found = found.reshape(len(at), n_codes, -1)[:, :n_values]
        weight, count = self._spread(self._channels.weight_of(found)), None
        if self._channels.counts_rows:
            count = self._spread(self._channels.rows_of(found))
        return _where_rows_are(weight, weight if count is None else count)

    def _spread(self, of_filled: HostArray) -> HostArray:
        """The same of all groups, (nodes, 3, codes)."""
        spread = np.zeros((self._shape[0] * N_GROUPS, of_filled.shape[1]), np.int64)
        spread[self.filled] = of_filled
        return spread.reshape(*self._shape, -1)


class CellsOfRows:
    """Nodes with few rows beside their codes: these are sorted, so that the cost follows them."""

    def __init__(
        self, backend: Backend, rows: Rows, bins: Bins, target: Target, groups: HostArray
    ) -> None:
        self._backend, self._rows, self._bins = backend, rows, bins
        self._row, n_rows = backend.rows_at(rows, groups.ravel())
        self._place, group = np.divmod(owners(n_rows), N_GROUPS)
        self._count = (group == np.arange(2)[:, None]).astype(np.int64)
        self._weight = self._count
        if target.weight is not None:
            self._weight = self._count * target.weight[self._row]

    def cells(self, feature: int) -> Cells:
        n_values = int(self._bins.n_values[feature])
        code = self._backend.codes_of(self._rows, self._row, np.full(len(self._row), feature))
        known = np.flatnonzero(code < n_values)
        # The place of a row rides along: sorting numbers takes a third of the time of an argsort.
        bits = len(self._row).bit_length()
        key = (self._place[known] * n_values + code[known] << bits) + known
        key.sort()
        cell, at = key >> bits, key & ((1 << bits) - 1)
        begin = np.flatnonzero(np.diff(cell, prepend=-1))
        place, code = np.divmod(cell[begin], n_values)
        count = _run_sums(self._count[:, at], begin)
        is_weighted = self._weight is not self._count
        weight = _run_sums(self._weight[:, at], begin) if is_weighted else count
        return Cells(place, code, weight, count)


def _where_rows_are(weight: HostArray, count: HostArray) -> Cells:
    """The cells of tables, (nodes, 3, codes), in which there are rows."""
    place, code = np.nonzero(count.any(axis=1))
    in_child = np.arange(2)[:, None]
    return Cells(place, code, weight[place, in_child, code], count[place, in_child, code])


def _run_sums(values: HostArray, begin: HostArray) -> HostArray:
    """Sums along the last axis from each beginning to the next."""
    if not begin.size:
        return np.zeros((*values.shape[:-1], 0), values.dtype)
    return np.asarray(np.add.reduceat(values, begin, axis=-1))


@dataclass(frozen=True)
class CategorySides:
    """The child of each category that occurs in a node's children."""

    place: HostArray  # (cells,) of the node
    code: HostArray  # (cells,)
    slot: HostArray  # (cells,)


@dataclass(frozen=True)
class Offer:
    """The best surrogate by one feature for each node."""

    agreement: HostArray  # (nodes,) weight, 0 where there is none
    code: HostArray  # (nodes,) the largest code of the first side, for thresholds
    next_code: HostArray  # (nodes,) the next one that occurs, or -1
    low_slot: HostArray  # (nodes,) the child of the first side
    categories: CategorySides | None = None


def offers_of(
    backend: Backend,
    rows: Rows,
    bins: Bins,
    target: Target,
    groups: HostArray,
    tie: HostArray,
    least_otherwise: int,
) -> Iterator[tuple[HostArray, list[Offer]]]:
    """What all features offer to some of the nodes at a time, by their places."""
    for some, source in _sources(backend, rows, bins, target, groups):
        offers = []
        for feature, is_nominal in enumerate(bins.is_nominal.tolist()):
            cells = source.cells(feature)
            if is_nominal:
                offers.append(by_categories(cells, tie[some], least_otherwise))
            else:
                offers.append(by_threshold(cells, len(some)))
        yield some, offers


def _sources(
    backend: Backend, rows: Rows, bins: Bins, target: Target, groups: HostArray
) -> Iterator[tuple[HostArray, CellSource]]:
    """What tells of some of the nodes."""
    n_rows = backend.count_rows(rows, groups.ravel()).reshape(groups.shape).sum(axis=1)
    is_small = n_rows * len(bins.features) <= CELLS_PER_BIN * bins.width
    if target.comm.size > 1:  # sums add up, rows do not
        is_small[:] = False
    large, small = np.flatnonzero(~is_small), np.flatnonzero(is_small)
    for own in pieces(np.ones(len(large)), NODES_AT_ONCE):
        some = large[own]
        yield some, CellsOfSums(backend, rows, bins, target.channels, groups[some])
    for own in pieces(n_rows[small], ROWS_AT_ONCE):
        some = small[own]
        yield some, CellsOfRows(backend, rows, bins, target, groups[some])


def by_threshold(cells: Cells, n_nodes: int) -> Offer:
    """The cut that agrees most.

    It lies midway between two values of the node. Rows whose tested value is missing have no say
    in which cut agrees most, but none of their values lies between.
    """
    offer = Offer(*np.zeros((4, n_nodes), np.int64))
    n_cells = np.bincount(cells.place, minlength=n_nodes)
    node = np.flatnonzero(n_cells)
    if not node.size:
        return offer
    n_cells = n_cells[node]
    begin = begins(n_cells)
    last = begin + n_cells - 1
    below, known = _running(cells.weight, begin, n_cells)
    n_below, n_known = _running(cells.count.sum(axis=0), begin, n_cells)
    is_cut = cells.count.any(axis=0) & (n_below >= LEAST_ROWS) & (n_known - n_below >= LEAST_ROWS)
    alike = below[0] + known[1] - below[1]
    turned = known[0] - below[0] + below[1]
    # The same way first, and the lowest cut; each must be strictly better than all before.
    agreement = np.where(is_cut, np.maximum(alike, turned), 0)
    best = begin + first_largest(agreement, n_cells)
    is_better = agreement[best] > known[:, best].max(axis=0)
    offer.agreement[node] = np.where(is_better, agreement[best], 0)
    offer.code[node] = cells.code[best]
    offer.next_code[node] = np.where(best < last, cells.code[np.minimum(best + 1, last)], -1)
    offer.low_slot[node] = turned[best] > alike[best]
    return offer


def _running(values: HostArray, begin: HostArray, n: HostArray) -> tuple[HostArray, HostArray]:
    """Sums of each run so far, along the last axis, and of the whole run, for each member."""
    total = np.cumsum(values, axis=-1)
    before = total[..., begin] - values[..., begin]
    whole = total[..., begin + n - 1] - before
    return total - np.repeat(before, n, axis=-1), np.repeat(whole, n, axis=-1)


def by_categories(cells: Cells, tie: HostArray, least_otherwise: int) -> Offer:
    """Each category goes with the larger part of its rows, to child `tie` if both are equal.

    Categories must send at least so many rows another way than the split does.
    """
    n_nodes = len(tie)
    weight, count, place = cells.weight, cells.count, cells.place
    is_right = (weight[1] > weight[0]) | ((weight[1] == weight[0]) & (tie[place] == 1))
    n_otherwise = _node_sums(np.where(is_right, count[0], count[1]), place, n_nodes)
    agreement = _node_sums(weight.max(axis=0), place, n_nodes)
    at = np.flatnonzero(count.any(axis=0))
    sides = CategorySides(place[at], cells.code[at], is_right[at].astype(SLOT))
    none = np.zeros(n_nodes, np.int64)
    enough = n_otherwise >= least_otherwise
    return Offer(np.where(enough, agreement, 0), none, none, none, sides)


def _node_sums(values: HostArray, place: HostArray, n_nodes: int) -> HostArray:
    """Sums over the cells of each node; below 2**53, and so exact."""
    return np.bincount(place, weights=values, minlength=n_nodes).astype(np.int64)
