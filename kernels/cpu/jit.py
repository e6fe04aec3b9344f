"""How CPU kernels are compiled."""

from numba import njit


def kernel(function):
    """Compile on first use and keep the machine code on disk, where a disk can be written to.

    Kernels run without the interpreter lock. Nothing is fused or reordered (no fastmath): the bits
    of a score are part of the contract.
    """
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no place for a cache: a read-only installation without a home folder
        return njit(nogil=True)(function)
