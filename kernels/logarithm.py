"""A base-2 logarithm whose bits are the same everywhere.

The logarithms of libm, SVML and libdevice differ in the last bit. This one uses only correctly
rounded additions, subtractions, multiplications and divisions, in a fixed order, so that every
backend that follows IEEE 754 gives the same answer. Its error is below one unit in the last place.
"""

from types import SimpleNamespace

SQRT_2 = 1.4142135623730951

# 1/ln 2 in two parts; the first has 29 bits, so that its product with a number of at most 21 bits
# is exact.
LOG2_E_HIGH = float.fromhex("0x1.7154765p+0")
LOG2_E_LOW = float.fromhex("0x1.5c17f0bbbe880p-31")

# 2**32 + 1: multiplying by it and subtracting back leaves the upper 21 bits of a number.
SPLITTER = 4294967297.0

# log((1+s)/(1-s)) = 2s + s*R(s*s) with R(z) = 2z/3 + 2z**2/5 + ...; |s| <= 0.1716 needs ten terms.
TERMS = tuple(2.0 / (2 * k + 1) for k in range(10, 0, -1))


def compile_for(jit, ops):
    """Return `log2` for one target.

    `jit` compiles a function (identity for array code). `ops.mul` multiplies without fusing,
    `ops.select(test, a, b)` chooses, and `ops.split(x)` gives the fraction in [1, 2) and the
    exponent of a positive normal number, both as float64.
    """
    mul, select, split = ops.mul, ops.select, ops.split
    last, terms = TERMS[0], TERMS[1:]

    @jit
    def log2(x):
        """Logarithm of positive normal numbers."""
        fraction, exponent = split(x)
        large = fraction > SQRT_2
        fraction = select(large, mul(fraction, 0.5), fraction)
        exponent = select(large, exponent + 1.0, exponent)

        # log(1+f) = f - f*f/2 + s*(f*f/2 + R(s*s)), s = f/(2+f): f is exact, the rest is small.
        f = fraction - 1.0
        half_square = mul(mul(f, f), 0.5)
        s = f / (f + 2.0)
        z = mul(s, s)
        series = last
        for term in terms:
            series = mul(z, series) + term
        series = mul(z, series)
        rest = mul(s, half_square + series)

        # The leading part keeps 21 bits, so that its product with LOG2_E_HIGH is exact.
        lead = f - half_square
        spread = mul(lead, SPLITTER)
        high = spread - (spread - lead)
        low = ((f - high) - half_square) + rest
        tail = mul(low + high, LOG2_E_LOW) + mul(low, LOG2_E_HIGH)
        head = mul(high, LOG2_E_HIGH)
        whole = exponent + head
        return ((exponent - whole) + head + tail) + whole

    return SimpleNamespace(log2=log2)
