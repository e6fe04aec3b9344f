"""What the array API leaves out, for each array library: moving, counting, bits.

`ArrayBackend` is written in the array API; the few operations in which libraries differ are here.
"""

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np

from gputree.arrays import to_numpy
from gputree.dtypes import Array, HostArray
from gputree.runs import begins


class Library:
    """An array namespace on a device."""

    def __init__(self, xp: ModuleType, device: str = "cpu") -> None:
        self.xp = xp
        self.device = device

    def current(self) -> AbstractContextManager[Any]:
        """While it is open, arrays are made on the device."""
        return nullcontext()

    def to_host(self, array: Array) -> HostArray:
        return np.asarray(array)

    def from_host(self, array: HostArray) -> Array:
        """The array in this library; shares memory where it can."""
        return array

    def adopt(self, array: Array) -> Array:
        """An array of any library in this one, contiguous."""
        return self.from_host(to_numpy(array))

    def count(self, index: Array, length: int, weight: Array | None = None) -> Array:
        """Sum `weight` (or 1) into int64 cells; exact while every sum is below 2**53."""
        raise NotImplementedError

    def take(self, array: Array, index: Array) -> Array:
        """The items of a vector at `index`."""
        return self.xp.take(array, index)

    def replaced(self, array: Array, index: Array, values: Array) -> Array:
        """A copy of a vector with other values at `index`."""
        out = self.copy(array)
        out[index] = values
        return out

    def copy(self, array: Array) -> Array:
        return array.copy()

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return self.xp.zeros(shape, dtype=self.xp.int64)

    def numbers(self, length: int) -> Array:
        """0, 1, 2, ... as int64."""
        return self.xp.arange(length, dtype=self.xp.int64)

    def segments(self, n_items: HostArray) -> Array:
        """The segment that each item belongs to, where segments have so many items."""
        first = self.from_host(begins(n_items))
        total = int(n_items.sum())
        return self.xp.cumulative_sum(self.count(first, total + 1))[:total] - 1

    def highest(self, index: Array, values: Array, length: int) -> Array:
        """The largest of the values of each cell, which are floats; -inf where it has none."""
        raise NotImplementedError

    def bits(self, array: Array, dtype: str) -> Array:
        """The same bits read as another dtype of equal size."""
        return array.view(getattr(self.xp, dtype))


class NumpyLibrary(Library):
    """NumPy: always there, and the oracle for all others."""

    def adopt(self, array: Array) -> Array:
        return np.ascontiguousarray(to_numpy(array))

    def take(self, array: Array, index: Array) -> Array:
        return array[index]  # of few items, three times as fast as the function

    def count(self, index: Array, length: int, weight: Array | None = None) -> Array:
        return np.bincount(index, weights=weight, minlength=length).astype(np.int64, copy=False)

    def segments(self, n_items: HostArray) -> Array:
        return self.from_host(np.repeat(np.arange(len(n_items)), n_items))

    def highest(self, index: Array, values: Array, length: int) -> Array:
        out = np.full(length, -np.inf)
        np.maximum.at(out, index, values)
        return out


class StrictLibrary(NumpyLibrary):
    """array-api-strict: NumPy behind a wall that lets only standard operations through."""

    def adopt(self, array: Array) -> Array:
        return self.from_host(to_numpy(array))

    def to_host(self, array: Array) -> HostArray:
        return np.asarray(np.from_dlpack(array))

    def from_host(self, array: HostArray) -> Array:
        return self.xp.asarray(np.array(array))

    def take(self, array: Array, index: Array) -> Array:
        return self.xp.take(array, index)

    def count(self, index: Array, length: int, weight: Array | None = None) -> Array:
        host_weight = None if weight is None else self.to_host(weight)
        return self.from_host(super().count(self.to_host(index), length, host_weight))

    def replaced(self, array: Array, index: Array, values: Array) -> Array:
        host = super().replaced(self.to_host(array), self.to_host(index), self.to_host(values))
        return self.from_host(host)

    def highest(self, index: Array, values: Array, length: int) -> Array:
        return self.from_host(super().highest(self.to_host(index), self.to_host(values), length))

    def bits(self, array: Array, dtype: str) -> Array:
        return self.from_host(self.to_host(array).view(dtype))


class TorchLibrary(Library):
    """PyTorch on any of its devices."""

    def adopt(self, array: Array) -> Array:
        if not array_api_compat.is_torch_array(array):
            return super().adopt(array)
        return array.detach().to(self.device).contiguous()

    def copy(self, array: Array) -> Array:
        return array.clone()

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return self.xp.zeros(shape, dtype=self.xp.int64, device=self.device)

    def numbers(self, length: int) -> Array:
        return self.xp.arange(length, dtype=self.xp.int64, device=self.device)

    def to_host(self, array: Array) -> HostArray:
        return np.asarray(array.cpu().numpy())

    def from_host(self, array: HostArray) -> Array:
        import torch

        # torch shares memory and wants it writable; uint16 is too young there to compute with.
        array = array.astype(np.int32) if array.dtype == np.uint16 else np.array(array)
        return torch.from_numpy(array).to(self.device)

    def count(self, index: Array, length: int, weight: Array | None = None) -> Array:
        import torch

        out = torch.zeros(length, dtype=torch.int64, device=self.device)
        ones = torch.ones_like(index) if weight is None else weight.to(torch.int64)
        return out.scatter_add_(0, index, ones)

    def highest(self, index: Array, values: Array, length: int) -> Array:
        import torch

        out = torch.full((length,), -torch.inf, dtype=values.dtype, device=self.device)
        return out.scatter_reduce_(0, index, values, "amax")


class CupyLibrary(Library):
    """CuPy, on the device that is current."""

    def current(self) -> AbstractContextManager[Any]:
        import cupy

        number = int(self.device.partition(":")[2] or 0)
        device: AbstractContextManager[Any] = cupy.cuda.Device(number)
        return device

    def adopt(self, array: Array) -> Array:
        import cupy

        on_device = hasattr(array, "__cuda_array_interface__")
        return cupy.ascontiguousarray(array) if on_device else super().adopt(array)

    def to_host(self, array: Array) -> HostArray:
        import cupy

        return np.asarray(cupy.asnumpy(array))

    def from_host(self, array: HostArray) -> Array:
        import cupy

        return cupy.asarray(array)

    def count(self, index: Array, length: int, weight: Array | None = None) -> Array:
        import cupy
        import cupyx

        # 64-bit integer atomics exist for unsigned numbers only; the sums wrap around alike.
        out = cupy.zeros(length, cupy.uint64)
        ones = 1 if weight is None else weight.astype(cupy.int64).view(cupy.uint64)
        cupyx.scatter_add(out, index, ones)
        return out.view(cupy.int64)

    def highest(self, index: Array, values: Array, length: int) -> Array:
        import cupy
        import cupyx

        out = cupy.full(length, -cupy.inf)
        cupyx.scatter_max(out, index, values)
        return out


# From release 2.1 on NumPy keeps the array API itself, and a first fit loads nothing more.
_NUMPY = "numpy" if hasattr(np, "cumulative_sum") else "array_api_compat.numpy"
LIBRARIES: dict[str, tuple[str, type[Library]]] = {
    "numpy": (_NUMPY, NumpyLibrary),
    "array_api_strict": ("array_api_strict", StrictLibrary),
    "torch": ("array_api_compat.torch", TorchLibrary),
    "cupy": ("array_api_compat.cupy", CupyLibrary),
}


def open_library(name: str, device: str = "cpu") -> Library:
    """Import an array library and wrap it."""
    module, cls = LIBRARIES[name]
    return cls(import_module(module), device)
