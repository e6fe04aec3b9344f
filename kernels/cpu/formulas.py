"""The formulas of `criteria`, `losses` and `widths`, compiled for scalars."""

from types import SimpleNamespace

import numpy as np
from numba import njit

from gputree.kernels import criteria, losses, widths


@njit
def mul(a, b):
    return a * b


@njit
def select(test, a, b):
    return a if test else b


@njit
def split(x):
    word = np.float64(x).view(np.int64)
    fraction = np.int64((word & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    return fraction, np.float64((word >> 52) - 1023)


@njit
def power(t):
    return np.int64((np.float64(t).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)


OPERATIONS = SimpleNamespace(mul=mul, select=select, split=split, power=power)


def formula(function):
    """Without the test for a divisor of 0 that Python's rules ask for, loops become vector code."""
    return njit(error_model="numpy", no_cfunc_wrapper=True)(function)


SCALAR = criteria.compile_for(formula, OPERATIONS)
LOSSES = losses.tools_for(formula, OPERATIONS)
WIDTHS = SimpleNamespace(wide_shift=formula(widths.wide_shift), narrowing=formula(widths.narrowing))


def inlined(function):
    """A call for each candidate, or each row, would cost more than most formulas do."""
    return njit(
        error_model="numpy", forceinline=True, no_cfunc_wrapper=True, no_cpython_wrapper=True
    )(function)


def choose(functions, number=0):
    """One function of all: its first argument is the number of the one to call."""
    own = functions[number]
    if number + 1 == len(functions):

        @inlined
        def chosen(which, *given):
            return own(*given)

    else:
        others = choose(functions, number + 1)

        @inlined
        def chosen(which, *given):
            if which == number:
                return own(*given)
            return others(which, *given)

    return chosen
