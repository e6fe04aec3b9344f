"""What all searches in array code share: admissible splits, their scores, and which one wins."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from types import SimpleNamespace
from typing import Any

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.candidates import have_enough, missing_slots
from gputree.backends.contract import NO_SPLIT, Search, Splits
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SUM, Array, HostArray
from gputree.kernels.criteria import score_by_arrays
from gputree.sampling import drawn_features


@dataclass(frozen=True)
class ArraySearch:
    """A search in some nodes, by the arrays of a library."""

    lib: Library
    formulas: SimpleNamespace
    bins: Bins
    channels: Channels
    rules: Search

    def of_nodes(self, some: HostArray | slice) -> "ArraySearch":
        """The search in some of the nodes."""
        return replace(self, rules=self.rules.of_nodes(some))

    @cached_property
    def has_thresholds(self) -> HostArray:
        """Which features may be split by one, (features,)."""
        is_ordered = self.rules.is_ordered
        return np.ones(len(self.bins.features), bool) if is_ordered is None else is_ordered

    @cached_property
    def has_missing(self) -> HostArray:
        """Which of these have a code for missing values."""
        return self.has_thresholds & (self.bins.n_codes > self.bins.n_values)

    def weight_of(self, sums: Sequence[Array]) -> Array:
        """The weights of sums by channel."""
        channels = self.channels
        return functools.reduce(add, sums[channels.scored]) if channels.is_classes else sums[0]

    def are_admissible(
        self,
        left: Sequence[Array],
        total: Sequence[Array],
        left_weight: Array,
        weight: Array,
        least: Array | None = None,
    ) -> Array:
        """Whether both children are large enough, from sums by channel of child 0 and the node."""
        counts = self.channels.counts_rows
        part = left[-1] if counts else left_weight, left_weight
        whole = total[-1] if counts else weight, weight
        return have_enough(self.channels, self.rules, part, whole, least)

    def scores(
        self, left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array
    ) -> Array:
        """What splits are worth, from the scored channels of child 0 and of the node."""
        units, ridge = self.channels.units, self.rules.ridge
        lefts, totals = (
            [self._real(*each) for each in zip(sums, units, strict=True)] for sums in (left, total)
        )
        weights = self._real(left_weight) + ridge, self._real(weight) + 2.0 * ridge
        with np.errstate(divide="ignore", invalid="ignore"):  # where a child would be empty
            return self._score(lefts, totals, *weights, len(units))

    def tried_features(self, pairs: Sequence[Array], n_nodes: int) -> HostArray:
        """Which features each node tries, from node * n_features + feature of all candidates."""
        assert self.rules.rank is not None
        shape = n_nodes, len(self.bins.features)
        found = self.lib.count(self.lib.xp.concat(list(pairs)), shape[0] * shape[1])
        can_split = self.lib.to_host(found).reshape(shape) > 0
        return drawn_features(self.rules.rank, self.rules.n_drawn, can_split)

    def first_of_highest(
        self, node: Array, score: Array, number: Array, n_nodes: int
    ) -> tuple[HostArray, HostArray]:
        """The least number among the best candidates of each node, and their score.

        -1 and NO_SPLIT for a node without candidates.
        """
        xp, lib = self.lib.xp, self.lib
        compared = self.formulas.trim(score)
        tie = xp.nonzero(compared == xp.take(lib.highest(node, compared, n_nodes), node))[0]
        node, score, number = (xp.take(part, tie) for part in (node, score, number))
        order = -xp.astype(number, xp.float64)
        first = xp.nonzero(order == xp.take(lib.highest(node, order, n_nodes), node))[0]
        at = lib.to_host(xp.take(node, first))
        numbers, scores = np.full(n_nodes, -1), np.full(n_nodes, NO_SPLIT)
        numbers[at] = lib.to_host(xp.take(number, first))
        scores[at] = lib.to_host(xp.take(score, first))
        return numbers, scores

    def splits(
        self,
        score: HostArray,
        feature: HostArray,
        code: HostArray,
        next_code: HostArray,
        side: HostArray,
        known: HostArray,
        missing: HostArray,
        total: HostArray,
    ) -> Splits:
        """The splits that won; `side` is 1 where missing values go left.

        With the sums of known values left, of missing values and of nodes, (nodes, channels).
        """
        left = known + np.where(side[:, None] == 1, missing, 0)
        return Splits(
            score=score,
            feature=feature.astype(FEATURE),
            code=code,
            next_code=next_code,
            missing_slot=missing_slots(self.channels, left, total - left, missing, side),
            left=left.astype(SUM),
        )

    def _real(self, sums: Array, unit: float = 1.0) -> Array:
        sums = self.lib.xp.astype(sums, self.lib.xp.float64)
        return sums if unit == 1.0 else sums * unit

    @cached_property
    def _score(self) -> Callable[..., Any]:
        """The score of the criterion; see `criteria.score_by_arrays`.

        The function of a user is machine code of the host.
        """
        user, host = self.rules.criterion.user, self.lib.to_host
        if user is None:
            return score_by_arrays(self.formulas, self.rules.criterion)

        def score(
            left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array, n: int
        ) -> Array:
            lefts, totals = ([host(own) for own in sums[:n]] for sums in (left, total))
            return self.lib.from_host(user.of_two(lefts, totals, host(left_weight), host(weight)))

        return score
