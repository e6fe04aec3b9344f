"""The best threshold of every feature of every node, in array-API code.

Rows whose value is missing take no part. What a node does with the rates, whether it compares
gains or their ratios, is decided by those who asked. Nodes come as sums or as sorted rows; either
way only the codes that occur are looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gputree.backends.array.histogram import ArrayHist
from gputree.backends.array.lines import Lines
from gputree.backends.array.row_split import some_lines
from gputree.backends.array.search import ArraySearch
from gputree.backends.candidates import least_of_share, put_rates
from gputree.backends.contract import NO_SPLIT, Rates
from gputree.dtypes import Array


@dataclass(frozen=True)
class _Cells:
    """The known codes of a feature that occur in some nodes, node by node and ascending."""

    node: Array  # (cells,)
    code: Array  # (cells,)
    left: list[Array]  # a channel: (cells,) the node's sum up to the code


def rate(search: ArraySearch, hist: ArrayHist) -> Rates:
    """Rates of the nodes of a frontier."""
    rating = Rating(search)
    rates = _no_rates(len(hist.place), len(hist.coded.bins.features))
    large = np.flatnonzero(hist.place >= 0)
    if large.size:
        large = large[np.argsort(hist.place[large])]
        put_rates(rates, large, rating.of_sums(hist.sums))
    small = np.flatnonzero(hist.place < 0)
    for first, last, lines in some_lines(search.lib, hist):
        put_rates(rates, small[first:last], rating.of_lines(lines))
    return rates


def _no_rates(n_nodes: int, n_features: int) -> Rates:
    shape = n_nodes, n_features
    return Rates(
        score=np.full(shape, NO_SPLIT),
        code=np.zeros(shape, np.int64),
        next_code=np.full(shape, -1),
        left_weight=np.zeros(shape, np.int64),
        known_weight=np.zeros(shape, np.int64),
        n_cuts=np.zeros(shape, np.int64),
    )


class Rating:
    """Rates nodes by one search."""

    def __init__(self, search: ArraySearch) -> None:
        self.search, self.lib, self.bins = search, search.lib, search.bins

    def of_sums(self, sums: Array) -> Rates:
        """Rates from sums of (nodes, channels, bins)."""
        rates = _no_rates(sums.shape[0], len(self.bins.features))
        for feature in self._features():
            first, n_values = int(self.bins.offset[feature]), int(self.bins.n_values[feature])
            self._rate(self._cells_of_sums(sums[:, :, first : first + n_values]), rates, feature)
        return rates

    def of_lines(self, lines: Lines) -> Rates:
        """Rates from sorted rows."""
        rates = _no_rates(len(lines.n_rows), len(self.bins.features))
        for feature in self._features():
            self._rate(self._cells_of_line(lines, feature), rates, feature)
        return rates

    def _features(self) -> Iterator[int]:
        """Those that have thresholds."""
        yield from np.flatnonzero(self.search.has_thresholds & (self.bins.n_values > 1)).tolist()

    def _cells_of_sums(self, known: Array) -> _Cells:
        """`known` are the sums of known codes, (nodes, channels, codes)."""
        xp, n_values = self.lib.xp, known.shape[2]
        own = self.search.weight_of([known[:, c, :] for c in range(known.shape[1])])
        at = xp.nonzero(xp.reshape(own > 0, (-1,)))[0]
        left = xp.cumulative_sum(known, axis=2)
        taken = [
            xp.take(xp.reshape(left[:, channel, :], (-1,)), at) for channel in range(left.shape[1])
        ]
        return _Cells(at // n_values, at % n_values, taken)

    def _cells_of_line(self, lines: Lines, feature: int) -> _Cells:
        xp = self.lib.xp
        cell = lines.cell[feature, :]
        code = xp.astype(cell, xp.int64) - lines.node * lines.stride
        is_last = xp.concat([cell[1:] != cell[:-1], cell[:1] == cell[:1]])
        at = xp.nonzero(is_last & (code < int(self.bins.n_values[feature])))[0]

        def taken(matrix: Array) -> Array:
            line = matrix[feature if matrix.shape[0] > 1 else 0, :]
            return xp.astype(xp.take(line, at), xp.int64)

        return _Cells(xp.take(lines.node, at), xp.take(code, at), [taken(c) for c in lines.left])

    def _rate(self, cells: _Cells, rates: Rates, feature: int) -> None:
        """Put down the best threshold of a feature."""
        xp, lib = self.lib.xp, self.lib
        n_nodes, n_cells = len(rates.score), int(cells.node.shape[0])
        n_own = lib.count(cells.node, n_nodes)
        end = xp.cumulative_sum(n_own)
        if not n_cells:
            return
        # A node's last cell has all of its sum; where there is no cell, nobody asks for it.
        last = xp.where(end > 0, end - 1, 0)
        total = [xp.take(channel, last) for channel in cells.left]
        left_weight, weight = map(self.search.weight_of, (cells.left, total))
        at = xp.nonzero(self._allowed(cells, total, left_weight, weight))[0]
        if not at.shape[0]:
            return
        node = xp.take(cells.node, at)
        found = self._scores(cells, total, left_weight, weight, at)
        number, score = self.search.first_of_highest(node, found, at, n_nodes)
        scored = np.flatnonzero(number >= 0)
        chosen = lib.from_host(number[scored])
        after = xp.where(chosen + 1 < n_cells, chosen + 1, chosen)
        is_within = chosen < xp.take(last, lib.from_host(scored))
        following = xp.where(is_within, xp.take(cells.code, after), -1)
        rates.score[scored, feature] = score[scored]
        rates.code[scored, feature] = lib.to_host(xp.take(cells.code, chosen))
        rates.next_code[scored, feature] = lib.to_host(following)
        rates.left_weight[scored, feature] = lib.to_host(xp.take(left_weight, chosen))
        rates.known_weight[:, feature] = np.where(lib.to_host(n_own) > 0, lib.to_host(weight), 0)
        rates.n_cuts[:, feature] = lib.to_host(lib.count(node, n_nodes))

    def _allowed(
        self, cells: _Cells, total: list[Array], left_weight: Array, node_weight: Array
    ) -> Array:
        """Which cells end a first child that satisfies every rule, as does the second."""
        xp = self.lib.xp
        of_node = xp.astype(node_weight, xp.float64)
        least = xp.take(least_of_share(xp, of_node, self.search.rules), cells.node)
        part, whole = xp.astype(left_weight, xp.float64), xp.take(of_node, cells.node)
        totals = [xp.take(channel, cells.node) for channel in total]
        return self.search.are_admissible(cells.left, totals, part, whole, least)

    def _scores(
        self, cells: _Cells, total: list[Array], left_weight: Array, weight: Array, at: Array
    ) -> Array:
        """The scores of some cells."""
        take, scored = self.lib.xp.take, self.search.channels.scored
        node = take(cells.node, at)
        lefts = [take(own, at) for own in cells.left[scored]]
        totals = [take(own, node) for own in total[scored]]
        return self.search.scores(lefts, totals, take(left_weight, at), take(weight, node))
