"""The value of a split and the impurity of a node: worked numbers, and the laws behind them."""

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numba import njit

from gputree import formulas
from gputree.formulas import HOST
from gputree.kernels.cpu import scoring
from gputree.kernels.criteria import CRITERIA, ENTROPY, ERROR, GINI, POISSON, SQUARED_ERROR

SCORES = [GINI, ENTROPY, ERROR]


@njit
def two_way(*given):
    return scoring.two_way(*given)


def columns(counts):
    return [np.array([float(count)]) for count in counts]


def score(criterion, left, total):
    """The score of one split, from the class weights of its left child and of its node."""
    weights = np.array([float(sum(left))]), np.array([float(sum(total))])
    return float(formulas.score(criterion, columns(left), columns(total), *weights)[0])


def impurity(name, total):
    return float(getattr(HOST, name)(columns(total), np.array([float(sum(total))]), len(total))[0])


def minus(total, left):
    return [t - part for t, part in zip(total, left, strict=True)]


@st.composite
def splits(draw):
    """Class counts of a left child and of its node, with rows on both sides."""
    total = draw(st.lists(st.integers(0, 40), min_size=2, max_size=5))
    left = [draw(st.integers(0, count)) for count in total]
    assume(0 < sum(left) < sum(total))
    return left, total


# Worked numbers.


@pytest.mark.parametrize(
    ("counts", "error", "gini", "entropy"),
    [
        ((6, 0), 0, 0, 0.0),
        ((2, 4), Fraction(1, 3), Fraction(4, 9), 0.9183),
        ((5, 1), Fraction(1, 6), Fraction(10, 36), 0.6500),
    ],
)
def test_impurities_are_those_of_the_lecture(counts, error, gini, entropy):
    assert impurity("error", counts) == pytest.approx(float(error), abs=1e-15)
    assert impurity("gini", counts) == pytest.approx(float(gini), abs=1e-15)
    assert impurity("entropy", counts) == pytest.approx(entropy, abs=5e-5)


def test_a_pure_node_has_an_impurity_of_exactly_zero():
    for name in ("error", "gini", "entropy"):
        for counts in [(6, 0), (0, 6), (0, 0, 7), (3, 0, 0)]:
            assert impurity(name, counts) == 0.0


@pytest.mark.parametrize(
    ("criterion", "gain", "digits"),
    [(ERROR, 1 / 9, 1e-15), (GINI, 13 / 81, 1e-15), (ENTROPY, 0.32963, 5e-6)],
)
def test_a_three_way_split_is_worth_its_two_nested_binary_ones(criterion, gain, digits):
    node, first, second = (13, 5), (6, 0), (2, 4)
    rest = minus(node, first)  # (7, 5), split into (2, 4) and (5, 1)
    total = score(criterion, first, node) + score(criterion, second, rest)
    assert total / 18 == pytest.approx(gain, abs=digits)


def test_the_lecture_s_entropies_are_found():
    assert impurity("entropy", (13, 5)) == pytest.approx(0.85241, abs=5e-6)
    split = (6 * 0.0 + 6 * impurity("entropy", (2, 4)) + 6 * impurity("entropy", (5, 1))) / 18
    assert split == pytest.approx(0.52277, abs=1.1e-5)


def test_even_classes_have_the_largest_impurity():
    for n_classes in (2, 4, 8):
        even = [3] * n_classes
        assert impurity("gini", even) == 1 - 1 / n_classes
        assert impurity("error", even) == 1 - 1 / n_classes
        assert impurity("entropy", even) == log2(n_classes)


# Laws.


@pytest.mark.parametrize("criterion", SCORES)
@given(splits())
def test_a_score_is_the_weight_times_the_decrease_of_impurity(criterion, split):
    left, total = split
    right = minus(total, left)
    name = criterion.impurity
    below = sum(left) * impurity(name, left) + sum(right) * impurity(name, right)
    decrease = sum(total) * impurity(name, total) - below
    assert score(criterion, left, total) == pytest.approx(decrease, abs=1e-12 * sum(total))


@pytest.mark.parametrize("criterion", SCORES)
@given(splits())
def test_no_split_makes_things_worse(criterion, split):
    assert score(criterion, *split) >= 0.0


def test_rounding_does_not_make_information_negative():
    """Children so nearly alike that the rounding of the terms outweighs their sum."""
    assert score(ENTROPY, (630_201, 10_960), (632_961, 11_008)) == 0.0


@pytest.mark.parametrize("criterion", [GINI, ENTROPY])
@given(splits())
def test_a_score_is_zero_exactly_when_both_children_look_like_their_node(criterion, split):
    left, total = split
    alike = all(part * sum(total) == count * sum(left) for part, count in zip(*split, strict=True))
    assert (score(criterion, left, total) == 0.0) is alike


@pytest.mark.parametrize("criterion", SCORES)
@given(
    part=st.lists(st.integers(0, 2**20), min_size=2, max_size=4),
    times=st.tuples(st.integers(1, 2**12), st.integers(1, 2**12)),
)
def test_children_in_proportion_to_each_other_score_exactly_zero(criterion, part, times):
    assume(sum(part))
    left = [count * times[0] for count in part]
    total = [count * sum(times) for count in part]
    assert score(criterion, left, total) == 0.0


@pytest.mark.parametrize("criterion", [GINI, ERROR])
@given(splits())
def test_left_and_right_are_alike_to_the_last_bit(criterion, split):
    left, total = split
    assert score(criterion, left, total) == score(criterion, minus(total, left), total)


