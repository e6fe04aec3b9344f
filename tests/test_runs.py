"""Runs of numbers, by numbers a reader can count."""

import numpy as np
import pytest

from gputree.runs import begins, first_largest, owners, spread_out, within

N = np.array([2, 0, 3, 1])


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.int32])
def test_members_of_runs(dtype):
    n = N.astype(dtype)
    assert begins(n).tolist() == [0, 2, 2, 5]
    assert owners(n).tolist() == [0, 0, 2, 2, 2, 3]
    assert within(n).tolist() == [0, 1, 0, 1, 2, 0]
    assert spread_out(np.array([10, 20, 30, 40]), n).tolist() == [10, 11, 30, 31, 32, 40]


def test_no_runs_have_no_members():
    none = np.empty(0, np.int64)
    for found in (begins(none), owners(none), within(none), spread_out(none, none)):
        assert found.tolist() == []
    assert first_largest(none, none).tolist() == []


def test_the_first_of_the_largest_members():
    n = np.array([3, 1, 2])
    assert first_largest(np.array([5, 7, 7, 0, -2, -3]), n).tolist() == [1, 0, 0]
