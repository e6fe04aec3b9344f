"""Random projections of the rows of nodes: what is drawn, and the best split of each node by them.

A projection is a weighted sum of a few columns, that its node alone has. Which columns, and with
which signs, follows from the key of the node. The weight of a column is a power of two near to one
over its spread, so that every product is exact. Values of the rows of a node are told apart by
steps of equal length from the smallest to the largest: so the candidates need neither an order of
the rows nor more than one pass, whoever has the rows. The array code here says what all backends
find; it asks the backend that has the rows for sums and splits of a table of one column.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gputree import sampling
from gputree.backends.candidates import joined, trimmed
from gputree.backends.searches import (
    NO_SPLIT,
    Projections,
    ProjectionSplits,
    Search,
    Splits,
)
from gputree.data.bins import Bins, FeatureBins, midpoint
from gputree.data.cuts import code_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import Target, joined_target
from gputree.dtypes import HostArray
from gputree.kernels.projections import FIRST_DRAW, STEPS, THRESHOLD_DRAW
from gputree.runs import begins, owners, pieces

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Rows

CELLS_AT_ONCE = 2**22  # of sums by step


def drawn_terms(plan: Projections, key: HostArray) -> tuple[HostArray, HostArray]:
    """The columns and weights of projections with such keys, (..., most terms); see the kernels.

    Columns are drawn without replacement by Floyd's method.
    """
    n_columns, most = len(plan.power), plan.most_terms
    chance = sampling.shares(sampling.mix(key, np.uint64(0)))
    n_terms = 2 + np.searchsorted(plan.at_most, chance, side="right")
    column = np.full((*key.shape, most), n_columns)
    weight = np.zeros((*key.shape, most))
    for term in range(most):
        n_choices = n_columns - n_terms + term + 1
        number = sampling.mix(key, np.uint64(term + 1))
        place = (sampling.shares(number) * n_choices).astype(np.int64)
        chosen = np.minimum(place, n_choices - 1)
        is_taken = (column[..., :term] == chosen[..., None]).any(axis=-1)
        chosen = np.where(is_taken, n_choices - 1, chosen)
        is_term = term < n_terms
        power = plan.power[np.where(is_term, chosen, 0)]
        sign = np.where(number & np.uint64(1), 1.0, -1.0)
        column[..., term] = np.where(is_term, chosen, n_columns)
        weight[..., term] = np.where(is_term, sign * power, 0.0)
    order = np.argsort(column, axis=-1, kind="stable")
    column, weight = (np.take_along_axis(part, order, -1) for part in (column, weight))
    return np.where(weight != 0.0, column, 0), weight / weight[..., :1]


def added_up(
    values: HostArray, row: HostArray, column: HostArray, weight: HostArray, owner: HostArray
) -> HostArray:
    """A projection of each row: the sum of weight[owner, term] times values[column, row].

    Column by column, each product and sum rounded by itself.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = values[column[owner, 0], row] * weight[owner, 0]
        for term in range(1, column.shape[1]):
            factor = weight[owner, term]
            more = total + values[column[owner, term], row] * factor
            total = np.where(factor != 0.0, more, total)
    return np.asarray(total)


def best_projections(
    backend: "Backend",
    rows: "Rows",
    nodes: HostArray,
    key: HostArray,
    plan: Projections,
    search: Search,
    score: HostArray,
) -> ProjectionSplits:
    """`Backend.best_projections` by sums and splits of one column of steps after another."""
    row, n_rows = backend.rows_at(rows, nodes)
    target = joined_target([rows.target], [row])
    found = ProjectionSplits.none(len(nodes), target.channels.n, plan.most_terms)
    if not row.size:
        return found
    search = Search(
        search.criterion, search.min_rows, search.min_weight, 1, None, ridge=search.ridge
    )
    tried = _Tried(backend, row, n_rows, target, plan, search, trimmed(score), found)
    for number in range(plan.n_tried):
        tried.compare(sampling.mix(key, np.uint64(FIRST_DRAW + number)))
    return found


