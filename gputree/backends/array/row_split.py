"""The search for the best splits of small nodes, straight from their rows, in array-API code.

`Lines` holds the sums; a candidate is a column of a line at which a code ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from gputree.backends.array.histogram import ArrayHist
from gputree.backends.array.libraries import Library
from gputree.backends.array.lines import Lines
from gputree.backends.array.scores import Scoring
from gputree.backends.candidates import have_enough, joined, missing_slots, tried_features
from gputree.backends.contract import NO_SPLIT, Search, Splits
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SUM, Array, HostArray

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


def best_splits(lib: Library, formulas: SimpleNamespace, hist: ArrayHist, search: Search) -> Splits:
    """The best splits of the nodes whose rows are listed, a few nodes at a time."""
    bins, channels = hist.coded.bins, hist.coded.target.channels
    parts = []
    for first, last, lines in some_lines(lib, hist):
        own = search.of_nodes(slice(first, last))
        parts.append(_RowScan(lib, formulas, lines, bins, channels, own).winners())
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

    def __init__(
        self,
        lib: Library,
        formulas: SimpleNamespace,
        lines: Lines,
        bins: Bins,
        channels: Channels,
        search: Search,
    ) -> None:
        self.lib, self.formulas = lib, formulas
        self.lines, self.bins, self.channels, self.search = lines, bins, channels, search
        self.scoring = Scoring(self.lib, self.formulas, channels, search)
        self.n_nodes = len(lines.n_rows)
        self.n_rows = self.lib.from_host(lines.n_rows)
        self.weight = self._weight(lines.total, self.n_rows)  # (nodes,)
        has_missing = bins.n_codes > bins.n_values
        if search.is_ordered is not None:
            has_missing = has_missing & search.is_ordered
        self.with_missing = np.flatnonzero(has_missing)

    def winners(self) -> Splits:
        """The best candidate of each node."""
        sides = [self._missing_right()]
        missing: list[Array] = []
        if self.with_missing.size:
            n_missing, missing = self._missing()
            sides.append(self._missing_left(n_missing, missing))
        if self.search.rank is not None:
            sides = self._drawn(sides)
        return self._splits(*self._first_of_highest(sides), missing)

    # Candidates.

    def _missing_right(self) -> _Side:
        feature = np.arange(len(self.bins.features))
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
        weight, least = self._weight(left, rows), max(1, self.search.min_weight)
        all_rows, all_weight = self._of_column(self.n_rows), self._of_column(self.weight)
        is_candidate = is_end & have_enough(
            rows, all_rows, weight, all_weight, self.search.min_rows, least
        )
        if self.search.is_ordered is not None:
            is_ordered = self.lib.from_host(self.search.is_ordered[feature])
            is_candidate = is_candidate & is_ordered[:, None]
        return _Side(feature, left, weight, is_candidate)

    def _missing(self) -> tuple[Array, list[Array]]:
        """Rows and sums by channel of the missing values, (features that have them, nodes)."""
        xp, lines = self.lib.xp, self.lines
        shape = (len(self.with_missing), self.n_nodes)
        line = self.lib.from_host(self.with_missing)
        code = self.lib.from_host(self.bins.n_values[self.with_missing])
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
        xp, n_features = self.lib.xp, len(self.bins.features)
        pairs = []
        for side in sides:
            line, column = self._where(side.is_candidate)
            feature = xp.take(self.lib.from_host(side.feature), line)
            pairs.append(xp.take(self.lines.node, column) * n_features + feature)
        drawn = tried_features(self.lib, self.search, pairs, self.n_nodes, n_features)
        kept = []
        for side in sides:
            is_drawn = self.lib.from_host(drawn[:, side.feature].T)
            is_drawn = xp.take(is_drawn, self.lines.node, axis=1)
            kept.append(replace(side, is_candidate=side.is_candidate & is_drawn))
        return kept

    # The choice among them.

    def _first_of_highest(self, sides: list[_Side]) -> tuple[HostArray, HostArray]:
        """The highest score of each node, and the number of the first candidate that ties with it.

        Places count candidates by feature, then column, then side.
        """
        xp, lines = self.lib.xp, self.lines
        scores = [self._scores(side) for side in sides]
        of_column = xp.max(xp.stack([xp.max(score, axis=0) for score in scores]), axis=0)
        _, highest = self.lib.extremes(lines.node, of_column, self.n_nodes)
        nodes, numbers = [], []
        for at, (side, score) in enumerate(zip(sides, scores, strict=True)):
            line, column = self._ties(score, highest)
            feature = xp.take(self.lib.from_host(side.feature), line)
            nodes.append(xp.take(lines.node, column))
            numbers.append((feature * lines.n_columns + column) * 2 + at)
        number = xp.astype(xp.concat(numbers), xp.float64)
        first, _ = self.lib.extremes(xp.concat(nodes), number, self.n_nodes)
        return self.lib.to_host(highest), self.lib.to_host(first).astype(np.int64)

    def _ties(self, score: Array, highest: Array) -> tuple[Array, Array]:
        """Lines and columns of the scores that are the highest of their node, once trimmed."""
        xp, trim = self.lib.xp, self.formulas.trim
        least = xp.where(highest > 0.0, highest * NEARLY, highest)  # refused splits tie exactly
        line, column = self._where(score >= self._of_column(least))
        found = xp.take(xp.reshape(score, (-1,)), line * self.lines.n_columns + column)
        best = xp.take(highest, xp.take(self.lines.node, column))
        with np.errstate(invalid="ignore"):  # trimming NO_SPLIT
            tie = xp.nonzero((trim(found) == trim(best)) | (found == best))[0]
        return xp.take(line, tie), xp.take(column, tie)

    def _scores(self, side: _Side) -> Array:
        """Scores of candidates, and NO_SPLIT elsewhere; a few lines at a time."""
        total = [self._of_column(channel) for channel in self.lines.total]
        weight = self._of_column(self.weight)
        step = max(1, SCORES_AT_ONCE // self.lines.n_columns)
        n_lines = len(side.feature)
        parts = []
        for first in range(0, n_lines, step):
            own = slice(first, min(first + step, n_lines))

            def some(matrix: Array, lines: slice = own) -> Array:
                return matrix if matrix.shape[0] == 1 else matrix[lines, :]

            left = [some(channel) for channel in side.left]
            score = self._score(left, total, some(side.weight), weight)
            parts.append(self.lib.xp.where(some(side.is_candidate), score, NO_SPLIT))
        return self.lib.xp.concat(parts, axis=0)

    def _score(
        self, left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array
    ) -> Array:
        scored = self.channels.scored
        with np.errstate(divide="ignore", invalid="ignore"):  # where a child would be empty
            return self.scoring.scores(left[scored], total[scored], left_weight, weight)

    def _splits(self, highest: HostArray, number: HostArray, missing: list[Array]) -> Splits:
        """The winners by their numbers; only they leave the device."""
        lines, bins, channels = self.lines, self.bins, self.channels
        side, column = number % 2, number // 2 % lines.n_columns
        feature = number // 2 // lines.n_columns
        missing_sums = self._missing_of(feature, missing)
        left = self._picked(lines.left, feature, column)
        left = left + np.where(side[:, None] == 1, missing_sums, 0)
        total = self._host(lines.total)
        after = np.minimum(column + 1, lines.n_columns - 1)  # the end of a line is no candidate
        first_code = lines.stride * np.arange(self.n_nodes)
        code = self._picked([lines.cell], feature, column)[:, 0] - first_code
        next_code = self._picked([lines.cell], feature, after)[:, 0] - first_code
        return Splits(
            score=np.where(highest > NO_SPLIT, self._scores_of(left), NO_SPLIT),
            feature=feature.astype(FEATURE),
            code=code,
            next_code=np.where(next_code < bins.n_values[feature], next_code, -1),
            missing_slot=missing_slots(channels, left, total - left, missing_sums, side),
            left=left.astype(SUM),
        )

    def _scores_of(self, left: HostArray) -> HostArray:
        """The scores of one left child a node, untrimmed."""
        put = self.lib.from_host
        channels = [put(channel) for channel in np.ascontiguousarray(left.T)]
        weight = put(self.channels.weight_of(left))
        return self.lib.to_host(self._score(channels, self.lines.total, weight, self.weight))

    def _missing_of(self, feature: HostArray, missing: list[Array]) -> HostArray:
        """Sums of the missing values of one feature a node, (nodes, channels)."""
        has_missing = np.isin(feature, self.with_missing)
        if not has_missing.any():
            return np.zeros((self.n_nodes, self.channels.n), SUM)
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
        if not self.channels.counts_rows and not self.channels.hides_rows:
            return rows
        return self.scoring.weight_of(sums)

    def _picked(self, matrices: Sequence[Array], line: HostArray, column: HostArray) -> HostArray:
        """Entries of some matrices of one line and column per node, (nodes, matrices)."""
        at = self.lib.from_host(line), self.lib.from_host(column)
        return self._host([self.lines.pick(matrix, *at) for matrix in matrices])

    def _host(self, columns: Sequence[Array]) -> HostArray:
        return self.lib.to_host(self.lib.xp.stack(list(columns), axis=1))
