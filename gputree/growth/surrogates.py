"""CART's surrogates: other tests that send rows the same way, for rows whose value is missing.

For every other feature the cut, or the side of each level, that agrees most with the split on the
rows whose value is known. A cut sends at least two rows each way, and a surrogate agrees more than
the larger child alone would. The best few are tried in turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from gputree.backends.contract import Backend, Moves, Rows
from gputree.data.bins import Bins
from gputree.data.table import Kind
from gputree.data.target import Channels
from gputree.dtypes import SLOT, STAY, HostArray
from gputree.runs import begins

LEAST_ROWS = 2  # that a surrogate sends each way
LEAST_ADDED = 1e-10  # what its agreement must add to that of the larger child, as a share
NODES_AT_ONCE = 256


@dataclass(frozen=True)
class Style:
    """Which surrogates are kept."""

    most: int = 5  # at each node
    least_otherwise: int = 0  # rows that levels must send another way than the split does


@dataclass(frozen=True)
class Surrogates:
    """Surrogates of some nodes, node by node, the best first."""

    node: HostArray  # (surrogates,)
    feature: HostArray  # (surrogates,)
    code: HostArray  # (surrogates,) the largest code of the first side, for thresholds
    next_code: HostArray  # (surrogates,) the next one that occurs
    low_slot: HostArray  # (surrogates,) the child of the first side
    agreement: HostArray  # (surrogates,) share of the weight that goes the same way
    slot: HostArray  # (surrogates, codes) the child of every code, STAY beyond the last

    @classmethod
    def joined(cls, parts: Sequence["Surrogates"]) -> "Surrogates":
        """Some after others."""
        width = max(part.slot.shape[1] for part in parts)
        joined = {}
        for field in fields(cls):
            own = [getattr(part, field.name) for part in parts]
            if field.name == "slot":
                room = [((0, 0), (0, width - slot.shape[1])) for slot in own]
                own = [np.pad(*each, constant_values=STAY) for each in zip(own, room, strict=True)]
            joined[field.name] = np.concatenate(own)
        return cls(**joined)


@dataclass(frozen=True)
class _Offer:
    """The best surrogate by one feature for each node."""

    agreement: HostArray  # (nodes,) weight, 0 where there is none
    code: HostArray
    next_code: HostArray
    low_slot: HostArray
    slot: HostArray  # (nodes, codes)


def find_surrogates(
    backend: Backend, rows: Rows, moves: Moves, bins: Bins, channels: Channels, style: Style
) -> Surrogates:
    """The surrogates of nodes whose rows with known values have moved."""
    parts = []
    for first in range(0, len(moves.node), NODES_AT_ONCE):
        some = slice(first, first + NODES_AT_ONCE)
        parts.append(_find(backend, rows, moves, some, bins, channels, style))
    return Surrogates.joined(parts)


def _find(
    backend: Backend,
    rows: Rows,
    moves: Moves,
    some: slice,
    bins: Bins,
    channels: Channels,
    style: Style,
) -> Surrogates:
    node, tested = moves.node[some], moves.feature[some]
    children = moves.first_child[some][:, None] + np.arange(2)
    n_nodes, n_features = len(node), len(bins.features)
    hist = backend.tally(rows, children.ravel())
    place = np.arange(2 * n_nodes)
    sums = backend.cells(hist, place, 0 * place).reshape(n_nodes, 2, int(bins.n_codes[0]), -1)
    totals = channels.weight_of(sums.sum(axis=2))
    tie = _tie(channels, sums.sum(axis=2))
    staying = _Staying(backend, rows, node, bins, channels)
    offers = []
    for feature in range(n_features):
        cells = backend.cells(hist, place, np.full(2 * n_nodes, feature))
        cells = cells.reshape(n_nodes, 2, int(bins.n_codes[feature]), -1)
        known = cells[:, :, : int(bins.n_values[feature])]
        weight, count = channels.weight_of(known), channels.rows_of(known)
        if bins.features[feature].kind is Kind.NOMINAL:
            offers.append(_by_levels(weight, count, tie, style))
        else:
            occurs = (count.sum(axis=1) > 0) | staying.occurs(feature)
            offers.append(_by_threshold(weight, count, occurs))
    agreement = np.stack([offer.agreement for offer in offers], axis=1).astype(np.float64)
    whole, larger = totals.sum(axis=1), totals.max(axis=1)
    smaller = np.maximum(whole - larger, 1)
    is_useful = (agreement - larger[:, None]) / smaller[:, None] > LEAST_ADDED
    is_useful[np.arange(n_nodes), tested] = False
    order = np.argsort(np.where(is_useful, -agreement, np.inf), axis=1, kind="stable")[
        :, : style.most
    ]
    at, turn = np.nonzero(np.take_along_axis(is_useful, order, axis=1))
    chosen = order[at, turn]
    width = int(bins.n_values.max()) + 1
    slot = np.full((len(at), width), STAY, SLOT)
    columns = {}
    for name in ("code", "next_code", "low_slot"):
        columns[name] = np.stack([getattr(offer, name) for offer in offers], axis=1)[at, chosen]
    for i, (n, f) in enumerate(zip(at.tolist(), chosen.tolist(), strict=True)):
        own = offers[f].slot[n]
        slot[i, : len(own)] = own
    return Surrogates(
        node=node[at],
        feature=chosen,
        agreement=agreement[at, chosen] / whole[at],
        slot=slot,
        **columns,
    )


class _Staying:
    """The rows that some nodes have kept, as their tested value is missing."""

    def __init__(
        self, backend: Backend, rows: Rows, node: HostArray, bins: Bins, channels: Channels
    ) -> None:
        self.backend, self.bins, self.channels = backend, bins, channels
        self.n_nodes = len(node)
        self.place = np.flatnonzero(backend.count_rows(rows, node))
        self.hist = backend.tally(rows, node[self.place]) if self.place.size else None

    def occurs(self, feature: int) -> HostArray:
        """Which known codes of a feature they have, (nodes, codes)."""
        found = np.zeros((self.n_nodes, int(self.bins.n_values[feature])), bool)
        if self.hist is not None:
            own = np.arange(len(self.place))
            cells = self.backend.cells(self.hist, own, np.full(len(own), feature))
            cells = cells.reshape(len(own), int(self.bins.n_codes[feature]), -1)
            found[self.place] = self.channels.rows_of(cells[:, : found.shape[1]]) > 0
        return found


def _by_threshold(weight: HostArray, count: HostArray, occurs: HostArray) -> _Offer:
    """The cut that agrees most, from weights and counts of (nodes, children, codes).

    It lies midway between two values of the node. Rows whose tested value is missing have no say
    in which cut agrees most, but none of their values, which `occurs` counts in, lies between.
    """
    below, rows_below = np.cumsum(weight, axis=2), np.cumsum(count, axis=2)
    known = below[:, :, -1:]
    n_below = rows_below.sum(axis=1)
    n_above = n_below[:, -1:] - n_below
    is_cut = (count.sum(axis=1) > 0) & (n_below >= LEAST_ROWS) & (n_above >= LEAST_ROWS)
    alike = below[:, 0] + known[:, 1] - below[:, 1]
    turned = known[:, 0] - below[:, 0] + below[:, 1]
    # The same way first, and the lowest cut; each must be strictly better than all before.
    both = np.where(is_cut[:, :, None], np.stack([alike, turned], axis=2), 0)
    flat = both.reshape(len(both), -1)
    best = np.argmax(flat, axis=1)
    agreement = flat[np.arange(len(flat)), best]
    agreement = np.where(agreement > known.max(axis=1)[:, 0], agreement, 0)
    code, low_slot = best // 2, best % 2
    number = np.arange(weight.shape[2])
    later = (number > code[:, None]) & occurs
    next_code = np.where(later.any(axis=1), later.argmax(axis=1), -1)
    slot = np.where(number <= code[:, None], low_slot[:, None], 1 - low_slot[:, None])
    return _Offer(agreement, code, next_code, low_slot, slot)


def _by_levels(weight: HostArray, count: HostArray, tie: HostArray, style: Style) -> _Offer:
    """Each level goes with the larger part of its rows, to child `tie` if both are equal."""
    is_right = weight[:, 1] > weight[:, 0]
    is_right |= (weight[:, 1] == weight[:, 0]) & (tie[:, None] == 1)
    rows = count.sum(axis=1)
    n_otherwise = np.where(is_right, count[:, 0], count[:, 1]).sum(axis=1)
    agreement = weight.max(axis=1).sum(axis=1)
    agreement = np.where(n_otherwise >= style.least_otherwise, agreement, 0)
    slot = np.where(rows > 0, is_right.astype(np.int64), STAY)
    none = np.zeros(len(weight), np.int64)
    return _Offer(agreement, none, none, none, slot)


def _tie(channels: Channels, sums: HostArray) -> HostArray:
    """The larger child; of two that weigh the same, that of later classes, or of a larger mean."""
    weight = channels.weight_of(sums)
    scored = sums[..., channels.scored]
    factor = np.arange(channels.n_scored) if channels.is_classes else np.ones(1)
    level = (scored[..., : len(factor)] * factor).sum(axis=-1) / np.maximum(weight, 1)
    by_level = level[:, 1] > level[:, 0]
    return np.where(weight[:, 0] == weight[:, 1], by_level, weight[:, 1] > weight[:, 0]).astype(int)


def larger_child(channels: Channels, sums: HostArray) -> HostArray:
    """The child with more weight, STAY where both weigh the same; sums (nodes, 2, channels)."""
    weight = channels.weight_of(sums)
    side = np.where(weight[:, 1] > weight[:, 0], 1, 0)
    return np.where(weight[:, 0] == weight[:, 1], STAY, side)


def slots_by_surrogates(
    backend: Backend,
    rows: Rows,
    row: HostArray,
    place: HostArray,
    node: HostArray,
    found: Surrogates,
) -> HostArray:
    """Where rows go whose value is missing; `place` is the place of a row's node in `node`."""
    slot = np.full(len(row), STAY, np.int64)
    # Surrogates come in the order of the nodes, whatever their numbers are.
    by_number = np.argsort(node)
    owner = by_number[np.searchsorted(node, found.node, sorter=by_number)]
    n_own = np.bincount(owner, minlength=len(node))
    first = begins(n_own)
    for turn in range(int(n_own.max(initial=0))):
        at = np.flatnonzero((slot == STAY) & (turn < n_own[place]))
        if not at.size:
            break
        which = first[place[at]] + turn
        code = backend.codes_of(rows, row[at], found.feature[which])
        slot[at] = found.slot[which, np.minimum(code, found.slot.shape[1] - 1)]
    return slot