@dataclass(frozen=True)
class _Tried:
    """Rows of some nodes, and the best of the projections that they have tried so far."""

    backend: "Backend"
    row: HostArray  # (rows,) node by node
    n_rows: HostArray  # (nodes,)
    target: Target  # of these rows
    plan: Projections
    search: Search
    worth: HostArray  # (nodes,) of the best split so far, as it is compared
    found: ProjectionSplits

    def compare(self, key: HostArray) -> None:
        """Note the splits by projections of such keys, (nodes,), that are worth more."""
        plan, owner = self.plan, owners(self.n_rows)
        column, weight = drawn_terms(plan, key)
        n_terms = np.count_nonzero(weight, axis=1)
        value = added_up(plan.values, self.row, column, weight, owner)
        low, high = _ends(value, begins(self.n_rows))
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            width = high - low
            per_unit = STEPS / width
            may = (width > 0.0) & (width < np.inf)
        if plan.is_random:
            drawn = sampling.shares(sampling.mix(key, np.uint64(THRESHOLD_DRAW)))
            drawn = low + drawn * np.where(may, width, 0.0)
            step = np.where(value > drawn[owner], 1.0, 0.0)
        else:
            may &= per_unit < np.inf
            step = (value - low[owner]) * np.where(may, per_unit, 0.0)[owner]
            step = np.minimum(np.floor(step), STEPS - 1.0)
        step = np.where(may[owner], np.where(np.isnan(value), np.nan, step), 0.0)
        splits = self._splits(step)
        worth = splits.score / (1.0 + plan.term_cost * (n_terms - 1))
        compared = np.where(may, trimmed(worth), NO_SPLIT)
        better = np.flatnonzero(compared > self.worth)
        self.worth[better] = compared[better]
        threshold = _between(value, step <= splits.code[owner], begins(self.n_rows))
        if plan.is_random:
            # Unless all known values are divided from missing ones. -0.0 and 0.0 separate alike.
            threshold = np.where(splits.code == 0, drawn + 0.0, threshold)
        found = ProjectionSplits(
            splits.score, threshold, splits.missing_slot, splits.left, n_terms, column, weight
        )
        self.found.put(better, found)

    def _splits(self, step: HostArray) -> Splits:
        """The best split of each node by the steps of its rows."""
        bins, backend = _bins(step), self.backend
        data = code_table(backend, Table((Column("", Kind.NUMERIC, step),), len(step)), bins)
        rows = backend.begin(data, bins, self.target, self.n_rows)
        parts = []
        n_cells = np.full(len(self.n_rows), bins.width * self.target.channels.n)
        for some in pieces(n_cells, CELLS_AT_ONCE):
            hist = backend.tally(rows, np.arange(len(self.n_rows))[some])
            parts.append(backend.best_splits(hist, self.search))
        return joined(parts)


def _ends(value: HostArray, begin: HostArray) -> tuple[HostArray, HostArray]:
    """The smallest and the largest known value of each node."""
    known = ~np.isnan(value)
    low = np.minimum.reduceat(np.where(known, value, np.inf), begin)
    high = np.maximum.reduceat(np.where(known, value, -np.inf), begin)
    return low, high


def _between(value: HostArray, is_low: HostArray, begin: HostArray) -> HostArray:
    """What divides the low values of each node from others; infinity where there are none."""
    below = np.where(is_low, value, np.nan)
    above = np.where(is_low, np.nan, value)
    low, high = _ends(below, begin)[1], _ends(above, begin)[0]
    return np.where(high == np.inf, np.inf, midpoint(low, high))


def _bins(step: HostArray) -> Bins:
    """What steps are codes of: whole numbers."""
    below = np.arange(max(1.0, np.nanmax(step, initial=0.0)))
    has_missing = bool(np.isnan(step).any())
    return Bins((FeatureBins("", Kind.NUMERIC, None, below, below + 1.0, has_missing),))
