"""Where two values are told apart, and how the codes of all features lie in a histogram."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gputree.data.bins import Bins, FeatureBins, midpoint
from gputree.data.table import Kind

INF = np.inf
MAX = np.finfo(np.float64).max
TINY = 5e-324  # the smallest positive number
ONE_UP = np.nextafter(1.0, 2.0)


def between(below, above):
    return float(midpoint(np.array([below]), np.array([above]))[0])


def feature(*values, has_missing=False, kind=Kind.NUMERIC, categories=None):
    """A code for each of some sorted values."""
    value = np.array(values, np.float64)
    return FeatureBins("x", kind, categories, value[:-1], value[1:], has_missing)


@pytest.mark.parametrize(
    ("below", "above", "middle"),
    [
        (1.0, 2.0, 1.5),
        (-3.0, 7.0, 2.0),
        (0.36, 0.403, 0.3815),
        (1.0, ONE_UP, 1.0),  # neighbours: nothing lies between
        (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 0.0)),
        (-INF, 0.0, -INF),
        (0.0, INF, 0.0),
        (-INF, INF, -INF),
        (MAX, INF, MAX),
        (-INF, -MAX, -INF),
        (-MAX, MAX, 0.0),
        (MAX / 2, MAX, MAX * 0.75),  # the sum of the two would overflow
        (0.0, TINY, 0.0),
        (-TINY, 0.0, -TINY),
        (TINY, 2 * TINY, TINY),
        (3 * TINY, 5 * TINY, 4 * TINY),
    ],
)
def test_a_threshold_is_halfway_where_floating_point_allows(below, above, middle):
    assert between(below, above) == middle


def test_a_threshold_at_zero_is_never_negative_zero():
    assert not np.signbit(between(-0.0, TINY))
    assert not np.signbit(between(-0.0, INF))  # here the lower value itself is the threshold
    assert not np.signbit(between(-1.0, 1.0))


def test_the_sign_of_zero_does_not_move_a_threshold():
    assert between(-0.0, 3.0) == between(0.0, 3.0) == 1.5
    assert between(-3.0, -0.0) == between(-3.0, 0.0) == -1.5


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_threshold_always_tells_two_values_apart(a, b):
    below, above = min(a, b), max(a, b)
    assume(below < above)
    assert below <= between(below, above) < above


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 4))
def test_a_threshold_tells_close_neighbours_apart(below, steps):
    above = below
    with np.errstate(over="ignore"):  # the neighbour of the largest number is infinity
        for _ in range(steps):
            above = float(np.nextafter(above, INF))
    assert below <= between(below, above) < above


@given(st.floats(allow_nan=False, width=32), st.floats(allow_nan=False, width=32))
def test_float32_values_are_told_apart_by_a_float64_threshold(a, b):
    below, above = np.float64(min(a, b)), np.float64(max(a, b))
    assume(below < above)
    assert np.float32(below) <= between(below, above) < np.float32(above)


def test_a_feature_has_a_code_a_value_and_one_for_missing_values():
    three = feature(1.0, 2.0, 4.0)
    assert (three.n_values, three.n_codes) == (3, 3)
    assert three.cut.tolist() == [1.5, 3.0]
    with_missing = feature(1.0, 2.0, 4.0, has_missing=True)
    assert (with_missing.n_values, with_missing.n_codes) == (3, 4)


def test_a_constant_feature_has_one_code_and_no_cut():
    constant = feature(7.0)
    assert constant.n_codes == 1
    assert constant.cut.size == 0


def test_features_lie_one_after_another_in_a_histogram():
    bins = Bins((feature(1.0, 2.0), feature(5.0, has_missing=True), feature(1.0, 2.0, 3.0)))
    assert bins.n_codes.tolist() == [2, 2, 3]
    assert bins.n_values.tolist() == [2, 1, 3]
    assert bins.offset.tolist() == [0, 2, 4, 7]
    assert bins.feature_of.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert bins.width == 7


def test_the_threshold_of_a_split_lies_between_the_codes_that_occur():
    bins = Bins((feature(0.0, 8.0, has_missing=True), feature(1.0, 2.0, 4.0, 10.0)))

    def threshold(at, code, next_code):
        return bins.threshold(np.array([at]), np.array([code]), np.array([next_code]))[0]

    assert threshold(0, 0, 1) == 4.0
    assert threshold(1, 0, 1) == 1.5
    assert threshold(1, 0, 3) == 5.5  # codes 1 and 2 do not occur in the node
    assert threshold(1, 2, 3) == 7.0


def test_a_split_that_sends_every_known_value_left_has_an_infinite_threshold():
    bins = Bins((feature(0.0, 8.0, has_missing=True), feature(3.0, has_missing=True)))
    found = bins.threshold(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([-1, -1, -1]))
    assert found.tolist() == [INF, INF, INF]


def test_thresholds_of_wide_bins_use_the_values_next_to_the_gap():
    """Code 0 holds 1..3, code 1 holds 5..6, code 2 holds 9..20."""
    wide = FeatureBins(
        "x", Kind.NUMERIC, None, np.array([3.0, 6.0]), np.array([5.0, 9.0]), has_missing=False
    )
    found = Bins((wide,)).threshold(np.array([0, 0, 0]), np.array([0, 1, 0]), np.array([1, 2, 2]))
    assert found.tolist() == [4.0, 7.5, 6.0]
