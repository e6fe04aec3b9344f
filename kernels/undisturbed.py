"""Work that Ctrl-C must not stop half-way, as importing numba and compiling with it."""

import _thread
import atexit
import functools
import os
import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue

PATIENCE = 0.05  # seconds after which a thread asks anew whether anybody waits for it

# Held while such work is done. A process ends, and is forked, when that is over: a thread that is
# cut off inside the compiler leaves its locks taken.
_AT_WORK = threading.RLock()
_HERE = threading.local()


class Abandoned(Exception):
    """Nobody waits any more for what this thread was asked to do."""


def undisturbed(function):
    """The function, run where no KeyboardInterrupt is raised.

    Signals are handled in the main thread, so another one does the work. An interrupt reaches the
    caller at once; the work goes on to its end, and its result is dropped. An exception in the
    middle of a compiler would leave locks taken and machine code half linked, so that later calls
    hang or crash; one in the middle of an import leaves modules that can never be imported.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        if getattr(_HERE, "is_undisturbed", False):
            return function(*args, **kwargs)
        outcome = SimpleQueue()
        try:
            # Not a threading.Thread: an interrupt while it starts may keep it from ever running.
            _thread.start_new_thread(_work, (outcome, function, args, kwargs))
        except RuntimeError:  # there is no room for another thread
            return function(*args, **kwargs)
        result, error = _wait(outcome)
        if error is not None:
            raise error
        return result

    return call


@contextmanager
def no_longer_than(is_wanted):
    """Inside, this thread waits for undisturbed work while that is true, and is Abandoned then."""
    _HERE.is_wanted = is_wanted
    try:
        yield
    finally:
        _HERE.is_wanted = None


def _work(outcome, function, args, kwargs):
    _HERE.is_undisturbed = True
    with _AT_WORK:
        try:
            outcome.put((function(*args, **kwargs), None))
        except BaseException as error:
            outcome.put((None, error))


def _wait(outcome):
    is_wanted = getattr(_HERE, "is_wanted", None)
    while True:
        # Now and then, not once: a handler of another library may let a wait go on after a signal.
        try:
            return outcome.get(timeout=PATIENCE)
        except Empty:
            if is_wanted is not None and not is_wanted():
                raise Abandoned from None


atexit.register(_AT_WORK.acquire)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_AT_WORK.acquire,
        after_in_parent=_AT_WORK.release,
        after_in_child=_AT_WORK.release,
    )
