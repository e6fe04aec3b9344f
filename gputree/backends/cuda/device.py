"""Memory and launches of one CUDA device: CuPy where it works, numba's own arrays otherwise.

All arrays are flat and contiguous. Nothing waits for the device but `download`.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gputree.arrays import to_numpy
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import gpu
from gputree.kernels.cuda.gpu import SIMULATED

cuda: Any = gpu.cuda  # numba.cuda has no types

CHUNK_BYTES = 2**25  # of pinned memory through which host data goes; two are in use


class Device(Protocol):
    """What the backend asks of a device."""

    name: str
    n_launches: int  # since the device was opened
    n_syncs: int  # how often the host has waited

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        """Room for `n` numbers."""
        ...

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        """`n` zeros."""
        ...

    def upload(self, array: HostArray) -> Array:
        """A copy of a host array."""
        ...

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        """Columns of the host or of any device, one after another."""
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
    if SIMULATED:
        sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


class NumbaDevice:
    """Numba's own arrays: what the simulator has, and a device without CuPy."""

    def __init__(self, name: str = "cuda:0") -> None:
        self.name = f"{name} (simulated)" if SIMULATED else name
        self.n_launches = 0
        self.n_syncs = 0
        if not SIMULATED:
            cuda.select_device(int(name.partition(":")[2] or 0))

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        return cuda.device_array(max(1, n), dtype)

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        return cuda.to_device(np.zeros(max(1, n), dtype))

    def upload(self, array: HostArray) -> Array:
        flat = np.ascontiguousarray(array).reshape(-1)
        return cuda.to_device(flat if flat.size else np.zeros(1, flat.dtype))

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        host = [
            column.copy_to_host() if hasattr(column, "copy_to_host") else to_numpy(column)
            for column in columns
        ]
        return self.upload(np.stack(host).astype(dtype))

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
        with _quick_turns():
            kernel[blocks, threads, 0, shared](*args)

    def free_bytes(self) -> int | None:
        return None if SIMULATED else int(cuda.current_context().get_memory_info().free)

    def release(self) -> None:
        """Numba frees an array when nobody refers to it any more."""


class CupyDevice:
    """CuPy's memory pool and one stream of its own."""

    def __init__(self, name: str) -> None:
        import cupy

        self.name = name
        self.n_launches = 0
        self.n_syncs = 0
        self._cupy = cupy
        self._device = cupy.cuda.Device(int(name.partition(":")[2] or 0))
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._launch_stream = cuda.external_stream(self._stream.ptr)
        # Work that others have queued, such as making the user's arrays, comes first.
        self._device.synchronize()

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        with self._device, self._stream:
            return self._cupy.empty(max(1, n), dtype)

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        with self._device, self._stream:
            return self._cupy.zeros(max(1, n), dtype)

    def upload(self, array: HostArray) -> Array:
        flat = np.ascontiguousarray(array).reshape(-1)
        out = self.empty(flat.size, flat.dtype)
        if flat.size:
            self._fill(out, flat)
        return out

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        n_rows = len(columns[0])
        out = self.empty(len(columns) * n_rows, dtype)
        for i, column in enumerate(columns):
            part = out[i * n_rows : (i + 1) * n_rows]
            if hasattr(column, "__cuda_array_interface__"):
                with self._device, self._stream:
                    part[...] = self._cupy.asarray(column)
            elif hasattr(column, "__dlpack_device__") and column.__dlpack_device__()[0] == 2:
                with self._device, self._stream:
                    part[...] = self._cupy.from_dlpack(column)
            else:
                self._fill(part, to_numpy(column).astype(dtype, copy=False))
        return out

    def download(self, array: Array) -> HostArray:
        self.n_syncs += 1
        with self._device:
            host: HostArray = array.get(stream=self._stream)
        return host

    def copy(self, array: Array) -> Array:
        with self._device, self._stream:
            return array.copy()

    def launch(self, kernel: Any, blocks: int, threads: int, *args: Any, shared: int = 0) -> None:
        self.n_launches += 1
        # Inside the stream, as arrays are handed over by a protocol that orders streams.
        with self._device, self._stream:
            kernel[blocks, threads, self._launch_stream, shared](*args)

    def free_bytes(self) -> int | None:
        with self._device:
            free, _ = self._cupy.cuda.runtime.memGetInfo()
            return int(free + self._cupy.get_default_memory_pool().free_bytes())

    def release(self) -> None:
        with self._device:
            self._stream.synchronize()
            self._cupy.get_default_memory_pool().free_all_blocks()
            self._cupy.get_default_pinned_memory_pool().free_all_blocks()

    def _fill(self, out: Array, host: HostArray) -> None:
        """Copy host data through two pinned chunks in turn: one is filled as the other travels."""
        step = max(1, CHUNK_BYTES // host.itemsize)
        with self._device, self._stream:
            chunks: list[tuple[HostArray, Any]] = []
            for first in range(0, len(host), step):
                part = host[first : first + step]
                if len(chunks) < 2:
                    memory = self._cupy.cuda.alloc_pinned_memory(step * host.itemsize)
                    chunks.append(
                        (np.frombuffer(memory, host.dtype, step), self._cupy.cuda.Event())
                    )
                pinned, is_free = chunks[(first // step) % 2]
                is_free.synchronize()
                pinned[: len(part)] = part
                out[first : first + len(part)].set(pinned[: len(part)], stream=self._stream)
                is_free.record(self._stream)
            for _, is_free in chunks:
                is_free.synchronize()


def open_device(name: str) -> Device:
    """The device "cuda:N", by CuPy if it can be imported."""
    if SIMULATED or find_spec("cupy") is None:
        return NumbaDevice(name)
    return CupyDevice(name)


def device_count() -> int:
    """CUDA devices that numba reaches."""
    return len(cuda.gpus) if cuda.is_available() else 0
