"""Better combinations from the best so far, one column after another, as CART finds them.

The direction of a split is turned towards each column, and away from it, by some angles, first
large ones and then small ones; the best of these is where the next turn begins. Angles are between
columns in units of their spread. In the end terms are left out where the split is worth as much
without them. Knows weights; must not know how candidates are tried.
"""

import numpy as np

from gputree.dtypes import HostArray
from gputree.growth.directions import Candidates, NodeRows, readable

# Tangents of the angles of each turn, from 60 to 2 degrees.
ANGLES = ((1.7, 0.6, 0.25), (1.0, 0.4, 0.12), (0.25, 0.08), (0.12, 0.04))
MOST_TURNS = 2 * max(map(len, ANGLES))  # for a column
MOST_TURNED = 16  # columns towards which a direction is turned: those that tell most


def turned(
    rows: NodeRows, start: HostArray, column: HostArray, tangents: tuple[float, ...], most: int
) -> Candidates:
    """Some directions, (nodes, columns), turned towards given columns of each node.

    None has more than `most` terms.
    """
    spread = np.sqrt(rows.variances())
    n_columns = start.shape[1]
    own = _in_spreads(rows, start, spread)
    steps = np.array([sign * each for each in tangents for sign in (1.0, -1.0)])
    turn = np.eye(n_columns)[column][:, :, None, :] * steps[None, None, :, None]
    weight = np.where(has_any(own)[:, None, None], own[:, None, None, :] + turn, 0.0)
    weight = weight.reshape(-1, n_columns)
    weight = np.where(np.count_nonzero(weight, axis=1)[:, None] <= most, weight, 0.0)
    return _candidates(rows, weight, spread, column.shape[1] * len(steps))


def shortened(rows: NodeRows, start: HostArray) -> Candidates:
    """Some directions, (nodes, columns), each without one of its terms."""
    spread = np.sqrt(rows.variances())
    n_columns = start.shape[1]
    own = _in_spreads(rows, start, spread)
    kept = 1.0 - np.eye(n_columns)
    weight = np.where((own != 0.0)[:, :, None], own[:, None, :] * kept, 0.0)
    return _candidates(rows, weight.reshape(-1, n_columns), spread, n_columns)


def has_any(weight: HostArray) -> HostArray:
    """Which nodes have a direction to begin from, (nodes, 1)."""
    return np.asarray((weight != 0.0).any(axis=1, keepdims=True))


def _in_spreads(rows: NodeRows, start: HostArray, spread: HostArray) -> HostArray:
    """Weights for columns in units of their spread, of which the largest is 1."""
    with np.errstate(all="ignore"):
        size = start * (spread * rows.half.T)
        largest = np.abs(size).max(axis=1, keepdims=True)
        return np.where(np.isfinite(largest) & (largest > 0.0), size / largest, 0.0)


def _candidates(rows: NodeRows, weight: HostArray, spread: HostArray, n: int) -> Candidates:
    """Candidates from weights in units of spread, (nodes times candidates, columns)."""
    n_nodes, n_columns = spread.shape
    place = np.repeat(np.arange(n_nodes), n)
    has_spread = spread[place] > 0.0
    weight = np.where(has_spread, weight / np.where(has_spread, spread[place], 1.0), 0.0)
    column = np.broadcast_to(np.arange(n_columns), weight.shape)
    columns, weights = readable(column, weight, spread[place], rows.half.T[place], n_columns)
    shape = (n_nodes, n, n_columns)
    return Candidates(columns.reshape(shape), weights.reshape(shape), np.full(n, 2))
