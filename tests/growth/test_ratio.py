"""C4.5's choice of a feature, on numbers that can be checked by hand."""

import numpy as np

from gputree.formulas import branch_bits
from gputree.growth.ratio import Rated, RatioRules, choose_by_ratio

WEIGHT = 10  # of every node here


def chosen(gain, info, n_cuts=None, unit=1.0, **rules):
    """The feature that a node of weight 10 chooses, None if it chooses none."""
    gain, info = np.array([gain], float), np.array([info], float)
    n_cuts = np.zeros(gain.shape) if n_cuts is None else np.array([n_cuts], float)
    rated = Rated(gain * WEIGHT, info * WEIGHT, n_cuts)
    feature, is_found = choose_by_ratio(rated, np.array([WEIGHT]), unit, RatioRules(**rules))
    return int(feature[0]) if is_found[0] else None


def test_the_bits_of_branches_are_the_entropy_of_their_weights():
    weight = np.array([8.0, 4.0, 4.0, 0.0])
    assert branch_bits(weight, np.array(16.0)).tolist() == [8.0, 8.0, 8.0, 0.0]


def test_the_feature_of_the_best_ratio_is_chosen():
    assert chosen([0.5, 0.5], [1.0, 0.5]) == 1
    assert chosen([0.5, 0.5], [0.5, 1.0]) == 0


def test_a_gain_below_the_average_is_out_of_the_choice():
    # The first has the best ratio, 0.9; the averages are 0.3 and 0.42.
    assert chosen([0.09, 0.31, 0.5], [0.1, 1.0, 1.0]) == 2
    assert chosen([0.45, 0.31, 0.5], [0.5, 1.0, 1.0]) == 0


def test_a_gain_may_miss_the_average_by_a_thousandth():
    # The average is 0.3.
    assert chosen([0.2995, 0.3005], [0.1, 1.0]) == 0
    assert chosen([0.2985, 0.3015], [0.1, 1.0]) == 1


def test_ratios_that_differ_by_less_than_a_millionth_tie_and_the_first_wins():
    assert chosen([0.5, 0.5 + 9e-7], [1.0, 1.0]) == 0
    assert chosen([0.5, 0.5 + 2e-6], [1.0, 1.0]) == 1
    assert chosen([0.5, 0.5], [1.0, 1.0]) == 0


def test_the_bits_that_tell_a_threshold_are_taken_from_its_gain():
    # log2(16) bits over 10 rows: 0.4 of a gain of 0.6.
    assert chosen([0.6, 0.3], [1.0, 1.0], [16, 0]) == 0
    assert chosen([0.6, 0.3], [1.0, 1.0], [16, 0], corrects_gain=True) == 1
    assert chosen([0.8, 0.3], [1.0, 1.0], [16, 0], corrects_gain=True) == 0
    # In units of a half the node weighs 5 rows: 0.8 of a gain.
    assert chosen([1.0, 0.3], [1.0, 1.0], [16, 0], unit=0.5, corrects_gain=True) == 1
    # Categories have no threshold.
    assert chosen([0.6, 0.3], [1.0, 1.0], [0, 0], corrects_gain=True) == 0


def test_a_threshold_that_gains_nothing_is_not_averaged_and_categories_are():
    # The average is 0.55, which the second misses, or 0.37.
    assert chosen([0.0, 0.4, 0.7], [1.0, 0.4, 1.0], [3, 3, 3]) == 2
    assert chosen([0.0, 0.4, 0.7], [1.0, 0.4, 1.0], [0, 3, 3]) == 1
    assert chosen([0.0], [1.0], [3]) is None


def test_features_of_many_categories_are_left_out_of_the_average_but_not_of_the_choice():
    gain, info = [0.9, 0.3, 0.2], [3.0, 0.5, 1.0]  # ratios 0.3, 0.6 and 0.2
    assert chosen(gain, info) == 0  # the average is 0.47
    few = np.array([False, True, True])
    assert chosen(gain, info, in_average=few) == 1  # the average is 0.25
    assert chosen([0.9, 0.3, 0.2], [1.0, 0.5, 1.0], in_average=few) == 0


def test_a_feature_without_a_split_or_with_one_branch_is_no_choice():
    assert chosen([-np.inf, 0.1], [0.0, 1.0]) == 1
    assert chosen([0.5, 0.1], [0.0, 1.0]) == 1
    assert chosen([-np.inf], [0.0]) is None
    assert chosen([0.0, 0.0], [1.0, 1.0]) is None


def test_every_node_has_its_own_average():
    score = np.array([[1.0, 5.0], [4.99, 5.0]])
    rated = Rated(score, np.array([[0.5, 10.0], [0.5, 10.0]]), np.zeros((2, 2)))
    feature, is_found = choose_by_ratio(rated, np.array([WEIGHT] * 2), 1.0, RatioRules())
    assert (feature.tolist(), is_found.tolist()) == ([1, 0], [True, True])
