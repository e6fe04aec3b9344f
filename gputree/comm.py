"""What those who hold parts of one table's rows say to one another.

A fit has a `Comm`; where it has all rows to itself that is `ALONE`, which has nothing to say. What
crosses it are sums of integers, extremes and bytes, none of which depends on an order. Every rank
makes the same calls in the same order.
"""

from typing import NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from gputree.dtypes import HostArray


class Comm(Protocol):
    """One of the ranks that fit a model together."""

    rank: int
    size: int

    def add(self, sums: HostArray) -> None:
        """Put the sums of all ranks, int64, in the place of the own ones."""
        ...

    def extreme(self, values: HostArray, *, largest: bool) -> None:
        """Put the largest values of all ranks, or the smallest, in the place of the own ones."""
        ...

    def gather(self, message: bytes) -> list[bytes]:
        """The messages of all ranks, in their order."""
        ...

    def exchange(self, messages: list[bytes]) -> list[bytes]:
        """What each rank has for this one, in their order; given what this one has for each."""
        ...

    def stop(self, why: BaseException) -> NoReturn:
        """End the fit on every rank, and raise."""
        ...


class Alone:
    """All rows are here."""

    rank = 0
    size = 1

    def add(self, sums: HostArray) -> None:
        """They are the sums already."""

    def extreme(self, values: HostArray, *, largest: bool) -> None:
        """They are the extremes already."""

    def gather(self, message: bytes) -> list[bytes]:
        return [message]

    def exchange(self, messages: list[bytes]) -> list[bytes]:
        return messages

    def stop(self, why: BaseException) -> NoReturn:
        raise why


ALONE = Alone()


def total(comm: Comm, sums: npt.ArrayLike) -> HostArray:
    """The sums of integers over all ranks; those given stay as they are."""
    found = np.array(sums, np.int64)
    comm.add(found)
    return found


def largest(comm: Comm, values: npt.ArrayLike) -> HostArray:
    """The largest of each value over all ranks; without rows a rank says -inf."""
    return _extreme(comm, values, is_largest=True)


def smallest(comm: Comm, values: npt.ArrayLike) -> HostArray:
    """The smallest of each value over all ranks; without rows a rank says inf."""
    return _extreme(comm, values, is_largest=False)


def _extreme(comm: Comm, values: npt.ArrayLike, *, is_largest: bool) -> HostArray:
    found = np.array(values, np.float64)
    comm.extreme(found, largest=is_largest)
    return found
