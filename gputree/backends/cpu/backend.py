"""The contract kept by compiled kernels on the threads of the CPU.

Rows are listed node by node. Large nodes are summed into histograms; a node with fewer rows than
`DIRECT_ROWS` is searched straight from its rows, with the same result.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gputree.backends.categories import tables_of
from gputree.backends.contract import (
    CategoryRules,
    CategorySplits,
    Hist,
    Item,
    Moves,
    Rates,
    Result,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.cpu import attribution as cpu_attribution
from gputree.backends.cpu import binning as cpu_binning
from gputree.backends.cpu import categories as cpu_categories
from gputree.backends.cpu import gradients as cpu_gradients
from gputree.backends.cpu import grow as cpu_grow
from gputree.backends.cpu import predict as cpu_predict
from gputree.backends.cpu import rate as cpu_rate
from gputree.backends.cpu import rounds as cpu_rounds
from gputree.backends.cpu import route as cpu_route
from gputree.backends.cpu.binning import CpuValues
from gputree.backends.cpu.distinct import NO_CLASSES, NONE
from gputree.backends.cpu.histogram import CpuHist, sum_dtype, sum_nodes
from gputree.backends.cpu.lanes import Lanes
from gputree.backends.cpu.rows import LEAST_ROWS, CpuRows, RowLayout, laid_out
from gputree.backends.cpu.workers import Workers
from gputree.backends.defaults import Defaults
from gputree.backends.host_codes import host_codes
from gputree.backends.row_lists import at_roots
from gputree.backends.seen import Seen
from gputree.backends.whole import Boosted, BoostRules, Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import FEATURE, OUTSIDE, SLOT, STAY, HostArray, code_dtype
from gputree.kernels.cpu import gradients as gradient_kernels
from gputree.kernels.cpu import histogram, predict, route, split, word_categories, words
from gputree.kernels.cpu.jit import COMPILE_TIME
from gputree.kernels.cpu.word_categories import no_sides
from gputree.kernels.losses import Loss
from gputree.runs import begins
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk, Ways

DIRECT_ROWS = 512  # twice the codes of an 8-bit feature: up to here both paths cost the same

MOST_LANES = 16  # each needs room to count the buckets of one column at least


class CpuBackend(Defaults):
    """Trees by numba kernels and threads."""

    name = "numba"
    device = "cpu"
    grows_whole = boosts = True
    shares_frontiers = False  # a thread has a tree

    def __init__(self, n_threads: int) -> None:
        self._workers = Workers(n_threads)
        self._lanes = Lanes()

    # Values to codes.

    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> HostArray:
        return host_codes((n_features, n_rows), code_dtype(most_codes), folder)

    def hold(self, columns: Sequence[Column]) -> CpuValues:
        return CpuValues.of(columns)

    def count_missing(self, values: CpuValues) -> HostArray:
        if values.n_missing is None:
            found = self._workers.map(cpu_binning.count_missing, values.blocks)
            values.n_missing = np.concatenate(found)
        return values.n_missing

    def sketch(
        self,
        values: CpuValues,
        weight: HostArray | None,
        within: Sequence[HostArray] | None = None,
    ) -> list[tuple[HostArray, HostArray]]:
        if within is not None:
            return self._sketch_within(values, weight, within)
        found = self._workers.map(
            lambda block: cpu_binning.sketch(self._lanes.own, block, weight), values.blocks
        )
        values.n_missing = np.concatenate([n_missing for _, n_missing in found])
        return [column for columns, _ in found for column in columns]

    def _sketch_within(
        self, values: CpuValues, weight: HostArray | None, within: Sequence[HostArray]
    ) -> list[tuple[HostArray, HostArray]]:
        found = self._workers.map(
            lambda at: cpu_binning.sketch_within(self._lanes.own, at[0], weight, within[at[1]]),
            values.with_places(),
        )
        return [column for columns in found for column in columns]

    def refine(
        self, values: CpuValues, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        found = self._workers.map(
            lambda at: cpu_binning.refine(self._lanes.own, at[0], weight, wanted[at[1]]),
            values.with_places(),
        )
        return [column for columns in found for column in columns]

    def encode(
        self,
        data: HostArray,
        first_feature: int,
        values: CpuValues,
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        rows = slice(first_row, first_row + values.n_rows)
        code = data[first_feature : first_feature + len(bins), rows]
        self._workers.map(
            lambda at: cpu_binning.encode(self._lanes.own, at[0], bins[at[1]], code[at[1]]),
            values.with_places(),
        )

    # The start of a tree.

    def begin(
        self, data: HostArray, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> CpuRows:
        self._lanes.clear()  # the values have been coded
        order, start, n_rows = at_roots(target, n_each)
        n_classes = target.channels.n_scored if target.label is not None else 0
        label_dtype = np.uint8 if n_classes <= 256 else np.int32
        return CpuRows(
            code=data,
            layout=RowLayout(),
            bins=bins,
            target=target,
            label=NO_CLASSES if target.label is None else target.label.astype(label_dtype),
            weight=NONE if target.weight is None else target.weight,
            value=np.empty((0, 0), np.int64) if target.value is None else target.value,
            order=order,
            start=start,
            n_rows=n_rows,
        )

    def take_rows(self, data: HostArray, row: HostArray) -> HostArray:
        return np.take(data, row, axis=1)

    # Boosting.

    def raw_scores(
        self, start: HostArray, y: HostArray, weight: HostArray | None
    ) -> cpu_gradients.CpuRawScores:
        return cpu_gradients.raw_scores(start, y, weight)

    def gradients(
        self,
        raw_scores: cpu_gradients.CpuRawScores,
        loss: Loss | Given,
        takes_part: HostArray | None,
        *,
        counts_rows: bool,
        comm: Comm = ALONE,
    ) -> Iterator[Gradients]:
        return cpu_gradients.gradients(
            self._workers, raw_scores, loss, takes_part, counts_rows=counts_rows, comm=comm
        )

    def begin_gradients(self, data: HostArray, bins: Bins, gradients: Gradients) -> CpuRows:
        self._lanes.clear()
        return cpu_gradients.begin(data, bins, gradients)

    def gradient_sums(self, rows: CpuRows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return cpu_gradients.leaf_sums(self._workers, self.leaves(rows), gradients, nodes)

    def renew(
        self, raw_scores: cpu_gradients.CpuRawScores, output: int, rows: CpuRows, step: HostArray
    ) -> None:
        raw = raw_scores.raw[output]
        args = self.leaves(rows), step, raw
        self._workers.run(gradient_kernels.renew, len(raw), *args, least=LEAST_ROWS)

    def read_raw_scores(self, raw_scores: cpu_gradients.CpuRawScores) -> HostArray:
        return raw_scores.raw.copy()

    # Growing.

    def count_rows(self, rows: CpuRows, nodes: HostArray) -> HostArray:
        return rows.n_rows[nodes]

    def tally(self, rows: CpuRows, nodes: HostArray) -> CpuHist:
        is_large = rows.n_rows[nodes] > DIRECT_ROWS
        place = np.where(is_large, np.cumsum(is_large) - 1, -1)
        return CpuHist(rows, nodes, place, sum_nodes(self._workers, rows, nodes[is_large]))

    def sum_up(self, rows: CpuRows, nodes: HostArray) -> HostArray:
        sums = sum_nodes(self._workers, rows, nodes)
        return sums.reshape(len(nodes), rows.bins.width, rows.n_stored)

    def hist_of(self, rows: CpuRows, sums: HostArray, bins: Bins) -> CpuHist:
        n_nodes = len(sums)
        node = np.zeros(n_nodes, np.int64)  # rows are not looked at where all nodes have sums
        own = replace(rows, bins=bins)
        return CpuHist(own, node, np.arange(n_nodes), sums.reshape(n_nodes, -1))

    def derive(self, built: CpuHist, siblings: Siblings, above: CpuHist | None) -> CpuHist:
        rows = built.rows
        is_large = rows.n_rows[siblings.node] > DIRECT_ROWS
        place = np.where(is_large, np.cumsum(is_large) - 1, -1)
        if above is None:
            return CpuHist(rows, siblings.node, built.place[siblings.built], built.sums)
        sums = np.empty((int(is_large.sum()), built.sums.shape[1]), built.sums.dtype)
        parent = np.where(siblings.parent >= 0, above.place[np.maximum(siblings.parent, 0)], -1)
        source = built.place[siblings.built]
        # A small sibling was not summed; its large brother needs it, and its rows are few.
        lacking = np.flatnonzero(is_large & (source < 0))
        if lacking.size:
            lacked = sum_nodes(self._workers, rows, built.node[siblings.built[lacking]])
            own_place = np.arange(len(lacking))
            self._workers.run(
                histogram.derive,
                len(lacking),
                lacked,
                own_place,
                above.sums,
                parent[lacking],
                place[lacking],
                sums,
                work=len(lacking) * sums.shape[1],
            )
        ready = np.flatnonzero(is_large & (source >= 0))
        self._workers.run(
            histogram.derive,
            len(ready),
            built.sums,
            source[ready],
            above.sums,
            parent[ready],
            place[ready],
            sums,
            work=len(ready) * sums.shape[1],
        )
        return CpuHist(rows, siblings.node, place, sums)

    def best_splits(self, hist: CpuHist, search: Search) -> Splits:
        bins, channels = hist.rows.bins, hist.rows.target.channels
        n = len(hist.node)
        score = np.empty(n)
        winner = np.empty((n, 4), np.int64)
        left = np.empty((n, channels.n), np.int64)
        rank = np.empty((0, 0), np.int64) if search.rank is None else search.rank
        ordered = cpu_rate.ordered(bins, search)
        shape = cpu_rate.shape_of(channels)
        rules = cpu_rate.rules_of(search)
        unit = np.array(channels.units)
        for is_large in (True, False):
            chosen = np.flatnonzero((hist.place >= 0) == is_large)
            if not chosen.size:
                continue
            results = np.empty(len(chosen)), winner[chosen], left[chosen]
            ranks = rank[chosen] if search.rank is not None else rank
            units = () if hist.rows.is_packed else (unit,)
            common = (ordered, ranks, search.n_drawn, shape, rules, *units)
            if is_large:
                self._search_sums(hist, chosen, bins, (*common, *results))
            else:
                self._search_rows(hist, chosen, bins, (*common, *results))
            score[chosen], winner[chosen], left[chosen] = results
        return Splits(
            score=score,
            feature=winner[:, 0].astype(FEATURE),
            code=winner[:, 1],
            next_code=winner[:, 2],
            missing_slot=winner[:, 3].astype(SLOT),
            left=left,
        )

    def rate(self, hist: CpuHist, search: Search) -> Rates:
        return cpu_rate.rate(self._workers, hist, search)

    def cells(self, hist: CpuHist, place: HostArray, feature: HostArray) -> HostArray:
        return cpu_rate.cells(self._workers, hist, place, feature)

    def seen(self, hist: CpuHist, place: HostArray, feature: HostArray) -> Seen:
        if hist.rows.is_packed:
            return super().seen(hist, place, feature)
        return cpu_rate.seen(self._workers, hist, place, feature)

    def split_categories(
        self, hist: Hist, seen: Seen, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        # Nothing but the shape of the sums is asked for, which may be those of another backend.
        tables = tables_of(hist.bins, seen, feature)
        return cpu_categories.split(self._workers, tables, hist.channels, rules)

    def span(self, rows: CpuRows, nodes: HostArray) -> HostArray:
        point = rows.target.point
        assert point is not None
        low_high = np.empty((len(nodes), len(point), 2))
        start, n_rows = rows.start[nodes], rows.n_rows[nodes]
        self._workers.run(route.span, len(nodes), start, n_rows, rows.order, point, low_high)
        return low_high

    def route(self, rows: CpuRows, moves: Moves) -> CpuRows:
        if (moves.n_children == 2).all() and not (moves.table == STAY).any():
            return cpu_route.halved(self._workers, rows, moves)
        return cpu_route.divided(self._workers, rows, moves)

    def rows_at(self, rows: CpuRows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        n_rows = rows.n_rows[nodes]
        listed = np.empty(int(n_rows.sum()), rows.order.dtype)
        begin = begins(n_rows)
        cpu_route.copy_lists(self._workers, rows, nodes, begin, listed)
        return listed.astype(np.int64), n_rows

    def codes_of(self, rows: CpuRows, row: HostArray, feature: HostArray) -> HostArray:
        return rows.code[feature, row].astype(np.int64)

    def disperse(self, rows: CpuRows, nodes: HostArray, row: HostArray, node: HostArray) -> CpuRows:
        return cpu_route.dispersed(self._workers, rows, nodes, row, node)

    def grow_whole(
        self,
        roots: Sequence[CpuRows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
        then: Callable[[int, Whole], Result],
    ) -> list[Result] | None:
        return cpu_grow.grow_whole(self._workers, roots, totals, keys, search, limits, then)

    def boost(
        self,
        data: HostArray,
        bins: Bins,
        raw_scores: cpu_gradients.CpuRawScores,
        rules: BoostRules,
        takes_part: HostArray | None,
        columns: HostArray | None,
        keys: HostArray,
    ) -> Boosted | None:
        self._lanes.clear()
        return cpu_rounds.boost(data, bins, raw_scores, rules, takes_part, columns, keys)

    # After a tree.

    def leaves(self, rows: CpuRows) -> HostArray:
        if rows.leaf.size:
            return rows.leaf
        leaf = np.full(rows.target.n_rows, OUTSIDE, np.int32)
        node = np.flatnonzero(rows.n_rows)
        self._workers.run(
            route.mark, len(node), node, rows.start[node], rows.n_rows[node], rows.order, leaf
        )
        return leaf

    def apply(self, tree: Tree, table: Table) -> HostArray:
        return cpu_predict.apply(self._workers, tree, table)

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        return cpu_predict.leaves_of(self._workers, stack, table)

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        return cpu_predict.sum_leaves(self._workers, stack, table, start)

    def attribute(
        self, stack: Stack, table: Table, owner: HostArray, background: Table | None
    ) -> HostArray:
        return cpu_attribution.attribute(self._workers, stack, table, owner, background)

    def walker(self, table: Table) -> Walk:
        # Several values of a row are asked for, so they lie together.
        return partial(self._descend, cpu_predict.matrix_of(table))

    def _descend(self, matrix: HostArray, ways: Ways, row: HostArray, node: HostArray) -> HostArray:
        node = node.copy()
        self._workers.run(
            predict.descend,
            len(row),
            row,
            matrix,
            ways.station,
            ways.category,
            ways.category_slot,
            node,
            least=LEAST_ROWS,
        )
        return node

    # Lanes and costs.

    @property
    def n_lanes(self) -> int:
        return min(self._workers.n_threads, MOST_LANES)

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return self._workers.map(task, items)

    @property
    def compile_seconds(self) -> float:
        return COMPILE_TIME.seconds

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        sums = bins.width * channels.n * np.dtype(sum_dtype(channels)).itemsize
        outcome = 8 * (len(bins.features) + channels.n)  # order of the features drawn, left sums
        return np.where(n_rows > DIRECT_ROWS, sums, outcome)

    def release(self) -> None:
        self._lanes.clear()

    def bytes_held(self, data: HostArray, rows: CpuRows | None) -> int:
        held = data.nbytes
        if rows is not None:
            arrays = (rows.label, rows.weight, rows.value, rows.order)
            held += sum(array.nbytes for array in arrays) + rows.layout.nbytes
        return held

    # Helpers.

    def _search_sums(
        self, hist: CpuHist, chosen: HostArray, bins: Bins, common: tuple[Any, ...]
    ) -> None:
        kernel = split.search_hist
        if hist.rows.is_packed:
            kernel, common = word_categories.search_hist, (*common, None, *no_sides())
        self._workers.run(
            kernel,
            len(chosen),
            hist.place[chosen],
            hist.sums,
            bins.offset,
            bins.n_values,
            *common,
            work=len(chosen) * bins.width,
        )

    def _search_rows(
        self, hist: CpuHist, chosen: HostArray, bins: Bins, common: tuple[Any, ...]
    ) -> None:
        rows, node = hist.rows, hist.node[chosen]
        n_cells = int(rows.n_rows[node].sum()) * len(bins.features)
        channels = (rows.word,) if rows.is_packed else (rows.label, rows.value, rows.weight)
        self._workers.run(
            words.search_rows if rows.is_packed else split.search_rows,
            len(chosen),
            DIRECT_ROWS,
            rows.start[node],
            rows.n_rows[node],
            rows.order,
            *channels,
            rows.code,
            *laid_out(self._workers, rows, n_cells),
            bins.n_codes,
            bins.n_values,
            *common,
            work=n_cells,
        )
