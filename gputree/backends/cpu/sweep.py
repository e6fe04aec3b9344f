"""One boosted tree grown by all threads, in waves of nodes, for the CPU backend.

Chunks of the table list their rows node by node. A wave of nodes is divided in every chunk, the
smaller child of each is summed, and the larger one has what is left of its parent's sums. Little
is done between waves, so that many small ones cost little: the best node may be split next.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gputree import sampling
from gputree.backends.contract import Search
from gputree.backends.cpu.rate import ordered, rules_of, shape_of
from gputree.backends.cpu.rows import CpuRows
from gputree.backends.cpu.workers import Workers
from gputree.backends.whole import CategoryLists, Limits, Whole, categories_by_feature
from gputree.dtypes import FEATURE, OUTSIDE, SLOT, SUM, HostArray
from gputree.formulas import HOST
from gputree.kernels.cpu import sweep, word_categories, words
from gputree.kernels.cpu.word_categories import NO_CHILD, no_sides
from gputree.nodes import Nodes, tallied_children
from gputree.turns import Turns

CHUNK = 2**15  # rows that are listed together, by 16 bits each
FEATURES_TOGETHER = 64  # whose sums stay in the L2 cache of a core


class WaveTree:
    """A growing tree: its nodes, their rows in each chunk, and the sums of those to be divided.

    Mostly no more nodes than `n_places` have sums at once.
    """

    def __init__(
        self,
        workers: Workers,
        rows: CpuRows,
        totals: HostArray,
        key: np.uint64,
        search: Search,
        limits: Limits,
        n_places: int,
    ) -> None:
        self.workers, self.rows, self.search, self.limits = workers, rows, search, limits
        n_all, bins = rows.target.n_rows, rows.bins
        self.n_chunks = -(-n_all // CHUNK)
        roots = {"sums": totals[None, :2].copy(), "n_rows": np.array([len(rows.order)])}
        blank: dict[str, tuple[Any, ...]] = {
            "first_child": (-1, np.int64),
            "parent": (-1, np.int64),
            "depth": (0, np.int64),
            "left": (0, SUM, 2),
            "score": (-np.inf, np.float64),
            "winner": (-1, np.int64, 4),
            "place": (-1, np.int64),
            # (nodes, chunks) where the rows of a node are in each chunk
            "start": (0, np.int32, self.n_chunks),
            "count": (0, np.int32, self.n_chunks),
        }
        self.draws = search.n_drawn < len(bins.features)
        if self.draws:
            roots["key"] = np.array([key], np.uint64)
        self.categories: tuple[HostArray, ...] | None = None
        if search.categories:
            self.categories = bins.is_nominal, *categories_by_feature(bins, search.categories)
            # The child of each code, where a node tests categories.
            most = int(bins.n_codes[bins.is_nominal].max())
            blank |= {"side": (0, np.uint8, most), "absent": (0, np.int64)}
        self.nodes = Nodes(roots, blank)
        self.field = self.nodes.field
        room = rows.layout.lane.room
        self.order = room("order", (self.n_chunks, CHUNK), np.uint16)
        self.hist = room("sums", (n_places, bins.width), np.int64)
        self.free = list(range(n_places))
        self.turns = None if limits.max_leaves is None else Turns(limits.max_leaves - 1)
        self.ready = np.empty(0, np.int64)  # nodes to divide next, breadth-first
        self.rules = rules_of(search)
        self.ordered = ordered(bins, search)
        self.shape = shape_of(rows.target.channels)

    def grown(self) -> Whole:
        """The whole tree, on rows at its root."""
        self.plant()
        while len(wave := self.next()):
            self.divide(wave)
        return self.finished()

    def plant(self) -> None:
        """List the rows of the root, sum and search it."""
        root = np.zeros(1, np.int64)
        rows, bins = self.rows, self.rows.bins
        lists = self.order, self.field["start"], self.field["count"]
        if len(rows.order) == rows.target.n_rows:
            self._run(sweep.list_all, len(rows.order), *lists)
        else:
            is_inside = np.zeros(rows.target.n_rows, np.bool_)
            is_inside[rows.order] = True
            self._run(sweep.list_some, is_inside, *lists)
        if not self._may_split(root)[0]:
            return
        self.field["place"][0] = place = self._places(1)[0]
        cells = self.hist[place]
        cells[:] = 0
        # A row that takes no part has a word of 0.
        whole = rows.word, rows.code, bins.offset, cells
        self.workers.run(words.tally_all, len(bins.features), *whole, shares=1)
        self._search(root)

    def next(self) -> HostArray:
        """The nodes to divide together."""
        if self.turns is None:
            return self.ready
        return np.array(self.turns.next(), np.int64)

    def divide(self, wave: HostArray) -> None:
        """Divide some nodes and search their children."""
        if self.turns is not None:
            for node in wave.tolist():
                self.turns.divide(node)
        self.ready = self.ready[:0]
        first = self.nodes.add_children(wave, np.full(len(wave), 2))
        self._move(wave, first)
        children = first[:, None] + np.arange(2)
        may = self._may_split(children)
        if self.turns is not None and self.turns.is_last:
            may[:] = False
        parents, small = tallied_children(may, self.field["n_rows"][children])
        above = self.field["place"][wave]
        if len(parents) < len(wave):
            self.free += np.delete(above, parents).tolist()
            above, children, may = above[parents], children[parents], may[parents]
        if not len(parents):
            return
        each = np.arange(len(parents))
        place = np.array(self._places(len(parents)), np.int64)
        self.field["place"][children[each, small]] = place
        self.field["place"][children[each, 1 - small]] = above
        self._tally(children[each, small], place, above)
        self.free += above[~may[each, 1 - small]].tolist() + place[~may[each, small]].tolist()
        self._search(children[may])

    def finished(self) -> Whole:
        """The tree, and the node of each row."""
        nodes = self.nodes
        is_inner = nodes.first_child >= 0
        if self.turns is not None:
            is_inner = self.turns.had_turn(nodes.n_nodes)
        leaf = np.empty(self.rows.target.n_rows, np.int32)
        if len(self.rows.order) < len(leaf):
            leaf[:] = OUTSIDE
        ends = np.flatnonzero(nodes.first_child < 0)
        self._run(sweep.name_rows, ends, self.order, nodes.start, nodes.count, leaf)
        feature, code, next_code, missing_slot = nodes.winner.T
        return Whole(
            categories=None if self.categories is None else self._lists(),
            is_inner=is_inner,
            first_child=nodes.first_child,
            feature=feature.astype(FEATURE),
            code=code,
            next_code=next_code,
            missing_slot=missing_slot.astype(SLOT),
            n_rows=nodes.n_rows,
            depth=nodes.depth,
            score=nodes.score,
            sums=nodes.sums,
            rows=replace(self.rows, leaf=leaf),
        )

    def _lists(self) -> CategoryLists:
        """The categories that nodes list, node by node."""
        is_nominal = self.rows.bins.is_nominal[self.nodes.winner[:, 0]]
        own = np.flatnonzero((self.nodes.first_child >= 0) & is_nominal)
        side = self.field["side"][own]
        at, code = np.nonzero(side != NO_CHILD)
        n = np.bincount(at, minlength=len(own))
        slot = side[at, code].astype(SLOT)
        absent = self.field["absent"][own].astype(SLOT)
        return CategoryLists(own, n, absent, code.astype(np.int32), slot)

    def _move(self, wave: HostArray, first: HostArray) -> None:
        """Send rows to children, of which the first ones are given, and count them."""
        if self.categories is None:
            self._divide(wave, first, by_sides=False)
        else:
            is_nominal = self.rows.bins.is_nominal[self.field["winner"][wave, 0]]
            for by_sides in (False, True):
                own = np.flatnonzero(is_nominal == by_sides)
                if own.size:
                    self._divide(wave[own], first[own], by_sides=by_sides)
        self.nodes.n_rows[first[0] :] = self.nodes.count[first[0] :].sum(axis=1)

    def _divide(self, nodes: HostArray, left: HostArray, *, by_sides: bool) -> None:
        """Send rows to children `left` and the next ones, by thresholds or by categories."""
        feature, code, _, missing_slot = np.ascontiguousarray(self.field["winner"][nodes].T)
        bins = self.rows.bins
        lists = self.rows.code, self.order, self.field["start"], self.field["count"]
        n_rows = int(self.field["n_rows"][nodes].sum())
        if by_sides:
            side = self.field["side"][nodes]
            self._run(sweep.divide_by_sides, nodes, left, feature, side, *lists, work=n_rows)
            return
        n_values = bins.n_values[feature]
        goes_left = (missing_slot == 0) & (bins.n_codes[feature] > n_values)
        exception = np.where(goes_left, n_values, -1)
        self._run(sweep.divide, nodes, left, feature, code, exception, *lists, work=n_rows)

    def _tally(self, nodes: HostArray, place: HostArray, above: HostArray) -> None:
        """Sum the rows of some nodes, and take these sums from those of their parents."""
        rows, n_nodes, width = self.rows, len(nodes), self.hist.shape[1]
        n_features = len(rows.bins.features)
        n_cells = int(self.field["n_rows"][nodes].sum()) * n_features
        # Each part has sums of its own, which are put together: as few as are worth it, and as the
        # budget has room for.
        worth = 1 + n_cells // (4 * n_nodes * width)
        fitting = max(1, (self.limits.budget - self.hist.nbytes) // (8 * n_nodes * width))
        n_parts = min(self.workers.n_threads, self.n_chunks, worth, fitting)
        first_chunk = np.arange(n_parts + 1) * self.n_chunks // n_parts
        sums = rows.layout.lane.room("parts", (n_parts, n_nodes, width), np.int64)
        lists = nodes, self.order, self.field["start"], self.field["count"]
        by_row = rows.layout.in_order(rows.code, self.workers)
        table = rows.word, by_row, rows.bins.offset
        n_items = n_parts * -(-n_features // FEATURES_TOGETHER)
        args = CHUNK, FEATURES_TOGETHER, *lists, *table, first_chunk, sums
        self.workers.run(sweep.tally, n_items, *args, work=n_cells)
        n_sums = n_nodes * width
        self.workers.run(sweep.settle_sums, n_nodes, sums, place, above, self.hist, work=n_sums)

    def _search(self, nodes: HostArray) -> None:
        """Find the best splits of some nodes, and note which of them will be divided."""
        field, bins, search = self.field, self.rows.bins, self.search
        rank = np.empty((0, 0), np.int64)
        if self.draws:
            rank = sampling.feature_ranks(field["key"][nodes], len(bins.features))
        score = np.empty(len(nodes))
        winner, left = np.empty((len(nodes), 4), np.int64), np.empty((len(nodes), 2), np.int64)
        side, absent = no_sides()
        if self.categories is not None:
            side = np.empty((len(nodes), field["side"].shape[1]), np.uint8)
            absent = np.zeros(len(nodes), np.int64)
        given = field["place"][nodes], self.hist, bins.offset, bins.n_values, self.ordered
        found = score, winner, left, self.categories, side, absent
        args = *given, rank, search.n_drawn, self.shape, self.rules, *found
        work = len(nodes) * self.hist.shape[1]
        self.workers.run(word_categories.search_hist, len(nodes), *args, work=work)
        if self.categories is not None:
            field["side"][nodes], field["absent"][nodes] = side, absent
        field["score"][nodes], field["winner"][nodes], field["left"][nodes] = score, winner, left
        worth = self.limits.worth(score, field["sums"][nodes])
        suffices = self.limits.suffices(worth)
        self.free += field["place"][nodes[~suffices]].tolist()
        chosen = nodes[suffices]
        if self.turns is None:
            self.ready = chosen
            return
        worths, parents = HOST.trim(worth[suffices]).tolist(), field["parent"][chosen].tolist()
        for node, own, parent in zip(chosen.tolist(), worths, parents, strict=True):
            self.turns.meet(node, own, parent)

    def _may_split(self, nodes: HostArray) -> HostArray:
        """Which nodes are worth a search."""
        field = self.field
        weight, depth = field["sums"][nodes, 0], field["depth"][nodes]
        return self.limits.may_split(field["n_rows"][nodes], weight, depth)

    def _places(self, n: int) -> list[int]:
        """Where the sums of some more nodes go."""
        if len(self.free) < n:
            old = self.hist
            larger = (2 * (len(old) + n), old.shape[1])
            self.hist = np.empty(larger, np.int64)
            self.hist[: len(old)] = old
            self.free += range(len(old), len(self.hist))
        places, self.free = self.free[:n], self.free[n:]
        return places

    def _run(self, kernel: Any, *args: Any, work: int | None = None) -> None:
        """Run a kernel over all chunks; `work` is how many rows it visits, if not all."""
        n_rows = self.rows.target.n_rows if work is None else work
        self.workers.run(kernel, self.n_chunks, CHUNK, *args, work=n_rows)
