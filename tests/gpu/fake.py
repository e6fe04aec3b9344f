"""Kernels that CuPy launches, without a GPU: `fakegpu` is the device, `ptxrun` runs them.

`fakegpu` knows launches of numba. Those of CuPy's driver interface come here instead.
"""

import ctypes
from contextlib import contextmanager

import numpy as np


def install(devices=1):
    """Pretend that there are GPUs; before CuPy is imported. Returns fakegpu."""
    import fakegpu
    from fakegpu import device

    fakegpu.install(devices=devices)
    import ptxrun.engine

    from gputree.backends.cuda import functions, kept

    fake = device._fake
    kernels = {}

    def made(*asked):
        """PTX instead of machine code: ptxrun cannot run that."""
        return functions.machine_code.ptx_of(*asked).encode()

    def load(code, name):
        if code not in kernels:
            kernels[code] = ptxrun.engine.Kernel(code.decode(), name)
        return None, kernels[code]

    def launch(function, blocks, threads, shared, stream):
        places, kernel = list(function.places), function.code
        own_device = fake.lib.fk_stream_device(stream)
        sizes = [size for size, _ in kernel.meta["params"]]
        values = [ctypes.string_at(*each) for each in zip(places, sizes, strict=True)]
        arrays = list(arrays_of(function, values))
        for low, *_ in arrays:
            if (there := fake.cupy.cuda.runtime.pointerGetAttributes(low).device) != own_device:
                fake.problems.append(f"{kernel.name}: array of device {there} on {own_device}")
        fake.lib.fk_kernel(stream)
        kernel.launch(blocks, threads, values, arrays, shared)

    @contextmanager
    def without_kernels(usual=fake.without_kernels):
        functions.launch = lambda *_: None
        try:
            with usual():
                yield
        finally:
            functions.launch = launch

    kept.made, functions.load, functions.launch = made, load, launch
    fake.without_kernels = without_kernels
    return fakegpu


def arrays_of(function, values):
    """The memory that a kernel may touch: (begin, end, whether it may write, label)."""
    at, (none, *itemsizes) = 0, list(function.constants)
    assert none == 0
    width = {place: i for i, place in enumerate(function.places)}
    for number, itemsize in enumerate(itemsizes):
        place = ctypes.addressof(function.constants) + 8 * (1 + number)
        if place in width:  # an array; other values have no stride
            size, _, data = (np.frombuffer(values[at + i], np.int64)[0] for i in (2, 3, 4))
            yield int(data), int(data + size * itemsize), True, f"argument {number}"
            at += 7
        else:
            at += 1
