"""Sums, extremes and bytes of all ranks, over whatever carries messages from one to another.

An engine brings a `Link`, which sends a message to one rank and takes one of another. What is said,
and in which order, is written once here. Every message tells its number, verb and shape, so that
ranks that do not do the same end with an error; every wait has a deadline.
"""

import pickle
import traceback
from collections import defaultdict, deque
from collections.abc import Callable
from threading import Condition
from time import monotonic
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from gputree.comm import Comm
from gputree.dtypes import HostArray
from gputree.errors import ClusterError

# From here on each rank adds up a part, so that none has to send the whole twice.
RING_BYTES = 2**18
LONGEST_WAIT = 600.0  # seconds for an answer: ranks may be busy with rows of their own

Head: TypeAlias = tuple[int, str, tuple[int, ...], str]  # number, verb, shape and type
Message: TypeAlias = tuple[Head, HostArray]
Result = TypeVar("Result")


class Link(Protocol):
    """How messages go between ranks; what an engine has to bring."""

    rank: int
    size: int

    def send(self, to: int, message: Message) -> None:
        """Send an array that may change afterwards; does not wait for anyone."""
        ...

    def receive(self, source: int, deadline: float) -> Message:
        """The next message of a rank. TimeoutError at the deadline, ClusterError if all is over."""
        ...

    def warn(self, why: str) -> None:
        """Tell all other ranks that it is over."""
        ...


class Ranks:
    """A `Comm` over a link."""

    def __init__(self, link: Link, timeout: float = LONGEST_WAIT) -> None:
        self.rank, self.size = link.rank, link.size
        self._link, self._timeout = link, timeout
        self._number = 0

    def add(self, sums: HostArray) -> None:
        self._number += 1
        if sums.nbytes < RING_BYTES or self.size < 3:
            sums[...] = self._join("add", sums, np.add)
        elif sums.flags.c_contiguous:
            self._add_in_ring(sums.reshape(-1))
        else:
            flat = sums.ravel()
            self._add_in_ring(flat)
            sums[...] = flat.reshape(sums.shape)

    def extreme(self, values: HostArray, *, largest: bool) -> None:
        self._number += 1
        join = np.maximum if largest else np.minimum
        values[...] = self._join("largest" if largest else "smallest", values, join)

    def gather(self, message: bytes) -> list[bytes]:
        self._number += 1
        own = np.frombuffer(pickle.dumps({self.rank: message}), np.uint8)
        found = pickle.loads(self._join("gather", own, _united).tobytes())
        return [found[rank] for rank in range(self.size)]

    def stop(self, why: BaseException) -> NoReturn:
        text = "".join(traceback.format_exception(why)).rstrip()
        own = f"rank {self.rank} of {self.size} failed: {type(why).__name__}: {why}\n\n{text}"
        # Whoever ends because another rank did passes on what that one said.
        self._link.warn(str(why) if isinstance(why, ClusterError) else own)
        raise why

    def _join(self, verb: str, own: HostArray, join: Callable[..., Any]) -> HostArray:
        """Put together at rank 0 along a binomial tree, and sent back along it."""
        step = 1
        while step < self.size and not self.rank & step:
            if self.rank + step < self.size:
                own = join(own, self._receive(self.rank + step, verb, own, step.bit_length()))
            step *= 2
        if self.rank:
            self._send(self.rank - step, verb, own)
            own = self._receive(self.rank - step, verb, own, 2 * self.size.bit_length())
        while step > 1:
            step //= 2
            if self.rank + step < self.size:
                self._send(self.rank + step, verb, own)
        return own

    def _add_in_ring(self, flat: HostArray) -> None:
        """Each rank adds up a part, and the parts go round: bytes do not grow with the ranks."""
        part = np.array_split(flat, self.size)
        left, right = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        for turn in range(self.size - 1):
            self._send(right, "add", part[(self.rank - turn) % self.size])
            own = part[(self.rank - turn - 1) % self.size]
            own += self._receive(left, "add", own)
        for turn in range(self.size - 1):
            self._send(right, "add", part[(self.rank + 1 - turn) % self.size])
            own = part[(self.rank - turn) % self.size]
            own[...] = self._receive(left, "add", own)

    def _head(self, verb: str, array: HostArray) -> Head:
        # Ranks gather messages of any length.
        shape = () if verb == "gather" else array.shape
        return self._number, verb, shape, array.dtype.str

    def _send(self, to: int, verb: str, array: HostArray) -> None:
        self._link.send(to, (self._head(verb, array), array))

    def _receive(self, source: int, verb: str, like: HostArray, n_before: int = 0) -> HostArray:
        """An array like the own one, which has to wait for so many others.

        Who waits for a rank that waits for another has more patience, so that it is the rank that
        is stuck of which the error tells.
        """
        expected = self._head(verb, like)
        patience = self._timeout * (1.0 + n_before / 10)
        try:
            head, array = self._link.receive(source, monotonic() + patience)
        except TimeoutError:
            raise ClusterError(
                f"rank {source} of {self.size} has not answered rank {self.rank} for "
                f"{self._timeout:g} seconds ({verb}, number {self._number}); it is stuck, or busy "
                "for longer: give more `timeout` then"
            ) from None
        if tuple(head) != expected:
            raise ClusterError(
                f"ranks are out of step: rank {self.rank} is at {expected}, rank {source} at "
                f"{tuple(head)}; do all of them have the same version of gputree, and parameters "
                "that are the same?"
            )
        return array


def _united(one: HostArray, other: HostArray) -> HostArray:
    """The messages of several ranks in one."""
    both = pickle.loads(one.tobytes()) | pickle.loads(other.tobytes())
    return np.frombuffer(pickle.dumps(both), np.uint8)


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
        self._over: str | None = None

    def put(self, source: int, message: Message) -> None:
        """Take in a message of a rank."""
        with self._change:
            self._messages[source].append(message)
            self._change.notify_all()

    def end(self, why: str) -> None:
        """Wake whoever waits; the first reason counts."""
        with self._change:
            self._over = self._over or why
            self._change.notify_all()

    def take(self, source: int, deadline: float) -> Message:
        """The next message of a rank."""
        with self._change:
            while not self._messages[source] and self._over is None:
                if not self._change.wait(deadline - monotonic()):
                    raise TimeoutError
            if self._over is not None:
                raise ClusterError(self._over)
            return self._messages[source].popleft()
