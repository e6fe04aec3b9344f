"""A backend that keeps the time of each verb."""

import time
from collections import defaultdict
from typing import Any

from gputree.backends.contract import Backend


class Timed:
    """Wraps a backend; `seconds` tells how long each verb took in all."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        if not callable(found) or name.startswith("bytes_"):
            return found

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return found(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - start

        return timed
