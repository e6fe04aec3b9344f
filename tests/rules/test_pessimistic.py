"""The limit of the error is C4.5's."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.pruning.confidence import error_limit


def quinlan(total, wrong, confidence):
    """Errors seen and to come, one case at a time, as the published program adds them."""
    level = np.float32(confidence)  # of single precision there
    none = total * (1 - float(level) ** (1 / total))
    if wrong == 0:
        return none
    if wrong < 1:
        return none + wrong * (quinlan(total, 1.0, confidence) - none)
    if wrong + 0.5 >= total:
        return total
    z = NormalDist().inv_cdf(float(np.float32(1) - level))
    f = (wrong + 0.5) / total
    root = math.sqrt(f / total - f * f / total + z * z / (4 * total * total))
    return total * (f + z * z / (2 * total) + z * root) / (1 + z * z / total)


@pytest.mark.parametrize(("total", "limit"), [(6, 0.206), (9, 0.143), (1, 0.750)], ids=str)
def test_without_errors_the_limits_are_those_of_quinlans_book(total, limit):
    assert error_limit(total, 0, 0.25) == pytest.approx(limit, abs=5e-4)


@given(
    st.integers(1, 400),
    st.floats(0, 1),
    st.sampled_from([0.01, 0.1, 0.25, 0.5]),
)
def test_limits_are_those_of_the_program(total, share, confidence):
    for wrong in (round(share * total), share * total):
        expected = min(quinlan(float(total), float(wrong), confidence) / total, 1.0)
        assert error_limit(total, wrong, confidence) == pytest.approx(expected, rel=1e-12)


def test_a_limit_is_above_the_share_and_falls_with_more_rows():
    total = np.array([2.0, 20.0, 200.0, 2000.0])
    limit = error_limit(total, 0.25 * total, 0.25)
    assert (limit > 0.25).all()
    assert (np.diff(limit) < 0).all()
    assert limit[-1] == pytest.approx(0.25, abs=0.01)


def test_where_nothing_was_seen_everything_may_be_wrong():
    assert error_limit([0.0, 1.0], [0.0, 1.0], 0.25).tolist() == [1.0, 1.0]
