"""From what a user asks for to a backend, imported when it is needed."""

import numbers
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gputree.backends.array import ArrayBackend
from gputree.backends.contract import Backend
from gputree.backends.libraries import open_library
from gputree.backends.workers import available_cores
from gputree.errors import BackendUnavailable

BACKENDS = ("numpy", "numba", "torch", "cupy", "array_api_strict")
_CPU_BACKENDS = ("numpy", "numba", "array_api_strict")
_CUDA_BACKENDS = ("cupy", "torch")  # in order of preference

# Cells (rows x features) from which compiled kernels roughly fit a tree faster than NumPy, with the
# kernels loaded and without; benchmarks/crossover.py measures both on a machine.
LOADED_CELLS = 100_000
COLD_CELLS = 2_000_000
_REMEDY = {
    "numba": "pip install numba",
    "torch": "pip install torch",
    "cupy": "pip install 'gputree[cuda12]' or 'gputree[cuda13]', as your driver allows",
    "array_api_strict": "pip install array-api-strict",
}


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
) -> Choice:
    """The backend for `device` and `backend` as an estimator takes them.

    What is asked for and cannot be had is an error; only "auto" chooses freely, by the number of
    cells of the table.
    """
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ValueError(f"device={device!r} is unknown; choose 'auto', 'cpu', 'cuda' or 'cuda:N'")
    n_threads = thread_count(n_jobs)
    if backend is not None:
        return Choice(_open(backend, device, n_threads), f"backend={backend!r} was asked for")
    if device.startswith("cuda"):
        return _on_cuda(device, n_threads)
    name, reason = _for_cpu(n_cells)
    return Choice(_open(name, "cpu", n_threads), reason)


def thread_count(n_jobs: Any) -> int:
    """Threads to use: all cores by default; -1 means all, -2 all but one, as in scikit-learn."""
    cores = available_cores()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: a number of threads, -1 for all cores, or None")
    return int(n_jobs) if int(n_jobs) > 0 else max(1, cores + 1 + int(n_jobs))


def _for_cpu(n_cells: int) -> tuple[str, str]:
    """NumPy for small tables; compiled kernels once they pay for being loaded."""
    is_loaded = "gputree.backends.cpu" in sys.modules
    least = LOADED_CELLS if is_loaded else COLD_CELLS
    if n_cells < least:
        return "numpy", f"{n_cells:,} cells are fewer than the {least:,} that compiled kernels need"
    return "numba", f"{n_cells:,} cells are enough for compiled kernels"


def _on_cuda(device: str, n_threads: int) -> Choice:
    for name in _CUDA_BACKENDS:
        if find_spec(name) is not None and _cuda_devices(name):
            reason = f"device={device!r} was asked for; {name} reaches it"
            return Choice(_open(name, device, n_threads), reason)
    raise BackendUnavailable(
        f"device={device!r}: no CUDA device can be reached; it needs an NVIDIA GPU with its driver "
        f"and CuPy ({_REMEDY['cupy']}). Use device='auto' to run on the CPU"
    )


def _open(name: str, device: str, n_threads: int) -> Backend:
    if name not in BACKENDS:
        raise ValueError(f"backend={name!r} is unknown; choose from {', '.join(BACKENDS)}")
    if find_spec(name) is None:
        raise BackendUnavailable(f"backend={name!r} is not installed: {_REMEDY[name]}")
    if name in _CPU_BACKENDS and device.startswith("cuda"):
        raise ValueError(f"backend={name!r} runs on the CPU, not on device={device!r}")
    if name == "cupy" and device == "cpu":
        raise ValueError("backend='cupy' runs on a GPU, not on device='cpu'")
    if name == "numba":
        # Imported here, because loading numba takes longer than fitting a small table.
        from gputree.backends.cpu import CpuBackend

        return CpuBackend(n_threads)
    place = "cpu" if device == "auto" else device
    if name == "cupy" or device.startswith("cuda"):
        place = _cuda_place(name, device)
    return ArrayBackend(open_library(name, place), name)


def _cuda_place(name: str, device: str) -> str:
    """The device as "cuda:N", checked to be there."""
    n_devices = _cuda_devices(name)
    number = int(device.partition(":")[2] or 0)
    if number >= n_devices:
        raise BackendUnavailable(
            f"device={device!r} with backend={name!r}: {name} sees {n_devices} CUDA devices; it "
            "needs an NVIDIA GPU with its driver. Use device='auto' to run on the CPU"
        )
    return f"cuda:{number}"


def _cuda_devices(name: str) -> int:
    module = import_module(name)
    if name == "torch":
        return int(module.cuda.device_count())
    try:
        return int(module.cuda.runtime.getDeviceCount())
    except module.cuda.runtime.CUDARuntimeError:
        return 0
