"""Histograms of nodes for the CPU backend: a few large ones together, many smaller one by one."""

from dataclasses import dataclass

import numpy as np

from gputree.backends.cpu.rows import CHUNK_ROWS, CpuRows, chunks
from gputree.backends.cpu.workers import Workers
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import HostArray
from gputree.kernels.cpu import histogram, route, words
from gputree.runs import begins

FEW_NODES = 8  # that are summed one after another
DENSE = 25  # rows of the table for one of a node, up to which its columns are read quickly
SPARSE = 8  # rows of the table for one of all nodes, up to which it pays to look at each
CACHE_BYTES = 2**19  # sums of one feature that stay in the L2 cache of a core
FEATURES_TOGETHER = 64  # a cache line of codes


@dataclass(frozen=True)
class CpuHist:
    """Sums of the large nodes among some nodes."""

    rows: CpuRows
    node: HostArray  # (nodes,)
    place: HostArray  # (nodes,) index into `sums`, -1 for a node searched from its rows
    sums: HostArray  # (large nodes, places * channels)

    @property
    def n_nodes(self) -> int:
        return len(self.node)

    @property
    def bins(self) -> Bins:
        return self.rows.bins

    @property
    def channels(self) -> Channels:
        return self.rows.target.channels


def sum_dtype(channels: Channels) -> type[np.int32] | type[np.int64]:
    """Counts of rows fit into 32 bits; sums of weights and values need 64."""
    return np.int32 if channels.is_classes and not channels.counts_rows else np.int64


def sum_nodes(workers: Workers, rows: CpuRows, nodes: HostArray) -> HostArray:
    """The histograms of some nodes, (nodes, places * channels)."""
    channels, bins = rows.target.channels, rows.bins
    sums = np.zeros((len(nodes), bins.width * rows.n_stored), sum_dtype(channels))
    if not len(nodes):
        return sums
    if rows.is_packed:
        _sum_words(workers, rows, nodes, sums)
        return sums
    fits = sums.nbytes // len(bins.features) <= CACHE_BYTES and sums.size < 2**32
    # Listing rows in ascending order looks at every row of the table.
    are_few = 4 * int(rows.n_rows[nodes].sum()) < rows.target.n_rows
    if fits and not (are_few and rows.layout.is_made):
        listed = (_by_node if are_few else _ascending)(workers, rows, nodes, sums.shape[1])
        _sum_together(workers, rows, *listed, sums)
    else:
        _sum_one_by_one(workers, rows, nodes, sums)
    return sums


