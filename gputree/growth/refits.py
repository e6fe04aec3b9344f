"""Directions from the rows beside the boundary of a split.

A fit to all rows of a node is drawn away by rows that are far from where its classes part: by other
bands of them, by a corner that has many. The best split so far tells where a boundary is. So a
linear fit is made again to as many rows on one side of it as on the other, those that are next to
it, and of several classes it tells those that are more often on the one side from those on the
other. Knows values of columns; must not know how candidates are tried.
"""

import numpy as np

from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.growth.directions import MOST_TARGETS, Candidates, NodeRows, Sought
from gputree.growth.fits import fitted

SHARES = (1.0, 0.5, 0.25)  # of the rows on the side that has fewer
MOST_ROUNDS = 4  # of fits beside the best split so far


def beside(
    rows: NodeRows,
    distance: HostArray,
    target: Target,
    row: HostArray,
    sought: Sought,
) -> Candidates:
    """Fits beside the boundaries of some nodes, by the distance of each row, NaN where unknown.

    Rows up to 0 are on the one side, others on the other. A node without any has no fits.
    """
    has_any = np.bincount(rows.owner, ~np.isnan(distance), len(rows.n_rows)) > 0.0
    distance = np.where(has_any[rows.owner], distance, 0.0)
    answers = _labels(rows, distance, target, row)
    parts = [
        fitted(part, answers[:, kept], sought)
        for kept, part in (_nearest(rows, distance, share) for share in SHARES)
    ]
    return Candidates(
        np.concatenate([part.column for part in parts], axis=1),
        np.concatenate([part.weight for part in parts], axis=1),
        np.concatenate([part.size for part in parts]),
    )


def _labels(rows: NodeRows, distance: HostArray, target: Target, row: HostArray) -> HostArray:
    """What is fitted, (fits, rows): 1 for the classes of the first side, or the outputs."""
    if target.label is None:
        assert target.point is not None
        return rows.measured(target.point[:MOST_TARGETS, row])[0]
    n_nodes, n_classes = len(rows.n_rows), target.channels.n_scored
    label = target.label[row]
    at = rows.owner * n_classes + label
    weight = np.where(np.isnan(distance), 0.0, rows.weight)
    shape = n_nodes, n_classes
    of_class = np.bincount(at, weight, minlength=n_nodes * n_classes).reshape(shape)
    low = np.where(distance <= 0.0, weight, 0.0)
    low_of_class = np.bincount(at, low, minlength=n_nodes * n_classes).reshape(shape)
    whole, low_whole = of_class.sum(axis=1)[:, None], low_of_class.sum(axis=1)[:, None]
    is_low = low_of_class * whole > of_class * low_whole
    return np.asarray(is_low[rows.owner, label][None].astype(np.float64))


def _nearest(rows: NodeRows, distance: HostArray, share: float) -> tuple[HostArray, NodeRows]:
    """The rows next to the boundary of each node, the same weight on both sides."""
    side = 2 * rows.owner + (distance > 0.0)
    weight = np.where(np.isnan(distance), 0.0, rows.weight)
    of_side = np.bincount(side, weight, minlength=2 * len(rows.n_rows))
    limit = np.maximum(share * of_side.reshape(-1, 2).min(axis=1), 1.0)
    size = np.abs(distance)
    order = np.lexsort((size, side))
    size, side, weight = size[order], side[order], weight[order]
    before = np.cumsum(weight) - weight
    is_new = np.ones(len(size), bool)
    is_new[1:] = (size[1:] != size[:-1]) | (side[1:] != side[:-1])
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(size)), 0))
    # Rows at the same distance are taken together.
    nearer = before[first] - before[np.searchsorted(side, side)]
    kept = np.sort(order[(nearer < limit[side // 2]) & (weight > 0.0)])
    return kept, rows.part(kept)
