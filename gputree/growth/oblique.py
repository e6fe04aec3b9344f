"""Nodes that compare a combination of columns with a threshold.

A combination is a column that its node alone has. The candidates of each node of a frontier are
worked out on the host and tried; the best of them is taken where it gains more than the best split
of one column, after a charge for each further term. Knows the contract and the draft; must not
know devices.
"""

import numpy as np

from gputree.backends.contract import NO_SPLIT, Backend, Moves, Rows, Search
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.formulas import HOST
from gputree.growth.coordinate_search import ANGLES, MOST_TURNED, MOST_TURNS, shortened, turned
from gputree.growth.directions import WEIGHT_BITS, NodeRows, Sought, telling
from gputree.growth.draft import NOT_LISTED, NOT_SUMMED, Draft
from gputree.growth.fits import candidates
from gputree.growth.lookahead import LEAST_MORE, LEAST_ROWS, Lines, Lookahead, Sample, sums
from gputree.growth.refits import MOST_ROUNDS, beside
from gputree.growth.trial import AT_ONCE, Best, Better, Trial
from gputree.runs import begins, owners, pieces, spread_out
from gputree.tree.directions import added_up

Chosen = dict[int, tuple[HostArray, HostArray]]  # columns and weights, by the node of the draft

MOST_BINS = 255  # codes of a combination take a byte, with one for missing values
ARRAYS_A_CELL = 4  # of 8 bytes, that are held for a value or a candidate of a row


