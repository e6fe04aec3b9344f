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
from gputree.growth.surrogates import (
    Style,
    SurrogateSearch,
    detours_by,
    larger_child,
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
        detours = detours_by(found, draft.bins, moves, fallback)
        rows, own = backend.detour(rows, self.target, moves, detours)
        added = total(self.target.comm, own)
        draft.sums[moves.children] += added.reshape(-1, draft.channels.n)
        return rows
