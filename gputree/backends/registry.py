"""From what a user asks for to a backend, imported when it is needed."""

import numbers
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gputree import kernels
from gputree.backends import aside
from gputree.backends.array.backend import ArrayBackend
from gputree.backends.array.current_device import OnDevice
from gputree.backends.array.libraries import open_library
from gputree.backends.aside import Job
from gputree.backends.contract import Backend
from gputree.backends.cpu.workers import available_cores
from gputree.backends.starting import Starting
from gputree.errors import BackendUnavailable
from gputree.kernels.undisturbed import undisturbed

BACKENDS = ("numpy", "numba", "cuda", "cupy", "torch", "array_api_strict")
_CPU_BACKENDS = ("numpy", "numba", "array_api_strict")
_CUDA_ONLY = ("cuda", "cupy")
_CUDA_BACKENDS = ("cuda", "cupy", "torch")  # in order of preference
_MODULE = {"cuda": "numba_cuda"}  # what must be installed, where that is not the backend's name

# Cells (rows x features) of all trees from which compiled kernels fit faster than NumPy, with the
# kernels loaded and without; benchmarks/crossover.py measures them on a machine. Loaded ones are
# quicker from some hundred cells on, but each has to be compiled once on a machine, which takes ten
# to thirty seconds. NumPy makes some five million cells a second of a tree.
LOADED_CELLS = 1_000
COLD_CELLS = 50_000_000
# Where another process can compile meanwhile, NumPy begins, and compiled kernels take over between
# two trees or rounds (`backends.starting`). Not where a fit takes a second or less, and not where
# NumPy would not even have finished one tree by the time that kernels are there.
ASIDE_CELLS = 5_000_000
ASIDE_TREE_CELLS = 75_000_000
# The same of predictions, by walks of a row down a tree: NumPy makes two million in the second
# that it takes to load the kernels.
LOADED_WALKS = 100
COLD_WALKS = 2_000_000
# Where kernels lie compiled on the disk, they are loaded in some 0.6 seconds: what NumPy takes for
# so many cells or walks. What a process has done before counts, too: one that fits many small
# tables loads kernels, and one that ends soon after has spent about twice the time it needed.
KEPT_CELLS = 500_000
KEPT_WALKS = 1_000_000
CATEGORY_CELLS = 10  # cells of numbers that take NumPy as long as one of categories
# Walks that NumPy makes while the kernels of predictions are loaded, and nothing else: those of a
# single tree, and those of many.
TREE_WALKS = 2_000
STACK_WALKS = 100_000
GPU_CELLS = 10_000_000  # from which a GPU is looked for; a guess: no GPU has been measured yet
_REMEDY = {
    "cuda": "pip install 'gputree-ml[cuda12]' or 'gputree-ml[cuda13]', as your driver allows",
    "numba": "pip install numba",
    "torch": "pip install torch",
    "cupy": "pip install 'gputree-ml[cuda12]' or 'gputree-ml[cuda13]', as your driver allows",
    "array_api_strict": "pip install array-api-strict",
}


# Backends of other libraries, by name: what makes one for a device and a number of threads.
_added: dict[str, Callable[[str, int], Backend]] = {}
_found = False  # whether compiled kernels were found on the disk
_spent = 0.0  # what NumPy has done in this process, as a share of what loading takes


@dataclass(frozen=True)
class Choice:
    """A backend on a device, and why it was taken."""

    backend: Backend
    reason: str


def choose(
    device: str = "auto",
    backend: str | None = None,
    *,
    n_jobs: int | None = None,
    n_cells: int = 0,
    n_category_cells: int = 0,
    n_trees: int = 1,
    n_walks: int | None = None,
    data_on: int | None = None,
    job: Callable[[], Job | None] | None = None,
) -> Choice:
    """The backend for `device` and `backend` as an estimator takes them.

    What is asked for and cannot be had is an error; only "auto" chooses freely, by the number of
    cells of the table and of those of categories, by how many trees will be grown on it, or how
    many walks of a row down one of `n_trees` predict it, by what there is of compiled kernels, and
    by the CUDA device that holds the table, if one does. `job` tells what another process needs to
    know of a fit to compile its kernels.
    """
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ValueError(f"device={device!r} is unknown; choose 'auto', 'cpu', 'cuda' or 'cuda:N'")
    n_threads = thread_count(n_jobs)
    if data_on is not None and (device == "cuda" or (device == "auto" and backend in _CUDA_ONLY)):
        device = f"cuda:{data_on}"
    if backend is not None:
        return Choice(_open(backend, device, n_threads), f"backend={backend!r} was requested")
    if device.startswith("cuda"):
        return _on_cuda(device, n_threads)
    no_gpu = "device='cpu' was requested"
    if device == "auto":
        if data_on is not None and _is_installed("cuda"):
            where = f"cuda:{data_on}"
            return Choice(_open("cuda", where, n_threads), f"the table is on {where}")
        has_gpu, no_gpu = _look_for_gpu(n_cells)
        if has_gpu:
            reason = f"{n_cells:,} cells are enough for the GPU that was found"
            return Choice(_open("cuda", "cuda:0", n_threads), reason)
    if n_walks is None:
        known = (
            job() if job is not None and n_cells >= LOADED_CELLS and aside.is_possible() else None
        )
        if known is not None and not aside.is_ready(known):
            begun = _for_first_fit(n_cells, n_category_cells, n_trees, n_threads, known)
            return replace(begun, reason=f"{begun.reason}; {no_gpu}")
        name, reason = _for_fit(n_cells, n_category_cells, n_trees)
    else:
        name, reason = _for_walks(n_walks, n_trees)
    return Choice(_open(name, "cpu", n_threads), f"{reason}; {no_gpu}")