@given(splits())
def test_left_and_right_are_alike_to_information_up_to_rounding(split):
    left, total = split
    mirrored = score(ENTROPY, minus(total, left), total)
    assert score(ENTROPY, left, total) == pytest.approx(mirrored, abs=1e-14 * sum(total))


@pytest.mark.parametrize("criterion", SCORES)
@given(splits(), st.integers(-30, 30))
def test_scaling_all_weights_by_a_power_of_two_scales_the_score_and_nothing_else(
    criterion, split, shift
):
    left, total = ([float(np.ldexp(count, shift)) for count in counts] for counts in split)
    assert score(criterion, left, total) == np.ldexp(score(criterion, *split), shift)


@given(splits(), st.permutations(range(5)))
def test_trimming_makes_the_order_of_the_classes_irrelevant(split, order):
    left, total = split
    order = [c for c in order if c < len(total)]
    for criterion in SCORES:
        found = score(criterion, left, total)
        other = score(criterion, [left[c] for c in order], [total[c] for c in order])
        assert HOST.trim(found) == HOST.trim(other)


@given(splits())
def test_trimming_makes_mirrored_splits_equal(split):
    left, total = split
    for criterion in SCORES:
        mirrored = score(criterion, minus(total, left), total)
        assert HOST.trim(score(criterion, left, total)) == HOST.trim(mirrored)


def test_some_equal_splits_tie_only_because_they_are_trimmed():
    """A split and its mirror image; the sums of their terms round differently."""
    found, mirrored = (score(ENTROPY, left, (1, 1, 2)) for left in [(0, 0, 1), (1, 1, 1)])
    assert found != mirrored
    assert HOST.trim(found) == HOST.trim(mirrored)


@given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200))
def test_trimming_keeps_the_order_of_scores_that_clearly_differ(a, b):
    low, high = sorted([a, b])
    assert HOST.trim(low) <= HOST.trim(high)
    if high > low * (1 + 2.0**-34):
        assert HOST.trim(low) < HOST.trim(high)


@given(st.floats(1e-200, 1e200))
def test_trimming_keeps_36_bits(x):
    fraction = np.frexp(HOST.trim(x))[0] * 2.0**36
    assert fraction == np.rint(fraction)
    assert abs(HOST.trim(x) - x) <= x * 2.0**-36


def test_trimming_leaves_zero_and_small_whole_numbers_as_they_are():
    assert [HOST.trim(x) for x in (0.0, 1.0, 3.0, 2.0**36 - 1)] == [0.0, 1.0, 3.0, 2.0**36 - 1]


@given(
    y=st.lists(st.integers(-1000, 1000), min_size=2, max_size=30),
    at=st.integers(1, 29),
)
def test_the_score_of_a_regression_split_is_the_decrease_of_squared_error(y, at):
    at = min(at, len(y) - 1)
    left, right = y[:at], y[at:]
    weights = np.array([float(at)]), np.array([float(len(y))])
    found = formulas.score(SQUARED_ERROR, columns([sum(left)]), columns([sum(y)]), *weights)[0]
    decrease = sum(len(part) * s * np.var(part) for part, s in [(y, 1), (left, -1), (right, -1)])
    assert found == pytest.approx(decrease, rel=1e-12, abs=1e-12 * 4e6 * len(y))


def test_outputs_of_a_regression_add_their_scores():
    weights = np.array([1.0]), np.array([3.0])
    first = formulas.score(SQUARED_ERROR, columns([4]), columns([6]), *weights)[0]
    second = formulas.score(SQUARED_ERROR, columns([1]), columns([9]), *weights)[0]
    both = formulas.score(SQUARED_ERROR, columns([4, 1]), columns([6, 9]), *weights)[0]
    assert (first, second, both) == (6.0, 6.0, 12.0)


def test_the_formulas_take_whole_arrays_and_give_what_single_splits_give():
    left, total = np.array([[1.0, 3.0], [0.0, 2.0]]), np.array([[4.0, 5.0], [3.0, 2.0]])
    for criterion in SCORES:
        both = formulas.score(criterion, left, total, left.sum(axis=0), total.sum(axis=0))
        single = [score(criterion, left[:, i].tolist(), total[:, i].tolist()) for i in (0, 1)]
        assert both.tolist() == single


# One source for all.


@given(splits(), st.sampled_from(CRITERIA))
def test_compiled_code_gives_the_bits_of_array_code(split, criterion):
    left, total = (np.array(each, np.int64) for each in split)
    number, unit = scoring.number_of(criterion), np.ones(len(total))
    found = two_way(
        number, left, 0, unit, total.astype(float), float(left.sum()), float(total.sum()), -np.inf
    )
    assert found == score(criterion, *split)


@given(splits(), st.sampled_from(CRITERIA), st.floats(0.0, 2.0))
def test_what_falls_short_of_a_floor_is_below_it(split, criterion, share):
    left, total = (np.array(each, np.int64) for each in split)
    given = left, 0, np.ones(len(total)), total.astype(float), float(left.sum())
    own = score(criterion, *split)
    floor = share * max(own, 0.0)
    found = two_way(scoring.number_of(criterion), *given, float(total.sum()), floor)
    assert found == own or (found == -np.inf and own <= floor * (1 + 2.0**-50))


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.name)
def test_a_criterion_says_what_it_has(criterion):
    formulas_of = HOST.by_source[criterion.formulas]
    assert criterion.has_branches is (formulas_of.branch is not None)
    assert criterion.impurity is None or hasattr(HOST, criterion.impurity)
    assert criterion.is_counts is (criterion == POISSON)
    assert criterion.needs_gain is (criterion == ERROR)
