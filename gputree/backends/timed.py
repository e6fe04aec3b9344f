"""A backend that keeps the time of each verb."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from gputree.backends.contract import Backend, Item, Result


class Timed:
    """Wraps a backend; `seconds` tells how long each verb took in all.

    Verbs that ran at the same time share the time that passed meanwhile.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        before = self.seconds
        self.seconds = defaultdict(float)
        start = time.perf_counter()
        try:
            return self._backend.each(task, items)
        finally:
            passed = time.perf_counter() - start
            share = passed / max(passed, sum(self.seconds.values()))
            for name, seconds in self.seconds.items():
                before[name] += share * seconds
            self.seconds = before

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        if not callable(found) or "bytes" in name:
            return found

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return found(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - start
                with self._lock:
                    self.seconds[name] += seconds

        return timed
