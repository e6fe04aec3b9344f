"""Candidates for combinations of columns, tried on the rows of their nodes.

The candidates of some nodes are coded by the values that each node has, and become a small table of
their own, in which every node is a root: it is tallied and searched as any table is, by the verbs
that the backend has. Knows the contract; must not know the draft, nor where candidates come from.
"""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.candidates import trimmed
from gputree.backends.contract import NO_SPLIT, Backend, Search, Splits
from gputree.data.bins import Bins, FeatureBins, midpoint
from gputree.data.cuts import code_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import Target, joined_target
from gputree.dtypes import HostArray
from gputree.formulas import HOST
from gputree.growth.directions import Candidates, NodeRows
from gputree.runs import pieces
from gputree.tree.directions import added_up

# Candidates that are coded together; always so many, since scores are compared first among these.
AT_ONCE = 16
# Distinct values for each term: a combination of many columns divides few rows in any way.
LEAST_VALUES = 3
LN_2 = 0.6931471805599453


@dataclass(frozen=True)
class Better:
    """A split of a node that is worth more than those before it."""

    column: HostArray  # (terms,) among those that combinations are made of
    weight: HostArray  # (terms,)
    threshold: float
    missing_slot: int
    score: float
    left: HostArray  # (channels,) sums of child 0


class Best:
    """The best split of each node so far; at first that of one column, of such scores."""

    def __init__(self, score: HostArray, term_cost: float, n_columns: int) -> None:
        """`n_columns` are those that combinations are made of."""
        self.worth, self.term_cost = score, term_cost  # scores less a charge for terms
        self.chance = 2.0 * LN_2 * float(HOST.log2(np.float64(n_columns)))
        self.found: dict[int, Better] = {}

    def improved(
        self, place: HostArray, splits: Splits, n_terms: HostArray, n_values: HostArray
    ) -> tuple[HostArray, HostArray]:
        """Which of the splits of some nodes are worth more, and what they are worth.

        The best of p columns that have nothing to do with a target explains about 2 log(p) / n of
        it, where there are n values: that is charged for each further term, too.
        """
        is_found = (splits.score > NO_SPLIT) & (n_terms > 0)
        worth = np.where(is_found, splits.score, 0.0) / charge(
            self.term_cost + self.chance / n_values, n_terms
        )
        return np.flatnonzero(is_found & (trimmed(worth) > trimmed(self.worth[place]))), worth


def charge(term_cost: float | HostArray, n_terms: HostArray) -> HostArray:
    """By what the gains of splits of so many terms are divided."""
    return np.asarray(1.0 + term_cost * np.maximum(n_terms - 1, 0))


