"""Means of numbers by sums of integers, so that they do not depend on the order of the rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from gputree.comm import ALONE, Comm, largest, total
from gputree.data.gradients import wide_shift
from gputree.data.weights import brought_near_one
from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Weighing:
    """The weights of some rows, of which one or several means are taken."""

    near: HostArray  # (rows,) weights divided by a power of two
    n: int  # of the rows, whoever has them
    held: int  # the weight of all of them, times 2**shift
    shift: int

    @classmethod
    def of(cls, weight: HostArray, comm: Comm = ALONE) -> Self:
        near, _ = brought_near_one(weight, comm)
        assert near is not None
        n = int(total(comm, len(near)))
        shift = wide_shift(n, float(largest(comm, near.max(initial=0.0))))
        return cls(near, n, int(total(comm, _whole_sum(near, shift))), shift)

    def shift_for(self, most: float) -> int:
        """The exponent that makes whole numbers of weighted values up to such a magnitude."""
        return wide_shift(self.n, most)

    def mean(self, summed: int, shift: int) -> float:
        """The mean of values that add up to `summed` times 2**-shift with their weights."""
        return float(np.ldexp(summed / self.held, self.shift - shift))


def average(values: HostArray, weight: HostArray, comm: Comm = ALONE) -> float:
    """The weighted mean by exact sums; infinite where one of the values is."""
    if total(comm, np.count_nonzero(~np.isfinite(values))):
        return np.inf
    weighing = Weighing.of(weight, comm)
    weighted = values * weighing.near
    shift = weighing.shift_for(float(largest(comm, np.abs(weighted).max(initial=0.0))))
    return weighing.mean(int(total(comm, _whole_sum(weighted, shift))), shift)


def _whole_sum(values: HostArray, shift: int) -> int:
    return int(np.rint(values * 2.0**shift).astype(np.int64).sum())