def _sum_words(workers: Workers, rows: CpuRows, nodes: HostArray, sums: HostArray) -> None:
    """Sum gradients and hessians: of all rows, of many by columns, of few by rows.

    Columns are read once for all nodes where these are many, in the order of the rows.
    """
    n_features, n_rows = rows.code.shape
    n_listed = int(rows.n_rows[nodes].sum())
    offset = rows.bins.offset
    if n_listed == n_rows and len(nodes) == 1:
        whole = rows.word, rows.code, offset, sums.reshape(-1)
        workers.run(words.tally_all, n_features, *whole, shares=1)
    elif DENSE * n_listed >= n_rows * len(nodes) and len(nodes) <= FEW_NODES:
        n_of = rows.n_rows[nodes]
        begin = begins(n_of)
        listed = np.empty(n_listed, rows.order.dtype)
        lists = rows.start[nodes], n_of, begin, rows.order, listed
        workers.run(route.copy_lists, len(nodes), *lists, work=n_listed)
        word = _taken(workers, rows, listed)
        by_node = np.append(begin, n_listed), listed, word, rows.code, offset, sums
        workers.run(words.tally_lists, n_features, *by_node, shares=1)
    elif SPARSE * n_listed >= n_rows and sums.nbytes // n_features <= CACHE_BYTES:
        listed, cell = _ascending(workers, rows, nodes, sums.shape[1])
        word = _taken(workers, rows, listed)
        mixed = listed, cell, word, rows.code, offset, sums.reshape(-1)
        workers.run(words.tally_mixed, n_features, *mixed, shares=1)
    else:
        # Few nodes are shared out by their features.
        n_blocks = min(n_features, -(-workers.n_threads // len(nodes)))
        block = -(-n_features // n_blocks)
        workers.run(
            words.tally_nodes,
            len(nodes) * n_blocks,
            n_blocks,
            block,
            rows.start[nodes],
            rows.n_rows[nodes],
            rows.order,
            rows.word,
            rows.layout.in_order(rows.code, workers),
            offset,
            sums,
            work=n_listed * n_features,
        )


def _taken(workers: Workers, rows: CpuRows, listed: HostArray) -> HostArray:
    """The words of listed rows."""
    word = np.empty(len(listed), np.int64)
    workers.run(words.take, len(listed), listed, rows.word, word, work=len(listed))
    return word


def _sum_together(
    workers: Workers, rows: CpuRows, listed: HostArray, cell: HostArray, sums: HostArray
) -> None:
    """Sum a few large nodes feature by feature, over listed rows."""
    is_all = len(listed) == rows.target.n_rows
    weight, value = rows.weight, rows.value
    workers.run(
        histogram.tally,
        len(rows.bins.features),
        listed,
        cell,
        weight if is_all or not weight.size else weight[listed],
        value if is_all or not value.size else value[:, listed],
        rows.code,
        rows.bins.offset,
        rows.target.channels.n,
        sums.reshape(-1),
        shares=1,
    )


def _ascending(
    workers: Workers, rows: CpuRows, nodes: HostArray, stride: int
) -> tuple[HostArray, HostArray]:
    """The rows of some nodes in ascending order, and the cell where each one's sums begin."""
    place = np.full(rows.target.n_rows, -1, np.int32)
    node, first, last = chunks(rows.start[nodes], rows.n_rows[nodes])
    workers.run(histogram.mark, len(node), node.astype(np.int32), first, last, rows.order, place)
    n_parts = -(-len(place) // CHUNK_ROWS)
    n_marked = np.empty(n_parts, np.int64)
    workers.run(histogram.count_marked, n_parts, CHUNK_ROWS, place, n_marked)
    listed = np.empty(int(n_marked.sum()), np.uint32)
    cell = np.empty(len(listed), np.uint32)
    begins_at = begins(n_marked)
    workers.run(
        histogram.list_marked,
        n_parts,
        CHUNK_ROWS,
        place,
        begins_at,
        stride,
        rows.label,
        listed,
        cell,
    )
    return listed, cell


def _by_node(
    workers: Workers, rows: CpuRows, nodes: HostArray, stride: int
) -> tuple[HostArray, HostArray]:
    """The rows of some nodes, one node after another, and the cells as above."""
    n_rows = rows.n_rows[nodes]
    begin = begins(n_rows)
    listed = np.empty(int(n_rows.sum()), np.uint32)
    cell = np.empty(len(listed), np.uint32)
    args = begin, rows.start[nodes], n_rows, stride, rows.order, rows.label, listed, cell
    workers.run(histogram.list_nodes, len(nodes), *args, work=len(listed))
    return listed, cell


def _sum_one_by_one(workers: Workers, rows: CpuRows, nodes: HostArray, sums: HostArray) -> None:
    """Sum many smaller nodes from codes laid out by row."""
    n_features = len(rows.bins.features)
    block = min(n_features, FEATURES_TOGETHER)
    n_blocks = -(-n_features // block)
    workers.run(
        histogram.tally_nodes,
        len(nodes) * n_blocks,
        n_blocks,
        block,
        rows.start[nodes],
        rows.n_rows[nodes],
        rows.order,
        rows.label,
        rows.value,
        rows.weight,
        *rows.layout.of(rows, workers),
        rows.bins.offset,
        rows.target.channels.n,
        sums,
        work=int(rows.n_rows[nodes].sum()) * n_features,
    )
