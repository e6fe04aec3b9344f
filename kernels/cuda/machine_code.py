"""Kernels as machine code: numba's compiler, then NVIDIA's assembler. No driver is needed.

Not for the simulator, in which nothing is compiled.
"""

import re
import threading
from contextlib import contextmanager
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
from numba.np.numpy_support import from_dtype

from gputree.kernels.cuda.gpu import cuda

ARCHITECTURES = ((7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0))  # that the tests compile for

_compiling = threading.Lock()


def toolchain():
    """What machine code depends on beside the source of a kernel."""
    from cuda.bindings import nvjitlink

    linker = ".".join(map(str, nvjitlink.version()))
    return f"numba-cuda {version('numba-cuda')}, nvJitLink {linker}"


def ptx_of(kernel, argument_types, capability):
    """PTX of a kernel, in which it has its own name, for arguments such as "i8" and "f4[]"."""
    signature = cuda.types.void(*map(_numba_type, argument_types))
    with _compiling, _device_of(capability):
        text, _ = cuda.compile(kernel.py_func, signature, device=False, abi="numba", cc=capability)
    entry = re.search(r"\.entry (\w+)", text)[1]
    return text.replace(entry, kernel.py_func.__name__)


def assembled(ptx, capability):
    """The machine code of PTX, by the assembler inside nvJitLink."""
    from cuda.bindings import nvjitlink

    text = ptx.encode()
    handle = nvjitlink.create(1, ["-arch=sm_{}{}".format(*capability)])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "kernel")
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
    finally:
        nvjitlink.destroy(handle)
    return bytes(code)


def _numba_type(name):
    scalar = from_dtype(np.dtype(name.removesuffix("[]")))
    return cuda.types.Array(scalar, 1, "C") if name.endswith("[]") else scalar


@contextmanager
def _device_of(capability):
    """Functions called by kernels ask which device is the current one; this is the answer."""
    usual = cuda.dispatcher.get_current_device
    cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        cuda.dispatcher.get_current_device = usual
