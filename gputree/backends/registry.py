"""From what a user asks for to a backend, imported when it is needed."""

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from gputree.backends.array import ArrayBackend
from gputree.backends.contract import Backend
from gputree.backends.libraries import open_library
from gputree.errors import BackendUnavailable

BACKENDS = ("numpy", "numba", "torch", "cupy", "array_api_strict")
_CUDA_BACKENDS = ("cupy", "torch")  # in order of preference
_REMEDY = {
    "torch": "pip install torch",
    "cupy": "pip install 'gputree[cuda12]' or 'gputree[cuda13]', as your driver allows",
    "array_api_strict": "pip install array-api-strict",
}


@dataclass(frozen=True)
class Choice:
    """A backend on a device, and why it was taken."""

    backend: Backend
    reason: str


def choose(device: str = "auto", backend: str | None = None) -> Choice:
    """The backend for `device` and `backend` as an estimator takes them.

    What is asked for and cannot be had is an error; only "auto" chooses freely.
    """
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ValueError(f"device={device!r} is unknown; choose 'auto', 'cpu', 'cuda' or 'cuda:N'")
    if backend is not None:
        return Choice(_open(backend, device), f"backend={backend!r} was asked for")
    if device == "auto":
        return Choice(_open("numpy", "cpu"), "NumPy is the backend for the CPU")
    if device == "cpu":
        return Choice(_open("numpy", "cpu"), "device='cpu' was asked for")
    for name in _CUDA_BACKENDS:
        if find_spec(name) is not None and _cuda_devices(name):
            return Choice(
                _open(name, device), f"device={device!r} was asked for; {name} reaches it"
            )
    raise BackendUnavailable(
        f"device={device!r}: no CUDA device can be reached; it needs an NVIDIA GPU with its driver "
        f"and CuPy ({_REMEDY['cupy']}). Use device='auto' to run on the CPU"
    )


def _open(name: str, device: str) -> Backend:
    if name not in BACKENDS:
        raise ValueError(f"backend={name!r} is unknown; choose from {', '.join(BACKENDS)}")
    if find_spec(name) is None:
        raise BackendUnavailable(f"backend={name!r} is not installed: {_REMEDY[name]}")
    if name in ("numpy", "array_api_strict") and device.startswith("cuda"):
        raise ValueError(f"backend={name!r} runs on the CPU, not on device={device!r}")
    if name == "cupy" and device == "cpu":
        raise ValueError("backend='cupy' runs on a GPU, not on device='cpu'")
    if name == "numba":
        from gputree.backends.cpu import CpuBackend
        from gputree.backends.workers import available_cores

        return CpuBackend(available_cores())
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