class Trial:
    """Tries candidates on the rows of some nodes."""

    def __init__(
        self,
        backend: Backend,
        target: Target,
        own: NodeRows,
        values: HostArray,
        row: HostArray,
        search: Search,
        max_bins: int,
    ) -> None:
        """`values` are (columns, rows) of the rows at the nodes, whose numbers are `row`."""
        self.backend, self.own, self.values = backend, own, values
        self.target = joined_target([target], [row])
        self.search, self.max_bins = search, max_bins

    def compare(self, found: Candidates, best: Best, budget: int) -> None:
        """Keep the candidates that are worth more than the best so far."""
        n_rows = self.own.n_rows
        for first in range(0, len(found.size), AT_ONCE):
            part = found.part(first, first + AT_ONCE)
            value, code, n_values = self._coded(part)
            bins = _bins(code)
            table = Table(tuple(Column("", Kind.NUMERIC, each) for each in code), code.shape[1])
            data = code_table(self.backend, table, bins)
            rows = self.backend.begin(data, bins, self.target, n_rows)
            n_bytes = self.backend.hist_bytes(bins, self.target.channels, n_rows)
            for some in pieces(n_bytes, max(budget // 4, 1)):
                nodes = np.arange(len(n_rows))[some]
                hist = self.backend.tally(rows, nodes)
                for size in np.unique(part.size).tolist():
                    every = len(part.size)
                    own = replace(
                        self.search, n_drawn=every, rank=None, is_ordered=part.size == size
                    )
                    splits = self.backend.best_splits(hist, own)
                    self._keep(best, part, nodes, splits, value, code, n_values)

    def between(self, code: HostArray) -> Splits:
        """Splits between code 0 and 1 of the rows, NaN where missing."""
        code = code[None]
        bins = _bins(code)
        table = Table((Column("", Kind.NUMERIC, code[0]),), code.shape[1])
        data = code_table(self.backend, table, bins)
        rows = self.backend.begin(data, bins, self.target, self.own.n_rows)
        hist = self.backend.tally(rows, np.arange(len(self.own.n_rows)))
        search = replace(self.search, n_drawn=1, rank=None, is_ordered=None)
        return self.backend.best_splits(hist, search)

    def _coded(self, found: Candidates) -> tuple[HostArray, HostArray, HostArray]:
        """The candidates of all rows, (candidates, rows), and their codes; NaN where missing.

        And how many distinct values each has in each node, (candidates, nodes).
        """
        n_rows = self.values.shape[1]
        every, owner, n_terms = np.arange(n_rows), self.own.owner, found.n_terms
        value = np.empty((len(found.size), n_rows))
        code = np.empty_like(value)
        n_values = np.empty((len(found.size), len(self.own.n_rows)))
        weight = self.target.weight
        weight = np.ones(n_rows, np.int64) if weight is None else weight
        for at in range(len(found.size)):
            column, factor = found.column[:, at], found.weight[:, at]
            terms = [self.values[part[owner], every] for part in column.T]
            total = added_up(terms, factor[owner].T)
            value[at] = np.where(n_terms[owner, at] > 0, total + 0.0, 0.0)  # -0.0 is 0.0
            least = LEAST_VALUES * n_terms[:, at]
            code[at], n_values[at] = _codes(value[at], self.own, weight, least, self.max_bins)
        return value, code, n_values

    def _keep(
        self,
        best: Best,
        found: Candidates,
        nodes: HostArray,
        splits: Splits,
        value: HostArray,
        code: HostArray,
        n_values: HostArray,
    ) -> None:
        n_terms = found.n_terms[nodes, splits.feature]
        better, worth = best.improved(nodes, splits, n_terms, n_values[splits.feature, nodes])
        for at in better.tolist():
            place, number = int(nodes[at]), int(splits.feature[at])
            rows = slice(self.own.begin[place], self.own.begin[place] + self.own.n_rows[place])
            ends = int(splits.code[at]), int(splits.next_code[at])
            weight = found.weight[place, number]
            terms = np.flatnonzero(weight)
            best.worth[place] = worth[at]
            best.found[place] = Better(
                found.column[place, number, terms],
                weight[terms],
                _between(value[number, rows], code[number, rows], *ends),
                int(splits.missing_slot[at]),
                float(splits.score[at]),
                splits.left[at].copy(),
            )


def _codes(
    value: HostArray, own: NodeRows, weight: HostArray, least: HostArray, max_bins: int
) -> tuple[HostArray, HostArray]:
    """Codes of values among those of their node, by exact weighted quantiles where there are many.

    A node with fewer than `least` distinct values has one code. The numbers of these come along.
    """
    order = np.lexsort((value, own.owner))
    value, owner = value[order], own.owner[order]
    is_known = ~np.isnan(value)
    is_new = np.ones(len(value), bool)
    is_new[1:] = (value[1:] != value[:-1]) | (owner[1:] != owner[:-1])
    n_before = np.cumsum(is_new) - 1
    number = n_before - n_before[own.begin][owner]  # of the value in its node
    n_distinct = np.bincount(owner, is_new & is_known, minlength=len(own.n_rows))
    known_weight = np.where(is_known, weight[order], 0)
    before = np.cumsum(known_weight) - known_weight
    before -= before[own.begin][owner]
    before = before[np.maximum.accumulate(np.where(is_new, np.arange(len(value)), 0))]
    total = np.maximum(np.add.reduceat(known_weight, own.begin), 1)
    quantile = before * max_bins // total[owner]
    is_many = n_distinct > max_bins
    code = np.where(is_many[owner], quantile, number).astype(np.float64)
    code = np.where(is_known, code, np.nan)
    found = np.empty_like(code)
    found[order] = np.where((n_distinct < np.maximum(least, 2))[owner], 0.0, code)
    return found, np.maximum(n_distinct, 1)


def _bins(code: HostArray) -> Bins:
    """What the codes of all candidates are codes of: whole numbers."""
    known = np.where(np.isnan(code), 0.0, code)
    below = np.arange(int(known.max(initial=1.0)), dtype=np.float64)
    features = [
        FeatureBins("", Kind.NUMERIC, None, below, below + 1.0, bool(np.isnan(each).any()))
        for each in code
    ]
    return Bins(tuple(features))


def _between(value: HostArray, code: HostArray, last: int, following: int) -> float:
    """The threshold above one code of a node; all known values lie below where none follows."""
    if following < 0:
        return np.inf
    low, high = value[code <= last].max(), value[code >= following].min()
    return float(midpoint(np.array([low]), np.array([high]))[0])
