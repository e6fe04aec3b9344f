"""Workers of pytest-xdist share machine code: who needs what another compiles waits for it.

Otherwise every worker of a first run would compile every kernel, and two that keep machine code
of one function at the same time would lose that of one.
"""

import os
import tempfile
from contextlib import contextmanager
from functools import wraps
from hashlib import blake2b
from pathlib import Path


def share():
    """Compile, or load what was compiled meanwhile, under a lock of the function.

    Must be called before kernels are imported. Locks are taken along calls, from a kernel to the
    functions that are compiled into it, by one thread of a process at a time: no two workers can
    wait for each other.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None or os.name != "posix":
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    file = os.open(_place(run), os.O_CREAT | os.O_RDWR)  # until the process ends
    compile_alone = Dispatcher.compile

    @wraps(compile_alone)
    def compile_once(self, sig):
        with global_compiler_lock, _locked(file, self.py_func):
            return compile_alone(self, sig)

    Dispatcher.compile = compile_once


def forget(run):
    """Remove the file of the locks when a run is over."""
    _place(run).unlink(missing_ok=True)


def _place(run):
    return Path(tempfile.gettempdir(), f"gputree-{run}.lock")


@contextmanager
def _locked(file, function):
    """Each function has a byte of the file, which need not be as long."""
    import fcntl

    name = f"{function.__code__.co_filename} {function.__qualname__}"
    place = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
    try:
        yield
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
