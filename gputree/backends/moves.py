"""Messages of the contract about rows on their way from nodes to their children."""

from dataclasses import dataclass

from gputree.dtypes import HostArray
from gputree.runs import spread_out


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
