"""Means of numbers by sums of integers, so that they do not depend on the order of the rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from gputree.data.gradients import wide_shift
from gputree.data.weights import brought_near_one
from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Weighing:
    """The weights of some rows, of which one or several means are taken."""

    near: HostArray  # (rows,) weights divided by a power of two
    total: int  # of all, times 2**shift
    shift: int

    @classmethod
    def of(cls, weight: HostArray) -> Self:
        near, _ = brought_near_one(weight)
        assert near is not None
        shift = wide_shift(len(near), float(near.max()))
        return cls(near, _whole_sum(near, shift), shift)

    def shift_for(self, largest: float) -> int:
        """The exponent that makes whole numbers of weighted values up to such a magnitude."""
        return wide_shift(len(self.near), largest)

    def mean(self, total: int, shift: int) -> float:
        """The mean of values that add up to `total` times 2**-shift with their weights."""
        return float(np.ldexp(total / self.total, self.shift - shift))


def average(values: HostArray, weight: HostArray) -> float:
    """The weighted mean by exact sums; infinite where one of the values is."""
    if not np.isfinite(values).all():
        return np.inf
    weighing = Weighing.of(weight)
    weighted = values * weighing.near
    shift = weighing.shift_for(float(np.abs(weighted).max()))
    return weighing.mean(_whole_sum(weighted, shift), shift)


def _whole_sum(values: HostArray, shift: int) -> int:
    return int(np.rint(values * 2.0**shift).astype(np.int64).sum())
