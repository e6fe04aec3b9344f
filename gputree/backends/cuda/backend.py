"""The contract kept by CUDA kernels.

Codes lie row by row in 32-bit words, rows are listed node by node, and all nodes of a frontier are
handled by one launch of each kernel. Sizes of nodes are known on the host, which lays out the work;
it waits for the device once a frontier, for the winners.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from gputree.backends.agreement import NODES_AT_ONCE, CellsOfSums, Offer
from gputree.backends.attribution import Quadrature
from gputree.backends.contract import (
    CategoryRates,
    CategoryRules,
    CategorySplits,
    Detours,
    Moves,
    Other,
    Rates,
    Result,
    Search,
    Siblings,
    Splits,
)
from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cuda import attribution as cuda_attribution
from gputree.backends.cuda import binning as cuda_binning
from gputree.backends.cuda import categories as cuda_categories
from gputree.backends.cuda import detours as cuda_detours
from gputree.backends.cuda import distances as cuda_distances
from gputree.backends.cuda import draws as cuda_draws
from gputree.backends.cuda import gradients as cuda_gradients
from gputree.backends.cuda import grow as cuda_grow
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import leaves as cuda_leaves
from gputree.backends.cuda import parts as cuda_parts
from gputree.backends.cuda import predict as cuda_predict
from gputree.backends.cuda import route as cuda_route
from gputree.backends.cuda import split as cuda_split
from gputree.backends.cuda import targets as cuda_targets
from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.device import Device
from gputree.backends.cuda.draws import CudaMarks, CudaUrn
from gputree.backends.cuda.histogram import CudaHist
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.leaves import CudaResiduals
from gputree.backends.cuda.parts import CudaParts
from gputree.backends.cuda.plan import AUTOMATIC, Tuning, route_table
from gputree.backends.cuda.rows import ORDERED, CudaData, CudaRows, span_keys
from gputree.backends.cuda.samples import CudaSample, CudaSampler
from gputree.backends.cuda.targets import CudaTarget
from gputree.backends.cuda.watched import CudaOther, CudaWatched
from gputree.backends.defaults import Defaults
from gputree.backends.door import check_outputs, check_walk
from gputree.backends.host_codes import ONLY_ON_HOST
from gputree.backends.lots import Lots
from gputree.backends.parts import Parts
from gputree.backends.row_lists import dispersed_lists
from gputree.backends.samples import Samples
from gputree.backends.seen import Seen
from gputree.backends.sums import Sums
from gputree.backends.whole import Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import route
from gputree.kernels.losses import Link, Loss
from gputree.runs import pieces
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree


class CudaBackend(Defaults):
    """Trees by CUDA kernels."""

    name = "cuda"
    grows_whole = answers_there = measures_there = True

    def __init__(self, device: Device, tuning: Tuning = AUTOMATIC, n_threads: int = 1) -> None:
        self._device = device
        self._n_threads = n_threads  # of what the host computes
        self._tuning = tuning
        self._launches = Launches(device, tuning)
        self.device = device.name
        # Kept as long as somebody has the target.
        self._targets: WeakKeyDictionary[Target, CudaTarget] = WeakKeyDictionary()

    @property
    def opened(self) -> Device:
        """The device itself, for those who add up what several have."""
        return self._device

    # Lanes and costs.

    @property
    def compile_seconds(self) -> float:
        return self._device.compile_seconds + self._host.compile_seconds

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        # Sums of counts and of gradients have 32 bits; not all channels tell whether they are
        # gradients.
        is_short = channels.hides_rows or (channels.is_classes and not channels.counts_rows)
        n_bytes = bins.width * channels.n * (4 if is_short else 8)
        return np.full(len(n_rows), n_bytes + 24 * len(bins.features))

    def bytes_held(self, data: CudaData, rows: CudaRows | None) -> int:
        arrays = [data.words, data.by_column]
        if rows is not None:
            arrays += [rows.label, rows.limb, rows.order]
            if rows.data is not data:
                arrays.append(rows.data.words)
        return sum(int(array.nbytes) for array in arrays)

    def room_for_hists(self) -> int | None:
        free = self._device.free_bytes()
        return None if free is None else free // 2

    def release(self) -> None:
        self._device.release()

    # Values to codes.

    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> CudaData:
        if folder is not None:
            raise ValueError(ONLY_ON_HOST.format(self.name))
        return cuda_binning.reserve(self._device, n_features, n_rows, most_codes)

    def hold(self, columns: Sequence[Column]) -> CudaValues:
        return cuda_binning.hold(self._launches, columns)

    def count_missing(self, values: CudaValues) -> HostArray:
        return cuda_binning.count_missing(self._launches, values)

    def sketch(
        self,
        values: CudaValues,
        weight: HostArray | None,
        within: Sequence[HostArray] | None = None,
    ) -> list[tuple[HostArray, HostArray]]:
        return cuda_binning.sketch(self._launches, values, weight, within)

    def refine(
        self, values: CudaValues, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        return cuda_binning.refine(self._launches, values, weight, wanted)

    def encode(
        self,
        data: CudaData,
        first_feature: int,
        values: CudaValues,
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        cuda_binning.encode(self._launches, data, first_feature, values, bins, first_row)

    # The start of a tree.

    def begin(
        self, data: CudaData, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> CudaRows:
        own = self._brought(target, n_each)
        return cuda_targets.attached(self._launches, data, bins, target, own, n_each)

    def begin_together(self, data: CudaData, bins: Bins, targets: Sequence[Target]) -> CudaRows:
        parts = [self._brought(target) for target in targets]
        return cuda_targets.joined(self._launches, data, bins, targets[0].channels, parts)

    def take_rows(self, data: CudaData, row: HostArray) -> CudaData:
        listed = self._device.upload(row.astype(np.int32))
        return cuda_route.copied(self._launches, data, [(listed, len(row))])

    def sampler(self, samples: Samples) -> CudaSampler:
        return CudaSampler(self._launches, samples)

    def sampled(self, sampler: CudaSampler, tree: int) -> Target:
        return sampler.sample(tree)

    # Parts of rows.

    def whole_parts(self, target: Target) -> CudaParts:
        return cuda_parts.whole(self._launches, self._brought(target))

    def divide_parts(
        self, rows: CudaRows, target: Target, parts: Parts, moves: Moves, known: HostArray
    ) -> tuple[CudaParts, HostArray]:
        assert isinstance(parts, CudaParts)
        own, channels = self._brought(target), target.channels
        return cuda_parts.divide(self._launches, rows, channels, own, parts, moves, known)

    def tally_parts(self, data: CudaData, bins: Bins, target: Target, parts: Parts) -> CudaHist:
        assert isinstance(parts, CudaParts)
        given = target, self._brought(target), parts
        return cuda_parts.tally(self._launches, data, bins, *given)

    def _brought(self, target: Target, n_each: HostArray | None = None) -> CudaTarget:
        """The statistics of a target on the device, which many trees may be grown by."""
        if isinstance(target, CudaSample):
            return target.own
        if target not in self._targets:
            self._targets[target] = cuda_targets.uploaded(self._launches, target, n_each)
        return self._targets[target]

    # Boosting.

    def raw_scores(
        self, start: HostArray, y: HostArray, weight: HostArray | None
    ) -> cuda_gradients.CudaRawScores:
        return cuda_gradients.raw_scores(self._launches, start, y, weight)

    def urn(self, raw_scores: cuda_gradients.CudaRawScores, lots: Lots) -> CudaUrn:
        return cuda_draws.urn(self._launches, raw_scores.every, raw_scores.has_weight, lots)

    def drawn(self, urn: CudaUrn, seed: int, draw: int, share: float) -> CudaMarks | None:
        return cuda_draws.drawn(self._launches, urn, seed, draw, share)

    def gradients(
        self,
        raw_scores: cuda_gradients.CudaRawScores,
        loss: Loss | Given,
        takes_part: CudaMarks | None,
        *,
        counts_rows: bool,
        comm: Comm = ALONE,
    ) -> Iterator[Gradients]:
        given = self._launches, raw_scores, loss, takes_part
        return cuda_gradients.gradients(*given, counts_rows=counts_rows, comm=comm)

    def begin_gradients(self, data: CudaData, bins: Bins, gradients: Gradients) -> CudaRows:
        return cuda_gradients.begin(self._launches, data, bins, gradients)

    def gradient_sums(self, rows: CudaRows, gradients: Gradients, nodes: HostArray) -> HostArray:
        return cuda_gradients.sums(self._launches, rows, gradients, nodes)

    def renew(
        self, raw_scores: cuda_gradients.CudaRawScores, output: int, rows: CudaRows, step: HostArray
    ) -> None:
        cuda_gradients.renew(self._launches, raw_scores, output, rows, step)

    def pass_on(
        self,
        raw_scores: cuda_gradients.CudaRawScores,
        output: int,
        data: CudaData,
        bins: Bins,
        takes_part: CudaMarks,
        moves: Iterable[Moves],
        step: HostArray,
    ) -> None:
        args = raw_scores.raw, output, data, takes_part, moves, step
        cuda_draws.pass_on(self._launches, *args)

    def residuals(
        self, raw_scores: cuda_gradients.CudaRawScores, rows: CudaRows, number: HostArray
    ) -> CudaResiduals:
        weight = raw_scores.weight if raw_scores.is_weighted else None
        return CudaResiduals(self._launches, rows, number, raw_scores.y, raw_scores.raw, weight)

    def watched(
        self,
        raw_scores: cuda_gradients.CudaRawScores,
        row: HostArray,
        y: HostArray,
        weight: HostArray,
    ) -> CudaWatched:
        return CudaWatched(self._launches, raw_scores, row, weight)

    def other_rows(self, table: Table, start: HostArray, y: HostArray, weight: HostArray) -> Other:
        free, n_bytes = self._device.free_bytes(), 8 * table.n_rows * len(table.columns)
        if free is not None and n_bytes > free // 4:
            return super().other_rows(table, start, y, weight)
        return CudaOther(self._launches, self.hold(table.columns), start, y, weight)

    def read_raw_scores(self, raw_scores: cuda_gradients.CudaRawScores) -> HostArray:
        return self._device.download(raw_scores.raw).reshape(-1, raw_scores.n_rows)

    # Growing.

    def count_rows(self, rows: CudaRows, nodes: HostArray) -> HostArray:
        return rows.n_rows[nodes]

    def tally(self, rows: CudaRows, nodes: HostArray) -> CudaHist:
        return cuda_histogram.tally(self._launches, rows, nodes)

    def sum_up(self, rows: CudaRows, nodes: HostArray) -> Array:
        """The sums are one after another, on the device."""
        return self.tally(_with_wide_sums(rows), nodes).sums

    def hist_of(self, rows: CudaRows, sums: Array, bins: Bins) -> CudaHist:
        return CudaHist(_with_wide_sums(rows), sums, len(sums) // rows.stride)

    def derive(self, built: CudaHist, siblings: Siblings, above: CudaHist | None) -> CudaHist:
        return cuda_histogram.derive(self._launches, built, siblings, above)

    def best_splits(self, hist: CudaHist, search: Search) -> Splits:
        if not cuda_split.can_search(self._launches, hist.channels, search):
            return super().best_splits(hist, search)
        return cuda_split.best_splits(self._launches, hist, search)

    def rate_categories(
        self,
        hist: CudaHist,
        place: HostArray,
        feature: HostArray,
        rules: CategoryRules,
        most_seen: HostArray,
    ) -> CategoryRates:
        if not cuda_categories.can_rate(hist.channels, rules):
            return super().rate_categories(hist, place, feature, rules, most_seen)
        return cuda_categories.rate(self._launches, hist, place, feature, rules)

    def split_categories(
        self, hist: CudaHist, seen: Seen, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        # Those of the winners: what they have seen is on the host anyway, for their tables.
        return self._host.split_categories(hist, seen, feature, rules)

    def rate(self, hist: CudaHist, search: Search) -> Rates:
        if not cuda_split.can_search(self._launches, hist.channels, search):
            return super().rate(hist, search)
        return cuda_split.rate(self._launches, hist, search)

    def dense(self, hist: CudaHist) -> Sums:
        bins, channels = hist.bins, hist.channels
        cells = self._device.download(hist.sums).reshape(-1, channels.n)
        return Sums.of_cells(bins, channels, cells)

    def cells(self, hist: CudaHist, place: HostArray, feature: HostArray) -> HostArray:
        bins, n_channels = hist.rows.bins, hist.rows.target.channels.n
        first = (place * bins.width + bins.offset[feature]) * n_channels
        found = self._launches.picked(hist.sums, first, bins.n_codes[feature] * n_channels)
        return found.reshape(-1, n_channels).astype(np.int64)

    def seen(self, hist: CudaHist, place: HostArray, feature: HostArray) -> Seen:
        return cuda_categories.seen(self._launches, hist, place, feature)

    def span(self, rows: CudaRows, nodes: HostArray) -> HostArray:
        n_outputs, key = rows.target.channels.n_scored, span_keys(self._launches, rows)
        n = len(nodes) * n_outputs
        low, high = self._device.pack(np.full(n, ORDERED), np.full(n, ~ORDERED))
        table = route_table(rows.start[nodes], rows.n_rows[nodes], self._tuning.route_rows)
        args = rows.order, n_outputs, rows.target.n_rows, key, low, high
        self._launches.tiled(route.span, table, [], *args)
        found = np.stack([self._device.download(low), self._device.download(high)], axis=1)
        bits = np.where(found < 0, found ^ ORDERED, found)
        return bits.view(np.float64).reshape(len(nodes), n_outputs, 2)

    def route(self, rows: CudaRows, moves: Moves) -> CudaRows:
        return cuda_route.routed(self._launches, rows, moves)

    def agree(
        self,
        rows: CudaRows,
        bins: Bins,
        target: Target,
        moves: Moves,
        tie: HostArray,
        least_otherwise: int,
    ) -> Iterator[tuple[HostArray, list[Offer]]]:
        for own in pieces(np.ones(len(tie)), NODES_AT_ONCE):
            some = np.arange(len(tie))[own]
            source = CellsOfSums(self, rows, bins, target.channels, moves.groups[own])
            yield (
                some,
                cuda_detours.agreements(self._launches, source, bins, tie[own], least_otherwise),
            )

    def detour(
        self, rows: CudaRows, target: Target, moves: Moves, detours: Detours
    ) -> tuple[CudaRows, HostArray]:
        return cuda_detours.detoured(self._launches, rows, moves, detours)

    def rows_at(self, rows: CudaRows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        n_rows = rows.n_rows[nodes]
        return self._launches.picked(rows.order, rows.start[nodes], n_rows).astype(np.int64), n_rows

    def codes_of(self, rows: CudaRows, row: HostArray, feature: HostArray) -> HostArray:
        return cuda_route.codes_of(self._launches, rows, row, feature)

    def row_order(
        self,
        data: CudaData,
        bins: Bins,
        is_in: HostArray,
        answers: HostArray,
        weight: HostArray | None,
    ) -> HostArray:
        return cuda_draws.row_order(self._launches, data, bins, is_in, answers, weight)

    def disperse(
        self, rows: CudaRows, nodes: HostArray, row: HostArray, node: HostArray
    ) -> CudaRows:
        listed = self._device.download(rows.order), rows.start, rows.n_rows
        order, start, n_rows = dispersed_lists(*listed, nodes, row, node)
        order = self._device.upload(order)
        return replace(rows, order=order, start=start, n_rows=n_rows, half=0, ends=None)

    # Whole trees.

    def grow_whole(
        self,
        roots: Sequence[CudaRows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
        then: Callable[[int, Whole], Result],
    ) -> list[Result] | None:
        channels = roots[0].target.channels
        if len(roots) > 1 or not cuda_grow.can_grow(self._launches, channels, search, limits):
            return None
        tree = cuda_grow.LevelTree(self._launches, roots[0], totals, keys, search, limits)
        return [then(0, tree.grown())]

    # After a tree.

    def leaves(self, rows: CudaRows) -> HostArray:
        number = np.arange(len(rows.start))
        return self._device.download(cuda_leaves.marked(self._launches, rows, number))

    def apart(
        self, rows: CudaRows, nodes: HostArray, mean: HostArray, scale: HostArray
    ) -> tuple[HostArray, int]:
        return cuda_distances.apart(self._launches, rows, nodes, mean, scale)

    def apply(self, tree: Tree, table: Table) -> HostArray:
        return self.leaves_of(Stack.of([tree]), table)[:, 0].astype(np.int64)

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        return cuda_predict.leaves_of(self._launches, stack, table)

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        return cuda_predict.sum_leaves(self._launches, stack, table, start)

    def answer(
        self,
        stack: Stack,
        table: Table,
        start: HostArray,
        divisor: float,
        label: HostArray | None,
        link: Link | None,
    ) -> Array | None:
        return cuda_predict.answer(self._launches, stack, table, start, divisor, label, link)

    def number_leaves(self, stack: Stack, table: Table) -> Array | None:
        return cuda_predict.number_leaves(self._launches, stack, table)

    def attribute(
        self, stack: Stack, table: Table, owner: HostArray, background: Table | None
    ) -> HostArray:
        plan = Quadrature.of(stack, owner)
        if not cuda_attribution.can_attribute(self._launches, stack, plan):
            return self._host.attribute(stack, table, owner, background)
        check_outputs(stack, stack.n_outputs)
        nodes, others = cuda_predict.nodes_of(self._launches, stack, table), None
        if background is not None:
            check_walk(stack, background)
            others = self.hold([background.columns[at] for at in nodes[1].tolist()])
        row_bytes = 8 * stack.n_outputs * (int(owner.max()) + 1)
        blocks = cuda_predict.blocks(self._launches, table, nodes[1], row_bytes)
        found = cuda_attribution.attribute(
            self._launches, stack, plan, owner, nodes, blocks, others
        )
        return found if background is None else found / background.n_rows

    # Helpers.

    @cached_property
    def _host(self) -> CpuBackend:
        """Whoever computes what there are no kernels for."""
        return CpuBackend(self._n_threads)


def _with_wide_sums(rows: CudaRows) -> CudaRows:
    """Rows whose sums have 64 bits, which are enough for those of any number of ranks."""
    return replace(rows, planes=replace(rows.planes, sum_dtype=np.int64))
