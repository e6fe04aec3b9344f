"""Sums of floats that are rounded once, whatever their order and whoever has them."""

import math
import pickle

import numpy as np

from gputree.comm import ALONE, Comm
from gputree.dtypes import HostArray

BITS = 53  # of a float
LOW = 26  # bits of it that are summed by themselves, so that sums of halves are exact as floats
LEAST = 1200  # no float has a bit that is worth less than 2**-LEAST
AT_ONCE = 2**20  # values


def exact_sum(values: HostArray, comm: Comm = ALONE) -> float:
    """The float next to the sum of all values, here and with others; infinite where one is."""
    if comm.size == 1:
        return math.fsum(values)
    units = [pickle.loads(told) for told in comm.gather(pickle.dumps(_units(values)))]
    return math.inf if None in units else sum(units) / (1 << LEAST)


def _units(values: HostArray) -> int | None:
    """The sum in units of 2**-LEAST; None where a value is not finite."""
    total = 0
    for first in range(0, len(values), AT_ONCE):
        part = values[first : first + AT_ONCE]
        if not np.isfinite(part).all():
            return None
        mantissa, exponent = np.frexp(part)
        whole = (mantissa * 2.0**BITS).astype(np.int64)
        lowest = int(exponent.min())
        place = exponent - lowest
        for half, shift in ((whole >> LOW, LOW), (whole & (1 << LOW) - 1, 0)):
            # So few numbers of 27 bits are exact as a float.
            sums = np.bincount(place, half)
            for at in np.flatnonzero(sums).tolist():
                total += int(sums[at]) << (at + lowest - BITS + shift + LEAST)
    return total
