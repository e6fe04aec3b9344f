"""Memory and launches of one CUDA device: CuPy where it works, numba's own arrays otherwise.

All arrays are flat and contiguous. The host waits for the device in `download`, and in `pack` and
`columns` where what was uploaded before has not yet left the host.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gputree.arrays import to_numpy
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import gpu
from gputree.kernels.cuda.gpu import SIMULATED

cuda: Any = gpu.cuda  # numba.cuda has no types


@dataclass(frozen=True)
class Lying:
    """A matrix where it lies."""

    memory: Array  # flat, from the first value to the last
    row_step: int  # from a value to that below it
    column_step: int  # from a value to that beside it


class Device(Protocol):
    """What the backend asks of a device."""

    name: str
    n_launches: int  # since the device was opened
    n_uploads: int  # copies from the host
    n_syncs: int  # how often the host has waited for the device

    @property
    def compile_seconds(self) -> float:
        """Time spent compiling kernels since the process began."""
        ...

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        """Room for `n` numbers."""
        ...

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        """`n` zeros."""
        ...

    def upload(self, array: HostArray) -> Array:
        """A copy of a host array."""
        ...

    def pack(self, *arrays: HostArray) -> list[Array]:
        """Copies of host arrays, by one copy of all of them if they are small."""
        ...

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        """Columns of the host or of any device, one after another."""
        ...

    def has(self, array: Array) -> bool:
        """Whether an array of the user is on this device."""
        ...

    def give(self, array: Array, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """A copy for the user, who may work with it at once."""
        ...

    def lying(self, matrix: Array) -> "Lying | None":
        """The memory of a matrix that lies row by row on this device; None for any other."""
        ...

    def download(self, array: Array) -> HostArray:
        """A copy on the host; waits for all work before it."""
        ...

    def copy(self, array: Array) -> Array:
        """A copy on the device."""
        ...

    def launch(self, kernel: Any, blocks: int, threads: int, *args: Any, shared: int = 0) -> None:
        """Start a kernel, with so many bytes of shared memory beside its own."""
        ...

    def record(self) -> Any:
        """An event: the end of all work so far."""
        ...

    def milliseconds(self, begin: Any, end: Any) -> float:
        """The time between two events; waits for the second."""
        ...

    def free_bytes(self) -> int | None:
        """Memory that can still be had; None where nobody knows."""
        ...

    def release(self) -> None:
        """Return memory that is not in use."""
        ...


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Let the threads of the simulator take turns often: they wait for each other all the time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


@contextmanager
def _without_advice() -> Iterator[None]:
    """Users hear nothing of how few blocks a small table makes."""
    config = cuda.dispatcher.config
    usual, config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_LOW_OCCUPANCY_WARNINGS, 0
    try:
        yield
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS = usual


def _n_compiled(kernel: Any) -> int:
    """For how many types numba has compiled a kernel."""
    return len(getattr(kernel, "overloads", ()))


class NumbaDevice:
    """Numba's own arrays: what the simulator has, and a device without CuPy."""

    compile_seconds = 0.0  # of all of them

    def __init__(self, name: str = "cuda:0") -> None:
        self.name = f"{name} (simulated)" if SIMULATED else name
        self.n_launches = self.n_uploads = self.n_syncs = 0
        if not SIMULATED:
            cuda.select_device(int(name.partition(":")[2] or 0))

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        return cuda.device_array(max(1, n), dtype)

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        return cuda.to_device(np.zeros(max(1, n), dtype))

    def upload(self, array: HostArray) -> Array:
        return self.pack(array)[0]

    def pack(self, *arrays: HostArray) -> list[Array]:
        self.n_uploads += 1
        flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
        return [cuda.to_device(each if each.size else np.zeros(1, each.dtype)) for each in flat]

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        host = [
            column.copy_to_host() if hasattr(column, "copy_to_host") else to_numpy(column)
            for column in columns
        ]
        return self.upload(np.stack(host).astype(dtype))

    def has(self, array: Array) -> bool:
        return False  # users have none of these

    def give(self, array: Array, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        raise NotImplementedError("arrays in main memory are predicted on the host")

    def lying(self, matrix: Array) -> Lying | None:
        return None

    def download(self, array: Array) -> HostArray:
        self.n_syncs += 1
        host: HostArray = array.copy_to_host()
        return host

    def copy(self, array: Array) -> Array:
        out = cuda.device_array(array.shape, array.dtype)
        out.copy_to_device(array)
        return out

    def launch(self, kernel: Any, blocks: int, threads: int, *args: Any, shared: int = 0) -> None:
        self.n_launches += 1
        begin, n_compiled = time.perf_counter(), _n_compiled(kernel)
        with _quick_turns() if SIMULATED else _without_advice():
            kernel[blocks, threads, 0, shared](*args)
        if _n_compiled(kernel) > n_compiled:
            NumbaDevice.compile_seconds += time.perf_counter() - begin

    def record(self) -> Any:
        event = cuda.event()
        event.record()
        return event

    def milliseconds(self, begin: Any, end: Any) -> float:
        end.synchronize()
        return float(begin.elapsed_time(end))

    def free_bytes(self) -> int | None:
        return None if SIMULATED else int(cuda.current_context().get_memory_info().free)

    def release(self) -> None:
        """Numba frees an array when nobody refers to it any more."""


def open_device(name: str) -> Device:
    """The device "cuda:N", by CuPy if it can be imported."""
    if SIMULATED or find_spec("cupy") is None:
        return NumbaDevice(name)
    return _cupy_device(name)


@cache
def _cupy_device(name: str) -> Device:
    """One for all fits and predictions of a process: a stream has memory of its own."""
    from gputree.backends.cuda.cupy_device import CupyDevice

    return CupyDevice(name)


def device_count() -> int:
    """CUDA devices that numba reaches."""
    return len(cuda.gpus) if cuda.is_available() else 0
