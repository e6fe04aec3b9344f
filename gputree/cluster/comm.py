"""Sums, extremes and bytes of all ranks, over whatever carries messages from one to another.

An engine brings a `Link`, which sends a message to one rank and takes one of another. What is said,
and in which order, is written once here. Every message tells its number, verb and shape, so that
ranks that do not do the same end with an error; every wait has a deadline.

Ranks speak in pairs: in turn k with the one whose number differs in bit k, so that all know what
all have after log2(ranks) turns. Where their number is no power of two, those beyond the largest
one in it leave what they have to another rank, and are told at the end.
"""

import pickle
import traceback
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from time import monotonic, perf_counter
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from gputree.comm import Comm
from gputree.dtypes import HostArray
from gputree.errors import ClusterError, LostRank

# From here on each rank adds up a part, so that bytes do not grow with the number of ranks.
PART_BYTES = 2**17
SPARSE_BYTES = 2**12  # from here on it pays to look whether most sums are 0
LONGEST_WAIT = 600.0  # seconds for an answer: ranks may be busy with rows of their own

Head: TypeAlias = tuple[int, str, tuple[int, ...], str]  # number, verb, shape and type
Message: TypeAlias = tuple[Head, HostArray]
Join: TypeAlias = Callable[[HostArray, HostArray], HostArray]
Result = TypeVar("Result")


class Link(Protocol):
    """How messages go between ranks; what an engine has to bring."""

    rank: int
    size: int
    where: str  # what a user knows the rank by

    def send(self, to: int, message: Message) -> None:
        """Send an array that may change afterwards; does not wait for anyone."""
        ...

    def receive(self, source: int, deadline: float) -> Message:
        """The next message of a rank. TimeoutError at the deadline, ClusterError if all is over."""
        ...

    def warn(self, why: str, *, is_lost: bool) -> None:
        """Tell all other ranks that it is over, perhaps because one of them was lost."""
        ...


@dataclass
class Traffic:
    """What a rank has said, and how long it has waited for others."""

    where: str
    n_messages: int = 0
    n_bytes: int = 0
    seconds_waiting: float = 0.0


