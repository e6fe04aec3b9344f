"""Boosting as the textbooks write it, in plain floats on small tables, gives the same model."""

import itertools

import numpy as np
import pytest

from gputree import GradientBoostingClassifier, GradientBoostingRegressor
from gputree.boosting.losses import shares


def naive_tree(X, gradient, hessian, depth, ridge, least):
    """(value) at a leaf, (feature, threshold, low, high) elsewhere: Newton steps by brute force."""
    value = -gradient.sum() / (hessian.sum() + ridge)
    best = (1e-9, None)
    if depth:
        whole = gradient.sum() ** 2 / (hessian.sum() + ridge)
        for feature in range(X.shape[1]):
            cuts = np.unique(X[:, feature])
            for low, high in itertools.pairwise(cuts):
                left = X[:, feature] <= low
                parts = [(gradient[side].sum(), hessian[side].sum()) for side in (left, ~left)]
                if min(h for _, h in parts) < least:
                    continue
                gain = sum(g * g / (h + ridge) for g, h in parts) - whole
                if gain > best[0] * (1 + 1e-9):
                    best = gain, (feature, (low + high) / 2)
    if best[1] is None:
        return (value,)
    feature, cut = best[1]
    left = X[:, feature] <= cut
    return (
        feature,
        cut,
        *(
            naive_tree(X[side], gradient[side], hessian[side], depth - 1, ridge, least)
            for side in (left, ~left)
        ),
    )


def answer(tree, row):
    while len(tree) > 1:
        tree = tree[2] if row[tree[0]] <= tree[1] else tree[3]
    return tree[0]


def naive(X, y, start, gradients, n_rounds, rate, depth, ridge, least):
    raw = np.tile(np.asarray(start)[:, None], (1, len(X)))
    for _ in range(n_rounds):
        found = gradients(y, raw)
        for output, (gradient, hessian) in enumerate(found):
            tree = naive_tree(X, gradient, hessian, depth, ridge, least)
            raw[output] += rate * np.array([answer(tree, row) for row in X])
    return raw


def logistic(y, raw):
    share = 1 / (1 + np.exp(-raw[0]))
    return [(share - y, share * (1 - share))]


def softmax(y, raw):
    share, bend = shares(raw), len(raw) / (len(raw) - 1)
    return [
        (share[:, k] - (y == k), bend * share[:, k] * (1 - share[:, k])) for k in range(len(raw))
    ]


def squared(y, raw):
    return [(raw[0] - y, np.ones(len(y)))]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=80)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_squared_error(rows, ridge):
    X, y = rows
    model = GradientBoostingRegressor(
        5, max_depth=3, l2_regularization=ridge, min_child_weight=2.0, learning_rate=0.3
    ).fit(X, y)
    expected = naive(X, y, [y.mean()], squared, 5, 0.3, 3, ridge, 2.0)
    assert model.predict(X) == pytest.approx(expected[0], abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_two_classes(rows, ridge):
    X, y = rows[0], (rows[1] > 0).astype(float)
    model = GradientBoostingClassifier(
        4, max_depth=3, l2_regularization=ridge, min_child_weight=1.0, learning_rate=0.3
    ).fit(X, y)
    share = y.mean()
    expected = naive(X, y, [np.log(share / (1 - share))], logistic, 4, 0.3, 3, ridge, 1.0)
    assert model.decision_function(X) == pytest.approx(expected[0], abs=1e-5)
    assert model.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-expected[0])), abs=1e-5)


def test_several_classes(rows):
    X, y = rows[0], np.digitize(rows[1], [-0.5, 0.5]).astype(float)
    model = GradientBoostingClassifier(3, max_depth=2, learning_rate=0.3).fit(X, y)
    start = np.log(np.bincount(y.astype(int)) / len(y))
    expected = naive(X, y, start - start.mean(), softmax, 3, 0.3, 2, 1.0, 1.0)
    assert model.decision_function(X) == pytest.approx(expected.T, abs=1e-5)


def test_the_first_round_by_hand():
    # Mean 3; residuals -2, -2, 0, 4. Best cut after row 3: (4/3)**2 * 3 + 4**2 = 21.3; the leaves
    # are -4/3 and 4, half of which is added.
    model = GradientBoostingRegressor(
        1, max_depth=1, learning_rate=0.5, l2_regularization=0.0, min_child_weight=1.0
    ).fit([[0], [1], [2], [3]], [1.0, 1.0, 3.0, 7.0])
    assert model.predict([[0], [3]]).tolist() == pytest.approx([3 - 2 / 3, 5.0], abs=1e-12)


def test_a_ridge_makes_leaves_smaller():
    # The same with a ridge of 1: -4 / (3 + 1) and 4 / (1 + 1).
    model = GradientBoostingRegressor(1, max_depth=1, learning_rate=1.0, min_child_weight=1.0).fit(
        [[0], [1], [2], [3]], [1.0, 1.0, 3.0, 7.0]
    )
    assert model.predict([[0], [3]]).tolist() == pytest.approx([2.0, 5.0], abs=1e-12)
    # What the split gains: 16/4 + 16/2 - 0.
    tree = model.estimators_[0].nodes_
    assert tree.gain[0] * tree.weight[0] == pytest.approx(12.0)


def test_two_even_classes_by_hand():
    # Log-odds 0, gradients ±1/2, hessians 1/4: leaves ±(1/2 * 2) / (2/4 + 1) = ±2/3.
    model = GradientBoostingClassifier(1, max_depth=1, learning_rate=1.0, min_child_weight=0.0).fit(
        [[0], [1], [2], [3]], ["no", "no", "yes", "yes"]
    )
    assert model.decision_function([[0], [3]]).tolist() == pytest.approx([-2 / 3, 2 / 3])


@pytest.mark.parametrize(("least", "n_leaves"), [(1.82, 2), (1.83, 1)])
def test_what_a_split_of_three_even_classes_gains_by_hand(least, n_leaves):
    # Shares 1/3: of the first class gradients -2/3 (its own rows) and 1/3, hessians 3/2 * 2/9 =
    # 1/3. Its rows apart: (4/3)**2 / (2/3 + 1) + (4/3)**2 / (4/3 + 1) = 1.829.
    model = GradientBoostingClassifier(1, max_depth=1, min_child_weight=0, min_split_gain=least)
    model.fit([[0], [0], [1], [1], [2], [2]], [0, 0, 1, 1, 2, 2])
    assert model.estimators_[0].get_n_leaves() == n_leaves
