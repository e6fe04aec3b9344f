"""Targets and weights as integers: exact sums, in units that are powers of two."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gputree.data.target import (
    Channels,
    class_target,
    exponent_of,
    value_target,
    whole_weights,
)

LIMIT = 2**53
magnitudes = st.floats(-1e150, 1e150).filter(lambda x: x == 0 or abs(x) > 1e-150)


def weights(**bounds):
    return st.lists(st.floats(0.0, **bounds), min_size=1, max_size=20).filter(any)


def outputs(*columns):
    return np.array(columns, np.float64).T


def real_value(target):
    """Weight times distance from the origin of each row and output, in the user's units."""
    shift = np.array(target.channels.output_shift)[:, None]
    return np.ldexp(target.value.astype(np.float64), -shift)


def exact_total(integers):
    """The sum of the magnitudes, without any limit."""
    return sum(abs(int(x)) for x in np.ravel(integers))


# Channels.


@pytest.mark.parametrize(
    ("channels", "n", "scored", "weight", "rows"),
    [
        (Channels(3, True, False), 3, [5, 7, 11], 23, 23),
        (Channels(3, True, True), 4, [5, 7, 11], 23, 13),
        (Channels(2, False, False, 0, (0, 0), (0.0, 0.0)), 3, [7, 11], 5, 5),
        (Channels(2, False, True, 0, (0, 0), (0.0, 0.0)), 4, [7, 11], 5, 13),
    ],
    ids=["classes", "weighted classes", "two outputs", "weighted outputs"],
)
def test_channels_say_where_weights_rows_and_scored_sums_are(channels, n, scored, weight, rows):
    sums = np.array([5, 7, 11, 13])[:n]
    assert channels.n == n
    assert sums[channels.scored].tolist() == scored
    assert channels.weight_of(sums) == weight
    assert channels.rows_of(sums) == rows
    assert channels.rows_of(np.stack([sums, 2 * sums])).tolist() == [rows, 2 * rows]


@pytest.mark.parametrize(
    ("x", "e"), [(1, 1), (2, 2), (3, 2), (4, 3), (0.5, 0), (0.25, -1), (0.75, 0), (2**52, 53)]
)
def test_an_exponent_is_the_first_power_of_two_above(x, e):
    assert exponent_of(x) == e
    assert 2.0 ** (e - 1) <= x < 2.0**e


# Weights.


@pytest.mark.parametrize("weight", [None, np.ones(3), np.ones(1)])
def test_weights_of_one_are_no_weights(weight):
    assert whole_weights(weight) == (None, 0)


@pytest.mark.parametrize("weight", [[3, 1, 2], [0, 1, 0], [1, 10**6, 7], [2**40, 1], [5, 5, 5]])
def test_whole_weights_stay_themselves(weight):
    whole, shift = whole_weights(np.array(weight, np.float64))
    assert (whole.tolist(), shift) == (weight, 0)
    assert whole.dtype == np.int64


@pytest.mark.parametrize(
    ("weight", "whole", "shift"),
    [
        ([0.5, 0.75], [2, 3], 2),
        ([2, 4, 0], [2, 4, 0], 0),
        ([0.5, 0.5], [1, 1], 1),
        ([2.0**-1000, 3 * 2.0**-1000], [1, 3], 1000),
        ([2.0**900, 3 * 2.0**900], [1, 3], -900),
        ([5e-324, 5e-324], [1, 1], 1074),
    ],
)
def test_weights_drop_powers_of_two_they_share_but_whole_numbers_stay(weight, whole, shift):
    found = whole_weights(np.array(weight))
    assert (found[0].tolist(), found[1]) == (whole, shift)


@given(weights(max_value=1e308))
def test_the_total_of_all_weights_is_exact_as_a_float(weight):
    whole, _ = whole_weights(np.array(weight))
    assume(whole is not None)
    assert exact_total(whole) < LIMIT


