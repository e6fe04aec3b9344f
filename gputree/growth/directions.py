"""Combinations of columns that might divide the rows of a node, from these rows alone.

Every column is measured from the middle of its range in the node, in whole numbers of so few bits
that sums of products are exact: neither the order of the rows nor who adds can change one. What
follows from the sums is + - * / and square roots of NumPy on the host, in a fixed order. So the
same rows give the same combinations on every backend.

- "lda": the linear discriminant of a class against all others, which is the least squares fit of
  the class, or that of an output of a regression. Columns come in one after another, each time the
  one that explains most of what is left; fits of a few columns are candidates as they are.
- "logistic": the same columns, with the weights of logistic regression (`growth/logistic.py`).

Weights are relative to the term that varies most, whose weight is 1, and have so few decimal digits
that no other term is changed by more than a hundredth of that one's spread.
Knows values of columns; must not know codes, histograms or devices.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from gputree.data.target import Target
from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.formulas import HOST
from gputree.runs import begins, owners

MOST_TARGETS = 4  # classes of a node, or outputs, that are each fitted: the largest ones
MOST_FITTED = 32  # columns that a fit chooses from: those that tell most by themselves
SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # terms of the fits that are candidates
WEIGHT_BITS = 33  # of the total weight: fits of directions need no more
LEAST_LEFT = 1e-6  # of a column's variance that others do not explain; less is rounding
FINENESS = 0.02  # of the largest spread of a term: a unit of the last digit changes no more
POWERS = np.array([float(f"1e{exponent}") for exponent in range(-300, 301)])


@dataclass(frozen=True)
class Sought:
    """Which combinations are looked for."""

    directions: str  # lda, logistic, sparse or cart-lc
    most_terms: int
    n_projections: int  # random ones of a node
    density: float  # columns of a random one, on average
    term_cost: float  # how much more a split has to gain for each term after the first


@dataclass(frozen=True)
class Candidates:
    """Combinations of columns for each of some nodes; a weight of 0 stands for no term."""

    column: HostArray  # (nodes, candidates, terms), ascending where there are terms
    weight: HostArray  # (nodes, candidates, terms)
    size: HostArray  # (candidates,) terms that were looked for; rounding may have left fewer

    @property
    def n_terms(self) -> HostArray:
        """(nodes, candidates), 0 where there is no candidate."""
        return np.count_nonzero(self.weight, axis=2)

    def part(self, first: int, last: int) -> "Candidates":
        """Some neighbouring candidates of each node."""
        own = slice(first, last)
        return Candidates(self.column[:, own], self.weight[:, own], self.size[own])


class NodeRows:
    """Rows at some nodes, node after node, with their columns measured in whole numbers."""

    def __init__(
        self, values: HostArray, n_rows: HostArray, weight: HostArray, total_weight: int
    ) -> None:
        """`values` are (columns, rows), whole `weight` (rows,) below 2**WEIGHT_BITS in total."""
        self.n_rows, self.weight, self.total_weight = n_rows, weight, total_weight
        self.begin, self.owner = begins(n_rows), owners(n_rows)
        self.bits = (TOTAL_BITS - int(total_weight).bit_length()) // 2 - 1
        self.whole = self.added(weight[None])[0]
        self.values, self.half = self.measured(values)
        self.spread: HostArray | None = None  # (nodes, columns) of a whole of which this is a part

    def part(self, kept: HostArray) -> "NodeRows":
        """Some of the rows, of every node at least one, measured as among all."""
        part = copy(self)
        part.n_rows = np.bincount(self.owner[kept], minlength=len(self.n_rows))
        part.weight, part.values = self.weight[kept], self.values[:, kept]
        part.begin, part.owner = begins(part.n_rows), self.owner[kept]
        part.whole = part.added(part.weight[None])[0]
        part.spread = np.sqrt(self.variances()) if self.spread is None else self.spread
        return part

    def parts(self) -> Iterator[slice]:
        """The rows of each node."""
        for first, n in zip(self.begin.tolist(), self.n_rows.tolist(), strict=True):
            yield slice(first, first + n)

    def added(self, terms: HostArray) -> HostArray:
        """Sums over the rows of each node, (columns, nodes), of whole numbers."""
        return np.add.reduceat(terms, self.begin, axis=1)

    def measured(self, values: HostArray) -> tuple[HostArray, HostArray]:
        """Values as whole numbers from the middle of their range, and half of this range.

        What is not finite counts as the mean of the node. Where all are equal, the range is 0.
        """
        known = np.isfinite(values)
        low = np.minimum.reduceat(np.where(known, values, np.inf), self.begin, axis=1)
        high = np.maximum.reduceat(np.where(known, values, -np.inf), self.begin, axis=1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            middle, half = low * 0.5 + high * 0.5, high * 0.5 - low * 0.5
            half = np.where(np.isfinite(half) & (half > 0.0), half, 0.0)
            unit = np.where(half > 0.0, half, np.inf)
            share = (values - middle[:, self.owner]) / unit[:, self.owner]
        known &= np.isfinite(share)
        whole = np.rint(np.where(known, share, 0.0) * 2.0**self.bits)
        if not known.all():
            n_known = np.maximum(self.added(known * self.weight), 1.0)
            mean = np.rint(self.added(whole * self.weight) / n_known)
            whole = np.where(known, whole, mean[:, self.owner])
        return whole, half

    def variances(self) -> HostArray:
        """Of each column in each node, (nodes, columns), in units of `values`."""
        mean = self.added(self.values * self.weight) / self.whole
        square = self.added(self.values * self.values * self.weight) / self.whole
        return np.maximum(square - mean * mean, 0.0).T


# Least squares


def answers_of(rows: NodeRows, target: Target, row: HostArray) -> HostArray:
    """What is fitted in each node, (fits, rows), in whole numbers; nothing where all are 0."""
    if target.label is None:
        assert target.point is not None
        return rows.measured(target.point[:MOST_TARGETS, row])[0]
    n_nodes, n_classes = len(rows.n_rows), target.channels.n_scored
    label = target.label[row]
    at = rows.owner * n_classes + label
    weight = np.bincount(at, rows.weight, minlength=n_nodes * n_classes)
    by_weight = np.argsort(-weight.reshape(n_nodes, n_classes), axis=1, kind="stable")
    n_present = np.count_nonzero(weight.reshape(n_nodes, n_classes), axis=1)
    # One of two classes tells as much as both.
    n_fits = np.where(n_present == 2, 1, np.minimum(n_present, MOST_TARGETS))
    chosen = by_weight[:, : int(n_fits.max(initial=1))]
    chosen = np.where(np.arange(chosen.shape[1]) < n_fits[:, None], chosen, -1)
    return np.asarray((label == chosen[rows.owner].T).astype(np.float64))


def least_squares(rows: NodeRows, answers: HostArray, sought: Sought) -> Candidates:
    """Stepwise fits of every answer in every node."""
    column, covariance = _covariances(rows, answers)
    n_nodes, n_columns = column.shape
    n_fits = len(answers)
    sizes = [size for size in SIZES if size <= min(sought.most_terms, n_columns)]
    # A problem each node and answer: its columns, and the answer behind them.
    own = np.arange(n_columns)
    problem = np.empty((n_nodes, n_fits, n_columns + 1, n_columns + 1))
    for fit in range(n_fits):
        at = np.append(own, n_columns + fit)
        problem[:, fit] = covariance[:, at[:, None], at[None, :]]
    problem = problem.reshape(-1, n_columns + 1, n_columns + 1)
    place = np.repeat(np.arange(n_nodes), n_fits)
    if rows.spread is None:
        spread = np.sqrt(np.maximum(problem[:, own, own], 0.0))
    else:
        spread = rows.spread[place[:, None], column[place]]
    half = rows.half.T[place[:, None], column[place]]
    found = [
        readable(column[place], weight, spread, half, max(sizes))
        for weight in _stepwise(problem, sizes)
    ]
    shape = (n_nodes, n_fits * len(sizes), max(sizes))
    columns, weights = (np.stack(part, axis=1).reshape(shape) for part in zip(*found, strict=True))
    return Candidates(columns, weights, np.tile(sizes, n_fits))


def telling(rows: NodeRows, target: Target, row: HostArray, most: int) -> HostArray:
    """The columns that tell most of the target by themselves, (nodes, columns), ascending."""
    n_columns, n_nodes = len(rows.values), len(rows.n_rows)
    if n_columns <= most:
        return np.tile(np.arange(n_columns), (n_nodes, 1))
    answers = answers_of(rows, target, row)
    found = np.empty((n_nodes, most), np.int64)
    for node, own in enumerate(rows.parts()):
        whole = float(rows.whole[node])
        found[node] = _telling(rows.values[:, own], answers[:, own], rows.weight[own], whole, most)
    return found


def _covariances(rows: NodeRows, answers: HostArray) -> tuple[HostArray, HostArray]:
    """The columns of the fits of each node, and covariances of these and of the answers.

    Products are summed by matrices of floats: whole numbers of so few bits that no sum is rounded.
    """
    n_columns, n_fits = len(rows.values), len(answers)
    n_nodes, n = len(rows.n_rows), min(n_columns, MOST_FITTED)
    chosen = np.empty((n_nodes, n), np.int64)
    covariance = np.empty((n_nodes, n + n_fits, n + n_fits))
    for node, own in enumerate(rows.parts()):
        weight, answer, values = rows.weight[own], answers[:, own], rows.values[:, own]
        whole = float(rows.whole[node])
        chosen[node] = np.arange(n)
        if n < n_columns:
            chosen[node] = _telling(values, answer, weight, whole, n)
        both = np.concatenate([values[chosen[node]], answer])
        covariance[node] = _covariance(both, both, weight, whole)
    return chosen, covariance


def _covariance(one: HostArray, other: HostArray, weight: HostArray, whole: float) -> HostArray:
    weighted = one * weight
    mean, other_mean = weighted.sum(axis=1) / whole, (other * weight).sum(axis=1) / whole
    return np.asarray((weighted @ other.T) / whole - mean[:, None] * other_mean[None, :])


def _telling(
    values: HostArray, answer: HostArray, weight: HostArray, whole: float, n: int
) -> HostArray:
    """The columns that have the largest correlation with an answer, ascending."""
    shared = _covariance(values, answer, weight, whole)
    mean = (values * weight).sum(axis=1) / whole
    variance = (values * values * weight).sum(axis=1) / whole - mean * mean
    has_range = variance > 0.0
    score = np.where(has_range[:, None], shared * shared, 0.0)
    score /= np.where(has_range, variance, 1.0)[:, None]
    scale = (answer * answer * weight).sum(axis=1) / whole
    best = (score / np.where(scale > 0.0, scale, 1.0)).max(axis=1)
    return np.sort(np.argsort(-best, kind="stable")[:n])


def _stepwise(problem: HostArray, sizes: list[int]) -> Iterator[HostArray]:
    """Fits of so many columns, (problems, columns): weights, 0 where a column is left out.

    `problem` has the covariances of the columns, with those of the answer behind them, and is swept
    by one column after another.
    """
    every, n_columns = np.arange(len(problem)), problem.shape[1] - 1
    own = np.arange(n_columns)
    variance = problem[:, own, own]
    is_in = np.zeros(variance.shape, bool)
    for n_in in range(1, max(sizes) + 1):
        left, shared = problem[:, own, own], problem[:, :n_columns, n_columns]
        can = ~is_in & (left > LEAST_LEFT * variance)
        explained = np.where(can, shared * shared, 0.0) / np.where(can, left, 1.0)
        best = explained.argmax(axis=1)
        some = np.flatnonzero(explained[every, best] > 0.0)
        best = best[some]
        row = problem[some, best] / problem[some, best, best][:, None]
        column = problem[some, :, best]
        problem[some] -= column[:, :, None] * row[:, None, :]
        problem[some, best] = row
        is_in[some, best] = True
        if n_in in sizes:
            is_full = is_in.sum(axis=1, keepdims=True) == n_in
            yield np.where(is_in & is_full, problem[:, :n_columns, n_columns], 0.0)


# Weights that can be read


def as_candidates(rows: NodeRows, weight: HostArray, spread: HostArray) -> Candidates:
    """One candidate for each node from weights of columns as measured, (nodes, columns)."""
    n_columns = weight.shape[1]
    column = np.broadcast_to(np.arange(n_columns), weight.shape)
    columns, weights = readable(column, weight, spread, rows.half.T, n_columns)
    return Candidates(columns[:, None], weights[:, None], np.array([2]))


def readable(
    column: HostArray, weight: HostArray, spread: HostArray, half: HostArray, most: int
) -> tuple[HostArray, HostArray]:
    """The columns and rounded weights of the terms, (problems, most), in units of the table.

    All are (problems, columns): `weight` and `spread` are of columns as measured, and `half` is the
    range that they were measured by. A combination is left out where fewer than two terms remain.
    """
    every = np.arange(len(weight))
    has = (weight != 0.0) & (half > 0.0)
    with np.errstate(all="ignore"):
        # The first of several that vary alike, but for rounding.
        lead = HOST.trim(np.where(has, np.abs(weight) * spread, 0.0)).argmax(axis=1)
        in_table = np.where(has, weight, 0.0) / np.where(has, half, 1.0)
        ratio = in_table / in_table[every, lead][:, None]
        size = spread * half
        unit = FINENESS * size[every, lead][:, None] / size
        unit = np.where(has & np.isfinite(unit), unit, 1.0)
        at = np.clip(np.searchsorted(POWERS, unit, side="right") - 1, 0, len(POWERS) - 1)
        inverse = POWERS[len(POWERS) - 1 - at]
        # A division by a power of ten gives the number with these digits, a product often not.
        small = np.rint(ratio * inverse) / inverse
        rounded = np.where(at < len(POWERS) // 2, small, np.rint(ratio / POWERS[at]) * POWERS[at])
    rounded[every, lead] = np.where(has[every, lead], 1.0, 0.0)
    is_usable = np.isfinite(rounded).all(axis=1) & (np.count_nonzero(rounded, axis=1) >= 2)
    rounded = np.where(is_usable[:, None], rounded, 0.0)
    # Terms first, in the order of their columns.
    order = np.argsort(rounded == 0.0, axis=1, kind="stable")[:, :most]
    return np.take_along_axis(column, order, axis=1), np.take_along_axis(rounded, order, axis=1)
