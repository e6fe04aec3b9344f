"""Threads that run kernels over ranges of items."""

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from gputree.backends.contract import Item, Result

SHARES = 4  # ranges a thread: small enough that none waits long for the others
LEAST_WORK = 50_000  # cells or rows of a range: some 50 microseconds, what handing it out takes


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A pool of threads. Kernels drop the interpreter lock, so threads run at the same time."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._here = threading.local()

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
        if self._is_inside:
            kernel(0, n_items, *args)
            return
        n_ranges = min(self.n_threads * shares, max(1, n_items // least))
        if work is not None:
            n_ranges = min(n_ranges, max(1, work // LEAST_WORK))
        if self.n_threads == 1 or n_ranges == 1:
            kernel(0, n_items, *args)
            return
        bounds = [n_items * i // n_ranges for i in range(n_ranges + 1)]
        self.map(
            lambda i: kernel(bounds[i], bounds[i + 1], *args),
            range(n_ranges),
        )

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of a function of each item, in order. Calls from inside a call run alone."""
        if self.n_threads == 1 or len(items) <= 1 or self._is_inside:
            return [function(item) for item in items]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(
                self.n_threads - 1, thread_name_prefix="gputree", initializer=self._enter
            )
        found: dict[int, Result] = {}
        turn = itertools.count()

        def work() -> None:
            while (i := next(turn)) < len(items):
                found[i] = function(items[i])

        # The caller works, too: waking a thread takes longer than many a kernel.
        others = [self._pool.submit(work) for _ in range(min(self.n_threads, len(items)) - 1)]
        self._here.is_worker = True
        try:
            work()
        except BaseException:
            turn = itertools.count(len(items))  # the others end with what they have begun
            raise
        finally:
            self._here.is_worker = False
            wait(others)
        for other in others:
            other.result()
        return [found[i] for i in range(len(items))]

    @property
    def _is_inside(self) -> bool:
        return getattr(self._here, "is_worker", False)

    def _enter(self) -> None:
        self._here.is_worker = True