@given(weights(max_value=1e6))
def test_weights_are_rounded_by_half_a_unit_at_most(weight):
    weight = np.array(weight)
    whole, shift = whole_weights(weight)
    assume(whole is not None)
    apart = np.abs(np.ldexp(whole.astype(np.float64), -shift) - weight)
    assert (apart <= np.ldexp(0.5, -shift)).all()
    assert (apart <= weight.max() * len(weight) * 2.0**-49).all()


@given(st.permutations(range(6)))
def test_the_order_of_the_rows_does_not_change_the_unit(order):
    weight = np.array([0.1, 3.7, 0.0, 1e-9, 2.0, 0.3])
    whole, shift = whole_weights(weight)
    found, found_shift = whole_weights(weight[order])
    assert (found.tolist(), found_shift) == (whole[order].tolist(), shift)


# Classes.


def test_unweighted_classes_are_counted():
    target = class_target(np.array([0, 2, 2, 1, 2]), 4, None)
    assert target.channels == Channels(4, True, False)
    assert target.totals.tolist() == [1, 1, 3, 0]
    assert target.n_rows == 5


def test_weighted_classes_add_weights_and_count_rows_that_have_some():
    target = class_target(np.array([0, 1, 1, 0]), 2, np.array([1.0, 2.5, 0.0, 4.0]))
    assert target.channels.weight_shift == 1
    assert target.weight.tolist() == [2, 5, 0, 8]
    assert target.totals.tolist() == [10, 5, 3]


def test_many_rows_are_counted_a_part_at_a_time(monkeypatch):
    label, weight = np.array([0, 1, 1, 0, 2, 1, 1]), np.array([1.0, 2.5, 0.0, 4.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr("gputree.data.target.SOME_ROWS", 3)
    assert class_target(label, 4, None).totals.tolist() == [2, 4, 1, 0]
    assert class_target(label, 4, weight).totals.tolist() == [10, 9, 2, 0, 6]


def test_a_weight_of_two_counts_a_class_like_the_row_twice():
    label, weight = np.array([0, 1, 2, 1]), np.array([2.0, 1.0, 3.0, 2.0])
    twice = class_target(np.repeat(label, weight.astype(int)), 3, None)
    assert class_target(label, 3, weight).totals[:3].tolist() == twice.totals.tolist() == [2, 3, 3]


# Values.


def test_targets_are_taken_from_the_middle_of_their_range():
    target = value_target(outputs([10.0, 14.0, 11.0]), None)
    assert target.channels.origin == (12.0,)
    assert real_value(target).tolist() == [[-2.0, 2.0, -1.0]]
    assert target.totals[0] == 3


def test_a_fixed_point_uses_the_bits_there_are():
    """Three rows and |y| = 2 leave 53 - 2 - 2 - 2 bits after the point."""
    assert value_target(outputs([10.0, 14.0, 11.0]), None).channels.output_shift == (47,)


@given(st.lists(magnitudes, min_size=1, max_size=20))
def test_the_total_of_all_values_is_exact_as_a_float(y):
    target = value_target(outputs(y), None)
    assert exact_total(target.value) < LIMIT
    assert np.isfinite(target.point).all()


@given(st.data(), weights(max_value=1e3))
def test_the_total_of_all_weighted_values_is_exact_as_a_float(data, weight):
    n = len(weight)
    y = data.draw(st.lists(magnitudes, min_size=n, max_size=n))
    target = value_target(outputs(y), np.array(weight))
    assert exact_total(target.value) < LIMIT


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_values_are_rounded_by_half_a_unit_at_most(y):
    target = value_target(outputs(y), None)
    exact = np.array(y) - target.channels.origin[0]
    apart = np.abs(np.ldexp(target.point[0], -target.channels.output_shift[0]) - exact)
    assert (apart <= np.ldexp(0.5, -target.channels.output_shift[0])).all()
    assert (target.point == np.rint(target.point)).all()


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20), st.integers(-400, 400))
def test_scaling_the_targets_by_a_power_of_two_changes_the_unit_only(y, k):
    plain = value_target(outputs(y), None)
    scaled = value_target(np.ldexp(outputs(y), k), None)
    assert scaled.value.tolist() == plain.value.tolist()
    if len(set(y)) > 1:
        assert scaled.channels.output_shift[0] == plain.channels.output_shift[0] - k


