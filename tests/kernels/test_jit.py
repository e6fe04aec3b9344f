"""Compiling: with and without a place for machine code, and its time."""

import numba

from gputree import DecisionTreeClassifier
from gputree.kernels.cpu import jit


def test_a_kernel_compiles_where_no_cache_can_be_written(monkeypatch):
    def njit(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(jit, "njit", njit)
    assert jit.kernel(lambda x: x + 1)(1) == 2


def test_the_time_of_compiling_is_kept():
    before = jit.COMPILE_TIME.seconds
    numba.njit(lambda x: x * 3)(2.0)
    assert jit.COMPILE_TIME.seconds > before


def test_a_fit_with_compiled_kernels_spends_no_time_compiling():
    tree = DecisionTreeClassifier(backend="numba")
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    tree.fit(X, y)
    assert tree.fit(X, y).fit_report_.compile_seconds == 0.0
    assert "0.000 s of it compiling" in str(tree.fit_report_)
