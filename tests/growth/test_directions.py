"""Directions follow from exact sums: fits by hand, rounding, and rows in any order."""

import numpy as np
import pytest

from gputree.data.target import class_target, value_target
from gputree.growth.directions import NodeRows, Sought, readable
from gputree.growth.fits import candidates


def sought(directions="lda", **changed):
    kept = {"most_terms": 8, "n_projections": 6, "density": 3.0, "term_cost": 0.0}
    return Sought(directions, **{**kept, **changed})


def found(X, target, n_rows, how, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    rows = NodeRows(X.T.copy(), np.array(n_rows), weight, 1000)
    return candidates(rows, target, np.arange(len(X)), how)


def as_matrix(combos, n_columns):
    """The weights of all candidates, (nodes, candidates, columns)."""
    dense = np.zeros((*combos.weight.shape[:2], n_columns))
    np.put_along_axis(dense, combos.column, combos.weight, axis=2)
    return dense


def test_a_discriminant_worked_by_hand():
    """The means of the classes are (2, 1) and (1, 2) and columns vary alike: x0 - x1."""
    X = np.array([[1.0, 0], [2, 1], [3, 2], [2, 1], [0, 1], [1, 2], [2, 3], [1, 2]])
    combos = found(X, class_target(np.repeat([0, 1], 4), 2, None), [8], sought())
    assert as_matrix(combos, 2)[0].tolist() in ([[1.0, -1.0]], [[-1.0, 1.0]])


def test_a_fit_of_all_columns_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1.0, 30.0, 0.01, 5.0] + [0.0, 100.0, 0.0, -7.0]
    y = X @ [1.0, 0.05, 80.0, -0.1] + rng.normal(size=200)
    combos = found(X, value_target(y[:, None], None), [200], sought())
    weight = as_matrix(combos, 4)[0, combos.size.tolist().index(4)]
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(200)]), y, rcond=None)[0][:4]
    lead = np.abs(exact * X.std(axis=0)).argmax()
    size = np.abs(weight - exact / exact[lead]) * X.std(axis=0) / X[:, lead].std()
    assert weight[lead] == 1.0
    assert size.max() < 0.011  # half of the last digit, which is a fiftieth at most


def test_fits_do_not_depend_on_the_order_of_the_rows_nor_on_other_nodes():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)).astype(np.float32), rng.integers(0, 3, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 5, 300).astype(float)
    both = found(X, class_target(y, 3, None), [120, 180], sought(), weight)
    order = np.append(rng.permutation(120), 120 + rng.permutation(180))
    shuffled = found(X[order], class_target(y[order], 3, None), [120, 180], sought(), weight[order])
    assert both.weight.tobytes() == shuffled.weight.tobytes()
    assert both.column.tobytes() == shuffled.column.tobytes()


@pytest.mark.parametrize("total", [7, 10**5, 2**33])
def test_sums_of_products_are_sums_of_whole_numbers_that_floats_hold(total):
    X = np.random.default_rng(0).normal(size=(2, 5)) * [[1e-9], [1e200]]
    rows = NodeRows(X, np.array([5]), np.ones(5), total)
    assert (rows.values == np.rint(rows.values)).all()
    largest = np.abs(rows.values).max(axis=1)
    assert largest.tolist() == [2.0**rows.bits] * 2
    assert largest[0] ** 2 * total <= 2.0**53


def test_columns_that_are_constant_or_copies_have_no_term():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 2))
    X = np.column_stack([X, X[:, 0], np.full(100, 3.0)])
    combos = found(X, class_target((X[:, 0] > X[:, 1]).astype(int), 2, None), [100], sought())
    weight = as_matrix(combos, 4)[0]
    assert np.count_nonzero(weight, axis=1).tolist() == [2, 0, 0]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e250])
def test_weights_have_few_digits_in_units_of_the_table(scale):
    column = np.array([[0, 1, 2]])
    spread, half = np.ones((1, 3)), np.array([[1.0, 1.0 / 7.0, 1e3]]) * scale
    weight = np.array([[1.0, 0.5, -0.123456]])
    _, rounded = readable(column, weight, spread, half, 3)
    # In units of the first column: 3.5 a seventh as wide, and a thousandth as wide.
    np.testing.assert_array_equal(rounded, [[1.0, 3.5, -1.2e-4]])


def test_terms_that_round_to_nothing_are_left_out():
    spread = half = np.ones((1, 2))
    _, rounded = readable(np.array([[0, 1]]), np.array([[1.0, 1e-3]]), spread, half, 2)
    assert not rounded.any()  # one term is left, and that is no combination
