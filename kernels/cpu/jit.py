"""How CPU kernels are compiled, and how long that took."""

import time

from numba import njit
from numba.core import event


def kernel(function):
    """Compile on first use and keep the machine code on disk, where a disk can be written to.

    Kernels run without the interpreter lock. Nothing is fused or reordered (no fastmath): the bits
    of a score are part of the contract.
    """
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # no place for a cache: a read-only installation without a home folder
        return njit(nogil=True, error_model="numpy")(function)


class CompileTime(event.Listener):
    """Adds up the seconds that numba compiles, whoever asks it to."""

    def __init__(self):
        self.seconds = 0.0
        self._depth = 0
        self._start = 0.0

    def on_start(self, event):
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event):
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start


# Compiling holds numba's own lock, so the starts and ends of several threads cannot mix.
COMPILE_TIME = CompileTime()
event.register("numba:compile", COMPILE_TIME)  # type: ignore[no-untyped-call]
