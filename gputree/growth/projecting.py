"""Which random combinations of columns a fit draws, and who finds them for the nodes of a tree.

Knows cuts and the contract; must not know devices.
"""

from collections.abc import Iterator

import numpy as np

from gputree.backends.contract import Backend, Projections, Rows, Search
from gputree.data.bins import Bins
from gputree.dtypes import HostArray
from gputree.growth.combining import Combining
from gputree.growth.directions import Sought
from gputree.growth.draft import Draft
from gputree.runs import pieces

BYTES_A_ROW = 64  # that are held for a row while its node tries a projection
MOST_EXPONENT = 500  # of spreads: weights and what they add up to stay within floats


def projections_of(
    bins: Bins, column: HostArray, values: HostArray, sought: Sought, *, is_random: bool
) -> Projections:
    """What nodes draw from; `values` are those of the columns, (columns, rows).

    Columns without a spread are left out.
    """
    spread = np.array([_spread(bins, at) for at in column.tolist()])
    fraction, exponent = np.frexp(spread)
    exponent -= fraction < np.sqrt(0.5)
    own = (spread > 0.0) & np.isfinite(spread) & (np.abs(exponent) <= MOST_EXPONENT)
    return Projections(
        values if own.all() else values[own],
        column[own],
        np.ldexp(1.0, -exponent[own]),
        np.array(list(_chances(int(own.sum()), sought))),
        sought.n_projections,
        sought.term_cost,
        is_random,
    )


def _spread(bins: Bins, column: int) -> float:
    """How far the outermost bins of a column are apart, which outliers do not change."""
    own = bins.features[column]
    return float(own.above[-1]) - float(own.below[0]) if len(own.below) else 0.0


def _chances(n_columns: int, sought: Sought) -> Iterator[float]:
    """The chance of at most 2, 3, ... terms, but for the largest number.

    Each column is one of the terms with the same chance, so that `density` are on average.
    """
    share = min(1.0, sought.density / max(n_columns, 1))
    most = min(sought.most_terms, n_columns)
    chance = 1.0
    for _ in range(n_columns):
        chance *= 1.0 - share
    at_most = chance
    for n in range(1, most):
        chance = chance * (n_columns - n + 1) / n * (share / (1.0 - share)) if share < 1.0 else 0.0
        at_most += chance
        if n >= 2:
            yield at_most


class Projecting(Combining):
    """Finds random combinations for the nodes of one tree, and sends rows on by them."""

    def __init__(self, backend: Backend, plan: Projections, budget: int) -> None:
        super().__init__(backend, plan.values, plan.column)
        self.plan, self.budget = plan, budget

    def seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        """Note combinations in the draft for those of the nodes that are better divided by one."""
        if len(self.column) < 2:
            return
        for some in pieces(draft.n_rows(nodes) * BYTES_A_ROW, max(self.budget // 4, 1)):
            self._seek(rows, draft, nodes[some], search)

    def _seek(self, rows: Rows, draft: Draft, nodes: HostArray, search: Search) -> None:
        found = self.backend.best_projections(
            rows, nodes, draft.key[nodes], self.plan, search, draft.score[nodes]
        )
        for at in np.flatnonzero(found.n_terms).tolist():
            own = slice(0, int(found.n_terms[at]))
            split = (
                float(found.threshold[at]),
                int(found.missing_slot[at]),
                float(found.score[at]),
                found.left[at],
            )
            self.note(draft, int(nodes[at]), found.column[at, own], found.weight[at, own], split)
