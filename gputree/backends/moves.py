"""What the contract says of rows on their way from nodes to their children."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gputree.backends.agreement import Offer
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.runs import spread_out

Rows: TypeAlias = Any  # as in `contract`


@dataclass(frozen=True)
class Moves:
    """Rows of `node[i]` go to `first_child[i] + table[start[i] + code]`, or stay."""

    node: HostArray  # (moves,)
    feature: HostArray  # (moves,)
    first_child: HostArray  # (moves,)
    n_children: HostArray  # (moves,)
    start: HostArray  # (moves,) where the node's part of the table begins
    table: HostArray  # (codes of the tested features,) slots
    n_rows: HostArray | None = None  # (children, move by move) rows of each, where that is known

    @property
    def children(self) -> HostArray:
        """The children, move by move."""
        return spread_out(self.first_child, self.n_children)

    @property
    def groups(self) -> HostArray:
        """Two children of each, and the node itself, (moves, 3)."""
        return np.stack([self.first_child, self.first_child + 1, self.node], axis=1)


@dataclass(frozen=True)
class Detours:
    """Other tests for rows that have stayed, move by move, each tried where those before know not.

    A threshold sends codes up to `code` to the child `low_slot` and those above to the other one. A
    test of categories has a list, as `gputree.tree.categories` tells. Missing values are not known,
    nor are categories that a list sends to STAY.
    """

    n: HostArray  # (moves,) tests of each
    feature: HostArray  # (tests,)
    n_values: HostArray  # (tests,) of the feature
    code: HostArray  # (tests,)
    low_slot: HostArray  # (tests,)
    category_start: HostArray  # (tests,) where its list begins, -1 for thresholds
    category: HostArray  # (entries of lists,)
    slot: HostArray  # (entries of lists,)
    otherwise: HostArray  # (moves,) the child of rows that no test knows, or STAY


@dataclass(frozen=True)
class Siblings:
    """How the sums of some nodes follow from tallied ones: copied, or parent minus sibling."""

    node: HostArray  # (nodes,)
    built: HostArray  # (nodes,) place among the tallied nodes: the node's own, or its sibling's
    parent: HostArray  # (nodes,) place of the parent in the sums above; -1: the node was tallied


class Staying(Protocol):
    """The verbs for rows that stay at a node where their value is missing."""

    def agree(
        self,
        rows: Rows,
        bins: Bins,
        target: Target,
        moves: Moves,
        tie: HostArray,
        least_otherwise: int,
    ) -> Iterator[tuple[HostArray, list[Offer]]]:
        """What each feature offers for the split of each move, which has two children.

        Rows have moved, but those whose value is missing. Some moves at a time, by their places;
        the rest as in `backends.agreement`.
        """
        ...

    def detour(
        self, rows: Rows, target: Target, moves: Moves, detours: Detours
    ) -> tuple[Rows, HostArray]:
        """Send rows on that have stayed at the nodes of `moves`, which have two children each.

        Also the sums of those that have gone to each child, (moves, 2, channels).
        """
        ...
