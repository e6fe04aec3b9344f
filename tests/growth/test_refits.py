"""Fits beside a boundary: which rows they are made to, and what they find there."""

import numpy as np

from gputree.data.target import class_target, value_target
from gputree.growth.directions import NodeRows, Sought
from gputree.growth.refits import beside

SOUGHT = Sought("lda", most_terms=8, n_projections=1, density=3.0, term_cost=0.0)


def refitted(X, distance, target, n_rows, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    rows = NodeRows(X.T.copy(), np.array(n_rows), weight, 10_000)
    return beside(rows, distance, target, np.arange(len(X)), SOUGHT)


def bands(n=3000, seed=0):
    """Six bands along a slanted line, and a split that is some degrees off their first edge."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 2))
    across = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    label = (np.floor(3.0 * across) % 2).astype(int)
    return X, label, X[:, 0] + X[:, 1] + 0.95


def off(weight):
    """How far weights are from those of the bands."""
    return np.abs(weight[1] / weight[0] - 0.75)


def test_rows_next_to_a_boundary_tell_its_direction():
    X, label, distance = bands()
    found = refitted(X, distance, class_target(label, 2, None), [len(X)])
    assert found.weight.shape == (1, 3, 2)  # a fit of both columns for each share of the rows
    assert min(off(each) for each in found.weight[0]) < 0.05 < off([1.0, 1.0])


def test_of_several_classes_those_of_one_side_are_told_from_the_others():
    X, label, distance = bands()
    low = distance <= 0.0
    several = np.where(low, label, 2 + label)  # a class more often below the line, or above
    few = refitted(X, distance, class_target(several, 4, None), [len(X)])
    two = refitted(X, distance, class_target(low.astype(int), 2, None), [len(X)])
    assert few.weight.tobytes() == two.weight.tobytes()


def test_weights_are_rows_that_come_again_and_order_does_not_count():
    X, label, distance = bands(300)
    weight = np.random.default_rng(1).integers(1, 4, 300)
    once = refitted(
        X, distance, class_target(label, 2, weight), [120, 180], weight.astype(np.float64)
    )
    again = np.repeat(np.arange(300), weight)
    n_rows = [int(weight[:120].sum()), int(weight[120:].sum())]
    rng = np.random.default_rng(2)
    again = np.append(rng.permutation(again[: n_rows[0]]), rng.permutation(again[n_rows[0] :]))
    many = refitted(X[again], distance[again], class_target(label[again], 2, None), n_rows)
    assert once.weight.tobytes() == many.weight.tobytes()
    assert once.column.tobytes() == many.column.tobytes()


def test_rows_without_a_distance_are_in_no_fit():
    X, label, distance = bands(400)
    is_out = np.arange(400) >= 300
    X[is_out], label[is_out], distance[is_out] = X[is_out] + 0.5, 1 - label[is_out], np.nan
    all_rows = refitted(X, distance, class_target(label, 2, None), [400])
    label[is_out] = 0
    same = refitted(X, distance, class_target(label, 2, None), [400])
    assert all_rows.weight.tobytes() == same.weight.tobytes()


def test_a_side_without_rows_and_outputs_of_a_regression_are_fitted_all_the_same():
    X, label, distance = bands(200)
    none = refitted(X, np.ones(200), class_target(label, 2, None), [200])
    assert not none.weight.any()
    y = value_target(np.column_stack([X[:, 0] - X[:, 1], X[:, 0] + X[:, 1]]), None)
    found = refitted(X, distance, y, [200]).weight[0]
    assert found[0].tolist() in ([1.0, -1.0], [-1.0, 1.0])
    assert found[3].tolist() == [1.0, 1.0]
