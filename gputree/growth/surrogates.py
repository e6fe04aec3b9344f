"""CART's surrogates: other tests that send rows the same way, for rows whose value is missing.

For every other feature the cut, or the side of each category, that agrees most with the split on
the rows whose value is known. A cut sends at least two rows each way, and a surrogate agrees more
than the larger child alone would. The best few are tried in turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from gputree.backends.contract import Backend, Detours, Moves, Offer, Rows
from gputree.data.bins import Bins
from gputree.data.target import Channels, Target
from gputree.dtypes import SLOT, STAY, HostArray
from gputree.runs import begins
from gputree.tree.categories import Lists, lists_of

LEAST_ADDED = 1e-10  # what its agreement must add to that of the larger child, as a share


@dataclass(frozen=True)
class Style:
    """Which surrogates are kept."""

    most: int = 5  # at each node
    least_otherwise: int = 0  # rows that categories must send another way than the split does


@dataclass(frozen=True)
class Surrogates:
    """Surrogates of some nodes, node by node, the best first."""

    node: HostArray  # (surrogates,)
    feature: HostArray  # (surrogates,)
    code: HostArray  # (surrogates,) the largest code of the first side, for thresholds
    next_code: HostArray  # (surrogates,) the next one that occurs
    low_slot: HostArray  # (surrogates,) the child of the first side
    agreement: HostArray  # (surrogates,) share of the weight that goes the same way
    # (surrogates,) where its list of categories begins, as `tree.categories` has it; -1 for
    # thresholds
    category_start: HostArray
    category: HostArray  # (entries of lists,)
    slot: HostArray  # (entries of lists,) the child of a category; STAY for a missing one

    @classmethod
    def joined(cls, parts: Sequence["Surrogates"]) -> "Surrogates":
        """Some after others."""
        joined = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
        }
        ahead = begins(np.array([len(part.slot) for part in parts]))
        ahead = np.repeat(ahead, [len(part.node) for part in parts])
        start = joined["category_start"]
        return cls(**joined | {"category_start": np.where(start < 0, -1, start + ahead)})

    def among(self, at: HostArray) -> "Surrogates":
        """Some of them."""
        own = {field.name: getattr(self, field.name)[at] for field in fields(self)[:-2]}
        return replace(self, **own)


class SurrogateSearch:
    """Finds the surrogates of nodes whose rows with known values have moved."""

    def __init__(
        self, backend: Backend, rows: Rows, bins: Bins, target: Target, style: Style
    ) -> None:
        self.backend, self.rows, self.bins = backend, rows, bins
        self.target, self.style = target, style

    def find(self, moves: Moves, sums: HostArray) -> Surrogates:
        """Their surrogates; `sums` are those of the rows that have moved, (nodes, 2, channels)."""
        tie, least = _tie(self.target.channels, sums), self.style.least_otherwise
        asked = self.backend.agree(self.rows, self.bins, self.target, moves, tie, least)
        parts = [
            self._choose(offers, moves.node[some], moves.feature[some], sums[some])
            for some, offers in asked
        ]
        found = Surrogates.joined(parts)
        return found.among(np.argsort(_places(found.node, moves.node), kind="stable"))

    def _choose(
        self, offers: list[Offer], node: HostArray, tested: HostArray, sums: HostArray
    ) -> Surrogates:
        """The surrogates that are useful, the best first."""
        agreement = np.stack([offer.agreement for offer in offers], axis=1).astype(np.float64)
        weight = self.target.channels.weight_of(sums)
        whole, larger = weight.sum(axis=1), weight.max(axis=1)
        smaller = np.maximum(whole - larger, 1)
        is_useful = (agreement - larger[:, None]) / smaller[:, None] > LEAST_ADDED
        is_useful[np.arange(len(node)), tested] = False
        order = np.argsort(np.where(is_useful, -agreement, np.inf), axis=1, kind="stable")
        order = order[:, : self.style.most]
        at, turn = np.nonzero(np.take_along_axis(is_useful, order, axis=1))
        feature = order[at, turn]
        columns = {
            name: np.stack([getattr(offer, name) for offer in offers], axis=1)[at, feature]
            for name in ("code", "next_code", "low_slot")
        }
        category_start, category, slot = self._categories(offers, at, feature)
        return Surrogates(
            node=node[at],
            feature=feature,
            agreement=agreement[at, feature] / whole[at],
            category_start=category_start,
            category=category,
            slot=slot,
            **columns,
        )

    def _categories(self, offers: list[Offer], at: HostArray, feature: HostArray) -> Lists:
        """The lists of surrogates by categories; those that the node has not seen are not known."""
        test = np.flatnonzero(self.bins.is_nominal[feature])
        owner, code, slot = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, SLOT)]
        for own in np.unique(feature[test]).tolist():
            sides, chosen = offers[own].categories, feature[test] == own
            assert sides is not None
            test_of = np.full(len(offers[own].agreement), -1)
            test_of[at[test[chosen]]] = np.flatnonzero(chosen)
            of_side = test_of[sides.place]
            for found, part in ((owner, of_side), (code, sides.code), (slot, sides.slot)):
                found.append(part[of_side >= 0])
        order = np.argsort(np.concatenate(owner), kind="stable")
        n = np.bincount(np.concatenate(owner), minlength=len(test))
        none = np.full(len(test), STAY, np.int64)
        told = np.concatenate(code)[order], np.concatenate(slot)[order]
        start = np.full(len(feature), -1, np.int64)
        start[test], *lists = lists_of(self.bins.n_values[feature[test]], none, n, none, *told)
        return start, lists[0], lists[1]


def _tie(channels: Channels, sums: HostArray) -> HostArray:
    """The larger child; of two that weigh the same, that of later classes, or of a larger mean."""
    weight = channels.weight_of(sums)
    scored = sums[..., channels.scored]
    factor = np.arange(channels.n_scored) if channels.is_classes else np.ones(1)
    category = (scored[..., : len(factor)] * factor).sum(axis=-1) / np.maximum(weight, 1)
    by_category = category[:, 1] > category[:, 0]
    return np.where(weight[:, 0] == weight[:, 1], by_category, weight[:, 1] > weight[:, 0]).astype(
        int
    )


def larger_child(channels: Channels, sums: HostArray) -> HostArray:
    """The child with more weight, STAY where both weigh the same; sums (nodes, 2, channels)."""
    weight = channels.weight_of(sums)
    side = np.where(weight[:, 1] > weight[:, 0], 1, 0)
    return np.where(weight[:, 0] == weight[:, 1], STAY, side)


def detours_by(found: Surrogates, bins: Bins, moves: Moves, fallback: HostArray) -> Detours:
    """Surrogates as tests for rows that have stayed, and then the larger child.

    Surrogates come in the order of the nodes, whatever their numbers are.
    """
    return Detours(
        n=np.bincount(_places(found.node, moves.node), minlength=len(moves.node)),
        feature=found.feature,
        n_values=bins.n_values[found.feature],
        code=found.code,
        low_slot=found.low_slot,
        category_start=found.category_start,
        category=found.category,
        slot=found.slot,
        otherwise=fallback,
    )


def _places(some: HostArray, node: HostArray) -> HostArray:
    """Where some nodes are among others, which come in any order."""
    by_number = np.argsort(node)
    return np.asarray(by_number[np.searchsorted(node, some, sorter=by_number)])
