"""Splits that gain little by themselves, and much together with those of their children.

Where classes alternate as on a chessboard, the line that parts its squares gains next to nothing,
and a search by the gain of one split cuts off corners instead. Here a split is worth what it gains
and what fits gain in its children. Where to look follows from the rows: lines through their middle,
along which one class is spread as others are not, and then, some rounds long, the splits of the
children, which are tried as splits of their parent.

Knows values of columns and trials of candidates; must not know the draft.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gputree.backends.contract import NO_SPLIT, Splits
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.growth.directions import NodeRows, Sought, answers_of, as_candidates
from gputree.growth.fits import fitted
from gputree.growth.refits import beside
from gputree.growth.trial import Best, Better, Trial, charge

LEAST_ROWS = 64  # of a node: of fewer, chance makes such pairs of splits, too
MOST_STEPS = 8  # of the iteration that turns a direction to where classes differ most
MOST_ROUNDS = 3  # in which splits of children are tried as those of their parent
LEAST_MORE = 1.5  # times as much have both levels to gain as the best split so far and its children


@dataclass(frozen=True)
class Sample:
    """The rows at some nodes: as fits see them, with all columns, and their numbers."""

    own: NodeRows
    values: HostArray  # (columns, rows)
    row: HostArray  # (rows,)

    def of_nodes(self, is_in: HostArray) -> "Sample":
        """The rows at some of the nodes."""
        kept = np.flatnonzero(is_in[self.own.owner])
        return self.taken(kept, self.own.n_rows[is_in])

    def taken(self, kept: HostArray, n_rows: HostArray) -> "Sample":
        """Some of the rows, at so many nodes as there are numbers of rows."""
        values = self.values[:, kept]
        own = NodeRows(values, n_rows, self.own.weight[kept], self.own.total_weight)
        return Sample(own, values, self.row[kept])


@dataclass(frozen=True)
class Lines:
    """A split of each of some nodes by a combination of columns."""

    weight: HostArray  # (nodes, columns)
    limit: HostArray  # (nodes,) NaN where there is none

    @classmethod
    def none(cls, n_nodes: int, n_columns: int) -> "Lines":
        return cls(np.zeros((n_nodes, n_columns)), np.full(n_nodes, np.nan))

    @classmethod
    def of(cls, best: Best, n_nodes: int, n_columns: int) -> "Lines":
        """What has been found for nodes."""
        lines = cls.none(n_nodes, n_columns)
        for at, each in best.found.items():
            lines.weight[at, each.column], lines.limit[at] = each.weight, each.threshold
        return lines

    def or_other(self, is_other: HostArray, other: "Lines") -> "Lines":
        """The lines of another where it says so."""
        return Lines(
            np.where(is_other[:, None], other.weight, self.weight),
            np.where(is_other, other.limit, self.limit),
        )

    def distance(self, sample: Sample) -> HostArray:
        """By how much each row is above its threshold; NaN where a value is missing."""
        distance = sums(sample.values, self.weight, sample.own.owner)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(distance - self.limit[sample.own.owner])


@dataclass(frozen=True)
class Outlook:
    """What lines gain together with the fits of their children."""

    lines: Lines
    worth: HostArray  # (nodes,) of both levels; 0 where a line divides nothing
    splits: Splits  # by the lines
    below: tuple[Lines, Lines]  # the best splits of both children

    def or_other(self, other: "Outlook") -> "Outlook":
        """Of each node the one that is worth more."""
        is_other = other.worth > self.worth
        mine, others = self.splits, other.splits
        splits = {
            name: np.where(_across(is_other, each), getattr(others, name), each)
            for name, each in vars(mine).items()
            if each is not None
        }
        return Outlook(
            self.lines.or_other(is_other, other.lines),
            np.where(is_other, other.worth, self.worth),
            Splits(**splits),
            (
                self.below[0].or_other(is_other, other.below[0]),
                self.below[1].or_other(is_other, other.below[1]),
            ),
        )

    def better(self, at: int) -> Better:
        """The split of a node."""
        column = np.flatnonzero(self.lines.weight[at])
        return Better(
            column,
            self.lines.weight[at, column],
            float(self.lines.limit[at]),
            int(self.splits.missing_slot[at]),
            float(self.splits.score[at]),
            self.splits.left[at].copy(),
        )


@dataclass(frozen=True)
class Lookahead:
    """Looks for splits by what they and those of their children gain."""

    target: Target
    sought: Sought
    trial_of: Callable[[Sample], Trial]
    budget: int

    def seek(self, sample: Sample, start: Lines, room: HostArray) -> dict[int, Better]:
        """Better splits of some nodes than those they have, by the places of the nodes.

        No splits can gain more than `room` in a node, (nodes,).
        """
        first = self.look(sample, start, is_refined=True)
        place = np.flatnonzero(first.worth * LEAST_MORE < room)
        if not place.size:
            return {}
        sample = sample.of_nodes(np.isin(np.arange(len(room)), place))
        one, other = spread_apart(sample, answers_of(sample.own, self.target, sample.row)[0])
        best = self.look(sample, one).or_other(self.look(sample, other))
        for _ in range(MOST_ROUNDS):
            for lines in best.below:
                best = best.or_other(self.look(sample, lines, is_refined=True))
        is_more = best.worth > first.worth[place] * LEAST_MORE
        return {int(place[at]): best.better(at) for at in np.flatnonzero(is_more).tolist()}

    def look(self, sample: Sample, lines: Lines, *, is_refined: bool = False) -> Outlook:
        """What lines gain, and then the best fits on both sides of them."""
        own, n_nodes = sample.own, len(lines.limit)
        distance = lines.distance(sample)
        splits = self.trial_of(sample).between(np.where(np.isnan(distance), np.nan, distance > 0.0))
        n_columns = lines.weight.shape[1]
        # Not where it is better to part missing values from all others, which no line does.
        is_split = (splits.score > NO_SPLIT) & (splits.code == 0) & np.isfinite(lines.limit)
        side = np.where(np.isnan(distance), splits.missing_slot[own.owner], distance > 0.0)
        group = 2 * own.owner + side.astype(np.int64)
        n_rows = np.bincount(group, minlength=2 * n_nodes)
        has_rows = (n_rows > 0) & np.repeat(is_split, 2)
        child = np.flatnonzero(has_rows)
        n_terms = np.count_nonzero(lines.weight, axis=1)
        worth = np.where(is_split, splits.score, 0.0) / charge(self.sought.term_cost, n_terms)
        below = Lines.none(2 * n_nodes, n_columns)
        if child.size:
            order = np.argsort(group, kind="stable")
            part = sample.taken(order[has_rows[group[order]]], n_rows[child])
            best = self._fits(part, is_refined)
            found = Lines.of(best, len(child), n_columns)
            below.weight[child], below.limit[child] = found.weight, found.limit
            of_child = np.zeros(2 * n_nodes)
            of_child[child] = best.worth
            worth = worth + (of_child[0::2] + of_child[1::2])
        sides = [Lines(below.weight[slot::2], below.limit[slot::2]) for slot in (0, 1)]
        return Outlook(lines, worth, splits, (sides[0], sides[1]))

    def _fits(self, sample: Sample, is_refined: bool) -> Best:
        """The best fits of some nodes, made again beside their boundaries."""
        own, trial = sample.own, self.trial_of(sample)
        best = Best(np.zeros(len(own.n_rows)), self.sought.term_cost, len(sample.values))
        answers = answers_of(own, self.target, sample.row)
        trial.compare(fitted(own, answers, self.sought), best, self.budget)
        if is_refined:
            distance = Lines.of(best, len(own.n_rows), len(sample.values)).distance(sample)
            found = beside(own, distance, self.target, sample.row, self.sought)
            trial.compare(found, best, self.budget)
        return best


def sums(values: HostArray, weight: HostArray, owner: HostArray) -> HostArray:
    """Weighted sums of the columns of rows, by weights (nodes, columns), as `added_up` has them.

    Columns of weight 0 do not count, not even where they are missing.
    """
    total = np.zeros(len(owner))
    with np.errstate(over="ignore", invalid="ignore"):
        for each, factor in zip(values, weight.T, strict=True):
            own = factor[owner]
            total = np.where(own == 0.0, total, total + each * own)
    return total


def _across(which: HostArray, array: HostArray) -> HostArray:
    return which.reshape(-1, *[1] * (array.ndim - 1))


# Where classes are spread in other ways


def spread_apart(sample: Sample, answer: HostArray) -> tuple[Lines, Lines]:
    """Lines through the middle of each node, along which a class is spread as others are not.

    The difference of the covariances of rows whose answer is 1 and of all others is applied again
    and again to a direction. On a chessboard this ends in the plane of its squares, and the two
    directions that it ends in are a pair in this plane.
    """
    difference, spread = _differences(sample.own, answer)
    n_columns = difference.shape[1]
    norm = np.zeros(spread.shape)
    for column in range(n_columns):
        norm += difference[:, :, column] * difference[:, :, column]
    one = np.eye(n_columns)[norm.argmax(axis=1)]
    for _ in range(MOST_STEPS):
        one = _times(difference, _times(difference, one))
    first, second = (_halved(sample, each, spread) for each in (one, _times(difference, one)))
    return first, second


def _differences(own: NodeRows, answer: HostArray) -> tuple[HostArray, HostArray]:
    """Differences of covariances, (nodes, columns, columns), of columns in units of their spread.

    Sums are those of whole numbers that floats hold.
    """
    n_nodes, n_columns = len(own.n_rows), len(own.values)
    difference = np.zeros((n_nodes, n_columns, n_columns))
    spread = np.sqrt(own.variances())
    for node, at in enumerate(own.parts()):
        weight, values = own.weight[at], own.values[:, at]
        for sign, is_in in ((1.0, answer[at] > 0.0), (-1.0, answer[at] <= 0.0)):
            some = values * (weight * is_in)
            whole = float((weight * is_in).sum())
            if whole > 0.0:
                mean = some.sum(axis=1) / whole
                difference[node] += sign * ((some @ values.T) / whole - mean[:, None] * mean)
    unit = np.where(spread > 0.0, spread, np.inf)
    return difference / (unit[:, :, None] * unit[:, None, :]), spread


def _times(matrix: HostArray, vector: HostArray) -> HostArray:
    """Products, (nodes, columns), added up column by column, of length 1."""
    total, square = np.zeros_like(vector), np.zeros(len(vector))
    for column in range(vector.shape[1]):
        total += matrix[:, :, column] * vector[:, column, None]
    for column in range(vector.shape[1]):
        square += total[:, column] * total[:, column]
    length = np.sqrt(square)
    return np.asarray(total / np.where(length > 0.0, length, 1.0)[:, None])


def _halved(sample: Sample, direction: HostArray, spread: HostArray) -> Lines:
    """Lines across directions, (nodes, columns) in units of spread, through the median."""
    weight = direction / np.where(spread > 0.0, spread, np.inf)
    found = as_candidates(sample.own, weight, spread)
    rounded = np.zeros_like(weight)
    np.put_along_axis(rounded, found.column[:, 0], found.weight[:, 0], axis=1)
    return Lines(rounded, _medians(sample.own, sums(sample.values, rounded, sample.own.owner)))


def _medians(own: NodeRows, value: HostArray) -> HostArray:
    """The value of each node up to which half of its weight lies; NaN where none is known."""
    order = np.lexsort((value, own.owner))  # missing ones are the last of their node
    weight = np.where(np.isnan(value), 0.0, own.weight)
    half = 0.5 * np.bincount(own.owner, weight)
    weight = weight[order]
    before = np.cumsum(weight) - weight
    before -= before[own.begin][own.owner]
    is_low = (before < half[own.owner]) & (weight > 0.0)
    last = np.full(len(own.n_rows), -1)
    np.maximum.at(last, own.owner[is_low], np.flatnonzero(is_low))
    return np.where(last >= 0, value[order][last], np.nan)