class Ranks:
    """A `Comm` over a link."""

    def __init__(self, link: Link, timeout: float = LONGEST_WAIT) -> None:
        self.rank, self.size = link.rank, link.size
        self.traffic = Traffic(link.where)
        self.n_threads: int | None = None  # that a rank has, where its engine tells
        self.on_tree: Callable[[Any], Any] | None = None  # is told of each tree of an ensemble
        self._link, self._timeout = link, timeout
        self._number = 0
        self._n_paired = 1 << (link.size.bit_length() - 1)  # ranks that speak in pairs

    @property
    def order(self) -> list[int]:
        """The ranks as parts of an array are dealt out to them; see `add_parts`."""
        twins = ([rank, rank + self._n_paired] for rank in range(self._n_paired))
        return [rank for pair in twins for rank in pair if rank < self.size]

    def add(self, sums: HostArray) -> None:
        if sums.nbytes < PART_BYTES or self.size < 3:
            sums[...] = self.join("add", sums, np.add)
            return
        flat = sums.reshape(1, -1)
        bounds = np.arange(self.size + 1) * flat.shape[1] // self.size
        part = self.add_parts(flat.copy(), bounds)
        whole = self.gather_parts(part, bounds)
        sums[...] = whole.reshape(sums.shape)

    def extreme(self, values: HostArray, *, largest: bool) -> None:
        join = np.maximum if largest else np.minimum
        values[...] = self.join("largest" if largest else "smallest", values, join)

    def gather(self, message: bytes) -> list[bytes]:
        own = np.frombuffer(pickle.dumps({self.rank: message}), np.uint8)
        found = pickle.loads(self.join("gather", own, _united).tobytes())
        return [found[rank] for rank in range(self.size)]

    def exchange(self, messages: list[bytes]) -> list[bytes]:
        self._number += 1
        found = list(messages)
        for step in range(1, self.size):
            other = (self.rank + step) % self.size
            self._send(other, "gather", np.frombuffer(messages[other], np.uint8))
        for step in range(1, self.size):
            other = (self.rank - step) % self.size
            found[other] = self._receive(other, "gather", np.empty(0, np.uint8)).tobytes()
        return found

    def stop(self, why: BaseException) -> NoReturn:
        text = "".join(traceback.format_exception(why)).rstrip()
        own = f"rank {self.rank} of {self.size} failed: {type(why).__name__}: {why}\n\n{text}"
        # Whoever ends because another rank did passes on what that one said.
        own = str(why) if isinstance(why, ClusterError) else own
        self._link.warn(own, is_lost=isinstance(why, LostRank))
        raise why

    def join(self, verb: str, own: HostArray, join: Join) -> HostArray:
        """What all ranks have, put together pair by pair, in any order."""
        self._number += 1
        twin = self._twin
        if self.rank >= self._n_paired:
            self._send(twin, verb, own)
            return self._receive(twin, verb, own, self.size.bit_length())
        if twin < self.size:
            own = join(own, self._receive(twin, verb, own))
        for turn in range(self._n_paired.bit_length() - 1):
            other = self.rank ^ (1 << turn)
            self._send(other, verb, own)
            own = join(own, self._receive(other, verb, own, 1 + turn))
        if twin < self.size:
            self._send(twin, verb, own)
        return own

    def add_parts(self, sums: HostArray, bounds: HostArray) -> HostArray:
        """The sums of all ranks in one part of an array, which is changed on the way.

        Part i is what lies from bounds[i] up to bounds[i + 1] on the second axis, and belongs to
        rank order[i]. Half of what is left is sent in each turn, so that each rank sends less than
        the whole, however many there are.
        """
        self._number += 1
        bounds, twin = bounds.tolist(), self._twin
        if self.rank >= self._n_paired:
            self._send(twin, "add", sums)
            first = self._first_part(twin) + 1
            return self._receive(twin, "add", sums[:, bounds[first] : bounds[first + 1]], 16)
        if twin < self.size:
            sums += self._receive(twin, "add", sums)
        first, n = 0, self._n_paired  # the parts that are left are those of so many pairs
        turn = 0
        while n > 1:
            n //= 2
            low, middle, high = (self._first_part(first + at * n) for at in range(3))
            other, turn = self.rank ^ n, turn + 1
            is_low = self.rank < first + n
            kept, given = (low, middle), (middle, high)
            if not is_low:
                kept, given, first = given, kept, first + n
            self._send(other, "add", sums[:, bounds[given[0]] : bounds[given[1]]])
            own = sums[:, bounds[kept[0]] : bounds[kept[1]]]
            own += self._receive(other, "add", own, turn)
        at = self._first_part(self.rank)
        if twin < self.size:
            self._send(twin, "add", sums[:, bounds[at + 1] : bounds[at + 2]])
        return np.ascontiguousarray(sums[:, bounds[at] : bounds[at + 1]])

    def gather_parts(self, part: HostArray, bounds: HostArray) -> HostArray:
        """The whole array from the parts of all ranks, each dealt out as by `add_parts`."""
        self._number += 1
        bounds, twin = bounds.tolist(), self._twin
        whole = np.empty((len(part), bounds[-1], *part.shape[2:]), part.dtype)
        if self.rank >= self._n_paired:
            self._send(twin, "gather", part)
            return self._receive(twin, "parts", whole, 16)
        at = self._first_part(self.rank)
        whole[:, bounds[at] : bounds[at + 1]] = part
        if twin < self.size:
            whole[:, bounds[at + 1] : bounds[at + 2]] = self._receive(twin, "gather", part)
        for turn in range(self._n_paired.bit_length() - 1):
            n = 1 << turn
            other = self.rank ^ n
            mine, its = (
                slice(*(bounds[self._first_part((each & -n) + step)] for step in (0, n)))
                for each in (self.rank, other)
            )
            self._send(other, "parts", whole[:, mine])
            whole[:, its] = self._receive(other, "parts", whole[:, its], 1 + turn)
        if twin < self.size:
            self._send(twin, "parts", whole)
        return whole

    @property
    def _twin(self) -> int:
        """Who takes the place of a rank that has no pair, or who leaves that to this one."""
        return self.rank ^ self._n_paired

    def _first_part(self, pair: int) -> int:
        """The number of the first part of a rank that speaks in pairs."""
        return pair + min(pair, self.size - self._n_paired)

    def _head(self, verb: str, array: HostArray) -> Head:
        # Ranks gather messages of any length.
        shape = () if verb == "gather" else array.shape
        return self._number, verb, shape, array.dtype.str

    def _send(self, to: int, verb: str, array: HostArray) -> None:
        body = _without_zeros(array) if verb == "add" else array
        self.traffic.n_messages += 1
        self.traffic.n_bytes += body.nbytes
        self._link.send(to, (self._head(verb, array), body))

    def _receive(self, source: int, verb: str, like: HostArray, n_before: int = 0) -> HostArray:
        """An array like the own one, which has to wait for so many others.

        Who waits for a rank that waits for another has more patience, so that it is the rank that
        is stuck of which the error tells.
        """
        expected = self._head(verb, like)
        patience, began = self._timeout * (1.0 + n_before / 10), perf_counter()
        try:
            head, array = self._link.receive(source, monotonic() + patience)
        except TimeoutError:
            raise ClusterError(
                f"rank {source} of {self.size} has not answered rank {self.rank} for "
                f"{self._timeout:g} seconds ({verb}, number {self._number}); it is stuck, or busy "
                "for longer: give more `timeout` then"
            ) from None
        self.traffic.seconds_waiting += perf_counter() - began
        if tuple(head) != expected:
            raise ClusterError(
                f"ranks are out of step: rank {self.rank} is at {expected}, rank {source} at "
                f"{tuple(head)}; do all of them have the same version of gputree, and parameters "
                "that are the same?"
            )
        if verb == "add" and array.dtype != like.dtype:
            return _with_zeros(array, like)
        return array


