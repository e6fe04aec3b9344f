"""The search for the best splits of small nodes, straight from their rows, in array-API code.

`Lines` holds the sums; a candidate is a column of a line at which a code ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.array.histogram import ArrayHist
from gputree.backends.array.libraries import Library
from gputree.backends.array.lines import Lines
from gputree.backends.array.search import ArraySearch
from gputree.backends.candidates import joined
from gputree.backends.contract import NO_SPLIT, Splits
from gputree.dtypes import SUM, Array, HostArray

SCORES_AT_ONCE = 2**14
CELLS_AT_ONCE = 2**18  # 2 MiB of scores: they and their temporaries stay in the cache
NEARLY = 1.0 - 2.0**-30  # a score below this share of another does not tie with it, once trimmed


@dataclass(frozen=True)
class _Side:
    """Candidates that send missing values to one side."""

    feature: HostArray  # (lines,)
    left: list[Array]  # a channel: (lines or 1, columns) sums of the left child
    weight: Array  # (lines or 1, columns) its weight
    is_candidate: Array  # (lines, columns)


def best_splits(search: ArraySearch, hist: ArrayHist) -> Splits:
    """The best splits of the nodes whose rows are listed, a few nodes at a time."""
    parts = []
    for first, last, lines in some_lines(search.lib, hist):
        parts.append(_RowScan(search.of_nodes(slice(first, last)), lines).winners())
    return joined(parts)


def some_lines(lib: Library, hist: ArrayHist) -> Iterator[tuple[int, int, Lines]]:
    """The sorted rows of a few listed nodes at a time: from which of them, up to which."""
    n_features, end = len(hist.coded.bins.features), np.cumsum(hist.n_listed)
    first = 0
    while first < len(end):
        begin = int(end[first] - hist.n_listed[first])
        limit = begin + CELLS_AT_ONCE // n_features
        last = max(first + 1, int(np.searchsorted(end, limit, side="right")))
        row = hist.listed[begin : int(end[last - 1])]
        yield first, last, Lines(lib, hist.coded, row, hist.n_listed[first:last])
        first = last


class _RowScan:
    """The search in a few nodes."""

    def __init__(self, search: ArraySearch, lines: Lines) -> None:
        self.search, self.lib, self.lines = search, search.lib, lines
        self.n_nodes = len(lines.n_rows)
        self.n_rows = self.lib.from_host(lines.n_rows)
        self.weight = self._weight(lines.total, self.n_rows)  # (nodes,)
        self.with_missing = np.flatnonzero(search.has_missing)

    def winners(self) -> Splits:
        """The best candidate of each node."""
        sides = [self._missing_right()]
        missing: list[Array] = []
        if self.with_missing.size:
            n_missing, missing = self._missing()
            sides.append(self._missing_left(n_missing, missing))
        if self.search.rules.rank is not None:
            sides = self._drawn(sides)
        return self._splits(*self._first_of_highest(sides), missing)

    # Candidates.

    def _missing_right(self) -> _Side:
        feature = np.arange(len(self.search.bins.features))
        is_end = self._is_end(self.lines.cell)
        return self._admissible(feature, self.lines.left, self.lines.count, is_end)

    def _missing_left(self, n_missing: Array, missing: list[Array]) -> _Side:
        take, node = self.lib.xp.take, self.lines.node
        line = self.lib.from_host(self.with_missing)
        left = [
            (known if known.shape[0] == 1 else take(known, line, axis=0)) + take(more, node, axis=1)
            for known, more in zip(self.lines.left, missing, strict=True)
        ]
        more_rows = take(n_missing, node, axis=1)
        is_end = self._is_end(take(self.lines.cell, line, axis=0)) & (more_rows > 0)
        return self._admissible(self.with_missing, left, self.lines.count + more_rows, is_end)

    def _is_end(self, cell: Array) -> Array:
        """Columns after which another code begins."""
        none = cell[:, :1] != cell[:, :1]
        return self.lib.xp.concat([cell[:, 1:] != cell[:, :-1], none], axis=1)

    def _admissible(
        self, feature: HostArray, left: list[Array], rows: Array, is_end: Array
    ) -> _Side:
        """The ends that satisfy every rule; none is where a node ends, missing values or not."""
        weight = self._weight(left, rows)
        counts = self._of_column(self.lines.total[-1])
        is_candidate = is_end & self.search.are_admissible(
            left, [counts], weight, self._of_column(self.weight)
        )
        if not self.search.has_thresholds.all():
            is_tested = self.lib.from_host(self.search.has_thresholds[feature])
            is_candidate = is_candidate & is_tested[:, None]
        return _Side(feature, left, weight, is_candidate)

    def _missing(self) -> tuple[Array, list[Array]]:
        """Rows and sums by channel of the missing values, (features that have them, nodes)."""
        xp, lines = self.lib.xp, self.lines
        shape = (len(self.with_missing), self.n_nodes)
        line = self.lib.from_host(self.with_missing)
        code = self.lib.from_host(self.search.bins.n_values[self.with_missing])
        is_missing = xp.take(lines.cell, line, axis=0) == lines.node * lines.stride + code[:, None]
        at = xp.nonzero(xp.reshape(is_missing, (-1,)))[0]
        group = at // lines.n_columns * self.n_nodes + xp.take(lines.node, at % lines.n_columns)
        n_missing = xp.reshape(self.lib.count(group, shape[0] * shape[1]), shape)
        # Missing values come last; before them is the sum of all known ones, if there are any.
        has_known = n_missing < self.n_rows
        last = self.lib.from_host(lines.start) + self.n_rows - n_missing - 1
        column = xp.reshape(xp.where(has_known, last, 0), (-1,))
        line = xp.reshape(xp.broadcast_to(line[:, None], shape), (-1,))
        known = [xp.reshape(lines.pick(left, line, column), shape) for left in lines.left]
        return n_missing, [
            total - xp.where(has_known, sums, 0)
            for total, sums in zip(lines.total, known, strict=True)
        ]

    def _drawn(self, sides: list[_Side]) -> list[_Side]:
        """Keep the features drawn for each node, or the first drawn that can be split at all."""
        xp, n_features = self.lib.xp, len(self.search.bins.features)
        pairs = []
        for side in sides:
            line, column = self._where(side.is_candidate)
            feature = xp.take(self.lib.from_host(side.feature), line)
            pairs.append(xp.take(self.lines.node, column) * n_features + feature)
        drawn = self.search.tried_features(pairs, self.n_nodes)
        kept = []
        for side in sides:
            is_drawn = self.lib.from_host(drawn[:, side.feature].T)
            is_drawn = xp.take(is_drawn, self.lines.node, axis=1)
            kept.append(replace(side, is_candidate=side.is_candidate & is_drawn))
        return kept

    # The choice among them.

    def _first_of_highest(self, sides: list[_Side]) -> tuple[HostArray, HostArray]:
        """The first of the best candidates of each node, and its score.

        They are numbered by feature, then column, then side.
        """
        xp, lines = self.lib.xp, self.lines
        scores = [self._scores(side) for side in sides]
        of_column = xp.max(xp.stack([xp.max(score, axis=0) for score in scores]), axis=0)
        highest = self.lib.highest(lines.node, of_column, self.n_nodes)
        # Few are near the highest of their node, and only these are trimmed.
        least = xp.where(highest > 0.0, highest * NEARLY, highest)
        least = self._of_column(xp.where(highest > NO_SPLIT, least, np.inf))
        nodes, found, numbers = [], [], []
        for at, (side, score) in enumerate(zip(sides, scores, strict=True)):
            line, column = self._where(score >= least)
            feature = xp.take(self.lib.from_host(side.feature), line)
            nodes.append(xp.take(lines.node, column))
            found.append(xp.take(xp.reshape(score, (-1,)), line * lines.n_columns + column))
            numbers.append((feature * lines.n_columns + column) * 2 + at)
        node, score, number = map(xp.concat, (nodes, found, numbers))
        return self.search.first_of_highest(node, score, number, self.n_nodes)

    def _scores(self, side: _Side) -> Array:
        """Scores of candidates, and NO_SPLIT elsewhere; a few lines at a time."""
        scored = self.search.channels.scored
        total = [self._of_column(channel) for channel in self.lines.total[scored]]
        weight = self._of_column(self.weight)
        step = max(1, SCORES_AT_ONCE // self.lines.n_columns)
        n_lines = len(side.feature)
        parts = []
        for first in range(0, n_lines, step):
            own = slice(first, min(first + step, n_lines))

            def some(matrix: Array, lines: slice = own) -> Array:
                return matrix if matrix.shape[0] == 1 else matrix[lines, :]

            left = [some(channel) for channel in side.left[scored]]
            score = self.search.scores(left, total, some(side.weight), weight)
            parts.append(self.lib.xp.where(some(side.is_candidate), score, NO_SPLIT))
        return self.lib.xp.concat(parts, axis=0)

    def _splits(self, number: HostArray, score: HostArray, missing: list[Array]) -> Splits:
        """The winners by their numbers; only they leave the device."""
        lines, number = self.lines, np.maximum(number, 0)  # some column where nothing won
        side, column = number % 2, number // 2 % lines.n_columns
        feature = number // 2 // lines.n_columns
        after = np.minimum(column + 1, lines.n_columns - 1)  # the end of a line is no candidate
        first_code = lines.stride * np.arange(self.n_nodes)
        code = self._picked([lines.cell], feature, column)[:, 0] - first_code
        next_code = self._picked([lines.cell], feature, after)[:, 0] - first_code
        return self.search.splits(
            score,
            feature,
            code,
            np.where(next_code < self.search.bins.n_values[feature], next_code, -1),
            side,
            self._picked(lines.left, feature, column),
            self._missing_of(feature, missing),
            self._host(lines.total),
        )

    def _missing_of(self, feature: HostArray, missing: list[Array]) -> HostArray:
        """Sums of the missing values of one feature a node, (nodes, channels)."""
        has_missing = np.isin(feature, self.with_missing)
        if not has_missing.any():
            return np.zeros((self.n_nodes, self.search.channels.n), SUM)
        line = np.where(has_missing, np.searchsorted(self.with_missing, feature), 0)
        return np.where(
            has_missing[:, None], self._picked(missing, line, np.arange(self.n_nodes)), 0
        )

    # Helpers.

    def _where(self, is_wanted: Array) -> tuple[Array, Array]:
        """Lines and columns of wanted cells."""
        at = self.lib.xp.nonzero(self.lib.xp.reshape(is_wanted, (-1,)))[0]
        return at // self.lines.n_columns, at % self.lines.n_columns

    def _of_column(self, of_node: Array) -> Array:
        """What is known of nodes, for each column, (1, columns)."""
        return self.lib.xp.take(of_node, self.lines.node)[None, :]

    def _weight(self, sums: Sequence[Array], rows: Array) -> Array:
        """The weight of sums by channel; without weights it is that of the rows."""
        if not self.search.channels.counts_rows and not self.search.channels.hides_rows:
            return rows
        return self.search.weight_of(sums)

    def _picked(self, matrices: Sequence[Array], line: HostArray, column: HostArray) -> HostArray:
        """Entries of some matrices of one line and column per node, (nodes, matrices)."""
        at = self.lib.from_host(line), self.lib.from_host(column)
        return self._host([self.lines.pick(matrix, *at) for matrix in matrices])

    def _host(self, columns: Sequence[Array]) -> HostArray:
        return self.lib.to_host(self.lib.xp.stack(list(columns), axis=1))