class Oblique:
    """Finds combinations for the nodes of one tree, and sends rows on by them."""

    def __init__(
        self,
        backend: Backend,
        values: HostArray,
        column: HostArray,
        target: Target,
        sought: Sought,
        max_bins: int,
        budget: int,
        max_depth: int | None = None,
    ) -> None:
        """`values` are (columns, rows), those of the columns numbered in `column`.

        Children of nodes of depth `max_depth` - 1 are leaves, so that nobody looks ahead there.
        """
        self.backend, self.values, self.column = backend, values, column
        self.target, self.sought, self.budget = target, sought, budget
        self.max_bins = min(max_bins, MOST_BINS)
        self.last_depth = np.inf if max_depth is None else max_depth - 2
        self.chosen: Chosen = {}
        weight = target.weight
        total = target.n_rows if weight is None else int(weight.sum())
        self._down = max(0, total.bit_length() - WEIGHT_BITS)
        self._total = (total >> self._down) + (target.n_rows if self._down else 0)

    def seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        """Note combinations in the draft for those of the nodes that are better divided by one."""
        if len(self.column) < 2:
            return
        cell = 8 * ARRAYS_A_CELL
        a_row = cell * (len(self.column) + AT_ONCE)
        most = max(self.sought.n_projections, MOST_TURNED * MOST_TURNS)
        a_node = cell * len(self.column) * most
        for some in pieces(draft.n_rows(nodes) * a_row + a_node, max(self.budget // 4, 1)):
            self._seek(rows, draft, nodes[some], search)

    def route(self, rows: Rows, draft: Draft, moves: Moves) -> Rows:
        """Send rows to children, by combinations where nodes have one."""
        is_own = np.array([node in self.chosen for node in moves.node.tolist()], bool)
        if not is_own.all():
            rows = self.backend.route(rows, _among(moves, ~is_own, draft.bins.n_codes))
        if not is_own.any():
            return rows
        nodes, first_child = moves.node[is_own], moves.first_child[is_own]
        row, n_rows = self.backend.rows_at(rows, nodes)
        place = owners(n_rows)
        slot = self._sides(draft, nodes, row, place)
        return self.backend.disperse(rows, nodes, row, first_child[place] + slot)

    def _sides(self, draft: Draft, nodes: HostArray, row: HostArray, place: HostArray) -> HostArray:
        """The child of each row of some nodes, whose places among these are given."""
        own = [self.chosen[node] for node in nodes.tolist()]
        most = max(len(weight) for _, weight in own)
        column, weight = np.zeros((len(own), most), np.int64), np.zeros((len(own), most))
        for at, (columns, weights) in enumerate(own):
            column[at, : len(columns)] = np.searchsorted(self.column, columns)
            weight[at, : len(weights)] = weights
        value = added_up(
            [self.values[column[place, term], row] for term in range(most)],
            weight[place].T,
        )
        is_high = value > draft.threshold[nodes][place]
        return np.where(np.isnan(value), draft.missing_slot[nodes][place], is_high)

    # The search.

    def _seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        own, values, row = self._rows_of(rows, nodes)
        trial = Trial(self.backend, self.target, own, values, row, search, self.max_bins)
        best = Best(draft.score[nodes].copy(), self.sought.term_cost, len(values))
        found = candidates(own, self.target, row, draft.key[nodes], self.sought)
        trial.compare(found, best, self.budget)
        if self.sought.directions != "sparse":
            self._refit(rows, draft, nodes, search, best)
        if self.sought.directions == "cart-lc":
            column = telling(own, self.target, row, MOST_TURNED)
            for angle in ANGLES:
                start = self._starts(draft, nodes, best)
                turns = turned(own, start, column, angle, self.sought.most_terms)
                trial.compare(turns, best, self.budget)
            start = self._starts(draft, nodes, best)
            trial.compare(shortened(own, start), best, self.budget)
        if self.sought.directions != "sparse" and self.target.label is not None:
            self._look_ahead(rows, draft, nodes, search, best)
        for place, each in best.found.items():
            self._note(draft, int(nodes[place]), each)

    def _refit(
        self, rows: Rows, draft: Draft, nodes: HostArray, search: Search, best: Best
    ) -> None:
        """Fit beside the best splits so far, as long as these become better."""
        place = np.arange(len(nodes))
        for _ in range(MOST_ROUNDS):
            start, limit = self._starts(draft, nodes, best), self._limits(draft, nodes, best)
            place = place[np.isfinite(limit[place])]
            if not place.size:
                return
            own, values, row = self._rows_of(rows, nodes[place])
            distance = sums(values, start[place], own.owner) - limit[place][own.owner]
            found = beside(own, distance, self.target, row, self.sought)
            trial = Trial(self.backend, self.target, own, values, row, search, self.max_bins)
            among = Best(best.worth[place], self.sought.term_cost, len(values))
            trial.compare(found, among, self.budget)
            best.worth[place] = among.worth
            for at, each in among.found.items():
                best.found[int(place[at])] = each
            place = place[sorted(among.found)]

    def _look_ahead(
        self, rows: Rows, draft: Draft, nodes: HostArray, search: Search, best: Best
    ) -> None:
        """Take splits that gain much more together with those of their children."""
        room = _room(draft, nodes, search)
        limit, n_rows = self._limits(draft, nodes, best), draft.n_rows(nodes)
        score = np.where(np.isfinite(limit), draft.score[nodes], np.inf)
        for at, each in best.found.items():
            score[at] = each.score
        is_large = (n_rows >= LEAST_ROWS) & (draft.depth[nodes] <= self.last_depth)
        place = np.flatnonzero(is_large & (score * LEAST_MORE < room))
        if not place.size:
            return

        def trial_of(sample: Sample) -> Trial:
            own, values, row = sample.own, sample.values, sample.row
            return Trial(self.backend, self.target, own, values, row, search, self.max_bins)

        start = Lines(self._starts(draft, nodes, best)[place], limit[place])
        ahead = Lookahead(self.target, self.sought, trial_of, self.budget)
        found = ahead.seek(Sample(*self._rows_of(rows, nodes[place])), start, room[place])
        for at, better in found.items():
            best.found[int(place[at])] = better

    def _rows_of(self, rows: Rows, nodes: HostArray) -> tuple[NodeRows, HostArray, HostArray]:
        """The rows at some nodes, with their values and numbers."""
        row, n_rows = self.backend.rows_at(rows, nodes)
        values = self.values[:, row].astype(np.float64)
        weight = np.ones(len(row)) if self.target.weight is None else self._light(row)
        return NodeRows(values, n_rows, weight, self._total), values, row

    def _limits(self, draft: Draft, nodes: HostArray, best: Best) -> HostArray:
        """The thresholds of the best splits so far; NaN where a node has none of numbers."""
        limit = np.full(len(nodes), np.nan)
        at = np.flatnonzero(
            (draft.score[nodes] > NO_SPLIT) & ~draft.bins.is_nominal[draft.feature[nodes]]
        )
        node = nodes[at]
        limit[at] = draft.bins.threshold(
            draft.feature[node], draft.code[node], draft.next_code[node]
        )
        for place, each in best.found.items():
            limit[place] = each.threshold
        return limit

    def _light(self, row: HostArray) -> HostArray:
        """Weights of rows with as many bits as fits of directions have room for."""
        assert self.target.weight is not None
        weight = self.target.weight[row] >> self._down
        return np.maximum(weight, 1).astype(np.float64)

    def _starts(self, draft: Draft, nodes: HostArray, best: Best) -> HostArray:
        """Where a search goes on from, (nodes, columns): weights of the best split so far."""
        start = np.zeros((len(nodes), len(self.column)))
        for place, node in enumerate(nodes.tolist()):
            if place in best.found:
                each = best.found[place]
                start[place, each.column] = each.weight
            elif draft.score[node] > NO_SPLIT:
                start[place, self.column == draft.feature[node]] = 1.0
        return start

    def _note(self, draft: Draft, node: int, found: Better) -> None:
        """Have a node of the draft test a combination."""
        column = self.column[found.column]
        self.chosen[node] = column, found.weight
        draft.threshold[node], draft.missing_slot[node] = found.threshold, found.missing_slot
        draft.score[node], draft.left[node] = found.score, found.left
        # The rest is as if the node tested the first of these columns, until the tree is finished.
        draft.feature[node], draft.code[node], draft.next_code[node] = column[0], 0, 0
        draft.n_children[node] = 2
        draft.listed_at[node], draft.children_at[node] = NOT_LISTED, NOT_SUMMED


def _room(draft: Draft, nodes: HostArray, search: Search) -> HostArray:
    """What all splits below some nodes can gain together, (nodes,); inf where nobody knows."""
    channels, formula = draft.channels, search.criterion.impurity
    if formula is None:
        return np.full(len(nodes), np.inf)
    sums = draft.sums[nodes][:, channels.scored].T.astype(np.float64)
    weight = channels.weight_of(draft.sums[nodes]).astype(np.float64)
    return np.asarray(getattr(HOST, formula)(sums, weight, channels.n_scored) * weight)


def _among(moves: Moves, which: HostArray, n_codes: HostArray) -> Moves:
    """Some of the moves."""
    n = n_codes[moves.feature[which]]
    table = moves.table[spread_out(moves.start[which], n)]
    n_children = moves.n_children[which]
    n_rows = moves.n_rows
    if n_rows is not None:
        n_rows = n_rows[np.repeat(which, moves.n_children)]
    first = moves.first_child[which]
    return Moves(
        moves.node[which], moves.feature[which], first, n_children, begins(n), table, n_rows
    )
