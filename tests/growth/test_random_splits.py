"""Splits that are drawn: both sides filled, groups of categories alike, the best of features."""

from collections import Counter

import numpy as np
import pytest

from gputree import DecisionTreeRegressor, ExtraTreesClassifier

RNG = np.random.default_rng(0)


def root(X, y, seed, **options):
    tree = DecisionTreeRegressor(splitter="random", max_depth=1, random_state=seed, **options)
    return tree.fit(X, y)


def test_three_categories_are_divided_in_every_way_alike():
    """Three ways to divide a, b, c into two groups; 90 draws, each way 30 +- 4.5."""
    X = np.repeat([["a"], ["b"], ["c"]], 4, axis=0).astype(object)
    ways = Counter()
    for seed in range(90):
        leaf = root(X, np.arange(12.0), seed, categorical_features=[0]).apply(X)[::4]
        assert len(set(leaf.tolist())) == 2
        ways[tuple((leaf == leaf[0]).tolist())] += 1
    assert len(ways) == 3
    assert all(12 < n < 48 for n in ways.values())


def test_the_better_of_two_drawn_splits_is_taken():
    """Column 0 tells the target; whatever is drawn for column 1 gains less than 1/100 of it."""
    x = np.arange(50.0)
    X = np.stack([x, np.tile([0.0, 1.0], 25)], axis=1)
    chosen = [root(X, x, seed).nodes_.feature[0] for seed in range(10)]
    assert chosen == [0] * 10
    # With one feature drawn at a node, the other has its turn as well.
    drawn = {int(root(X, x, seed, max_features=1).nodes_.feature[0]) for seed in range(10)}
    assert drawn == {0, 1}


def test_the_threshold_is_the_value_that_was_drawn():
    """Anywhere between 0 and 1: 200 draws, a quarter of them in each quarter, 50 +- 6."""
    X, y = np.array([[0.0], [1.0]] * 5), np.tile([0.0, 1.0], 5)
    drawn = np.array([root(X, y, seed).tree_.threshold[0] for seed in range(200)])
    assert len(np.unique(drawn)) == 200
    assert ((drawn >= 0.0) & (drawn < 1.0)).all()
    n_in = np.histogram(drawn, bins=4, range=(0.0, 1.0))[0]
    assert n_in.min() > 25
    assert n_in.max() < 75


def test_a_value_drawn_within_a_bin_is_no_threshold():
    """Two bins, 0 to 9 and 90 to 99; what divides them is drawn between 9 and 90."""
    x = np.r_[np.arange(10.0), np.arange(90.0, 100.0)]
    drawn = {float(root(x[:, None], x, s, max_bins=2).tree_.threshold[0]) for s in range(20)}
    assert len(drawn) == 20
    assert min(drawn) >= 9.0
    assert max(drawn) < 90.0


def test_equal_splits_have_their_turn_alike():
    """Two rows are divided by any of four columns: 80 draws, each 20 +- 4."""
    X, y = np.array([[0.0] * 4, [1.0] * 4]), [0.0, 1.0]
    n = Counter(int(root(X, y, seed).tree_.feature[0]) for seed in range(80))
    assert sorted(n) == [0, 1, 2, 3]
    assert min(n.values()) > 6


def test_a_constant_column_is_passed_over():
    X = np.stack([np.zeros(20), np.arange(20.0)], axis=1)
    for seed in range(6):
        assert root(X, X[:, 1], seed, max_features=1).nodes_.feature[0] == 1


def test_thresholds_keep_both_sides_large_enough():
    X = RNG.normal(size=(40, 2))
    for seed in range(6):
        tree = root(X, X[:, 0], seed, min_samples_leaf=15)
        assert tree.tree_.n_rows[1:].min(initial=40) >= 15


@pytest.mark.parametrize("values", [[-np.inf, 0.0, 1.0, np.inf], [-1.7e308, 0.0, 1.0, 1.7e308]])
def test_values_without_a_middle(values):
    X = np.repeat(values, 5)[:, None]
    for seed in range(8):
        tree = root(X, np.repeat([0.0, 1.0, 2.0, 3.0], 5), seed)
        assert tree.get_n_leaves() == 2
        assert (tree.tree_.n_rows[1:] > 0).all()


def test_missing_values_go_to_either_side_alike():
    """100 draws, to each side 50 +- 5, whatever would lower the impurity more."""
    X = np.r_[np.zeros(10), np.ones(10), np.full(10, np.nan)][:, None]
    y = np.r_[np.zeros(10), np.ones(10), np.zeros(10)]
    n_low = 0
    for seed in range(100):
        low, high, missing = root(X, y, seed).apply([[0.0], [1.0], [np.nan]])
        assert low != high
        n_low += missing == low
    assert 30 < n_low < 70


def test_one_known_value_is_divided_from_missing_ones():
    """Every known value goes to child 0, also one above all that the node has seen."""
    X = np.r_[np.full(10, 3.0), np.full(6, np.nan)][:, None]
    y = np.r_[np.zeros(10), np.ones(6)]
    for seed in range(4):
        tree = root(X, y, seed)
        assert tree.apply(X).tolist() == [1] * 10 + [2] * 6
        assert tree.tree_.n_rows.tolist() == [16, 10, 6]
        assert tree.apply([[-5.0], [1e9], [np.inf]]).tolist() == [1, 1, 1]


def test_rows_of_extra_trees_end_in_the_leaf_that_counted_them():
    X = RNG.integers(0, 3, (300, 4)).astype(float)
    X[RNG.random(X.shape) < 0.3] = np.nan
    forest = ExtraTreesClassifier(3, random_state=0).fit(X, RNG.integers(0, 2, 300))
    for member in forest.estimators_:
        tree = member.nodes_
        ended = np.bincount(member.apply(X), minlength=tree.n_nodes)
        assert np.array_equal(ended[tree.is_leaf], tree.n_rows[tree.is_leaf])
