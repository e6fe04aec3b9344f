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
from gputree.backends.cpu.categories import way_of
from gputree.backends.cpu.rate import ordered, shape_of
from gputree.backends.cpu.rows import CpuRows
from gputree.backends.cpu.workers import Workers
from gputree.backends.whole import CategoryLists, Limits, Whole
from gputree.data.bins import Bins
from gputree.dtypes import FEATURE, OUTSIDE, SLOT, SUM, HostArray
from gputree.formulas import HOST
from gputree.kernels.cpu import sweep, word_categories, words
from gputree.kernels.cpu.scoring import number_of
from gputree.kernels.cpu.word_categories import NO_CHILD
from gputree.turns import Turns

CHUNK = 2**15  # rows that are listed together, by 16 bits each
FEATURES_TOGETHER = 64  # whose sums stay in the L2 cache of a core
ROWS_A_LEAF = 256  # where leaves have fewer rows, those are summed more quickly than searched,
MANY_LEAVES = 256  # and where there are so many leaves, that outweighs what is saved between waves
BY_MEANS = (0, False, True)  # the way that categories are put in order by their means: see way_of


def grow(
    workers: Workers,
    rows: CpuRows,
    totals: HostArray,
    key: np.uint64,
    search: Search,
    limits: Limits,
) -> Whole | None:
    """A tree on rows at its root; None where frontiers are quicker."""
    bins = rows.bins
    n_leaves = _most_leaves(limits)
    channels = rows.target.channels
    is_by_means = all(way_of(channels, rules) == BY_MEANS for rules, _ in search.categories)
    if not rows.is_packed or not is_by_means or n_leaves is None:
        return None
    if n_leaves > MANY_LEAVES and n_leaves * ROWS_A_LEAF > len(rows.order):
        return None
    # Leaf by leaf, nodes that are divided in vain have sums, too; mostly these places suffice.
    n_places = n_leaves if limits.max_leaves is None else 2 * n_leaves
    if 8 * n_places * bins.width > limits.budget:
        return None
    tree = _Tree(workers, rows, totals, key, search, limits, n_places)
    tree.plant()
    while len(wave := tree.next()):
        tree.divide(wave)
    return tree.finished()


def _categories(bins: Bins, search: Search) -> tuple[HostArray, ...]:
    """How nominal features are split as kernels know it."""
    n_categories = bins.n_values.copy()
    least, ridge = np.ones(len(n_categories), np.int64), np.zeros(len(n_categories))
    for rules, is_alike in search.categories:
        if rules.missing == "category":
            n_categories[is_alike] = bins.n_codes[is_alike]
        least[is_alike], ridge[is_alike] = rules.min_category, rules.ridge
    return bins.is_nominal, n_categories, least, ridge


def _most_leaves(limits: Limits) -> int | None:
    """How many leaves a tree has at most; None where there is no limit worth the name."""
    by_depth = None if limits.max_depth is None else 2 ** min(limits.max_depth, 20)
    known = [n for n in (by_depth, limits.max_leaves) if n is not None]
    return min(known) if known else None


