"""Who takes part: the backends of gputree and the peers, and who sits out which case.

Importing this module imports none of them.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

SLOW_CELLS = 10_000_000  # rows x features from which slow contestants take part only with --slow
CUDA_LIBRARIES = ("cuda", "cupy")  # backends that always run on a GPU


@dataclass(frozen=True)
class Job:
    """What is to be fitted, and with how many threads."""

    n_rows: int
    n_features: int
    n_classes: int  # 0 for a regression
    depth: int | None
    threads: int

    @property
    def n_cells(self) -> int:
        return self.n_rows * self.n_features


class Learner(Protocol):
    """A library that is loaded, ready for one job."""

    def fit(self, X: Any, y: Any) -> Any:
        """A model of one tree, or of one a class where the library boosts."""

    def predict(self, model: Any, X: Any) -> Any:
        """Class numbers, or values."""

    def n_leaves(self, model: Any) -> int | None:
        """Leaves of all trees of the model, where the library tells."""


@dataclass(frozen=True)
class Contestant:
    """One way to fit a tree."""

    name: str
    distribution: str  # what pip knows it as
    open: Callable[[Job], Learner]  # imports the library
    is_peer: bool = True
    is_slow: bool = False
    threads: int | None = None  # asked for; None for as many as the job has
    has_threads: bool = True  # whether it can use more than one
    backend: str | None = None  # of gputree

    @property
    def compiles(self) -> bool:
        """Whether machine code is made on the first fit and kept on disk."""
        return self.backend in ("auto", "numba", "cuda")

    @property
    def on_gpu(self) -> bool:
        return self.backend in CUDA_LIBRARIES or (self.backend or "").endswith("@cuda")

    def threads_for(self, job: Job) -> int:
        """Threads that it uses."""
        return (self.threads or job.threads) if self.has_threads else 1

    def version(self) -> str | None:
        """The installed version, None without one."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def reason_to_skip(self, job: Job, allow_slow: bool) -> str | None:
        """Why it sits out, None if it takes part."""
        if self.version() is None:
            return f"not installed (pip install {self.distribution})"
        if self.is_slow and job.n_cells > SLOW_CELLS and not allow_slow:
            return f"slow: {job.n_cells:,} cells are over {SLOW_CELLS:,} (--slow lets it run)"
        if self.threads == job.threads:
            return f"the same as {self.name.rpartition('-')[0]} here"
        if self.threads is not None and self.threads > job.threads:
            return f"{self.threads} threads are more than the {job.threads} of this case"
        return None


def gputree_with(backend: str, threads: int | None = None) -> Contestant:
    """A backend of gputree, `name@cuda`, "auto", or "cuda" for whatever reaches a GPU."""

    def open_it(job: Job) -> Learner:
        from learners import GpuTree

        return GpuTree(job, backend)

    name = f"gputree-{backend}" if threads is None else f"gputree-{backend}-{threads}"
    return Contestant(
        name,
        "gputree-ml",
        open_it,
        is_peer=False,
        is_slow=backend not in ("auto", "numba") and not backend.endswith(CUDA_LIBRARIES),
        threads=threads,
        has_threads=backend != "numpy",
        backend=backend,
    )


def _peer(
    name: str,
    distribution: str,
    learner: str,
    *,
    is_slow: bool = False,
    has_threads: bool = True,
) -> Contestant:
    def open_it(job: Job) -> Learner:
        import learners

        return getattr(learners, learner)(job)

    return Contestant(name, distribution, open_it, is_slow=is_slow, has_threads=has_threads)


OURS = (gputree_with("numpy"), gputree_with("numba"), gputree_with("numba", 1))
PEERS = (
    _peer("sklearn-exact", "scikit-learn", "ExactTree", is_slow=True, has_threads=False),
    _peer("sklearn-hist", "scikit-learn", "HistGradientBoosting"),
    _peer("lightgbm", "lightgbm", "LightGbm"),
    _peer("xgboost", "xgboost-cpu", "XgBoost"),
    _peer("ydf", "ydf", "Ydf", is_slow=True),
    _peer("snapml", "snapml", "SnapMl"),
)


def find(name: str) -> Contestant:
    """A contestant by its name: as above, or gputree-BACKEND, or gputree-BACKEND-THREADS."""
    known = {each.name: each for each in (*OURS, *PEERS)}
    if name in known:
        return known[name]
    ours = re.fullmatch(r"gputree-(?P<backend>[\w@]+)(?:-(?P<threads>\d+))?", name)
    if ours is None:
        raise ValueError(f"{name!r} is no contestant; choose from {', '.join(known)}")
    return gputree_with(ours["backend"], int(ours["threads"]) if ours["threads"] else None)


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
