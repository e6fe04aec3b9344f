"""Parts of rows, which are divided where a tested value is missing (C4.5): on the host.

A part is the number of a row and the weight it has at a node. A part whose tested value is known
goes to one child; any other is divided among all children, in proportion to what these have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gputree.backends.moves import Moves
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import STAY, SUM, HostArray
from gputree.runs import begins, owners, spread_out
from gputree.shares import divided

Rows: TypeAlias = Any


class Parts(Protocol):
    """The parts of some nodes, one node after another, where the backend computes."""

    @property
    def n(self) -> HostArray:
        """How many each node has."""
        ...

    def among(self, place: HostArray) -> "Parts":
        """Those of some of the nodes, by their places."""
        ...


@dataclass(frozen=True)
class HostParts:
    """Parts on the host."""

    row: HostArray  # (parts,)
    weight: HostArray  # (parts,) in the units of the target
    n: HostArray  # (nodes,) parts of each

    @classmethod
    def whole(cls, target: Target) -> "HostParts":
        """All rows that have a weight, at one node."""
        weight = target.weight
        assert weight is not None
        row = np.flatnonzero(weight).astype(np.int32)
        return cls(row, weight[row], np.array([len(row)]))

    def among(self, place: HostArray) -> "HostParts":
        n = self.n[place]
        at = spread_out(begins(self.n)[place], n)
        return HostParts(self.row[at], self.weight[at], n)


class Dividing(Protocol):
    """The verbs for rows that are divided."""

    def whole_parts(self, target: Target) -> Parts:
        """All rows of a target that have a weight, at one node."""
        ...

    def divide_parts(
        self, rows: Rows, target: Target, parts: Parts, moves: Moves, known: HostArray
    ) -> tuple[Parts, HostArray]:
        """The parts of all children, in any order, and the sums of those that were divided.

        `known` is the weight that each child has already. Parts that are worth nothing in whole
        units are left out. The sums are (children, channels).
        """
        ...

    def tally_parts(self, data: Any, bins: Bins, target: Target, parts: Parts) -> Any:
        """The sums of nodes by their parts, in the order of these."""
        ...


def divide_parts(
    codes_of: Callable[[HostArray, HostArray], HostArray],
    target: Target,
    parts: HostParts,
    moves: Moves,
    known: HostArray,
) -> tuple[HostParts, HostArray]:
    """See `Dividing.divide_parts`; `codes_of` tells the code of a feature in a row."""
    move = owners(parts.n)
    code = codes_of(parts.row, moves.feature[move])
    slot = moves.table[moves.start[move] + code].astype(np.int64)
    stays = slot == STAY
    goes = ~stays
    first = begins(moves.n_children)  # among all children
    # Of those that stay, which goes where with what weight.
    item, member, weight = divided(parts.weight[stays], move[stays], known, moves.n_children)
    row = parts.row[stays][item]
    child = np.concatenate([first[move[goes]] + slot[goes], member])
    order = _by_child(child)
    found = HostParts(
        np.concatenate([parts.row[goes], row])[order],
        np.concatenate([parts.weight[goes], weight])[order],
        np.bincount(child, minlength=len(known)),
    )
    assert target.label is not None
    sums = np.zeros((len(known), target.channels.n), SUM)
    np.add.at(sums, (member, target.label[row]), weight)
    np.add.at(sums, (member, np.full(len(member), -1)), 1)
    return found, sums


def _by_child(child: HostArray) -> HostArray:
    """The order of parts by their child; small numbers are sorted much faster."""
    is_short = child.max(initial=0) <= np.iinfo(np.uint16).max
    return np.argsort(child.astype(np.uint16) if is_short else child, kind="stable")