@given(st.data(), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_a_weight_of_two_sums_like_the_row_twice(data, y):
    weight = data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y)))
    weighted = value_target(outputs(y, y[::-1]), np.array(weight, np.float64))
    twice = value_target(np.repeat(outputs(y, y[::-1]), weight, axis=0), None)
    assert weighted.channels.output_shift == twice.channels.output_shift
    assert weighted.channels.origin == twice.channels.origin
    assert weighted.totals[1:3].tolist() == twice.totals[1:3].tolist()
    assert np.ldexp(weighted.totals[0], -weighted.channels.weight_shift) == twice.totals[0]


def test_a_constant_output_is_its_origin_and_all_zeros():
    target = value_target(outputs([7.0, 7.0], [10.0, 30.0]), None)
    assert target.channels.origin == (7.0, 20.0)
    assert target.value[0].tolist() == [0, 0]
    assert target.channels.output_shift[0] == target.channels.output_shift[1]  # the coarsest


def test_constant_targets_need_no_scale():
    target = value_target(outputs([7.0, 7.0, 7.0]), None)
    assert target.totals.tolist() == [3, 0]
    assert target.point.tolist() == [[0.0, 0.0, 0.0]]


def test_each_output_has_a_unit_of_its_own():
    target = value_target(outputs([0.0, 2.0], [0.0, 2e9], [0.0, 2e-9]), None)
    shift = target.channels.output_shift
    assert shift[2] > shift[0] > shift[1]
    assert real_value(target)[:, 1] == pytest.approx([1.0, 1e9, 1e-9], rel=1e-14)
    assert target.value.shape == target.point.shape == (3, 2)


def test_values_lie_output_by_output():
    """Kernels would be compiled for another layout, too."""
    assert value_target(np.arange(6.0).reshape(3, 2), None).value.flags.c_contiguous


def test_rows_without_weight_set_neither_origin_nor_unit():
    weight = np.array([1.0, 2.0, 0.0, 1.0])
    with_row = value_target(outputs([1.0, 5.0, -900.0, 2.0]), weight)
    without = value_target(outputs([1.0, 5.0, 2.0]), weight[weight > 0])
    assert with_row.channels == without.channels
    assert with_row.totals.tolist() == without.totals.tolist()
    assert with_row.value[:, 2].tolist() == [0]


@pytest.mark.parametrize("outlier", [1e150, -1e150])
def test_a_row_without_weight_may_be_any_distance_away(outlier):
    target = value_target(outputs([1e-200, 3e-200, outlier]), np.array([1.0, 2.0, 0.0]))
    assert target.value[:, 2].tolist() == [0]


@pytest.mark.parametrize("k", [-1040, -900, -40, 0, 40, 60, 900])
def test_targets_stay_apart_whatever_the_size_of_the_weights(k):
    weight = np.ldexp(np.array([1.0, 3.0, 2.0, 1.0]), k)
    target = value_target(outputs([0.0, 0.1, 0.7, 1.0]), weight)
    assert len(set(target.point[0].tolist())) == 4
    assert np.isfinite(target.point).all()
    # 1 * -0.5, 3 * -0.4, 2 * 0.2 and 1 * 0.5
    assert target.totals[1] / exact_total(target.value) == pytest.approx(-0.8 / 2.6, rel=1e-6)


@given(st.permutations(range(5)))
def test_sums_do_not_depend_on_the_order_of_the_rows(order):
    y, weight = outputs([0.1, 0.7, -3.0, 1e-9, 2.5]), np.array([0.3, 1.0, 0.7, 2.0, 0.1])
    target = value_target(y, weight)
    assert value_target(y[order], weight[order]).totals.tolist() == target.totals.tolist()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150])
def test_targets_of_any_magnitude_keep_their_digits(scale):
    y = np.array([0.1, 0.35, 0.8]) * scale
    target = value_target(outputs(y), None)
    found = real_value(target)[0] + target.channels.origin[0]
    assert found == pytest.approx(y, rel=1e-12)
