"""Runs of numbers, one after another: the children of some nodes, the codes of some features.

A run has `n[i]` members; together they are numbered from 0 on.
"""

from itertools import pairwise

import numpy as np

from gputree.dtypes import HostArray


def begins(n: HostArray) -> HostArray:
    """Where each run begins."""
    return np.asarray(np.cumsum(n, dtype=np.int64) - n)


def owners(n: HostArray) -> HostArray:
    """The run of each member."""
    return np.repeat(np.arange(len(n)), n)


def within(n: HostArray) -> HostArray:
    """The place of each member in its run: 0, 1, ..., n[0] - 1, 0, 1, ..."""
    return np.arange(int(n.sum())) - np.repeat(begins(n), n)


def spread_out(start: HostArray, n: HostArray) -> HostArray:
    """start[0], start[0] + 1, ..., n[0] of them, and so on."""
    return np.repeat(start, n) + within(n)


def first_largest(values: HostArray, n: HostArray) -> HostArray:
    """The place in its run of the largest value of each, the first of several; no run is empty."""
    if not len(n):
        return np.empty(0, np.int64)
    begin = begins(n)
    is_largest = values == np.repeat(np.maximum.reduceat(values, begin), n)
    return np.asarray(np.minimum.reduceat(np.where(is_largest, within(n), len(values)), begin))


def pieces(size: HostArray, most: int) -> list[slice]:
    """Items of such sizes in pieces that are not much larger than `most` together."""
    bound = np.flatnonzero(np.diff(np.cumsum(size) // most, prepend=0)).tolist()
    return [slice(a, b) for a, b in pairwise([0, *bound, len(size)]) if b > a]
