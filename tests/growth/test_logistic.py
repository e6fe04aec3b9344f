"""Logistic fits: near those of scikit-learn, with an end where classes are apart, exact sums."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gputree.growth.logistic as logistic
from gputree.data.target import class_target, value_target
from gputree.growth.directions import NodeRows, Sought
from gputree.growth.fits import candidates

SOUGHT = Sought("logistic", most_terms=8, n_projections=1, density=3.0, term_cost=0.0)


def found(X, target, n_rows, weight=None, total=10_000):
    weight = np.ones(len(X)) if weight is None else weight
    rows = NodeRows(X.T.copy(), np.array(n_rows), weight, total)
    combos = candidates(rows, target, np.arange(len(X)), SOUGHT)
    dense = np.zeros((*combos.weight.shape[:2], X.shape[1]))
    np.put_along_axis(dense, combos.column, combos.weight, axis=2)
    return dense


def skewed(n=800, seed=0):
    """Two classes, one of which has rows far beyond the boundary, which draw least squares away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1]
    y = (X @ [1.0, 0.04, -8.0] + 0.3 * rng.logistic(size=n) > 0.0).astype(int)
    X[y == 1] += np.where(rng.random((int(y.sum()), 1)) < 0.2, [[9.0, 0.0, 0.0]], 0.0)
    return X, y


@pytest.mark.parametrize("total", [10_000, 2**30])
def test_weights_are_nearly_those_of_scikit_learn(total):
    X, y = skewed()
    ours = found(X, class_target(y, 2, None), [len(X)], total=total)[0, -1]
    scale = X.std(axis=0)
    theirs = LogisticRegression(C=1e3).fit(X / scale, y).coef_[0]
    ours = ours * scale
    angle = ours @ theirs / np.sqrt((ours @ ours) * (theirs @ theirs))
    assert abs(angle) > 0.998
    rows = NodeRows(X.T.copy(), np.array([len(X)]), np.ones(len(X)), total)
    plain = Sought("lda", most_terms=8, n_projections=1, density=3.0, term_cost=0.0)
    lda = candidates(rows, class_target(y, 2, None), np.arange(len(X)), plain)
    line = lda.weight[0, -1] * scale[lda.column[0, -1]]
    assert abs(line @ theirs) / np.sqrt((line @ line) * (theirs @ theirs)) < 0.99


def test_classes_that_are_apart_have_a_fit_that_ends():
    X, _ = skewed(100)
    y = (X[:, 0] > X[:, 1] / 20.0).astype(int)
    weight = found(X, class_target(y, 2, None), [100])[0, 0]
    assert weight[0] == pytest.approx(-20.0 * weight[1], rel=0.2)


def test_neither_order_nor_other_nodes_nor_repeated_rows_change_a_bit():
    X, _ = skewed(300)
    y = np.random.default_rng(1).integers(0, 3, 300)
    weight = np.random.default_rng(2).integers(1, 4, 300)
    both = found(X, class_target(y, 3, weight), [120, 180], weight.astype(np.float64))
    again = np.random.default_rng(3).permutation(np.repeat(np.arange(120), weight[:120]))
    first = found(X[again], class_target(y[again], 3, None), [len(again)])
    assert both[0].any(axis=1).all()
    assert both[0].tobytes() == first[0].tobytes()


@pytest.mark.parametrize("total", [10_000, 2**33])
def test_steps_have_the_same_bits_in_any_order_before_they_are_rounded(total):
    X, _ = skewed(500)
    y = np.random.default_rng(1).integers(0, 2, 500).astype(float)
    own = []
    for order in (np.arange(500), np.random.default_rng(2).permutation(500)):
        rows = NodeRows(X[order].T.copy(), np.array([500]), np.ones(500), total)
        weight, values = logistic._light(rows)
        column, is_in = np.array([[0, 1, 2]]), np.ones((1, 3), bool)
        own.append(logistic._fitted(rows, values, weight, column, is_in, y[order]))
    assert own[0].all()
    assert own[0].tobytes() == own[1].tobytes()


def test_a_regression_tells_high_values_from_low_ones():
    X, y = skewed()
    high = found(X, value_target((5.0 * y[:, None] + 1.0), None), [len(X)])
    two = found(X, class_target(y, 2, None), [len(X)])
    assert (high == two).all() or (high == -two).all()
    assert high.any()
