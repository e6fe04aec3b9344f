"""How CPU kernels are compiled, and how long that took."""

import hashlib
import time
import warnings
from contextlib import suppress
from pathlib import Path

from numba import njit, types
from numba.core import config, event
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from gputree.kernels.undisturbed import undisturbed


def kernel(function, *, is_inner=False, makes_arrays=True):
    """Compile on first use and keep the machine code on disk, where a disk can be written to.

    Kernels run without the interpreter lock. Nothing is fused or reordered (no fastmath): the bits
    of a score are part of the contract.
    """
    compiled = njit(
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=is_inner,
        _nrt=makes_arrays,  # a function that does not say so does what its caller does
    )(function)
    if config.DISABLE_JIT:
        return compiled
    with suppress(RuntimeError):  # no place for it: a read-only installation, no home folder
        compiled._cache = Cache(function)
    compiled.compile = undisturbed(compiled.compile)  # which loads what is kept, too
    find_template = compiled.get_call_template

    def template_of_types(args, kws):
        """Compile for types alone: numba would do so for each constant that is passed, too."""
        return find_template(tuple(types.unliteral(each) for each in args), kws)

    compiled.get_call_template = template_of_types
    return compiled


def inner(function):
    """A kernel that other kernels alone call: Python has no way in, which takes long to compile."""
    return kernel(function, is_inner=True)


def step(function):
    """A kernel that other kernels alone call, and that makes no arrays itself.

    Its arrays live as long as the caller's, so that nobody has to count who refers to them. To
    count takes longer than to search a node of a few rows.
    """
    return kernel(function, is_inner=True, makes_arrays=False)


def _sources():
    """What tells one edition of all kernels from another: numba looks at a kernel's own file only.

    Formulas and helpers are compiled into their callers, whose machine code would outlive them.
    """
    here = Path(__file__).parent
    files = sorted((*here.glob("*.py"), *here.parent.glob("*.py")))
    found = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr(found).encode()).hexdigest()


SOURCES = _sources()


class Cache(FunctionCache):
    """Machine code on disk, without which all goes on.

    Files may have been cut short by a full disk or a crash, and a folder may not be writable any
    more. What cannot be read is compiled and written anew, and so is what was compiled from other
    sources.
    """

    def __init__(self, function):
        super().__init__(function)
        self._cache_file._source_stamp = self._cache_file._source_stamp, SOURCES

    def load_overload(self, sig, target_context):
        """What is kept for a signature, or None."""
        try:
            # numba's own method would import, and register, all that it can compile. Machine code
            # asks for the runtime alone; who compiles brings the compiler up to date himself.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception as error:  # unpickling damaged files raises whatever it meets
            problem = error
        try:
            self.flush()  # an index that cannot be read could not be added to, either
        except OSError:
            self.disable()
        self._warn("cannot be read, so it is compiled anew", problem)
        return None

    def save_overload(self, sig, data):
        """Keep what was compiled for a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            self._warn("cannot be written, so every process compiles it again", error)

    def _warn(self, consequence, error):
        """Once a folder: Python shows the same text of the same line no second time."""
        warnings.warn(
            f"the machine code in {self.cache_path} {consequence} ({type(error).__name__}); "
            "NUMBA_CACHE_DIR can name another folder",
            stacklevel=1,
        )


class CompileTime(event.Listener):
    """Adds up the seconds that numba compiles, whoever asks it to."""

    def __init__(self):
        self.seconds = 0.0
        self._depth = 0
        self._start = 0.0

    @property
    def is_running(self):
        """Whether something is being compiled."""
        return self._depth > 0

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
