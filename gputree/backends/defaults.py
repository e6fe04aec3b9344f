"""Every verb beyond the core of the contract, in terms of the core.

A backend that inherits `Defaults` writes the verbs of `contract.Core` and overrides what it can do
faster. Sums then are `Sums` on the host, and splits, gradients and predictions are computed there,
by the array code that NumPy runs. The results are those of every other backend.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gputree import formulas, sampling
from gputree.backends.agreement import Offer, offers_of
from gputree.backends.array import gradients as array_gradients
from gputree.backends.array import split as array_split
from gputree.backends.array.rate import Rating
from gputree.backends.array.search import ArraySearch
from gputree.backends.categories import split_categories, tables_of
from gputree.backends.contract import (
    CategoryRates,
    CategoryRules,
    CategorySplits,
    Core,
    Data,
    Detours,
    Hist,
    Item,
    Marks,
    Moves,
    Other,
    Projections,
    ProjectionSplits,
    Rates,
    RawScores,
    Residuals,
    Result,
    Rows,
    Sampler,
    Search,
    Siblings,
    Splits,
    Urn,
    Watched,
)
from gputree.backends.detours import slots_by_detours
from gputree.backends.host_answers import HostAnswers
from gputree.backends.lots import Lots
from gputree.backends.parts import HostParts, Parts, divide_parts
from gputree.backends.projections import best_projections
from gputree.backends.residuals import HostResiduals
from gputree.backends.samples import Samples
from gputree.backends.seen import CELLS_AT_ONCE, Seen, seen_of_cells
from gputree.backends.sums import Sums
from gputree.backends.watched import HostOther, HostWatched
from gputree.backends.whole import BoostRules, Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins
from gputree.data.gradients import Given, Gradients
from gputree.data.table import Table
from gputree.data.target import (
    Channels,
    Target,
    channels_of,
    class_target,
    has_weight,
    joined_target,
    parts_of,
    weight_target,
)
from gputree.dtypes import OUTSIDE, STAY, SUM, Array, HostArray
from gputree.kernels.losses import Loss
from gputree.runs import begins, owners, pieces, spread_out


class Defaults(HostAnswers, Core):
    """The verbs that follow from the core."""

    grows_whole = boosts = answers_there = measures_there = projects = False
    shares_frontiers = counts_freely = True
    is_starting = can_go_over = False
    notes: tuple[str, ...] = ()
    # Formulas for the arrays of `_lib`.
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

    def row_order(
        self,
        data: Data,
        bins: Bins,
        is_in: HostArray,
        answers: HostArray,
        weight: HostArray | None,
    ) -> HostArray:
        row, key = np.flatnonzero(is_in), self.row_keys(data, bins, is_in)
        key = sampling.with_answers(key, answers[row])
        if weight is None:
            return row[np.argsort(key, kind="stable")]
        # Weights come last: rows that are alike stay together, as one of their weight would.
        return row[np.lexsort((weight[row], key))]

    def route(self, rows: Rows, moves: Moves) -> Rows:
        row, n_rows = self.rows_at(rows, moves.node)
        move = owners(n_rows)
        code = self.codes_of(rows, row, moves.feature[move])
        slot = moves.table[moves.start[move] + code].astype(np.int64)
        node = np.where(slot == STAY, moves.node[move], moves.first_child[move] + slot)
        return self.disperse(rows, moves.node, row, node)

    def agree(
        self,
        rows: Rows,
        bins: Bins,
        target: Target,
        moves: Moves,
        tie: HostArray,
        least_otherwise: int,
    ) -> Iterator[tuple[HostArray, list[Offer]]]:
        return offers_of(self, rows, bins, target, moves.groups, tie, least_otherwise)

    def detour(
        self, rows: Rows, target: Target, moves: Moves, detours: Detours
    ) -> tuple[Rows, HostArray]:
        row, n_staying = self.rows_at(rows, moves.node)
        move = owners(n_staying)
        slot = slots_by_detours(partial(self.codes_of, rows), detours, row, move)
        goes = slot != STAY
        node = np.where(goes, moves.first_child[move] + slot, moves.node[move])
        added = np.zeros((len(moves.node), 2, target.channels.n), SUM)
        np.add.at(added, (move[goes], slot[goes]), channels_of(target, row[goes]))
        return self.disperse(rows, moves.node, row, node), added

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        row, n_rows = self.rows_at(rows, nodes)
        ends = (np.minimum, np.maximum)
        found = [end.reduceat(rows.target.point[:, row], begins(n_rows), axis=1) for end in ends]
        return np.array(found).T

    # The search for splits.

    def dense(self, hist: Hist) -> Sums:
        if isinstance(hist, Sums):
            return hist
        n_features = len(hist.bins.features)
        pairs = np.divmod(np.arange(hist.n_nodes * n_features), n_features)
        return Sums.of_cells(hist.bins, hist.channels, self.cells(hist, *pairs))

    def sum_up(self, rows: Rows, nodes: HostArray) -> Array:
        return np.ascontiguousarray(self.dense(self.tally(rows, nodes)).array.transpose(0, 2, 1))

    def hist_of(self, rows: Rows, sums: Array, bins: Bins) -> Hist:
        array = np.ascontiguousarray(sums.transpose(0, 2, 1))
        return Sums(bins, rows.target.channels, array)

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
        return array_split.best_splits(self._array_search(sums, search), sums.array)

    def rate(self, hist: Hist, search: Search) -> Rates:
        sums = self.dense(hist)
        return Rating(self._array_search(sums, search)).of_sums(sums.array)

    def _array_search(self, hist: Hist, search: Search) -> ArraySearch:
        return ArraySearch(self._lib, self._formulas, hist.bins, hist.channels, search)

    def best_projections(
        self,
        rows: Rows,
        nodes: HostArray,
        key: HostArray,
        projections: Projections,
        search: Search,
        score: HostArray,
    ) -> ProjectionSplits:
        return best_projections(self, rows, nodes, key, projections, search, score)

    def rate_categories(
        self,
        hist: Hist,
        place: HostArray,
        feature: HostArray,
        rules: CategoryRules,
        most_seen: HostArray,
    ) -> CategoryRates:
        # Sums of many nodes and categories are large, so they are looked at a few pairs at a time.
        parts = []
        for some in pieces(most_seen * hist.channels.n, CELLS_AT_ONCE):
            seen = self.seen(hist, place[some], feature[some])
            parts.append(self.split_categories(hist, seen, feature[some], rules))
        names = [field.name for field in fields(CategoryRates)]
        return CategoryRates(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )

    def split_categories(
        self, hist: Hist, seen: Seen, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        return split_categories(tables_of(hist.bins, seen, feature), hist.channels, rules)

    # Parts of rows.

    def whole_parts(self, target: Target) -> Parts:
        return HostParts.whole(target)

    def divide_parts(
        self, rows: Rows, target: Target, parts: Parts, moves: Moves, known: HostArray
    ) -> tuple[Parts, HostArray]:
        assert isinstance(parts, HostParts)
        return divide_parts(partial(self.codes_of, rows), target, parts, moves, known)

    def tally_parts(self, data: Data, bins: Bins, target: Target, parts: Parts) -> Hist:
        assert isinstance(parts, HostParts)
        node, own = np.arange(len(parts.n)), parts_of(target, parts.row, parts.weight)
        rows = self.begin(self.take_rows(data, parts.row), bins, own, parts.n)
        siblings = Siblings(node, node, np.full(len(node), -1))
        return self.derive(self.tally(rows, node), siblings, None)

    # Samples of rows.

    def sampler(self, samples: Samples) -> Sampler:
        return samples

    def sampled(self, sampler: Sampler, tree: int) -> Target:
        samples: Samples = sampler
        return samples.of(tree)

    def begin_together(self, data: Data, bins: Bins, targets: Sequence[Target]) -> Rows:
        row = [np.flatnonzero(has_weight(target)) for target in targets]
        n_each = np.array([len(each) for each in row])
        taken = self.take_rows(data, np.concatenate(row))
        return self.begin(taken, bins, joined_target(targets, row), n_each)

    # Boosting.

    def raw_scores(self, start: HostArray, y: HostArray, weight: HostArray | None) -> RawScores:
        return array_gradients.raw_scores(self._lib, start, y, weight)

    # Marks are one for each row, on the host.

    def urn(self, raw_scores: RawScores, lots: Lots) -> Urn:
        return lots

    def drawn(self, urn: Urn, seed: int, draw: int, share: float) -> Marks | None:
        lots: Lots = urn
        return lots.drawn(seed, draw, share)

    def gradients(
        self,
        raw_scores: RawScores,
        loss: Loss | Given,
        takes_part: Marks | None,
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

    def pass_on(
        self,
        raw_scores: RawScores,
        output: int,
        data: Data,
        bins: Bins,
        takes_part: Marks,
        moves: Iterable[Moves],
        step: HostArray,
    ) -> None:
        rows = self.begin(data, bins, weight_target((~takes_part).astype(SUM)))
        for own in moves:
            rows = self.route(rows, own)
        self.renew(raw_scores, output, rows, step)

    def residuals(self, raw_scores: RawScores, rows: Rows, number: HostArray) -> Residuals:
        leaf = self.leaves(rows)
        inside = np.flatnonzero(leaf >= 0)
        y = self._lib.to_host(raw_scores.y)
        residual = y[inside] - self.read_raw_scores(raw_scores)[0, inside]
        weight = raw_scores.weight
        if weight is not None:
            weight = self._lib.to_host(weight)
            weight = weight[inside] if weight.size else None
        # 0.0 and -0.0 are one residual.
        return HostResiduals(int(number.max()) + 1, number[leaf[inside]], residual + 0.0, weight)

    def watched(
        self, raw_scores: RawScores, row: HostArray, y: HostArray, weight: HostArray
    ) -> Watched:
        return HostWatched(lambda: self.read_raw_scores(raw_scores), row, y, weight)

    def other_rows(self, table: Table, start: HostArray, y: HostArray, weight: HostArray) -> Other:
        return HostOther(self.apply, table, start, y, weight)

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

    # After a tree: nobody asks where the host measures.

    def apart(
        self, rows: Rows, nodes: HostArray, mean: HostArray, scale: HostArray
    ) -> tuple[HostArray, int]:
        raise NotImplementedError

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

    def go_over(self) -> None:
        """Nobody takes over."""

    def release(self) -> None:
        """Nothing is kept for the next call."""

    def bytes_held(self, data: Data, rows: Rows | None) -> int:
        return int(getattr(data, "nbytes", 0))
