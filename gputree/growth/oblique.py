"""Nodes that compare a combination of columns with a threshold.

A combination is a column that its node alone has. The candidates of each node of a frontier are
worked out on the host and tried; the best of them is taken where it gains more than the best split
of one column, after a charge for each further term. Knows the contract and the draft; must not
know devices.
"""

import numpy as np

from gputree.backends.contract import NO_SPLIT, Backend, Rows, Search
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.growth.combining import Combining
from gputree.growth.coordinate_search import ANGLES, MOST_TURNED, MOST_TURNS, shortened, turned
from gputree.growth.directions import WEIGHT_BITS, NodeRows, Sought, candidates, telling
from gputree.growth.draft import Draft
from gputree.growth.trial import AT_ONCE, Best, Trial
from gputree.runs import pieces

MOST_BINS = 255  # codes of a combination take a byte, with one for missing values
ARRAYS_A_CELL = 4  # of 8 bytes, that are held for a value or a candidate of a row


class Oblique(Combining):
    """Finds combinations that are fitted to the rows of nodes."""

    def __init__(
        self,
        backend: Backend,
        values: HostArray,
        column: HostArray,
        target: Target,
        sought: Sought,
        max_bins: int,
        budget: int,
    ) -> None:
        """`values` are (columns, rows), those of the columns numbered in `column`."""
        super().__init__(backend, values, column)
        self.target, self.sought, self.budget = target, sought, budget
        self.max_bins = min(max_bins, MOST_BINS)
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
        a_node = cell * len(self.column) * MOST_TURNED * MOST_TURNS
        for some in pieces(draft.n_rows(nodes) * a_row + a_node, max(self.budget // 4, 1)):
            self._seek(rows, draft, nodes[some], search)

    # The search.

    def _seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        row, n_rows = self.backend.rows_at(rows, nodes)
        values = self.values[:, row].astype(np.float64)
        weight = np.ones(len(row)) if self.target.weight is None else self._light(row)
        own = NodeRows(values, n_rows, weight, self._total)
        trial = Trial(self.backend, self.target, own, values, row, search, self.max_bins)
        best = Best(draft.score[nodes].copy(), self.sought.term_cost)
        found = candidates(own, self.target, row, self.sought)
        trial.compare(found, best, self.budget)
        if self.sought.directions == "cart-lc":
            column = telling(own, self.target, row, MOST_TURNED)
            for angle in ANGLES:
                start = self._starts(draft, nodes, best)
                turns = turned(own, start, column, angle, self.sought.most_terms)
                trial.compare(turns, best, self.budget)
            start = self._starts(draft, nodes, best)
            trial.compare(shortened(own, start), best, self.budget)
        for place, each in best.found.items():
            split = each.threshold, each.missing_slot, each.score, each.left
            self.note(draft, int(nodes[place]), each.column, each.weight, split)

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
