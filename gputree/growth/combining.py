"""Combinations of columns that nodes test: what is looked for, and how rows are sent on by them.

Knows the contract and the draft; must not know devices, nor how combinations are found.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gputree.backends.contract import Backend, Moves, Projections, Rows, Search
from gputree.backends.whole import Combined
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.growth.draft import NOT_LISTED, NOT_SUMMED, Draft
from gputree.runs import begins, owners, spread_out
from gputree.tree.directions import added_up


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations that the trees of a fit may test."""

    # Who finds them for one tree, on its backend, for its target, within a budget of bytes.
    finder: Callable[[Backend, Target | None, int], "Combining"]
    projections: Projections | None = None  # where they are random


class Combining:
    """Finds combinations for the nodes of one tree, and sends rows on by them."""

    def __init__(self, backend: Backend, values: HostArray, column: HostArray) -> None:
        """`values` are (columns, rows), those of the columns numbered in `column`."""
        self.backend, self.values, self.column = backend, values, column
        # Columns and weights by the node of the draft.
        self.chosen: dict[int, tuple[HostArray, HostArray]] = {}

    def seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        """Note combinations in the draft for those of the nodes that are better divided by one."""
        raise NotImplementedError

    @property
    def combined(self) -> Combined:
        """All combinations that were chosen."""
        column, weight = [np.empty(0, np.int64)], [np.empty(0)]
        for own_column, own_weight in self.chosen.values():
            column.append(own_column)
            weight.append(own_weight)
        return Combined(
            np.array(list(self.chosen), np.int64),
            np.array([len(own) for own in weight[1:]], np.int64),
            np.concatenate(column),
            np.concatenate(weight),
        )

    def note(
        self,
        draft: Draft,
        node: int,
        column: HostArray,
        weight: HostArray,
        split: tuple[float, int, float, HostArray],
    ) -> None:
        """Have a node of the draft test a combination of some of the columns, given by their place.

        `split` has the threshold, where missing values go, the score, and the sums of child 0.
        """
        self.chosen[node] = self.column[column], weight
        draft.threshold[node], draft.missing_slot[node] = split[:2]
        draft.score[node], draft.left[node] = split[2:]
        # The rest is as if the node tested the first of these columns, until the tree is finished.
        draft.feature[node] = self.column[column[0]]
        draft.code[node], draft.next_code[node], draft.n_children[node] = 0, 0, 2
        draft.listed_at[node], draft.children_at[node] = NOT_LISTED, NOT_SUMMED

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
