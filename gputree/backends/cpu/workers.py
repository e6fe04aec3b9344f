"""Threads that run kernels over ranges of items."""

import _thread
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic

from gputree.backends.contract import Item, Result
from gputree.backends.cpu.interrupts import interruptions_as_such
from gputree.kernels.undisturbed import no_longer_than

SHARES = 4  # ranges a thread: small enough that none waits long for the others
LEAST_WORK = 50_000  # cells or rows of a range: some 50 microseconds, what handing it out takes


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Some threads of the process. Kernels drop the interpreter lock, so they run together."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads

    def run(
        self,
        kernel: Callable[..., None],
        n_items: int,
        *args: Any,
        least: int = 1,
        shares: int = SHARES,
        work: int | None = None,
    ) -> None:
        """Call kernel(begin, end, *args) for ranges that cover all items, each at least `least`.

        A thread has `shares` ranges; one, where long ranges are quicker than their parts. `work` is
        how many cells or rows all items visit together; little work is not shared out.
        """
        if self._works_alone:
            kernel(0, n_items, *args)
            return
        n_ranges = min(self.n_threads * shares, max(1, n_items // least))
        if work is not None:
            n_ranges = min(n_ranges, max(1, work // LEAST_WORK))
        if n_ranges == 1:
            kernel(0, n_items, *args)
            return
        bounds = [n_items * i // n_ranges for i in range(n_ranges + 1)]
        self.map(
            lambda i: kernel(bounds[i], bounds[i + 1], *args),
            range(n_ranges),
        )

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of a function of each item, in order. Calls from inside a call run alone."""
        with interruptions_as_such():
            if self._works_alone or len(items) <= 1:
                return [function(item) for item in items]
            return _Job(function, items, min(self.n_threads, len(items)) - 1).results()

    @property
    def _works_alone(self) -> bool:
        return self.n_threads == 1 or getattr(_HERE, "is_at_work", False)


class _Job(Generic[Item, Result]):
    """Items that the caller and some helpers share.

    What the caller and helpers share are objects that cannot be left half-way by an interrupt: no
    condition, no future, no thread of `threading` has that property.
    """

    def __init__(
        self, function: Callable[[Item], Result], items: Sequence[Item], n_helpers: int
    ) -> None:
        self._function = function
        self._items = items
        self._found: dict[int, Result] = {}
        self._error: BaseException | None = None
        self._turn = itertools.count()
        self._is_wanted = True
        # A helper holds its lock while it works. The caller takes them all in the end: it waits for
        # helpers that work, and those that come later find theirs taken. It may ask again for one.
        self._locks = [threading.RLock() for _ in range(n_helpers)]

    def results(self) -> list[Result]:
        """Work together with the helpers; they are done when this ends, however it ends."""
        try:
            _HELPERS.call([partial(self._help, lock) for lock in self._locks])
            # The caller works, too: waking a thread takes longer than many a kernel.
            _HERE.is_at_work = True
            self._work()
        except BaseException:
            self._is_wanted = False
            raise
        finally:
            _HERE.is_at_work = False
            self._wait()
        if self._error is not None:
            raise self._error
        return [self._found[i] for i in range(len(self._items))]

    def _work(self) -> None:
        while self._is_wanted and (i := next(self._turn)) < len(self._items):
            self._found[i] = self._function(self._items[i])

    def _help(self, lock: threading.RLock) -> None:
        if not lock.acquire(blocking=False):
            return
        try:
            with no_longer_than(lambda: self._is_wanted):
                self._work()
        except BaseException as error:
            if self._is_wanted:
                self._is_wanted, self._error = False, error
        finally:
            lock.release()

    def _wait(self) -> None:
        """Until no helper works, whatever comes meanwhile: they may write to a caller's arrays."""
        interrupt: BaseException | None = None
        while True:
            try:
                for lock in self._locks:
                    lock.acquire()
                break
            except BaseException as error:
                interrupt, self._is_wanted = error, False
        if interrupt is not None:
            raise interrupt


class _Helpers:
    """The threads of the process: as many as were ever called at once.

    Nobody waits for them when the process ends: they have nothing to do then.
    """

    def __init__(self) -> None:
        self._threads: list[int] = []
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def call(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Let each task be done by a thread that has nothing else to do, now or later."""
        while len(self._threads) < len(tasks):
            try:
                self._threads.append(_thread.start_new_thread(_serve, (self._tasks,)))
            except RuntimeError:  # there is no room for another one, or the process is about to end
                break
        for task in tasks if self._threads else ():
            self._tasks.put(task)


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    _HERE.is_at_work = True
    while True:
        tasks.get()()


def _forget_helpers() -> None:
    """A fork has none of its parent's threads."""
    global _HELPERS
    _HELPERS = _Helpers()


_HERE = threading.local()  # whether this thread is at work on an item
_HELPERS = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)
