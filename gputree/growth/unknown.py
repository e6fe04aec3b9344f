"""What becomes of rows whose tested value is missing, where no side was learnt for them.

They stay at their node when the others move. Then they are divided among all children in
proportion to the others (C4.5), or follow surrogates and, where these do not know either, the
larger child (CART).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gputree.backends.contract import Backend, Moves, Rows
from gputree.data.target import Target, with_copies
from gputree.dtypes import STAY, SUM, HostArray
from gputree.growth.surrogates import Style, find_surrogates, larger_child, slots_by_surrogates
from gputree.runs import begins, owners, spread_out, within

if TYPE_CHECKING:
    from gputree.growth.draft import Draft


class Unknown(Protocol):
    """A way to deal with rows that stayed."""

    def settle(self, backend: Backend, rows: Rows, moves: Moves, draft: "Draft") -> Rows:
        """Send the rows that stayed at the nodes of `moves` on, and add them to the draft."""
        ...


@dataclass
class Learned:
    """A side was learnt: nobody stays."""

    def settle(self, backend: Backend, rows: Rows, moves: Moves, draft: "Draft") -> Rows:
        return rows


class Divided:
    """A row goes to every child, with its weight divided as that of the others is."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def settle(self, backend: Backend, rows: Rows, moves: Moves, draft: "Draft") -> Rows:
        row, n_staying = backend.rows_at(rows, moves.node)
        if not row.size:
            return rows
        source, child, weight = self._copies(row, n_staying, moves, draft)
        rows = backend.disperse(rows, moves.node, source, child, weight)
        self.target = with_copies(self.target, source, weight)
        assert self.target.label is not None
        label = self.target.label[source]
        np.add.at(draft.sums, (child, label), weight)
        np.add.at(draft.sums, (child, np.full(len(child), -1)), 1)
        return rows

    def _copies(
        self, row: HostArray, n_staying: HostArray, moves: Moves, draft: "Draft"
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Row, child and weight of each copy that has any weight."""
        assert self.target.weight is not None
        known = draft.channels.weight_of(draft.sums[moves.children])
        first = begins(moves.n_children)
        before = np.repeat(begins(known)[first], moves.n_children)
        total = np.repeat(np.add.reduceat(known, first), moves.n_children)
        # Of a node's weight, the share in its children up to each of them.
        share = (np.cumsum(known) - before) / total
        move = owners(n_staying)  # of each row that stayed
        n_copies = moves.n_children[move]
        copied, number = owners(n_copies), within(n_copies)
        at = spread_out(first[move], n_copies)
        weight = self.target.weight[row][copied].astype(np.float64)
        # Rounding what has been given so far, not each part, gives away exactly the whole.
        given = np.rint(weight * share[at]).astype(SUM)
        earlier = np.where(number > 0, np.concatenate([np.zeros(1, SUM), given[:-1]]), 0)
        part = given - earlier
        some = part > 0
        return row[copied][some], moves.children[at][some], part[some]


class BySurrogates:
    """Rows follow the first surrogate that knows them, then the larger child."""

    def __init__(self, target: Target, style: Style) -> None:
        self.target, self.style = target, style

    def settle(self, backend: Backend, rows: Rows, moves: Moves, draft: "Draft") -> Rows:
        found = find_surrogates(backend, rows, moves, draft.bins, draft.channels, self.style)
        draft.surrogates.append(found)
        fallback = larger_child(
            draft.channels, draft.sums[moves.first_child[:, None] + np.arange(2)]
        )
        draft.missing_slot[moves.node] = fallback
        row, n_staying = backend.rows_at(rows, moves.node)
        if not row.size:
            return rows
        place = np.repeat(np.arange(len(moves.node)), n_staying)
        slot = slots_by_surrogates(backend, rows, row, place, moves.node, found)
        slot = np.where(slot == STAY, fallback[place], slot)
        goes = slot != STAY
        node = np.where(goes, moves.first_child[place] + slot, moves.node[place])
        rows = backend.disperse(rows, moves.node, row, node)
        np.add.at(draft.sums, node[goes], self._sums(row[goes]))
        return rows

    def _sums(self, row: HostArray) -> HostArray:
        """What each row adds to the channels."""
        target, channels = self.target, self.target.channels
        sums = np.zeros((len(row), channels.n), SUM)
        weight = 1 if target.weight is None else target.weight[row]
        if target.label is not None:
            sums[np.arange(len(row)), target.label[row]] = weight
        else:
            assert target.value is not None
            sums[:, 0] = weight
            sums[:, channels.scored] = target.value[:, row].T
        if channels.counts_rows:
            sums[:, -1] = 1
        return sums
