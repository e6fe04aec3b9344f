"""One fit of a boosted model: what it knows of its rows, and what it looks up in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gputree.boosting.ledger import Ledger, LossTable
from gputree.boosting.losses import Named
from gputree.boosting.own_loss import OwnLoss
from gputree.boosting.watch import Watch
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.ensembles.base import Run
from gputree.ensembles.draws import ContentOrder
from gputree.ensembles.members import rows_of
from gputree.fit.dataset import Dataset
from gputree.shares import exponent_of
from gputree.tree.tree import Tree


@dataclass
class BoostRun(Run):
    """One fit of a boosted model."""

    target: HostArray = field(default_factory=lambda: np.empty(0))  # (rows,) float64
    weight: HostArray | None = None  # (rows,), divided by 2**weight_exponent
    weight_exponent: int = 0
    start: HostArray = field(default_factory=lambda: np.empty(0))  # (outputs,)
    named: Named | None = None
    own: OwnLoss | None = None  # of the user
    validation: tuple[Table, HostArray, HostArray] | None = None  # rows, target, weights
    given: tuple[Any, Any] = (None, None)  # the rows of a fit and their target, as they came
    X: Any = None  # those rows, or other ones that are watched
    is_weighted: bool = False  # whether those that are watched have weights
    has_vectors: bool = False  # whether a tree of a round has a value for each output
    patience: int | None = None  # the rounds without progress that end a fit; None: it never does
    watch: Watch | None = None
    ledger: Ledger | None = None
    table: LossTable | None = None  # that is shown while trees grow

    @property
    def stops(self) -> bool:
        """Whether the fit may end early."""
        return self.patience is not None

    def weighed(self, amount: float) -> float:
        """What sums over rows are compared with, in the units of their weights."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(amount, -self.weight_exponent))

    def kept_rounds(self) -> Iterator[list[Tree]]:
        """The trees of each round of an earlier fit."""
        n = self.trees_a_step
        for begin in range(0, len(self.kept), n):
            yield [member.tree for member in self.kept[begin : begin + n]]


def counted(weight: HostArray | None, y: HostArray) -> HostArray:
    """The weights of rows; 1 where none are given."""
    return np.ones(len(y)) if weight is None else weight


def held_out_rows(dataset: Dataset, is_held_out: HostArray | None) -> list[Table]:
    """The tables of some rows, part by part."""
    assert is_held_out is not None
    first, tables = 0, []
    for part in dataset.parts():
        tables.append(rows_of(part, np.flatnonzero(is_held_out[first : first + part.n_rows])))
        first += part.n_rows
    return [table for table in tables if table.n_rows]


def ranks(order: ContentOrder, n_rows: int) -> HostArray:
    """The rank of each row in an order of some; the others, which no tree sees, have the first."""
    rank = np.zeros(n_rows, np.int64)
    rank[order.row] = order.place
    return rank


def gained(trees: Sequence[Tree], n_features: int) -> HostArray:
    """What the splits by each feature gained in all trees, times a power of two."""
    total = np.zeros(n_features)
    # Powers of two round nothing, and so divided, no product overflows.
    heaviest, most = (
        max(exponent_of(getattr(tree, name).max()) for tree in trees) for name in ("weight", "gain")
    )
    for tree in trees:
        inner = ~tree.is_leaf
        own = (np.ldexp(tree.weight, -heaviest) * np.ldexp(tree.gain, -most))[inner]
        total += np.bincount(tree.feature[inner], own, minlength=n_features)
    return total
