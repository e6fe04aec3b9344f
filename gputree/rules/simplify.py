"""Leave out conditions of a rule that its pessimistic accuracy can do without."""

from collections.abc import Iterable, Iterator

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.confidence import error_limit

CELLS_AT_ONCE = 2**24  # conditions x rows of the rules that are shortened together


class Shortening:
    """A rule while conditions are left out.

    Parameters
    ----------
    unmet : (conditions, rows) bools
        Which rows do not meet which condition.
    is_wrong : (rows,) bools
        Which rows are of another class than the rule answers with.
    weight : (rows,)
        Their weights.
    """

    def __init__(self, unmet: HostArray, is_wrong: HostArray, weight: HostArray) -> None:
        self._unmet, self._is_wrong, self._weight = unmet, is_wrong, weight
        self.kept = list(range(len(unmet)))  # conditions, by number
        self.limit: float | None = None  # of the error without those left out so far
        # How many conditions a row fails at, and the sum of their numbers: the number of the one
        # condition, where there is only one.
        self._n_unmet = np.zeros(unmet.shape[1], np.min_scalar_type(len(unmet)))
        self._sum = np.zeros(unmet.shape[1], np.min_scalar_type(len(unmet) ** 2))
        for number, own in enumerate(unmet):
            self._n_unmet += own
            self._sum += own * self._sum.dtype.type(number)

    @property
    def n_cells(self) -> int:
        return self._unmet.size

    def weights(self) -> HostArray:
        """The weight of the rows covered, right and wrong: now, and without each condition."""
        now = self._weights(np.flatnonzero(self._n_unmet == 0))[:1]
        # Without a condition, a rule covers also the rows that fail at it alone.
        row = np.flatnonzero(self._n_unmet == 1)
        return np.concatenate([now, now + self._weights(row, self._sum[row])[self.kept]])

    def leave_out(self, at: int) -> None:
        """Leave out one of the conditions that are kept."""
        number = self.kept.pop(at)
        self._n_unmet -= self._unmet[number]
        self._sum -= self._unmet[number] * self._sum.dtype.type(number)

    def _weights(self, row: HostArray, number: HostArray | int = 0) -> HostArray:
        """The weights of rows by a number that each has, (numbers, 2)."""
        side = 2 * np.asarray(number, np.int64) + self._is_wrong[row]
        sums = np.bincount(side, self._weight[row], minlength=2 * len(self._unmet))
        return sums.reshape(-1, 2)


def needed(rules: Iterable[Shortening], confidence: float) -> Iterator[list[int]]:
    """The conditions of each rule that are kept, by number.

    One condition after the other is left out, always the one without which the limit of the error
    is the lowest, as long as it does not rise. `confidence` is the chance that the limit is
    exceeded.
    """
    some: list[Shortening] = []
    n_cells = 0
    for rule in rules:
        some.append(rule)
        n_cells += rule.n_cells
        if n_cells >= CELLS_AT_ONCE:
            yield from _shortened(some, confidence)
            some, n_cells = [], 0
    yield from _shortened(some, confidence)


def _shortened(rules: list[Shortening], confidence: float) -> list[list[int]]:
    """What some rules keep; a step is made by all of them, whose limits are one calculation."""
    active = rules
    while active:
        weights = [rule.weights() for rule in active]
        every = np.concatenate(weights)
        limits = error_limit(every.sum(axis=1), every[:, 1], confidence)
        ends = np.cumsum([len(own) for own in weights])[:-1]
        parts = zip(active, np.split(limits, ends), strict=True)
        active = [rule for rule, own in parts if _has_step(rule, own[0], own[1:])]
    return [rule.kept for rule in rules]


def _has_step(rule: Shortening, now: float, without: HostArray) -> bool:
    """Leave out the best condition, if the limit does not rise; whether more may follow."""
    if not rule.kept:
        return False
    best = int(without.argmin())
    if without[best] > (now if rule.limit is None else rule.limit):
        return False
    rule.limit = float(without[best])
    rule.leave_out(best)
    return bool(rule.kept)
