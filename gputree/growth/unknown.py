"""What becomes of rows whose tested value is missing, where no side was learnt for them.

They stay at their node when the others move. Then they follow surrogates and, where these do not
know either, the larger child (CART). For rows that are divided see `fractions`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gputree.backends.contract import Backend, Moves, Rows
from gputree.comm import total
from gputree.data.target import Target
from gputree.dtypes import STAY, SUM, HostArray
from gputree.growth.surrogates import (
    Style,
    SurrogateSearch,
    larger_child,
    slots_by_surrogates,
)

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


class BySurrogates:
    """Rows follow the first surrogate that knows them, then the larger child."""

    def __init__(self, target: Target, style: Style) -> None:
        self.target, self.style = target, style

    def settle(self, backend: Backend, rows: Rows, moves: Moves, draft: "Draft") -> Rows:
        sums = draft.sums[moves.first_child[:, None] + np.arange(2)]
        search = SurrogateSearch(backend, rows, draft.bins, self.target, self.style)
        found = search.find(moves, sums)
        draft.surrogates.append(found)
        fallback = larger_child(draft.channels, sums)
        draft.missing_slot[moves.node] = fallback
        row, n_staying = backend.rows_at(rows, moves.node)
        if not total(self.target.comm, len(row)):
            return rows
        place = np.repeat(np.arange(len(moves.node)), n_staying)
        slot = slots_by_surrogates(backend, rows, draft.bins, row, place, moves.node, found)
        slot = np.where(slot == STAY, fallback[place], slot)
        goes = slot != STAY
        node = np.where(goes, moves.first_child[place] + slot, moves.node[place])
        rows = backend.disperse(rows, moves.node, row, node)
        more = np.zeros(sums.shape, SUM)
        np.add.at(more, (place[goes], slot[goes]), self._sums(row[goes]))
        draft.sums[moves.first_child[:, None] + np.arange(2)] += total(self.target.comm, more)
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
