"""What single features of nodes are worth and have, for the CPU backend."""

from typing import Any

import numpy as np

from gputree.backends.contract import CategoryRules, Rates, Search
from gputree.backends.cpu.histogram import CpuHist
from gputree.backends.cpu.rows import laid_out
from gputree.backends.cpu.workers import Workers
from gputree.backends.seen import Seen, blank
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import HostArray
from gputree.kernels.cpu import cells as cell_kernels
from gputree.kernels.cpu import rate as rate_kernels
from gputree.kernels.cpu import words
from gputree.kernels.cpu.scoring import number_of
from gputree.runs import begins


def shape_of(channels: Channels) -> tuple[bool, int, bool, int]:
    """Channels as kernels know them."""
    return channels.is_classes, channels.n_scored, channels.counts_rows, channels.n


def rules_of(search: Search | CategoryRules) -> tuple[int, int, int, float]:
    """What splits must satisfy, and how they are scored, as kernels know it."""
    number = number_of(search.criterion)
    return number, search.min_rows, max(1, search.min_weight), search.ridge


def ordered(bins: Bins, search: Search) -> HostArray:
    """Which features have thresholds."""
    if search.is_ordered is None:
        return np.ones(len(bins.features), np.bool_)
    return search.is_ordered


def rate(workers: Workers, hist: CpuHist, search: Search) -> Rates:
    """The best threshold of every ordered feature of every node."""
    bins, channels = hist.rows.bins, hist.rows.target.channels
    shape = len(hist.node), len(bins.features)
    score = np.empty(shape)
    found = np.empty((*shape, rate_kernels.N_FOUND), np.int64)
    limits = (*rules_of(search)[:3], float(search.least_share), search.most_least_weight)
    unit = np.array(channels.units)
    common = ordered(bins, search), shape_of(channels), limits, unit, score, found
    large, small = np.flatnonzero(hist.place >= 0), np.flatnonzero(hist.place < 0)
    if large.size:
        _rate_sums(workers, hist, large, common)
    if small.size:
        _rate_rows(workers, hist, small, common)
    return Rates(score, *np.moveaxis(found, 2, 0))


def _rate_sums(workers: Workers, hist: CpuHist, chosen: HostArray, common: tuple[Any, ...]) -> None:
    bins = hist.rows.bins
    workers.run(
        rate_kernels.rate_hist,
        len(chosen),
        chosen,
        hist.place[chosen],
        hist.sums,
        bins.offset,
        bins.n_values,
        *common,
        work=len(chosen) * bins.width,
    )


def _rate_rows(workers: Workers, hist: CpuHist, chosen: HostArray, common: tuple[Any, ...]) -> None:
    rows, bins, node = hist.rows, hist.rows.bins, hist.node[chosen]
    n_cells = int(rows.n_rows[node].sum()) * len(bins.features)
    workers.run(
        rate_kernels.rate_rows,
        len(chosen),
        chosen,
        int(rows.n_rows[node].max()),
        rows.start[node],
        rows.n_rows[node],
        rows.order,
        rows.label,
        rows.value,
        rows.weight,
        rows.code,
        *laid_out(workers, rows, n_cells),
        bins.n_codes,
        bins.n_values,
        *common,
        work=n_cells,
    )


def cells(workers: Workers, hist: CpuHist, place: HostArray, feature: HostArray) -> HostArray:
    """The sums of pairs of a node and a feature, (codes, channels) of one after another."""
    rows, bins, n_channels = hist.rows, hist.rows.bins, hist.rows.target.channels.n
    n_codes = bins.n_codes[feature]
    found = np.zeros(int(n_codes.sum()) * n_channels, np.int64)
    summed = hist.place[place]
    start, n_rows = rows.start[hist.node[place]], rows.n_rows[hist.node[place]]
    n_counted = int(n_rows[summed < 0].sum())
    if rows.is_packed:
        return _words_apart(workers, hist, place, feature)
    workers.run(
        cell_kernels.gather,
        len(place),
        summed,
        feature,
        start,
        n_rows,
        rows.order,
        rows.label,
        rows.value,
        rows.weight,
        rows.code,
        *laid_out(workers, rows, n_counted),
        hist.sums,
        bins.offset,
        n_channels,
        begins(n_codes) * n_channels,
        found,
        work=n_counted + len(found),
    )
    return found.reshape(-1, n_channels)


def seen(workers: Workers, hist: CpuHist, place: HostArray, feature: HostArray) -> Seen:
    """The same by the codes that occur; sums are not words."""
    rows, bins, n_channels = hist.rows, hist.rows.bins, hist.rows.target.channels.n
    node, summed = hist.node[place], hist.place[place]
    n_rows = rows.n_rows[node]
    n_counted = int(n_rows[summed < 0].sum())
    work = n_counted + int(bins.n_codes[feature[summed >= 0]].sum())
    where = summed, np.ascontiguousarray(feature), rows.start[node], n_rows, rows.order
    codes = rows.code, *laid_out(workers, rows, n_counted), hist.sums, bins.offset, bins.n_values
    n_known = np.empty(len(place), np.int64)
    workers.run(cell_kernels.count_seen, len(place), *where, *codes, n_channels, n_known, work=work)
    found = blank(bins, feature, n_known, n_channels)
    workers.run(
        cell_kernels.gather_seen,
        len(place),
        *where,
        *codes,
        n_channels,
        rows.label,
        rows.value,
        rows.weight,
        begins(found.n),
        n_known,
        found.n,
        found.code,
        found.cells.reshape(-1),
        work=work,
    )
    return found


def _words_apart(
    workers: Workers, hist: CpuHist, place: HostArray, feature: HostArray
) -> HostArray:
    """The same of words."""
    rows, bins = hist.rows, hist.rows.bins
    n_codes, node = bins.n_codes[feature], hist.node[place]
    found = np.zeros(int(n_codes.sum()), np.int64)
    workers.run(
        words.gather,
        len(place),
        hist.place[place],
        feature,
        rows.start[node],
        rows.n_rows[node],
        rows.order,
        rows.word,
        rows.code,
        hist.sums,
        bins.offset,
        begins(n_codes),
        found,
    )
    return np.stack([found & words.LOWER, found >> words.UPPER], axis=1)