def add(name: str, make: Callable[[str, int], Backend]) -> None:
    """Let estimators ask for a backend of another library by `backend=name`.

    `make` is called with the device as the user gave it, and the number of threads.
    """
    if name in BACKENDS:
        raise ValueError(f"{name!r} is a backend of gputree; give yours another name")
    _added[name] = make


def thread_count(n_jobs: Any) -> int:
    """Threads to use: all cores by default; -1 means all, -2 all but one, as in scikit-learn."""
    cores = available_cores()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: a number of threads, -1 for all cores, or None")
    return int(n_jobs) if int(n_jobs) > 0 else max(1, cores + 1 + int(n_jobs))


def _for_first_fit(
    n_cells: int, n_category_cells: int, n_trees: int, n_threads: int, job: Job
) -> Choice:
    """Where kernels are not compiled yet: NumPy, perhaps while another process compiles them.

    Bytes are the same, whoever grows which tree.
    """
    work, amount = _work_of(n_cells, n_category_cells, n_trees)
    if amount // n_trees >= ASIDE_TREE_CELLS:
        reason = f"{work} are enough to wait until kernels are compiled, which is done once"
        return Choice(_open("numba", "cpu", n_threads), reason)
    name, reason = _by_amount(work, amount, ASIDE_CELLS, counts_earlier=True)
    first = _open("numpy", "cpu", n_threads)
    if name == "numpy":
        return Choice(first, reason)
    if aside.has_settled(job):  # no other process can, and this one would wait
        name, reason = _by_amount(work, amount, COLD_CELLS)
        return Choice(_open(name, "cpu", n_threads), reason)
    reason = f"{work}: NumPy begins while another process compiles kernels, which is done once"
    return Choice(Starting(first, lambda: _open("numba", "cpu", n_threads), job), reason)


def _work_of(n_cells: int, n_category_cells: int, n_trees: int) -> tuple[str, int]:
    """What a fit has to do: in words, and as cells of numbers."""
    amount = (n_cells + (CATEGORY_CELLS - 1) * n_category_cells) * n_trees
    work = f"{n_cells:,} cells"
    if n_category_cells:
        work += f", {n_category_cells:,} of them of categories,"
    if n_trees > 1:
        work += f" in {n_trees:,} trees"
    return work, amount


def _for_fit(n_cells: int, n_category_cells: int, n_trees: int) -> tuple[str, str]:
    """NumPy for little work; compiled kernels once they pay for being loaded."""
    work, amount = _work_of(n_cells, n_category_cells, n_trees)
    if "gputree.backends.cpu.backend" in sys.modules:
        return _by_amount(work, amount, LOADED_CELLS)
    if not _are_kept():
        return _by_amount(work, amount, COLD_CELLS)
    return _by_amount(work, amount, KEPT_CELLS, counts_earlier=True)


def _for_walks(n_walks: int, n_trees: int) -> tuple[str, str]:
    """The same for predictions."""
    work = f"{n_walks:,} walks down a tree"
    if "gputree.backends.cpu.backend" not in sys.modules:
        if not _are_kept():
            return _by_amount(work, n_walks, COLD_WALKS)
        return _by_amount(work, n_walks, KEPT_WALKS, counts_earlier=True)
    if _loaded("gputree.backends.cpu.predict").is_loaded(n_trees):
        return _by_amount(work, n_walks, LOADED_WALKS)
    most = TREE_WALKS if n_trees == 1 else STACK_WALKS
    return _by_amount(work, n_walks, most, counts_earlier=True)


def _by_amount(
    work: str, amount: int, least: int, *, counts_earlier: bool = False
) -> tuple[str, str]:
    """NumPy below so much work, if what it has done before counts, together with that."""
    global _spent
    if amount >= least:
        return "numba", f"{work} are enough for compiled kernels"
    if not counts_earlier:
        return "numpy", f"{work} are fewer than the {least:,} that compiled kernels need"
    if _spent + amount / least >= 1:
        _spent = 0.0
        return "numba", f"{work} after earlier ones are enough for compiled kernels"
    _spent += amount / least
    return "numpy", (
        f"{work} and earlier ones are fewer than the {least:,} that compiled kernels need"
    )


