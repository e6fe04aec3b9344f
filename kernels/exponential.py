"""An exponential whose bits are the same everywhere.

Like the logarithm beside it, it uses only correctly rounded additions and multiplications in a
fixed order, and moves of bits. Its error is about one unit in the last place.
"""

from math import factorial
from types import SimpleNamespace

LOG2_E = 1.4426950408889634

# ln 2 in two parts; the first has 32 bits, so that its product with a whole number of 11 is exact.
LN_2_HIGH = float.fromhex("0x1.62e42feep-1")
LN_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")

# Adding 1.5 * 2**52 rounds a small number to a whole one, which its lowest bits then hold.
ROUNDER = 6755399441055744.0

# Beyond these the result would not be a normal number; what it stands for there is as good as
# endless, or nothing.
LOWEST, HIGHEST = -708.0, 709.0

# exp(r) = 1 + r + r**2/2! + ...; |r| <= ln(2)/2 needs 13 terms.
TERMS = tuple(1.0 / factorial(k) for k in range(13, -1, -1))


def compile_for(jit, ops):
    """Return `exp` for one target.

    Beside what the logarithm needs, `ops.power(t)` gives 2**k of t = k + ROUNDER.
    """
    mul, select, power = ops.mul, ops.select, ops.power
    last, terms = TERMS[0], TERMS[1:]

    @jit
    def exp(x):
        """The exponential, of numbers between LOWEST and HIGHEST; others are moved there."""
        x = select(x < LOWEST, LOWEST, x)
        x = select(x > HIGHEST, HIGHEST, x)
        rounded = mul(x, LOG2_E) + ROUNDER
        k = rounded - ROUNDER
        r = (x - mul(k, LN_2_HIGH)) - mul(k, LN_2_LOW)
        series = last
        for term in terms:
            series = mul(r, series) + term
        return mul(series, power(rounded))

    return SimpleNamespace(exp=exp)
