"""The operations in which formulas are written, for whole arrays of any array library."""

from types import SimpleNamespace


def as_it_is(function):
    """Stands for a compiler: array code needs none."""
    return function


def operations(xp, bits):
    """Operations of the namespace `xp`; `bits(array, dtype)` reads the same bits as another dtype.

    One operation a call, so nothing is fused or reordered.
    """

    def split(x):
        word = bits(x, "int64")
        fraction = bits((word & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000, "float64")
        return fraction, xp.astype((word >> 52) - 1023, xp.float64)

    def power(t):
        return bits((bits(t, "int64") << 52) + 0x3FF0000000000000, "float64")

    def select(test, a, b):
        # Two plain numbers would get a dtype of the library's choice, or none.
        if not hasattr(a, "dtype") and not hasattr(b, "dtype"):
            a = xp.asarray(a, dtype=xp.float64)
        return xp.where(test, a, b)

    return SimpleNamespace(mul=lambda a, b: a * b, select=select, split=split, power=power)
