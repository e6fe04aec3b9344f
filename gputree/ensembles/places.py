"""The rows of several ranks in one order, and draws of which each rank makes a share.

No rank knows the order of all rows: each keeps a part of the places, and knows whose rows are
there. What is drawn by place goes to the rank that keeps it, and from there to whose row it is.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gputree import sampling
from gputree.comm import Comm, total
from gputree.dtypes import SUM, HostArray

DIGIT_BITS = 16  # of random numbers that are counted at once


@dataclass(frozen=True, eq=False)
class Places:
    """Where the rows of a rank are in the order of all, and whose rows are in its part of it."""

    comm: Comm
    ends: list[int]  # of the rows here whose places each rank keeps, in order
    held: list[HostArray]  # of the rows of each rank, where they are in the part that is kept here
    first: HostArray  # (ranks + 1,) where the part of each rank begins, and at last how many rows
    own: HostArray  # the places of the rows here

    @classmethod
    def of(cls, comm: Comm, key: HostArray, weight: HostArray) -> "Places":
        """Of rows that are sorted by key and weight here; each rank keeps a range of keys."""
        bounds = [(at << 64) // comm.size for at in range(1, comm.size)]
        ends = [0, *np.searchsorted(key, np.array(bounds, np.uint64)).tolist(), len(key)]
        told = _exchanged(comm, [(key[b:e], weight[b:e]) for b, e in pairwise(ends)])
        keys, weights = zip(*told, strict=True)
        order = np.argsort(np.lexsort((np.concatenate(weights), np.concatenate(keys))))
        n_each = [len(each) for each in keys]
        n_kept = [int(each) for each in comm.gather(str(sum(n_each)).encode())]
        held, first = np.split(order, np.cumsum(n_each)[:-1]), np.cumsum([0, *n_kept])
        here = first[comm.rank]
        own = _exchanged(comm, [here + at for at in held])
        return cls(comm, ends, held, first, np.concatenate(own))

    def to_keepers(self, values: HostArray) -> HostArray:
        """Integers of the rows here become those of the places that are kept here."""
        told = _exchanged(self.comm, [_short(values[b:e]) for b, e in pairwise(self.ends)])
        found = np.empty(sum(map(len, told)), SUM)
        for at, each in zip(self.held, told, strict=True):
            found[at] = each
        return found

    def to_owners(self, values: HostArray) -> HostArray:
        """Integers of the places that are kept here become those of the rows here."""
        told = _exchanged(self.comm, [_short(values[at]) for at in self.held])
        return np.concatenate(told).astype(SUM)


@dataclass(frozen=True, eq=False)
class Reach:
    """Whole weights added up in the order of places: what a number drawn among all of them hits."""

    places: Places
    bounds: HostArray  # (ranks + 1,) up to where the weights reach that each rank keeps
    reached: HostArray | None  # from there on, place by place; None where each weighs 1

    @classmethod
    def of(cls, places: Places, weight: HostArray | None) -> "Reach":
        """From the weights of the rows here, in order."""
        if weight is None:
            return cls(places, places.first, None)
        reached = np.cumsum(places.to_keepers(weight))
        held = str(int(reached[-1]) if len(reached) else 0).encode()
        bounds = np.cumsum([0, *map(int, places.comm.gather(held))])
        return cls(places, bounds, reached)

    def counts(self, seed: int, n_drawn: int) -> HostArray:
        """How often each row here is among so many that are drawn with replacement.

        Each rank draws a share of the numbers.
        """
        comm = self.places.comm
        begin, end = (n_drawn * at // comm.size for at in (comm.rank, comm.rank + 1))
        drawn = sampling.drawn_with_replacement(seed, end, int(self.bounds[-1]), begin)
        drawn.sort()
        ends = [0, *np.searchsorted(drawn, self.bounds[1:]).tolist()]
        parts = zip(self.bounds[:-1].tolist(), pairwise(ends), strict=True)
        told = _exchanged(comm, [_short(drawn[b:e] - first) for first, (b, e) in parts])
        place = np.concatenate(told).astype(np.int64)
        if self.reached is not None:
            place = np.searchsorted(self.reached, place, side="right")
        n_kept = int(self.places.first[comm.rank + 1] - self.places.first[comm.rank])
        return self.places.to_owners(np.bincount(place, minlength=n_kept))


def least(comm: Comm, number: HostArray, place: HostArray, n: int) -> HostArray:
    """Which of the random numbers here are among the `n` least of all ranks, (numbers,).

    Of equal ones those at lower places are.
    """
    among, prefix = np.ones(len(number), bool), 0
    for shift in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        digit = ((number >> np.uint64(shift)) & np.uint64(2**DIGIT_BITS - 1)).astype(np.int64)
        reached = np.cumsum(total(comm, np.bincount(digit[among], minlength=2**DIGIT_BITS)))
        last = int(np.searchsorted(reached, n))
        if last == len(reached):  # there are no more
            return np.ones(len(number), bool)
        n -= int(reached[last - 1]) if last else 0
        among &= digit == last
        prefix = (prefix << DIGIT_BITS) | last
    is_least = number < np.uint64(prefix)
    ties = np.sort(np.concatenate(_gathered(comm, place[among])))[:n]
    is_least[among] = np.isin(place[among], ties)
    return is_least


def _exchanged(comm: Comm, told: Sequence[Any]) -> list[Any]:
    """What each rank has for this one, from what this one has for each."""
    return [pickle.loads(each) for each in comm.exchange([pickle.dumps(each) for each in told])]


def _gathered(comm: Comm, own: HostArray) -> list[HostArray]:
    return [pickle.loads(each) for each in comm.gather(pickle.dumps(own))]


def _short(numbers: HostArray) -> HostArray:
    """The same numbers, none below 0, in as few bytes as hold them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
