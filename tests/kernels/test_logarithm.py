"""The portable logarithm is right to one unit in the last place, and the same everywhere."""

from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

from gputree.backends.array.libraries import open_library
from gputree.kernels import array_code, logarithm
from gputree.kernels.cpu import formulas

EPS = 2.0**-52
SQRT_2 = 1.4142135623730951


def compiled(library):
    operations = array_code.operations(library.xp, library.bits)
    return logarithm.compile_for(array_code.as_it_is, operations).log2


def log2(x):
    return compiled(open_library("numpy"))(np.asarray(x, np.float64))


def errors(x):
    """The distance of each logarithm from a 40-digit one, in units in the last place."""
    with localcontext() as context:
        context.prec = 40
        ln_2 = Decimal(2).ln()
        right = [Decimal(value).ln() / ln_2 for value in x.tolist()]
        apart = [abs(Decimal(y) - exact) for y, exact in zip(log2(x).tolist(), right, strict=True)]
    ulp = np.spacing(np.abs(np.array(right, np.float64)))
    return np.array([float(a) for a in apart]) / ulp


def points(name):
    rng = np.random.default_rng(7)
    if name == "just above 1":
        return 1.0 + np.arange(1, 1001) * EPS
    if name == "just below 1":
        return 1.0 - np.arange(1, 1001) * EPS / 2
    if name == "close to 1":
        return 1.0 + rng.choice([-1.0, 1.0], 2000) * 2.0 ** -rng.uniform(1, 52, 2000)
    if name == "half to two":
        return rng.uniform(0.5, 2.0, 2000)
    if name == "wide":
        return np.append(np.exp2(rng.uniform(-1021, 1023, 2000)), [2.0**-1022, np.finfo(float).max])
    neighbours = SQRT_2 + np.arange(-300, 301) * EPS  # where the fraction is halved
    return np.concatenate([neighbours, neighbours / 2, neighbours * 2.0**40])


POINTS = ["just above 1", "just below 1", "close to 1", "half to two", "wide", "around root 2"]


@pytest.mark.parametrize("name", POINTS)
def test_the_logarithm_is_within_one_unit_in_the_last_place(name):
    assert errors(points(name)).max() < 1.0


def test_powers_of_two_have_whole_logarithms():
    exponent = np.arange(-1022, 1024)
    assert np.array_equal(log2(np.ldexp(1.0, exponent)), exponent)


def test_the_logarithm_of_one_is_plain_zero():
    assert log2([1.0]).tobytes() == np.array([0.0]).tobytes()


def test_the_logarithm_never_falls_where_its_argument_rises():
    for name in ["just above 1", "just below 1", "half to two", "around root 2"]:
        assert (np.diff(log2(np.sort(points(name)))) >= 0).all()


ALL = np.concatenate([points(name) for name in POINTS])


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_every_library_gives_the_bits_of_numpy(name):
    pytest.importorskip(name)
    library = open_library(name)
    found = library.to_host(compiled(library)(library.from_host(ALL)))
    assert found.tobytes() == log2(ALL).tobytes()


def test_the_compiled_logarithm_gives_the_bits_of_numpy():
    scalar = logarithm.compile_for(
        njit, SimpleNamespace(mul=formulas.mul, select=formulas.select, split=formulas.split)
    ).log2
    found = np.array([scalar(x) for x in ALL.tolist()])
    assert found.tobytes() == log2(ALL).tobytes()