class _Tree:
    """A growing tree: arrays with an entry a node, and the sums of nodes that may be divided."""

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
        self.n_nodes = 1
        n_all, bins = rows.target.n_rows, rows.bins
        self.n_chunks = -(-n_all // CHUNK)
        self.field: dict[str, HostArray] = {
            "first_child": np.full(1, -1),
            "parent": np.full(1, -1),
            "depth": np.zeros(1, np.int64),
            "n_rows": np.array([len(rows.order)]),
            "sums": totals[None, :2].copy(),
            "left": np.zeros((1, 2), SUM),
            "score": np.full(1, -np.inf),
            "winner": np.full((1, 4), -1),
            "place": np.full(1, -1),
            "key": np.array([key], np.uint64),
            # (nodes, chunks) where the rows of a node are in each chunk
            "start": np.zeros((1, self.n_chunks), np.int32),
            "count": np.zeros((1, self.n_chunks), np.int32),
        }
        self.categories = _categories(bins, search) if search.categories else None
        if self.categories is not None:  # the child of each code, where a node tests categories
            most = int(bins.n_codes[bins.is_nominal].max())
            self.field |= {"side": np.zeros((1, most), np.uint8), "absent": np.zeros(1, np.int64)}
        room = rows.layout.lane.room
        self.order = room("order", (self.n_chunks, CHUNK), np.uint16)
        self.hist = room("sums", (n_places, bins.width), np.int64)
        self.free = list(range(n_places))
        self.turns = None if limits.max_leaves is None else Turns(limits.max_leaves - 1)
        self.ready = np.empty(0, np.int64)  # nodes to divide next, breadth-first
        self.rules = (
            number_of(search.criterion),
            search.min_rows,
            max(1, search.min_weight),
            search.ridge,
        )
        self.ordered = ordered(bins, search)
        self.shape = shape_of(rows.target.channels)

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
        children = self._make_children(wave)
        self._move(wave, children)
        may = self._may_split(children).reshape(-1, 2)
        if self.turns is not None and self.turns.is_last:
            may[:] = False
        is_concerned = may.any(axis=1)
        self.free += self.field["place"][wave[~is_concerned]].tolist()
        if not is_concerned.any():
            return
        own, pairs = wave[is_concerned], children.reshape(-1, 2)[is_concerned]
        may = may[is_concerned]
        n_rows = self.field["n_rows"][pairs]
        small = (n_rows[:, 1] < n_rows[:, 0]).astype(np.int64)
        each = np.arange(len(pairs))
        tallied, other = pairs[each, small], pairs[each, 1 - small]
        place = np.array(self._places(len(pairs)), np.int64)
        self.field["place"][tallied] = place
        self.field["place"][other] = above = self.field["place"][own]
        self._tally(tallied, place, above)
        is_derived = may[each, 1 - small]
        self.free += above[~is_derived].tolist() + place[~may[each, small]].tolist()
        self._search(pairs[may])

    def finished(self) -> Whole:
        """The tree, and the node of each row."""
        field = {name: array[: self.n_nodes] for name, array in self.field.items()}
        is_inner = field["first_child"] >= 0
        if self.turns is not None:
            is_inner = np.zeros(self.n_nodes, np.bool_)
            is_inner[np.array(self.turns.settled, np.int64)] = True
        leaf = np.empty(self.rows.target.n_rows, np.int32)
        if len(self.rows.order) < len(leaf):
            leaf[:] = OUTSIDE
        ends = np.flatnonzero(field["first_child"] < 0)
        self._run(sweep.name_rows, ends, self.order, field["start"], field["count"], leaf)
        feature, code, next_code, missing_slot = field["winner"].T
        return Whole(
            categories=None if self.categories is None else self._lists(),
            is_inner=is_inner,
            first_child=field["first_child"],
            feature=feature.astype(FEATURE),
            code=code,
            next_code=next_code,
            missing_slot=missing_slot.astype(SLOT),
            n_rows=field["n_rows"],
            depth=field["depth"],
            score=field["score"],
            sums=field["sums"],
            rows=replace(self.rows, leaf=leaf),
        )

    def _lists(self) -> CategoryLists:
        """The categories that nodes list, node by node."""
        feature = self.field["winner"][: self.n_nodes, 0]
        is_divided = self.field["first_child"][: self.n_nodes] >= 0
        own = np.flatnonzero(is_divided & self.rows.bins.is_nominal[feature])
        side = self.field["side"][own]
        at, code = np.nonzero(side != NO_CHILD)
        n = np.bincount(at, minlength=len(own))
        slot = side[at, code].astype(SLOT)
        absent = self.field["absent"][own].astype(SLOT)
        return CategoryLists(own, n, absent, code.astype(np.int32), slot)

    def _make_children(self, wave: HostArray) -> HostArray:
        """Number the children of some nodes, with all that is known of them."""
        field, first = self.field, self.n_nodes
        n_new = 2 * len(wave)
        for name, array in field.items():
            if len(array) < first + n_new:
                more = np.full((max(n_new, len(array)), *array.shape[1:]), -1).astype(array.dtype)
                field[name] = np.concatenate([array, more])
        self.n_nodes += n_new
        children = np.arange(first, self.n_nodes)
        field["first_child"][wave] = children[::2]
        field["parent"][children] = np.repeat(wave, 2)
        field["depth"][children] = np.repeat(field["depth"][wave], 2) + 1
        field["sums"][children[::2]] = field["left"][wave]
        field["sums"][children[1::2]] = field["sums"][wave] - field["left"][wave]
        field["score"][children] = -np.inf
        if self.search.n_drawn < len(self.rows.bins.features):
            for slot in range(2):
                keys = sampling.child_keys(field["key"][wave], slot)
                field["key"][children[slot::2]] = keys
        return children

    def _move(self, wave: HostArray, children: HostArray) -> None:
        """Send rows to children, and count them."""
        is_nominal = self.rows.bins.is_nominal[self.field["winner"][wave, 0]]
        for by_sides in (False, True):
            own = np.flatnonzero(is_nominal == by_sides)
            if own.size:
                self._divide(wave[own], children[::2][own], by_sides=by_sides)
        self.field["n_rows"][children] = self.field["count"][children].sum(axis=1)

    def _divide(self, nodes: HostArray, left: HostArray, *, by_sides: bool) -> None:
        """Send rows to children `left` and the next ones, by thresholds or by categories."""
        feature, code, _, missing_slot = self.field["winner"][nodes].T
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
        cells = n_nodes * width
        self.workers.run(sweep.settle_sums, n_nodes, sums, place, above, self.hist, work=cells)

    def _search(self, nodes: HostArray) -> None:
        """Find the best splits of some nodes, and note which of them will be divided."""
        field, bins, search = self.field, self.rows.bins, self.search
        n_features = len(bins.features)
        rank = np.empty((0, 0), np.int64)
        if search.n_drawn < n_features:
            rank = sampling.feature_ranks(field["key"][nodes], n_features)
        score = np.empty(len(nodes))
        winner, left = np.empty((len(nodes), 4), np.int64), np.empty((len(nodes), 2), np.int64)
        given = field["place"][nodes], self.hist, bins.offset, bins.n_values, self.ordered
        args = rank, search.n_drawn, self.shape, self.rules, score, winner, left
        work = len(nodes) * self.hist.shape[1]
        if self.categories is None:
            self.workers.run(words.search_hist, len(nodes), *given, *args, work=work)
        else:
            side = np.empty((len(nodes), field["side"].shape[1]), np.uint8)
            absent = np.zeros(len(nodes), np.int64)
            given_too = *given, self.categories, *args, side, absent
            self.workers.run(word_categories.search_hist, len(nodes), *given_too, work=work)
            field["side"][nodes], field["absent"][nodes] = side, absent
        field["score"][nodes], field["winner"][nodes], field["left"][nodes] = score, winner, left
        worth = score
        if search.ridge > 0.0:
            weight, gradient = field["sums"][nodes].astype(np.float64).T
            worth = score - HOST.penalty(gradient, weight, search.ridge)
        limits = self.limits
        least = limits.min_score if limits.splits_without_gain else max(limits.min_score, 5e-324)
        suffices = np.isfinite(worth) & (worth >= least)
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
        field, search, limits = self.field, self.search, self.limits
        may = field["n_rows"][nodes] >= max(limits.min_rows_split, 2 * search.min_rows)
        may &= field["sums"][nodes, 0] >= 2 * search.min_weight
        if limits.max_depth is not None:
            may &= field["depth"][nodes] < limits.max_depth
        return np.asarray(may)

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
