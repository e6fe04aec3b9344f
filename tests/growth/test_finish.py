"""A finished tree says in the user's units what its nodes hold."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.backends import registry
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import class_target, value_target
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.criteria import FOR_CLASSES, SQUARED_ERROR

NUMPY = registry.choose(backend="numpy").backend


def fitted(X, target, criterion=None, **rules):
    """The tree, and which rows are in each node."""
    chosen = FOR_CLASSES[criterion] if criterion else SQUARED_ERROR
    table = Table(
        tuple(Column(f"x{at}", Kind.NUMERIC, column) for at, column in enumerate(X.T)), len(X)
    )
    bins, data = bin_table(NUMPY, table, target.weight, 255)
    grown = grow(NUMPY, data, bins, target, Rules(chosen, **rules), 10**6)
    tree = finish(grown, target, NUMPY.leaves(grown.rows), Finish(chosen))
    inside = np.zeros((tree.n_nodes, len(X)), bool)
    at = NUMPY.apply(tree, table)
    while (at >= 0).any():
        inside[at, np.arange(len(X))] = at >= 0
        at = np.where(at > 0, tree.parent[at], -1)
    if target.weight is not None:
        inside &= target.weight > 0
    return SimpleNamespace(tree=tree, inside=inside)


@st.composite
def regressions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_outputs = draw(st.integers(2, 60)), draw(st.integers(1, 3))
    X = rng.integers(0, 12, (n_rows, 2)) * 1.0
    scale = 10.0 ** rng.integers(-3, 4, n_outputs)
    y = rng.normal(size=(n_rows, n_outputs)) * scale + rng.normal(size=n_outputs) * 100 * scale
    kind = draw(st.sampled_from(["none", "whole", "real"]))
    weight = {
        "none": None,
        "whole": rng.integers(0, 4, n_rows),
        "real": rng.uniform(0.5, 2, n_rows),
    }
    weight = weight[kind]
    if weight is not None:
        weight = np.append(weight[:-1], 1.5).astype(np.float64)
    return X, y, weight


@given(regressions(), st.sampled_from([{}, {"max_leaves": 5}, {"max_depth": 2}]))
def test_the_impurity_of_a_regression_node_is_the_variance_of_its_rows(data, rules):
    X, y, weight = data
    found = fitted(X, value_target(y, weight), **rules)
    w = np.ones(len(y)) if weight is None else weight
    # NumPy's own mean of equal numbers may be off by a unit in the last place.
    tolerance = (1e-12 * np.ptp(y[w > 0], axis=0) ** 2 + 1e-30 * (y**2).max(axis=0)).mean()
    for node, rows in enumerate(found.inside):
        mean = np.average(y[rows], axis=0, weights=w[rows])
        variance = np.average((y[rows] - mean) ** 2, axis=0, weights=w[rows]).mean()
        assert found.tree.impurity[node] == pytest.approx(variance, rel=0, abs=tolerance)


@given(regressions())
def test_the_value_of_a_regression_node_is_the_mean_of_its_rows(data):
    X, y, weight = data
    found = fitted(X, value_target(y, weight))
    w = np.ones(len(y)) if weight is None else weight
    tolerance = 1e-12 * np.ptp(y[w > 0], axis=0) + 1e-14 * np.abs(y).max(axis=0)
    for node, rows in enumerate(found.inside):
        mean = np.average(y[rows], axis=0, weights=w[rows])
        assert (np.abs(found.tree.value[node] - mean) <= tolerance).all()
        assert found.tree.n_rows[node] == rows.sum()
        assert found.tree.weight[node] == pytest.approx(w[rows].sum(), rel=1e-12)


@given(regressions())
def test_the_gain_of_a_regression_split_is_what_it_lowers_the_impurity_by(data):
    X, y, weight = data
    tree = fitted(X, value_target(y, weight)).tree
    largest = tree.impurity[0]
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        pair = tree.first_child[node] + np.arange(2)
        after = np.average(tree.impurity[pair], weights=tree.weight[pair])
        assert tree.gain[node] == pytest.approx(tree.impurity[node] - after, abs=1e-11 * largest)


@st.composite
def classifications(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 60))
    weight = draw(st.sampled_from([None, rng.integers(0, 4, n_rows), rng.uniform(0.5, 2, n_rows)]))
    if weight is not None:
        weight = np.append(weight[:-1], 1.5).astype(np.float64)
    return rng.integers(0, 12, (n_rows, 2)) * 1.0, rng.integers(0, 3, n_rows), weight


def gini(p):
    return 1 - (p**2).sum()


def entropy(p):
    return -(p[p > 0] * np.log2(p[p > 0])).sum()


def error(p):
    return 1 - p.max()


@pytest.mark.parametrize("impurity", [gini, entropy, error])
@given(data=classifications())
def test_a_class_node_holds_the_weights_of_its_classes(impurity, data):
    X, label, weight = data
    found = fitted(X, class_target(label, 3, weight), criterion=impurity.__name__)
    w = np.ones(len(label)) if weight is None else weight
    for node, rows in enumerate(found.inside):
        held = np.bincount(label[rows], w[rows], minlength=3)
        assert found.tree.value[node] == pytest.approx(held, rel=1e-12)
        assert found.tree.weight[node] == pytest.approx(held.sum(), rel=1e-12)
        assert found.tree.n_rows[node] == rows.sum()
        assert found.tree.impurity[node] == pytest.approx(impurity(held / held.sum()), abs=1e-12)


@given(classifications(), st.sampled_from([{}, {"max_leaves": 6}]))
def test_nodes_are_numbered_breadth_first(data, rules):
    X, label, weight = data
    tree = fitted(X, class_target(label, 3, weight), criterion="gini", **rules).tree
    inner = np.flatnonzero(~tree.is_leaf)
    assert tree.first_child[inner].tolist() == list(range(1, tree.n_nodes, 2))
    assert (np.diff(tree.depth) >= 0).all()


def test_a_leaf_says_nothing_of_splits():
    tree = fitted(
        np.arange(4.0)[:, None], class_target(np.array([0, 0, 1, 1]), 2, None), "gini"
    ).tree
    assert tree.feature.tolist() == [0, -1, -1]
    assert tree.first_child.tolist() == [1, -1, -1]
    assert tree.gain.tolist() == [0.5, 0.0, 0.0]
    assert tree.missing_slot.tolist() == [1, 0, 0]
    assert tree.threshold[0] == 1.5
    assert np.isnan(tree.threshold[1:]).all()


def test_a_threshold_lies_halfway_between_the_values_of_its_own_node():
    """Where x0 is 0, x1 is 0 or 2; that it is 1 elsewhere does not matter."""
    X = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 1.0], [4.0, 1.0]])
    tree = fitted(X, class_target(np.array([0, 1, 2, 2]), 3, None), "gini").tree
    assert tree.feature.tolist() == [0, 1, -1, -1, -1]
    assert tree.threshold[:2].tolist() == [2.0, 1.0]


def test_nodes_grown_ahead_of_their_turn_leave_no_trace():
    """Best-first growth may divide more nodes than it keeps; rows there count for the leaf kept."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    found = fitted(X, value_target(y, None), max_leaves=7)
    assert found.tree.n_leaves == 7
    for node in np.flatnonzero(found.tree.is_leaf).tolist():
        rows = found.inside[node]
        assert found.tree.impurity[node] == pytest.approx(y[rows].var(), abs=1e-12)


@given(regressions(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_not_a_bit(data, random):
    X, y, weight = data
    order = random.sample(range(len(y)), len(y))
    tree = fitted(X, value_target(y, weight), max_depth=1).tree
    weight = None if weight is None else weight[order]
    other = fitted(X[order], value_target(y[order], weight), max_depth=1).tree
    for name in tree.DTYPES:
        assert getattr(other, name).tobytes() == getattr(tree, name).tobytes()


def test_constant_targets_have_no_impurity():
    tree = fitted(np.arange(5.0)[:, None], value_target(np.full((5, 1), 7.25), None)).tree
    assert (tree.n_nodes, tree.impurity.tolist(), tree.value.tolist()) == (1, [0.0], [[7.25]])
