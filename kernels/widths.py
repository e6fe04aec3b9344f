"""How many bits gradients and hessians keep as integers, written once for hosts and kernels.

Plain functions of numbers, which Python runs and numba compiles.
"""

import math

TOTAL_BITS = 53  # totals stay below 2**TOTAL_BITS, the integers that float64 holds exactly
NARROW_BITS = 31
# What numbers of the loss become at most, in the units of integers: more weight than a tree can
# have, and a ridge beside which the weights of all rows vanish; the scores of splits, which have
# its third power, do not overflow.
MOST_WEIGHT = 2.0**TOTAL_BITS
MOST_RIDGE = 2.0**300
LARGEST_SHIFT = 1022  # a larger power of two is infinite; gradients below its inverse vanish


def wide_shift(n_rows: int, largest: float) -> int:
    """The exponent that brings up to `n_rows` numbers of such a magnitude to a total of 53 bits."""
    used = math.frexp(float(n_rows))[1] + math.frexp(largest)[1]
    return min(TOTAL_BITS - 2 - used, LARGEST_SHIFT)


def narrowing(total: int, n_rows: int) -> int:
    """How many bits to take off wide numbers whose magnitudes sum to `total`.

    Rounding adds at most half a unit a row, and a hessian has at least one.
    """
    rest = total // (2**NARROW_BITS - 1 - n_rows)
    n_bits = 0
    while rest > 0:
        rest >>= 1
        n_bits += 1
    return n_bits