def _are_kept() -> bool:
    """Whether trees have been grown by compiled kernels of this Python, which are on the disk."""
    global _found
    _found = _found or _finds_kept()  # another process may compile them later
    return _found


def _finds_kept() -> bool:
    source = Path(kernels.__path__[0]) / "cpu" / "grow.py"
    folders = [source.parent / "__pycache__"]
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        folders = [each for each in Path(chosen).glob(f"{source.parent.name}_*") if each.is_dir()]
    version = "".join(map(str, sys.version_info[:2]))
    kept = [path for folder in folders for path in folder.glob(f"grow.grow-*.py{version}*.nbi")]
    return any(path.stat().st_mtime >= source.stat().st_mtime for path in kept)


def _look_for_gpu(n_cells: int) -> tuple[bool, str]:
    """Whether to use a GPU for a table, or why not. Nothing is imported for small tables."""
    if n_cells < GPU_CELLS:
        return False, f"no GPU is searched for below {GPU_CELLS:,} cells"
    if not _is_installed("cuda"):
        return False, "no GPU is used, as numba-cuda is not installed"
    if _is_simulated():
        return False, "no GPU is used, as CUDA is simulated"
    return (True, "") if _cuda_devices("cuda") else (False, "no GPU was found")


def _on_cuda(device: str, n_threads: int) -> Choice:
    for name in _CUDA_BACKENDS:
        if name == "cuda" and _is_simulated():
            continue
        if _is_installed(name) and _cuda_devices(name):
            reason = f"device={device!r} was requested; {name} can use it"
            return Choice(_open(name, device, n_threads), reason)
    raise BackendUnavailable(
        f"device={device!r}: no CUDA device can be reached; it needs an NVIDIA GPU with its driver "
        f"and CuPy ({_REMEDY['cupy']}). Use device='auto' to run on the CPU"
    )


def _open(name: str, device: str, n_threads: int) -> Backend:
    if isinstance(name, str) and name in _added:
        return _added[name](device, n_threads)
    if name not in BACKENDS:
        known = ", ".join([*BACKENDS, *_added])
        raise ValueError(f"backend={name!r} is unknown; choose from {known}")
    if not _is_installed(name) and not (name == "cuda" and _is_simulated()):
        raise BackendUnavailable(f"backend={name!r} is not installed: {_REMEDY[name]}")
    if name in _CPU_BACKENDS and device.startswith("cuda"):
        raise ValueError(f"backend={name!r} runs on the CPU, not on device={device!r}")
    if name in _CUDA_ONLY and device == "cpu":
        raise ValueError(f"backend={name!r} runs on a GPU, not on device='cpu'")
    if name == "numba":
        # Imported here, because loading numba takes longer than fitting a small table.
        return _loaded("gputree.backends.cpu.backend").CpuBackend(n_threads)
    where = "cpu" if device == "auto" else device
    if name in _CUDA_ONLY or device.startswith("cuda"):
        where = _cuda_device(name, device)
    if name == "cuda":
        # Imported here: nobody without a GPU should pay for it.
        handle = _loaded("gputree.backends.cuda.device").open_device(where)
        return _loaded("gputree.backends.cuda.backend").CudaBackend(handle, n_threads=n_threads)
    return _array_backend(name, where)


@cache
def _array_backend(name: str, where: str) -> Backend:
    """One for all fits and predictions: it keeps nothing but what it has learnt of trees."""
    library = open_library(name, where)
    backend = ArrayBackend(library, name)
    return OnDevice(backend, library) if name == "cupy" else backend


def _cuda_device(name: str, device: str) -> str:
    """The device as "cuda:N", checked to be there."""
    n_devices = _cuda_devices(name)
    number = int(device.partition(":")[2] or 0)
    if number >= n_devices:
        raise BackendUnavailable(
            f"device={device!r} with backend={name!r}: {name} sees {n_devices} CUDA devices; it "
            "needs an NVIDIA GPU with its driver. Use device='auto' to run on the CPU"
        )
    return f"cuda:{number}"


@cache
def _loaded(module: str) -> Any:
    """A module that takes long to import; Ctrl-C meanwhile must not leave half of it."""
    return undisturbed(import_module)(module)


def _is_installed(name: str) -> bool:
    return find_spec(_MODULE.get(name, name)) is not None


def _is_simulated() -> bool:
    """Whether numba is told to simulate CUDA, as the tests do."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"


def _cuda_devices(name: str) -> int:
    if name == "cuda":
        return int(_loaded("gputree.backends.cuda.device").device_count())
    module = import_module(name)
    if name == "torch":
        return int(module.cuda.device_count())
    try:
        return int(module.cuda.runtime.getDeviceCount())
    except module.cuda.runtime.CUDARuntimeError:
        return 0
