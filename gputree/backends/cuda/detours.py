"""Rows that have stayed at their nodes, and the tests that send them on, for the CUDA backend.

How well features agree with splits is told from sums, so that no row comes to the host.
Where every row of the nodes goes is written down like the code of one more feature; by this one,
their lists are divided once more, and the sums of the rows that have stayed are made.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from gputree.backends.agreement import LEAST_ROWS, N_GROUPS, CellsOfSums, Offer, by_categories
from gputree.backends.contract import Detours, Moves
from gputree.backends.cuda.histogram import make_scatter
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import route_table, sum_table
from gputree.backends.cuda.route import codes_in, routed
from gputree.backends.cuda.rows import CudaRows
from gputree.data.bins import Bins
from gputree.dtypes import SLOT, STAY, SUM, Array, HostArray
from gputree.kernels.cuda import agree, histogram, route

make_detour = cache(route.make_detour)

N_WAYS = 3  # to either child, and nowhere
WAY_BYTES = 4  # one word per row


def agreements(
    launches: Launches, source: CellsOfSums, bins: Bins, tie: HostArray, least_otherwise: int
) -> list[Offer]:
    """What features offer to some nodes: thresholds by a kernel, categories by their sums."""
    hist, dev, n_features = source.hist, launches.device, len(bins.features)
    list_place = np.full(N_GROUPS * len(tie), -1, np.int64)
    list_place[source.filled] = np.arange(len(source.filled))
    offer = dev.empty(len(tie) * n_features * agree.OFFER_COLUMNS, np.int64)
    place, n_values = dev.pack(list_place, np.where(bins.is_nominal, 0, bins.n_values))
    channels = hist.channels
    count_at = channels.n - 1 if channels.counts_rows else -1
    n_weights = channels.n_scored if channels.is_classes else 1
    launches.over(
        agree.agree,
        len(tie) * n_features,
        *(len(tie), n_features, place, hist.rows.tables.offset, n_values, LEAST_ROWS),
        *(channels.n, n_weights, count_at, hist.rows.stride, hist.sums, offer),
    )
    found = dev.download(offer).reshape(len(tie), n_features, agree.OFFER_COLUMNS)
    return [
        by_categories(source.cells(feature), tie, least_otherwise)
        if is_nominal
        else Offer(*found[:, feature].T)
        for feature, is_nominal in enumerate(bins.is_nominal.tolist())
    ]


def detoured(
    launches: Launches, rows: CudaRows, moves: Moves, detours: Detours
) -> tuple[CudaRows, HostArray]:
    lists = moves.groups
    start, n_rows = rows.start[lists], rows.n_rows[lists]
    if not n_rows[:, 2].any():
        return rows, np.zeros((len(lists), 2, rows.target.channels.n), SUM)
    dev = launches.device
    way = dev.empty(rows.data.n_rows, np.uint32)
    n_found = dev.zeros(lists.size, np.int32)
    told = [
        np.append(0, np.cumsum(detours.n)),
        detours.otherwise.astype(np.int64),
        detours.feature.astype(np.int32),
        *(each.astype(np.int64) for each in (detours.n_values, detours.code, detours.low_slot)),
        *(detours.category_start, detours.category, detours.slot),
    ]
    table = route_table(start.ravel(), n_rows.ravel(), launches.tuning.route_rows)
    args = rows.order, *codes_in(rows.data), way, n_found
    launches.tiled(make_detour(STAY), table, told, *args)
    added = _sums(launches, rows, way, start[:, 2], n_rows[:, 2])
    found = dev.download(n_found).reshape(lists.shape).astype(np.int64)
    # All rows of a move lie side by side, and take the way that is written down.
    whole = replace(rows, start=rows.start.copy(), n_rows=rows.n_rows.copy())
    whole.n_rows[lists] = 0
    whole.start[moves.node], whole.n_rows[moves.node] = start[:, 0], n_rows.sum(axis=1)
    none = np.zeros(len(lists), np.int64)
    ways = np.array([0, 1, STAY], SLOT)[: N_WAYS if found[:, 2].any() else 2]
    again = Moves(moves.node, none, moves.first_child, none + 2, none, ways, found[:, :2].ravel())
    return routed(launches, whole, again, (way.view(np.uint8), WAY_BYTES, 0)), added


def _sums(
    launches: Launches, rows: CudaRows, way: Array, start: HostArray, n_rows: HostArray
) -> HostArray:
    """The sums of rows that have stayed, by where they go, (moves, 2, channels)."""
    dev, planes, n_channels = launches.device, rows.planes, rows.target.channels.n
    stride = N_WAYS * n_channels
    sums = dev.zeros(len(start) * stride, planes.sum_dtype)
    table = sum_table(start, n_rows, np.arange(len(start)), launches.tuning.tile_rows)
    # A table of one feature, the first byte of the words of rows.
    tile, group, offset = dev.pack(
        table, np.array([0, 0, 1, 0, N_WAYS], np.int32), np.array([0, N_WAYS], np.int64)
    )
    dev.launch(
        make_scatter(8, *planes.adds),
        len(table) // histogram.TILE_COLUMNS,
        min(launches.tuning.threads, launches.tuning.sum_threads),
        *(tile, 0, 1, group, way, 1, rows.order, rows.label, rows.limb, rows.tables.limbs),
        *(rows.target.n_rows, planes.one_channel, planes.one_step, n_channels, offset, stride),
        sums,
    )
    found = dev.download(sums)[: len(start) * stride].reshape(-1, N_WAYS, n_channels)
    return found[:, :2].astype(SUM)
