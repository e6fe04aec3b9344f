"""A CUDA device by CuPy: its memory pool, one stream, and one piece of pinned memory."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np
import numpy.typing as npt

from gputree.arrays import cuda_number, to_numpy
from gputree.backends.cuda.device import Lying
from gputree.backends.cuda.functions import Functions
from gputree.dtypes import Array, HostArray

PART_BYTES = 2**22  # of pinned memory: while one part is filled, others travel
N_PARTS = 4
ALIGNED = 16  # bytes: arrays that are uploaded together begin at multiples


class CupyDevice:
    """Arrays come from CuPy's pool, work is queued on one stream."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_launches = self.n_uploads = self.n_syncs = 0
        self._device = cupy.cuda.Device(int(name.partition(":")[2] or 0))
        capability = self._device.compute_capability
        self._functions = Functions((int(capability[:-1]), int(capability[-1])))
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)
        self._ring = Ring(self._stream)
        self._lock = threading.Lock()

    @property
    def compile_seconds(self) -> float:
        return self._functions.compile_seconds

    def empty(self, n: int, dtype: npt.DTypeLike) -> Array:
        with self._device, self._stream:
            return cupy.empty(max(1, n), dtype)

    def zeros(self, n: int, dtype: npt.DTypeLike) -> Array:
        with self._device, self._stream:
            return cupy.zeros(max(1, n), dtype)

    def upload(self, array: HostArray) -> Array:
        return self.pack(array)[0]

    def pack(self, *arrays: HostArray) -> list[Array]:
        flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
        begins, end = [], 0
        for each in flat:
            begins.append(end)
            end += -(-max(each.nbytes, each.itemsize) // ALIGNED) * ALIGNED
        with self._device, self._stream:
            memory = cupy.cuda.alloc(end)
            parts = [bytes_of(each) for each in flat]
            if end <= PART_BYTES:
                self._send(memory.ptr, parts, begins, end)
            else:
                for begin, part in zip(begins, parts, strict=True):
                    self._fill(memory.ptr + begin, part)
            return [
                cupy.ndarray(max(1, each.size), each.dtype, memory + begin)
                for begin, each in zip(begins, flat, strict=True)
            ]

    def columns(self, columns: Sequence[Array], dtype: npt.DTypeLike) -> Array:
        n_rows = len(columns[0])
        out = self.empty(len(columns) * n_rows, dtype)
        self.follow({self._device.id, *(c.device.id for c in columns if type(c) is cupy.ndarray)})
        with self._device, self._stream:
            for i, column in enumerate(columns):
                part = out[i * n_rows : (i + 1) * n_rows]
                if isinstance(column, cupy.ndarray):
                    part[...] = column
                elif hasattr(column, "__dlpack_device__") and column.__dlpack_device__()[0] == 2:
                    part[...] = cupy.from_dlpack(column)
                elif hasattr(column, "__cuda_array_interface__"):
                    part[...] = cupy.asarray(column)
                else:
                    host = to_numpy(column).astype(dtype, copy=False)
                    self._fill(part.data.ptr, bytes_of(np.ascontiguousarray(host)))
        return out

    def has(self, array: Array) -> bool:
        return cuda_number(array) == self._device.id

    def give(self, array: Array, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        # Memory of the user's stream: what he frees there is not written here while he reads it.
        with self._device:
            own = cupy.empty(array.size, dtype)
            self.follow({self._device.id})
            with self._stream:
                own[...] = array
            cupy.cuda.get_current_stream().wait_event(self._stream.record())
        return own.reshape(shape)

    def lying(self, matrix: Array) -> Lying | None:
        if not self.has(matrix):
            return None
        self.follow({self._device.id})
        with self._device, self._stream:
            own = matrix if isinstance(matrix, cupy.ndarray) else cupy.from_dlpack(matrix)
        row_step, column_step = (step // own.itemsize for step in own.strides)
        if not 0 < column_step < row_step:
            return None
        n = (own.shape[0] - 1) * row_step + (own.shape[1] - 1) * column_step + 1
        return Lying(cupy.ndarray(n, own.dtype, own.data), row_step, column_step)

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
        with self._device:
            self._functions.start(kernel, blocks, threads, args, shared, self._stream.ptr)

    def record(self) -> Any:
        with self._device:
            return self._stream.record()

    @contextmanager
    def queue(self) -> Iterator[int]:
        """The stream by its address, for libraries that put work on it themselves."""
        with self._device, self._stream:
            yield self._stream.ptr

    def milliseconds(self, begin: Any, end: Any) -> float:
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end))

    def free_bytes(self) -> int | None:
        with self._device:
            free, _ = cupy.cuda.runtime.memGetInfo()
            return int(free + cupy.get_default_memory_pool().free_bytes())

    def release(self) -> None:
        """What others hold in the pool stays as it is."""
        with self._device:
            cupy.get_default_memory_pool().free_all_blocks(self._stream)

    def follow(self, numbers: Iterable[int]) -> None:
        """Let the stream wait for what the user has queued on some devices."""
        for number in numbers:
            with cupy.cuda.Device(number):
                self._stream.wait_event(cupy.cuda.get_current_stream().record())

    def _fill(self, to: int, content: HostArray) -> None:
        """Copy bytes to the device, a part of the ring at a time."""
        for first in range(0, len(content), PART_BYTES):
            part = content[first : first + PART_BYTES]
            self._send(to + first, [part], [0], len(part))

    def _send(
        self, to: int, parts: Sequence[HostArray], begins: Sequence[int], n_bytes: int
    ) -> None:
        """Copy bytes that fit into a part of the ring to the device."""
        with self._lock:
            self.n_uploads += 1
            room, n_waits = self._ring.room(n_bytes)
            self.n_syncs += n_waits
            for begin, part in zip(begins, parts, strict=True):
                room[begin : begin + len(part)] = part
            address = room.ctypes.data
            cupy.cuda.runtime.memcpyAsync(
                to, address, n_bytes, cupy.cuda.runtime.memcpyHostToDevice, self._stream.ptr
            )


class Ring:
    """Pinned memory through which all goes to the device, part after part.

    A part is written again when what was in it has left, which is rarely waited for: the host waits
    for the device in every level of a tree, to be told what was found.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._memory: HostArray | None = None
        self._part, self._used = 0, 0
        self._left: list[Any] = [None] * N_PARTS  # when the content of each part has left

    def room(self, n_bytes: int) -> tuple[HostArray, int]:
        """Memory to be written at once, and how often its part had to be waited for."""
        if self._memory is None:
            pinned = cupy.cuda.alloc_pinned_memory(N_PARTS * PART_BYTES)
            self._memory = np.frombuffer(pinned, np.uint8, N_PARTS * PART_BYTES)
        n_waits = 0
        if self._used + n_bytes > PART_BYTES:
            self._left[self._part] = self._stream.record()
            self._part, self._used = (self._part + 1) % N_PARTS, 0
            left = self._left[self._part]
            if left is not None and not left.done:
                left.synchronize()
                n_waits = 1
        first = self._part * PART_BYTES + self._used
        self._used += -(-n_bytes // ALIGNED) * ALIGNED
        return self._memory[first : first + n_bytes], n_waits


def bytes_of(array: HostArray) -> HostArray:
    """A flat array as bytes."""
    return array.view(np.uint8)