def _united(one: HostArray, other: HostArray) -> HostArray:
    """The messages of several ranks in one."""
    both = pickle.loads(one.tobytes()) | pickle.loads(other.tobytes())
    return np.frombuffer(pickle.dumps(both), np.uint8)


def _without_zeros(array: HostArray) -> HostArray:
    """Places and sums of what is not 0, as bytes, where that is shorter; or the array itself."""
    if array.nbytes < SPARSE_BYTES or array.size >= 2**32:
        return array
    size = 4 + array.itemsize
    if 2 * np.count_nonzero(array) * size > array.nbytes:
        return array
    flat = array.ravel()
    at = np.flatnonzero(flat).astype(np.uint32)
    return np.concatenate([at.view(np.uint8), flat[at].view(np.uint8)])


def _with_zeros(packed: HostArray, like: HostArray) -> HostArray:
    """The array that was packed so."""
    n = len(packed) // (4 + like.itemsize)
    flat = np.zeros(like.size, like.dtype)
    flat[packed[: 4 * n].view(np.uint32)] = packed[4 * n :].copy().view(like.dtype)
    return flat.reshape(like.shape)


def run_rank(comm: Comm, task: Callable[..., Result], *args: Any) -> Result:
    """What a rank finds; if it fails, all others end, too."""
    try:
        return task(comm, *args)
    except BaseException as error:
        comm.stop(error)


class Inbox:
    """The messages that a rank has been sent, and whether all is over."""

    def __init__(self) -> None:
        self._change = Condition()
        self._messages: defaultdict[int, deque[Message]] = defaultdict(deque)
        self._over: ClusterError | None = None

    def put(self, source: int, message: Message) -> None:
        """Take in a message of a rank."""
        with self._change:
            self._messages[source].append(message)
            self._change.notify_all()

    def end(self, why: str, *, is_lost: bool = False) -> None:
        """Wake whoever waits; the first reason counts."""
        with self._change:
            self._over = self._over or (LostRank if is_lost else ClusterError)(why)
            self._change.notify_all()

    def take(self, source: int, deadline: float) -> Message:
        """The next message of a rank."""
        with self._change:
            while not self._messages[source] and self._over is None:
                if not self._change.wait(deadline - monotonic()):
                    raise TimeoutError
            if self._over is not None:
                raise self._over
            return self._messages[source].popleft()
