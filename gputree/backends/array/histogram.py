"""Sums of nodes by channel, feature and code, in the arrays of any library.

A node with few rows beside the bins of a histogram has none: its rows are listed instead.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.array.rows import ArrayRows, CodedRows, rows_of
from gputree.backends.contract import Siblings
from gputree.backends.seen import Seen, blank, seen_of_cells
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import SUM, Array, HostArray
from gputree.runs import begins, pieces, spread_out

CELLS_PER_BIN = 2  # up to so many cells (rows x features) per bin, listing rows costs less
CELLS_AT_ONCE = 2**18  # cells that are counted together: few calls, and 2 MiB for a temporary


@dataclass(frozen=True)
class ArrayHist:
    """Sums of the large nodes among some nodes, and the rows of the small ones."""

    coded: CodedRows
    place: HostArray  # (nodes,) index into `sums`, -1 for a node whose rows are listed
    sums: Array  # (large nodes, channels, bins) int64
    listed: Array  # row numbers of the small nodes, node by node
    n_listed: HostArray  # (small nodes,) how many each has

    @property
    def n_nodes(self) -> int:
        return len(self.place)

    @property
    def bins(self) -> Bins:
        return self.coded.bins

    @property
    def channels(self) -> Channels:
        return self.coded.target.channels


@dataclass(frozen=True)
class Tallied:
    """Sums of the large nodes among some nodes, and the rows from which others are derived."""

    rows: ArrayRows
    node: HostArray  # (nodes,)
    place: HostArray  # (nodes,) index into `sums`, -1 for a small node
    sums: Array  # (large nodes, channels, bins) int64

    @property
    def n_nodes(self) -> int:
        return len(self.place)

    @property
    def bins(self) -> Bins:
        return self.rows.coded.bins

    @property
    def channels(self) -> Channels:
        return self.rows.coded.target.channels


def is_listed(bins: Bins, n_rows: HostArray) -> HostArray:
    """Which nodes of so many rows are searched from their rows."""
    return n_rows * len(bins.features) <= CELLS_PER_BIN * bins.width


def hist_bytes(bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
    """What the sums or the list of a node of so many rows takes."""
    size = np.dtype(SUM).itemsize
    return np.where(is_listed(bins, n_rows), size * n_rows, size * bins.width * channels.n)


def tally(lib: Library, rows: ArrayRows, nodes: HostArray) -> Tallied:
    small = is_listed(rows.coded.bins, rows.n_rows[nodes])
    place = np.where(small, -1, np.cumsum(~small) - 1)
    return Tallied(rows, nodes, place, _sum_nodes(lib, rows, nodes[~small]))


def sum_up(lib: Library, rows: ArrayRows, nodes: HostArray) -> HostArray:
    """The sums of all nodes, however few rows they have, (nodes, bins, channels) on the host."""
    return np.ascontiguousarray(lib.to_host(_sum_nodes(lib, rows, nodes)).transpose(0, 2, 1))


def hist_of(lib: Library, rows: ArrayRows, sums: HostArray, bins: Bins) -> ArrayHist:
    """The same as a histogram of the features of `bins`."""
    coded, nobody = replace(rows.coded, bins=bins), np.empty(0, np.int64)
    by_channel = lib.from_host(np.ascontiguousarray(sums.transpose(0, 2, 1)))
    return ArrayHist(coded, np.arange(len(sums)), by_channel, lib.from_host(nobody), nobody)


def as_tallied(lib: Library, built: Tallied) -> ArrayHist:
    """The nodes as they were tallied, with the rows of the small ones."""
    n_nodes = len(built.node)
    return derive(lib, built, Siblings(built.node, np.arange(n_nodes), np.full(n_nodes, -1)), None)


def cells(lib: Library, hist: ArrayHist, place: HostArray, feature: HostArray) -> HostArray:
    """Sums of (codes, channels) of some nodes and features, one pair after another."""
    bins, n_channels = hist.coded.bins, hist.coded.target.channels.n
    n_codes = bins.n_codes[feature]
    start = begins(n_codes)
    found = np.empty((int(n_codes.sum()), n_channels), SUM)
    small = hist.place[place] < 0
    for is_small, own_cells in ((False, _cells_of_sums), (True, _cells_of_rows)):
        for own in np.unique(feature[small == is_small]).tolist():
            at = np.flatnonzero((small == is_small) & (feature == own))
            line = start[at, None] + np.arange(n_codes[at[0]])
            found[line] = own_cells(lib, hist, place[at], own)
    return found


def _cells_of_sums(lib: Library, hist: ArrayHist, place: HostArray, feature: int) -> HostArray:
    """Sums of one feature of large nodes, (nodes, codes, channels)."""
    bins = hist.coded.bins
    begin, end = int(bins.offset[feature]), int(bins.offset[feature + 1])
    part = lib.xp.take(hist.sums[:, :, begin:end], lib.from_host(hist.place[place]), axis=0)
    return np.moveaxis(lib.to_host(part), 1, 2)


def _cells_of_rows(lib: Library, hist: ArrayHist, place: HostArray, feature: int) -> HostArray:
    """The same of nodes whose rows are listed."""
    coded, n_codes = hist.coded, int(hist.coded.bins.n_codes[feature])
    number = (np.cumsum(hist.place < 0) - 1)[place]
    row, owner = rows_of(lib, _listed(hist), number)
    code = lib.xp.astype(lib.xp.take(coded.code[feature, ...], row), lib.xp.int64)
    found = np.empty((len(place), n_codes, coded.target.channels.n), SUM)
    for channel, size, cell, weight in _cells(lib, coded, row, owner):
        counted = lib.count(cell * n_codes + code, len(place) * size * n_codes, weight)
        sums = lib.to_host(counted).reshape(len(place), size, n_codes)
        found[:, :, channel : channel + size] = np.moveaxis(sums, 1, 2)
    return found


def seen(lib: Library, hist: ArrayHist, place: HostArray, feature: HostArray) -> Seen:
    """What pairs have seen; of nodes whose rows are listed, without sums of all codes."""
    is_small = hist.place[place] < 0
    found = []
    large = np.flatnonzero(~is_small)
    if large.size:
        cells_of = partial(cells, lib, hist)
        found.append(seen_of_cells(cells_of, hist.coded.bins, place[large], feature[large]))
    small = np.flatnonzero(is_small)
    number = (np.cumsum(hist.place < 0) - 1)[place[small]]
    if not len(place):
        return blank(hist.coded.bins, feature, feature, hist.channels.n)
    found += [
        _seen_of_rows(lib, hist, number[some], feature[small[some]])
        for some in pieces(hist.n_listed[number], CELLS_AT_ONCE)
    ]
    order = np.concatenate([large, small])
    return Seen.joined(found).in_order(np.argsort(order))


def _seen_of_rows(lib: Library, hist: ArrayHist, number: HostArray, feature: HostArray) -> Seen:
    """The same of nodes whose rows are listed, given by their numbers among these."""
    coded, bins = hist.coded, hist.coded.bins
    row, owner = rows_of(lib, _listed(hist), number)
    flat, pair = lib.xp.reshape(coded.code, (-1,)), lib.to_host(owner)
    at = lib.xp.take(lib.from_host(feature.astype(np.int64) * coded.code.shape[1]), owner) + row
    code = lib.to_host(lib.xp.take(flat, at)).astype(np.int64)
    most = int(bins.n_codes[feature].max())
    entry, of_row = np.unique(pair * most + code, return_inverse=True)
    pair, code = np.divmod(entry, most)
    sums = np.empty((len(entry), coded.target.channels.n), SUM)
    for channel, size, cell, weight in _cells(lib, coded, row, lib.from_host(of_row.ravel())):
        counted = lib.to_host(lib.count(cell, len(entry) * size, weight))
        sums[:, channel : channel + size] = counted.reshape(len(entry), size)
    is_known = code < bins.n_values[feature[pair]]
    n_known = np.bincount(pair[is_known], minlength=len(feature))
    found = blank(bins, feature, n_known, sums.shape[1])
    to = spread_out(begins(found.n), n_known)
    found.code[to], found.cells[to] = code[is_known], sums[is_known]
    found.cells[(np.cumsum(found.n) - 1)[pair[~is_known]]] = sums[~is_known]
    return found


def _listed(hist: ArrayHist) -> ArrayRows:
    """The nodes whose rows are listed, numbered one after another."""
    first = begins(hist.n_listed)
    return ArrayRows(hist.coded, hist.listed, first, hist.n_listed)


def derive(lib: Library, built: Tallied, siblings: Siblings, above: ArrayHist | None) -> ArrayHist:
    """Large nodes come in another order: those that were tallied, then those that are derived."""
    rows = built.rows
    small = is_listed(rows.coded.bins, rows.n_rows[siblings.node])
    taken = np.flatnonzero(~small & (siblings.parent < 0))
    derived = np.flatnonzero(~small & (siblings.parent >= 0))
    derived = derived[np.argsort(built.place[siblings.built[derived]] < 0, kind="stable")]
    sums = _taken(lib, built.sums, built.place[siblings.built[taken]])
    if derived.size:
        assert above is not None
        parent = _taken(lib, above.sums, above.place[siblings.parent[derived]])
        difference = parent - _siblings(lib, built, siblings.built[derived])
        sums = lib.xp.concat([sums, difference], axis=0) if taken.size else difference
    place = np.full(len(siblings.node), -1)
    place[np.concatenate([taken, derived])] = np.arange(len(taken) + len(derived))
    listed, _ = rows_of(lib, rows, siblings.node[small])
    return ArrayHist(rows.coded, place, sums, listed, rows.n_rows[siblings.node[small]])


def _siblings(lib: Library, built: Tallied, at: HostArray) -> Array:
    """Sums of tallied nodes; small ones come last, are not summed yet, and have few rows."""
    summed = at[built.place[at] >= 0]
    sums = _taken(lib, built.sums, built.place[summed])
    if len(summed) == len(at):
        return sums
    return lib.xp.concat([sums, _sum_nodes(lib, built.rows, built.node[at[len(summed) :]])], axis=0)


def _taken(lib: Library, sums: Array, place: HostArray) -> Array:
    if len(place) == sums.shape[0] and (place == np.arange(len(place))).all():
        return sums
    return lib.xp.take(sums, lib.from_host(place), axis=0)


def _sum_nodes(lib: Library, rows: ArrayRows, nodes: HostArray) -> Array:
    """Sums of (nodes, channels, bins), a few features at a time."""
    xp, coded = lib.xp, rows.coded
    bins, channels = coded.bins, coded.target.channels
    sums = lib.zeros((len(nodes), channels.n, bins.width))
    if not len(nodes):
        return sums
    row, place = rows_of(lib, rows, nodes)
    cells = _cells(lib, coded, row, place)
    step = max(1, CELLS_AT_ONCE // max(1, row.shape[0]))
    for first in range(0, len(bins.features), step):
        last = min(first + step, len(bins.features))
        begin, end = int(bins.offset[first]), int(bins.offset[last])
        code = xp.astype(xp.take(coded.code[first:last, ...], row, axis=1), xp.int64)
        code = code + lib.from_host(bins.offset[first:last, None] - begin)
        for channel, size, cell, weight in cells:
            index = cell[None, :] * (end - begin) + code
            counted = _count(lib, index, len(nodes) * size * (end - begin), weight)
            counted = xp.reshape(counted, (len(nodes), size, end - begin))
            sums[:, channel : channel + size, begin:end] = counted
    return sums


def _count(lib: Library, index: Array, length: int, weight: Array | None) -> Array:
    """Sums over a matrix of cells; the columns have weights."""
    if weight is not None:
        weight = lib.xp.reshape(lib.xp.broadcast_to(weight, index.shape), (-1,))
    return lib.count(lib.xp.reshape(index, (-1,)), length, weight)


def _cells(
    lib: Library, coded: CodedRows, row: Array, place: Array
) -> list[tuple[int, int, Array, Array | None]]:
    """First channel, number of channels, cell and weight of each sum to take over the rows."""
    take, channels = lib.xp.take, coded.target.channels
    weight = None if coded.weight is None else take(coded.weight, row)
    cells: list[tuple[int, int, Array, Array | None]] = []
    if coded.label is not None:
        n = channels.n_scored
        cells.append((0, n, place * n + take(coded.label, row), weight))
    else:
        assert coded.value is not None
        cells.append((0, 1, place, weight))
        cells += [
            (1 + output, 1, place, take(coded.value[output, ...], row))
            for output in range(channels.n_scored)
        ]
    if channels.counts_rows:
        cells.append((channels.n - 1, 1, place, None))
    return cells
