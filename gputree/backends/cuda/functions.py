"""Kernels as functions of one device: compiled once for the types they are given, and started.

numba compiles; CuPy loads and launches. numba's own launch looks at every array anew, which takes
twenty times as long.
"""

import ctypes
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from gputree.backends.cuda import kept
from gputree.errors import BackendUnavailable
from gputree.kernels.cuda import machine_code

WORD = 8  # bytes of everything that a kernel is told


@dataclass(frozen=True)
class Function:
    """A kernel for some types, on a device, and where it looks for what it is told."""

    module: Any  # kept as long as the function
    code: Any
    layout: struct.Struct  # of what differs from launch to launch: two words an array, or a value
    words: Any  # which lie here
    constants: Any
    places: Any  # (parameters,) the addresses of all of them


class Functions:
    """The kernels of one device."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.compile_seconds = 0.0
        self._capability = nearest_architecture(capability)
        self._made: dict[Any, Function] = {}
        self._lock = threading.RLock()

    def start(
        self, kernel: Any, blocks: int, threads: int, args: Sequence[Any], shared: int, stream: int
    ) -> None:
        """Queue a kernel. Arrays are flat and contiguous."""
        kinds: list[Any] = []
        values: list[Any] = []
        for arg in args:
            if type(arg) is cupy.ndarray:
                kinds.append(arg.dtype.char)
                values += (arg.size, arg.data.ptr)
            else:
                kinds.append(type(arg))
                values.append(arg)
        key = kernel, *kinds
        with self._lock:  # the words of a function are for one launch at a time
            function = self._made.get(key)
            if function is None:
                function = self._made[key] = self._make(kernel, [type_name(arg) for arg in args])
            function.layout.pack_into(function.words, 0, *values)
            launch(function, blocks, threads, shared, stream)

    def _make(self, kernel: Any, types: list[str]) -> Function:
        begin = time.perf_counter()
        code = kept.compiled(kernel, types, self._capability)
        function = laid_out(*load(code, kernel.py_func.__name__), types)
        self.compile_seconds += time.perf_counter() - begin
        return function


def nearest_architecture(capability: tuple[int, int]) -> tuple[int, int]:
    """The newest architecture that is tested and whose machine code a card runs.

    That is one of its generation. Of a generation that is not tested, it is the card's own.
    """
    oldest = machine_code.ARCHITECTURES[0]
    if capability < oldest:
        have, need = (".".join(map(str, each)) for each in (capability, oldest))
        raise BackendUnavailable(
            f"the GPU has compute capability {have}, and gputree's kernels need {need} or later "
            "(Turing, 2018); use device='cpu'"
        )
    runs = [each for each in machine_code.ARCHITECTURES if each <= capability]
    own = [each for each in runs if each[0] == capability[0]]
    return own[-1] if own else capability


def load(code: bytes, name: str) -> tuple[Any, Any]:
    """A module of the driver, and the function of that name in it."""
    module = cupy.cuda.Module()
    module.load(code)
    return module, module.get_function(name)


def launch(function: Function, blocks: int, threads: int, shared: int, stream: int) -> None:
    """Let the driver queue a function; it copies what the function is told."""
    size = blocks, 1, 1, threads, 1, 1
    places = ctypes.addressof(function.places)
    cupy.cuda.driver.launchKernel(function.code.ptr, *size, shared, stream, places, 0)


def laid_out(module: Any, code: Any, types: Sequence[str]) -> Function:
    """A function, and memory for what it is told: a value, or the seven words of an array.

    They are two objects, which there are none of, size, size of an item, data, shape and stride.
    """
    layout = struct.Struct("".join("qq" if is_array(kind) else _FORMATS[kind] for kind in types))
    words = ctypes.create_string_buffer(layout.size)
    itemsizes = [np.dtype(kind.removesuffix("[]")).itemsize for kind in types]
    constants = (ctypes.c_int64 * (1 + len(types)))(0, *itemsizes)  # the first is for no object
    first, none, places = ctypes.addressof(words), ctypes.addressof(constants), []
    for number, kind in enumerate(types):
        if is_array(kind):
            size, data, itemsize = first, first + WORD, none + (1 + number) * WORD
            places += [none, none, size, itemsize, data, size, itemsize]
            first += 2 * WORD
        else:
            places.append(first)
            first += WORD
    return Function(
        module, code, layout, words, constants, (ctypes.c_void_p * len(places))(*places)
    )


_FORMATS = {"i8": "q", "f8": "d", "b1": "?7x"}  # of a value, which takes a word


def is_array(kind: str) -> bool:
    return kind.endswith("[]")


def type_name(arg: Any) -> str:
    """The type of what a kernel is given, such as "i8" or "f4[]"."""
    if type(arg) is cupy.ndarray:
        return f"{arg.dtype.str[1:]}[]"
    return np.dtype(type(arg)).str[1:]
