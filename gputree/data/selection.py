"""Exact weighted quantiles of values that are seen several times and never kept.

Each rank has an interval of the number line that holds its value. A sweep over the values counts
the weight in equal parts of every interval, and each rank goes on with the part that it is in,
until that is a single float64. A last sweep finds the value after each.
"""

import numpy as np

from gputree.comm import ALONE, Comm, smallest, total
from gputree.data.number_line import fine_bucket_of, is_new
from gputree.dtypes import HostArray

MOST_PARTS = 256  # of an interval; a sweep settles 8 bits
MOST_COUNTED = 2**20  # parts of all intervals together

_SIGN = 63
_BITS = 0x7FFFFFFFFFFFFFFF


def key_of(value: HostArray) -> HostArray:
    """An int64 for each float64, in the same order."""
    bits = (np.asarray(value, np.float64) + 0.0).view(np.int64)
    return bits ^ ((bits >> _SIGN) & _BITS)


def value_of(key: HostArray) -> HostArray:
    """The float64 of each key."""
    return (key ^ ((key >> _SIGN) & _BITS)).view(np.float64)


def first_key(bucket: HostArray) -> HostArray:
    """The smallest key whose value is in a fine bucket, or in one above it."""
    ends = key_of(np.array([-np.inf, np.inf]))
    low, high = (np.full(len(bucket), end) for end in (ends[0], ends[1] + 1))
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # whose sum may not overflow
        is_below = fine_bucket_of(value_of(np.minimum(middle, ends[1]))) < bucket
        is_below &= middle <= ends[1]
        low, high = np.where(is_below, middle + 1, low), np.where(is_below, high, middle)
    return low


class Selection:
    """The values at some ranks, and those after them."""

    def __init__(self, low: HostArray, high: HostArray, rank: HostArray) -> None:
        """`rank` is the weight to reach inside the keys from `low` to `high`, both included."""
        self._low, self._high, self._rank = low, high, rank
        self._above: HostArray | None = None
        self._begin()

    def _begin(self) -> None:
        """Lay out the parts that the next sweep counts."""
        first = is_new(self._low)
        self._place = np.cumsum(first) - 1  # the interval of each rank
        self._first, self._last = self._low[first], self._high[first]
        n_parts = MOST_PARTS
        while n_parts > 2 and n_parts * len(self._first) > MOST_COUNTED:
            n_parts //= 2
        width = self._last - self._first
        n_bits = np.array([int(each).bit_length() for each in width], np.int64)
        self._shift = np.maximum(n_bits - (n_parts.bit_length() - 1), 0)
        self._n_parts = n_parts
        self._count = np.zeros(len(self._first) * n_parts, np.int64)
        if (self._low == self._high).all():
            self._value = value_of(self._first)
            self._above = np.full(len(self._value), np.inf)
            self._has_above = np.zeros(len(self._value), bool)

    def see(self, values: HostArray, weight: HostArray | None) -> None:
        """Take in some of the values of a sweep."""
        is_known = values == values
        if weight is not None:
            is_known &= weight > 0
            weight = weight[is_known]
        known = values[is_known].astype(np.float64) + 0.0  # -0.0 and 0.0 are one value
        if self._above is None:
            self._add(key_of(known), weight)
        else:
            self._look_above(known)

    def _add(self, key: HostArray, weight: HostArray | None) -> None:
        span = np.searchsorted(self._first, key, side="right") - 1
        is_in = (span >= 0) & (key <= self._last[span])
        span, key = span[is_in], key[is_in]
        part = span * self._n_parts + ((key - self._first[span]) >> self._shift[span])
        # A total stays below 2**53, where floats count without rounding.
        own = None if weight is None else weight[is_in]
        self._count += np.bincount(part, own, len(self._count)).astype(np.int64)

    def _look_above(self, known: HostArray) -> None:
        assert self._above is not None
        below = np.searchsorted(self._value, known, side="left") - 1
        is_above = below >= 0
        below, known = below[is_above], known[is_above]
        np.minimum.at(self._above, below, known)
        self._has_above[below] = True

    def end_sweep(self, comm: Comm = ALONE) -> bool:
        """Draw conclusions from what all have seen; whether that was the last sweep."""
        if self._above is not None:
            self._above = smallest(comm, self._above)
            self._has_above = total(comm, self._has_above) > 0
            return True
        comm.add(self._count)
        reached = np.cumsum(self._count)
        wanted = self._rank + np.append(0, reached)[self._place * self._n_parts]
        part = np.searchsorted(reached, wanted)
        self._rank = wanted - (reached - self._count)[part]
        shift = self._shift[self._place]
        low = self._low + ((part - self._place * self._n_parts) << shift)
        self._high = np.minimum(self._high, low + (np.int64(1) << shift) - 1)
        self._low = low
        self._begin()
        return False

    def neighbours(self) -> tuple[HostArray, HostArray]:
        """The values on both sides of each cut."""
        assert self._above is not None
        return self._value[self._has_above], self._above[self._has_above]
