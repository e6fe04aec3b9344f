"""Kernels of a kind of fit, compiled by a process of their own while NumPy begins.

numba compiles under the interpreter lock, so a thread would hold up what goes on meanwhile, and
NumPy would wait for the lock at every array. Another process disturbs nobody: what it compiles is
kept on the disk, and whoever asks finds it there. It ends when this process ends, however that
happens, and an interrupt from the keyboard is none of its business.

Knows processes and files; must not know what a fit is.
"""

import atexit
import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from gputree import kernels
from gputree.backends.user_folder import user_folder

# What the other process runs: it reads a job from its input, and works by the modules of this one.
PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from gputree.diagnostics.compile_aside import main
main()
"""
COMPILING = "compiling kernels (once)"  # what lines of progress say of it
USUAL = "usual"  # the kind that stands for all usual ones, which are compiled together


@dataclass(frozen=True)
class Job:
    """A kind of fit, in words, and what another process needs to compile its kernels."""

    kind: str
    pack: Callable[[], bytes]  # called only when there is something to compile


class _Work:
    """What this process knows of kinds of fits, and the one process that it has started."""

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.failed: set[str] = set()
        self.kind = ""
        self.process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        """Learn whether the other process has come to its end."""
        if self.process is None or self.process.poll() is None:
            return
        if not _mark(self.kind).exists():
            self.failed.add(self.kind)
        self._forget()

    def start(self, job: Job) -> None:
        """Let another process compile; a job that cannot be told to it has failed."""
        try:
            with tempfile.TemporaryFile() as told:
                # Modules are found where this process finds them.
                told.write(pickle.dumps(sys.path) + pickle.dumps(str(_mark(job.kind))) + job.pack())
                told.seek(0)
                self.process = subprocess.Popen(
                    [sys.executable, "-W", "ignore", "-c", PROGRAM],
                    stdin=told,
                    stdout=subprocess.PIPE,  # into which it writes for as long as somebody reads
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # where no keyboard reaches it
                )
                self.kind = job.kind
        except Exception:  # of a table of another library, or a parameter that cannot be pickled
            self.failed.add(job.kind)

    def stop(self) -> None:
        """Nobody waits any more."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._forget()

    def _forget(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None


_work = _Work()


def is_possible() -> bool:
    """Whether another process may compile for this one.

    Not in a worker of a pool, each of which would compile the same; not where nothing can be kept,
    or where Python is a part of some other program. GPUTREE_COMPILE_ASIDE=0 says no, too.
    """
    if os.environ.get("GPUTREE_COMPILE_ASIDE", "1") == "0" or _is_worker():
        return False
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" or getattr(sys, "frozen", False):
        return False
    return Path(sys.executable or "").name.lower().startswith("python") and _may_write(_folder())


def is_ready(job: Job) -> bool:
    """Whether the kernels of a kind of fit are on the disk."""
    _work.look()
    if job.kind not in _work.ready and (_mark(job.kind).exists() or _mark(USUAL).exists()):
        _work.ready.add(job.kind)
    return job.kind in _work.ready


def has_settled(job: Job) -> bool:
    """Whether there is nothing to wait for: kernels are there, or nobody else can compile them.

    As long as there is, some process is at it when this returns.
    """
    if is_ready(job) or job.kind in _work.failed:
        return True
    if _work.process is None:
        _work.start(job)
    return job.kind in _work.failed


def note() -> str:
    """What a line of progress says while this process, or one that it has started, compiles."""
    _work.look()
    loaded = sys.modules.get("gputree.kernels.cpu.jit")
    is_busy = loaded is not None and loaded.COMPILE_TIME.is_running
    return COMPILING if is_busy or _work.process is not None else ""


def note_compiled(kind: str) -> None:
    """Remember that this process has compiled, or loaded, all kernels of a kind of fit."""
    if kind not in _work.ready:
        _work.ready.add(kind)
        write_mark(_mark(kind))


def write_mark(mark: Path) -> None:
    """Leave a mark on the disk that some kernels are there."""
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _folder() -> Path:
    """Where marks are: beside machine code, or where numba keeps that in a folder of the user."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    return _sources() / "__pycache__" if _may_write(_sources()) else user_folder()


def _mark(kind: str) -> Path:
    """The file that tells of a kind of fit; it goes when machine code is deleted."""
    digest = hashlib.sha256(f"{kind} {_edition()}".encode()).hexdigest()
    return _folder() / f"fit-{digest[:32]}.nbi"


@cache
def _edition() -> str:
    """What machine code depends on beside its kind: the compiler, Python, and the sources."""
    numba = find_spec("numba")
    files = [*_sources().glob("*.py"), *_sources().parent.glob("*.py")]
    if numba is not None and numba.origin is not None:
        files.append(Path(numba.origin))
    changed = sorted(file.stat().st_mtime_ns for file in files)
    return f"{sys.implementation.cache_tag} {_sources()} {changed}"


@cache
def _sources() -> Path:
    return Path(kernels.__path__[0]) / "cpu"


def _may_write(folder: Path) -> bool:
    """Whether files can be made in a folder, which need not be there yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _is_worker() -> bool:
    """Whether another process of Python has started this one to share its work."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.current_process().name != "MainProcess"


def _forget_all() -> None:
    """A fork has not started what its parent has."""
    global _work
    _work = _Work()


atexit.register(lambda: _work.stop())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
