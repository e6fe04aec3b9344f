"""Each rule by which a node stays a leaf, alone."""

import numpy as np
import pytest

from gputree import formulas, sampling
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Kind
from gputree.data.target import Channels, value_target
from gputree.growth.draft import Draft
from gputree.growth.rules import Rules, mean_over, score_floor, score_shift, weight_floor
from gputree.kernels.criteria import ENTROPY, GINI, SQUARED_ERROR

ROOT = np.zeros(1, np.int64)
BINS = Bins((FeatureBins("x", Kind.NUMERIC, None, np.array([0.0]), np.array([1.0]), False),))
CLASSES = Channels(2, True, False)
WEIGHTED = Channels(2, True, True)
VALUES = Channels(1, False, False, 0, (0,), (0.0,))


def draft(channels, *totals):
    return Draft(BINS, channels, np.array(totals), sampling.root_key(1))


def may_split(growing, **rules):
    return bool(Rules(GINI, **rules).may_split(growing, ROOT)[0])


def test_a_node_of_one_class_is_a_leaf():
    assert may_split(draft(CLASSES, 2, 1))
    assert not may_split(draft(CLASSES, 3, 0))
    assert not may_split(draft(WEIGHTED, 0, 9, 4))


def test_a_regression_node_does_not_tell_by_its_sums_whether_it_is_pure():
    assert may_split(draft(VALUES, 3, 0))


@pytest.mark.parametrize(("n_rows", "expected"), [(4, True), (5, True), (6, False)])
def test_a_node_with_too_few_rows_is_a_leaf(n_rows, expected):
    assert may_split(draft(CLASSES, 3, 2), min_rows_split=n_rows) is expected


@pytest.mark.parametrize(("n_rows", "expected"), [(1, True), (2, True), (3, False)])
def test_a_node_that_cannot_give_both_children_their_rows_is_a_leaf(n_rows, expected):
    assert may_split(draft(CLASSES, 3, 2), min_rows_leaf=n_rows) is expected


def test_a_single_row_is_a_leaf():
    assert not may_split(draft(VALUES, 1, 7))


def test_rows_are_counted_and_not_their_weight():
    """Weights 90 and 10 in three rows."""
    assert may_split(draft(WEIGHTED, 90, 10, 3), min_rows_split=3)
    assert not may_split(draft(WEIGHTED, 90, 10, 3), min_rows_split=4)


@pytest.mark.parametrize(("weight", "expected"), [(50, True), (51, False)])
def test_a_node_that_cannot_give_both_children_their_weight_is_a_leaf(weight, expected):
    assert may_split(draft(WEIGHTED, 90, 10, 3), min_weight_leaf=weight) is expected


def test_a_node_at_the_largest_depth_is_a_leaf():
    growing = draft(CLASSES, 2, 2)
    growing.depth[0] = 3
    assert may_split(growing)
    assert may_split(growing, max_depth=4)
    assert not may_split(growing, max_depth=3)


def test_rules_are_applied_to_each_node():
    growing = draft(CLASSES, 8, 8)
    growing.left[0] = [8, 2]
    growing.divide(ROOT)
    assert Rules(GINI).may_split(growing, np.array([2, 1, 0])).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("rules", "scores"),
    [
        ({}, [True, True, True, False]),
        ({"splits_without_gain": False}, [True, True, False, False]),
        ({"min_score": 1.0}, [True, False, False, False]),
        ({"min_score": 1.0, "splits_without_gain": False}, [True, False, False, False]),
        ({"min_score": 2.0}, [True, False, False, False]),
        ({"min_score": 2.1}, [False, False, False, False]),
    ],
)
def test_a_split_must_be_worth_enough(rules, scores):
    score = np.array([2.0, 5e-324, 0.0, -np.inf])
    assert Rules(GINI, **rules).limits.suffices(score).tolist() == scores


def test_a_search_says_what_the_rules_say():
    rules = Rules(ENTROPY, min_rows_leaf=3, min_weight_leaf=5)
    found = rules.search(draft(CLASSES, 2, 2), ROOT, 7)
    assert (found.criterion, found.min_rows, found.min_weight) == (ENTROPY, 3, 5)
    assert (found.n_drawn, found.rank) == (7, None)


def test_features_are_drawn_with_the_key_of_each_node():
    growing = draft(CLASSES, 8, 8)
    growing.left[0] = [8, 2]
    growing.divide(ROOT)
    found = Rules(GINI, n_drawn=2).search(growing, np.array([2, 1]), 7)
    assert found.n_drawn == 2
    assert found.rank.tolist() == sampling.feature_ranks(growing.key[[2, 1]], 7).tolist()


@pytest.mark.parametrize("n_drawn", [7, 8, None])
def test_drawing_all_features_is_no_draw(n_drawn):
    found = Rules(GINI, n_drawn=n_drawn).search(draft(CLASSES, 2, 2), ROOT, 7)
    assert (found.n_drawn, found.rank) == (7, None)


@pytest.mark.parametrize(
    ("fraction", "total", "floor"), [(0.0, 10, 0), (0.5, 10, 5), (0.5, 11, 6), (0.1, 10, 1)]
)
def test_the_least_weight_is_a_share_of_the_total_rounded_up(fraction, total, floor):
    assert weight_floor(fraction, total) == floor


# Units of scores.


def test_without_a_least_decrease_every_score_will_do():
    assert score_floor(0.0, CLASSES, 10) == 0.0


def test_the_least_score_is_the_decrease_times_all_rows():
    assert score_floor(0.25, CLASSES, 8) == pytest.approx(2.0, abs=1e-14)
    assert score_floor(0.25, CLASSES, 8) <= 2.0  # a decrease that misses by rounding is accepted


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 1.0]])
@pytest.mark.parametrize("scale", [1.0, 1024.0, 3e-7])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_score_in_channel_units_is_the_decrease_of_variance(weight, scale, n_outputs):
    """Of all rows, the first against the other three, by the criterion and by NumPy."""
    rng = np.random.default_rng(n_outputs)
    y = rng.normal(size=(4, n_outputs)) * scale
    given = None if weight is None else np.array(weight)
    w = np.ones(4) if weight is None else given
    target = value_target(y, given)
    channels = target.channels
    units = np.array(channels.units)
    whole = np.ones(4, np.int64) if target.weight is None else target.weight
    left = [np.array([v]) for v in target.value[:, 0] * units]
    total = [np.array([v]) for v in target.value.sum(axis=1) * units]
    weights = np.array([float(whole[0])]), np.array([float(whole.sum())])
    score = formulas.score(SQUARED_ERROR, left, total, *weights)[0]
    found = np.ldexp(score / whole.sum(), score_shift(channels)) / mean_over(channels)

    def squares(part):
        mean = np.average(y[part], axis=0, weights=w[part])
        return (w[part][:, None] * (y[part] - mean) ** 2).sum(axis=0).mean()

    decrease = (squares(slice(0, 4)) - squares(slice(0, 1)) - squares(slice(1, 4))) / w.sum()
    assert found == pytest.approx(decrease, rel=1e-9)
    floor = score_floor(decrease, channels, int(whole.sum()))
    assert floor == pytest.approx(score, rel=1e-9 + 1e-15 / decrease)


def test_a_least_decrease_beyond_any_tiny_target_is_no_overflow():
    target = value_target(np.array([[1e-200], [3e-200]]), None)
    assert score_floor(0.1, target.channels, 2) == np.inf
