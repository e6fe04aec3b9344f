"""What splits are worth, as a function of the arrays of a library."""

import functools
from collections.abc import Callable, Sequence
from operator import add
from types import SimpleNamespace
from typing import Any

from gputree.backends.array.libraries import Library
from gputree.backends.contract import Search
from gputree.data.target import Channels
from gputree.dtypes import Array
from gputree.kernels.criteria import Criterion, score_by_arrays


class Scoring:
    """The scores of one search, from sums by channel."""

    def __init__(
        self, lib: Library, formulas: SimpleNamespace, channels: Channels, search: Search
    ) -> None:
        self._xp, self._channels, self._ridge = lib.xp, channels, search.ridge
        self._score = _score_of(lib, formulas, search.criterion)

    def weight_of(self, sums: Sequence[Array]) -> Array:
        """The weights of sums of all channels."""
        channels = self._channels
        return functools.reduce(add, sums[channels.scored]) if channels.is_classes else sums[0]

    def scores(
        self, left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array
    ) -> Array:
        """What splits are worth, from the scored channels of child 0 and of the node."""
        units, ridge = self._channels.units, self._ridge
        lefts, totals = (
            [self._real(*each) for each in zip(sums, units, strict=True)] for sums in (left, total)
        )
        weights = self._real(left_weight) + ridge, self._real(weight) + 2.0 * ridge
        return self._score(lefts, totals, *weights, len(units))

    def _real(self, sums: Array, unit: float = 1.0) -> Array:
        sums = self._xp.astype(sums, self._xp.float64)
        return sums if unit == 1.0 else sums * unit


def _score_of(lib: Library, formulas: SimpleNamespace, criterion: Criterion) -> Callable[..., Any]:
    """The score of a criterion; see `criteria.score_by_arrays`.

    The function of a user is machine code of the host.
    """
    user = criterion.user
    if user is None:
        return score_by_arrays(formulas, criterion)

    def score(
        left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array, n: int
    ) -> Array:
        lefts, totals = ([lib.to_host(own) for own in sums[:n]] for sums in (left, total))
        return lib.from_host(
            user.of_two(lefts, totals, lib.to_host(left_weight), lib.to_host(weight))
        )

    return score
