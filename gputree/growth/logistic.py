"""Directions by logistic regression: rows far from the boundary have little say in them.

The columns of each fit are those that least squares chooses. Then Newton's method makes a few
steps, in all nodes at once. Weights of rows, residuals and values are whole numbers of so few bits
that their sums are exact, the exponential is our own, and the equations are solved by + - * / in a
fixed order: so a direction does not depend on who adds.

Of a regression, values above the mean of the node are told from the others.
Knows values of columns; must not know how candidates are tried.
"""

import numpy as np

from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.formulas import LOSSES
from gputree.growth.directions import Candidates, NodeRows, readable

STEPS = 5  # of Newton's method
SHARE_BITS = 12  # of the chance of a class, so that weights and residuals are whole
MOST_TOTAL_BITS = 26  # of the total weight of rows: no fit needs more
RIDGE = 1e-3  # of the weight and variance: where classes are apart, weights would have no end
LARGEST_ODDS = 30.0  # logarithm of


def refitted(rows: NodeRows, answers: HostArray, found: Candidates) -> Candidates:
    """The same combinations by logistic regression; `answers` are those that they were fitted to.

    Candidates come fit by fit, as many for each.
    """
    n_nodes, n_candidates, n_terms = found.column.shape
    weight, values = _light(rows)
    spread, columns, weights = _spread(rows), [], []
    every = np.arange(n_nodes)[:, None]
    for at in range(n_candidates):
        column = found.column[:, at]
        is_in = found.weight[:, at] != 0.0
        most = int(is_in.sum(axis=1).max(initial=0))
        answer = _is_high(rows, answers[at * len(answers) // n_candidates])
        # Terms come first, so that the others need no place in the equations.
        own = _fitted(rows, values, weight, column[:, :most], is_in[:, :most], answer)
        full = np.zeros(column.shape)
        full[:, :most] = own
        part = readable(column, full, spread[every, column], rows.half.T[every, column], n_terms)
        columns.append(part[0])
        weights.append(part[1])
    return Candidates(np.stack(columns, axis=1), np.stack(weights, axis=1), found.size)


def _light(rows: NodeRows) -> tuple[HostArray, HostArray]:
    """Weights of rows, and their values, with as many bits as sums of the steps have room for."""
    bits = int(rows.total_weight).bit_length()
    down = max(0, bits - MOST_TOTAL_BITS)
    weight = np.maximum(np.floor(rows.weight * 2.0**-down), 1.0) if down else rows.weight
    left = (TOTAL_BITS - min(bits, MOST_TOTAL_BITS) - 1 - SHARE_BITS) // 2
    return weight, np.rint(rows.values * 2.0 ** min(0, left - rows.bits))


def _spread(rows: NodeRows) -> HostArray:
    return np.sqrt(rows.variances()) if rows.spread is None else rows.spread


def _is_high(rows: NodeRows, answer: HostArray) -> HostArray:
    """Which rows have an answer above the mean of their node."""
    mean = rows.added((answer * rows.weight)[None])[0] / rows.whole
    return np.asarray((answer > mean[rows.owner]).astype(np.float64))


def _fitted(
    rows: NodeRows,
    values: HostArray,
    weight: HostArray,
    column: HostArray,
    is_in: HostArray,
    answer: HostArray,
) -> HostArray:
    """Weights of the given columns of each node, (nodes, terms), 0 for those that are not in."""
    n_nodes, n_terms = column.shape
    owner, every = rows.owner, np.arange(len(rows.owner))
    terms = [
        np.where(is_in[owner, term], values[column[owner, term], every], 0.0)
        for term in range(n_terms)
    ]
    terms.append(np.ones(len(owner)))  # the last is the constant
    unit = np.full((n_nodes, n_terms + 1), 1.0)
    for term in range(n_terms):
        largest = np.maximum.reduceat(np.abs(terms[term]), rows.begin)
        unit[:, term] = np.where(largest > 0.0, largest, 1.0)
    found = np.zeros((n_nodes, n_terms + 1))  # for terms in their units
    for _ in range(STEPS):
        odds = np.zeros(len(owner))
        for term, each in enumerate(terms):
            odds += each * (found[:, term] / unit[:, term])[owner]
        share = 1.0 / (1.0 + LOSSES.exp(-np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS)))
        say = weight * np.rint(share * (1.0 - share) * 2.0**SHARE_BITS)
        short = weight * np.rint((answer - share) * 2.0**SHARE_BITS)
        found = found + _step(rows, terms, unit, say, short)
    return np.where(is_in, found[:, :n_terms] / unit[:, :n_terms], 0.0)


def _step(
    rows: NodeRows, terms: list[HostArray], unit: HostArray, say: HostArray, short: HostArray
) -> HostArray:
    """What a step of Newton's method adds to the weights of each node."""
    n = len(terms)
    equation = np.empty((len(rows.n_rows), n, n + 1))
    for one in range(n):
        equation[:, one, n] = rows.added((terms[one] * short)[None])[0] / unit[:, one]
        for other in range(one + 1):
            product = rows.added((terms[one] * terms[other] * say)[None])[0]
            equation[:, one, other] = product / (unit[:, one] * unit[:, other])
            equation[:, other, one] = equation[:, one, other]
    ridge = rows.added(say[None])[0] * RIDGE + 1.0
    for one in range(n):
        equation[:, one, one] += ridge
    for one in range(n):
        equation[:, one] /= equation[:, one, one, None]
        for other in range(n):
            if other != one:
                equation[:, other] -= equation[:, other, one, None] * equation[:, one]
    return equation[:, :, n]
