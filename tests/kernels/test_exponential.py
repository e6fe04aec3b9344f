"""The portable exponential is right to one unit in the last place, and the same everywhere."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit

from gputree.backends.array.libraries import open_library
from gputree.kernels import array_code, exponential
from gputree.kernels.cpu.formulas import LOSSES as SCALAR


def exp_in(name):
    library = open_library(name)
    operations = array_code.operations(library.xp, library.bits)
    exp = exponential.compile_for(array_code.as_it_is, operations).exp
    return lambda x: library.to_host(exp(library.from_host(x)))


EXP = exp_in("numpy")
POINTS = np.concatenate(
    [
        np.random.default_rng(0).uniform(-708.0, 709.0, 1000),
        np.random.default_rng(1).normal(size=1000),
        2.0 ** -np.arange(1.0, 60.0),
        (np.arange(-400, 400) + 0.5) * np.log(2.0),  # where the power of two changes
        [0.0, -0.0, 1.0, -1.0, -708.0, 709.0],
    ]
)


def test_is_right_to_one_and_a_bit_units_in_the_last_place():
    found = EXP(POINTS)
    with localcontext() as context:
        context.prec = 40
        apart = [abs(Decimal(y) - Decimal(x).exp()) for x, y in zip(POINTS, found, strict=True)]
    ulp = np.spacing(found)
    assert max(float(a) / u for a, u in zip(apart, ulp, strict=True)) < 1.25


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_has_the_same_bits_in_every_library(name):
    pytest.importorskip(name)
    assert (exp_in(name)(POINTS) == EXP(POINTS)).all()


def test_has_the_same_bits_when_compiled():
    exp = SCALAR.exp

    @njit
    def each(x, y):
        for i in range(len(x)):
            y[i] = exp(x[i])

    found = np.empty_like(POINTS)
    each(POINTS, found)
    assert (found == EXP(POINTS)).all()


def test_is_exact_at_zero_and_stays_finite_where_the_true_one_does_not():
    assert EXP(np.zeros(1))[0] == 1.0
    low, high = EXP(np.array([-1e300, 1e300]))
    assert 0.0 < low < 1e-300
    assert 1e300 < high < np.inf


def test_never_falls():
    x = np.sort(np.random.default_rng(2).uniform(-5.0, 5.0, 5000))
    x = np.repeat(x, 2)
    x[1::2] = np.nextafter(x[1::2], np.inf) + 1e-12
    assert (np.diff(EXP(x)) >= 0.0).all()
