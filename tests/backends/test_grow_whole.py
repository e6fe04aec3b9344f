"""A tree that the CPU backend grows by one call is the one that frontiers give."""

import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cpu.grow import AHEAD_ROWS, LONE_ROWS
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import class_target, value_target
from gputree.growth import choose_loop
from gputree.growth.builder import Start, grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.cpu.grow import LOCAL_ROWS
from gputree.kernels.criteria import ENTROPY, ERROR, GINI
from gputree.tree.tree import Split

grow_whole = partial(choose_loop.grow_whole, then=choose_loop.as_grown)
BACKEND = CpuBackend(2)


def table(n_rows=900, n_features=6, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_features)), 1)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal, rng


def both(X, target, rules, nominal=None):
    """The tree by frontiers, and the one by one call."""
    bins, data = bin_table(BACKEND, read_table(X, categorical_features=nominal), None, 255)
    start = Start(BACKEND.begin(data, bins, target), target.channels, target.totals)
    grown = grow(BACKEND, data, bins, target, rules, 2**24)
    whole = grow_whole(BACKEND, [start], bins, rules, [rules.seed], 2**24)
    assert whole is not None
    assert grown.draft.heuristic == whole[0].draft.heuristic
    return [
        finish(
            each, target, BACKEND.leaves(each.rows), Finish(rules.criterion, missing=rules.missing)
        )
        for each in (grown, whole[0])
    ]


def assert_same(trees):
    for name in trees[0].DTYPES:
        assert getattr(trees[0], name).tobytes() == getattr(trees[1], name).tobytes(), name
    assert trees[0].n_nodes > 20


WEIGHTS = {
    "none": lambda rng, n: None,
    "counts": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "real": lambda rng, n: rng.random(n),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("n_classes", "criterion"), [(2, GINI), (2, ENTROPY), (5, GINI), (5, ERROR)]
)
def test_classes(n_classes, criterion, missing, weights):
    X, signal, rng = table(missing=missing)
    label = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    target = class_target(label, n_classes, WEIGHTS[weights](rng, len(X)))
    rules = Rules(criterion=criterion, n_drawn=2, seed=7, splits_without_gain=criterion != ERROR)
    assert_same(both(X, target, rules))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_numbers(n_outputs, missing, weights):
    X, signal, rng = table(missing=missing)
    y = np.stack([np.round(signal, 1), np.round(signal**2)], axis=1)[:, :n_outputs]
    target = value_target(y, WEIGHTS[weights](rng, len(X)))
    assert_same(both(X, target, Rules(criterion=GINI, n_drawn=3, seed=1)))


@pytest.mark.parametrize(
    "rules",
    [
        Rules(GINI, max_depth=5),
        Rules(GINI, min_rows_leaf=4),
        Rules(GINI, min_rows_split=9),
        Rules(GINI, min_weight_leaf=12),
        Rules(GINI, min_score=1.0),
        Rules(GINI, n_drawn=1, seed=5),
        Rules(GINI, columns=np.array([True, False, True, False, False, True])),
        Rules(GINI, max_leaves=15),
        Rules(GINI, max_leaves=40, max_depth=6, n_drawn=2),
        Rules(GINI, max_leaves=10_000),
        Rules(GINI, is_random=True, n_drawn=2, min_rows_leaf=2, seed=3),
        Rules(ENTROPY, is_random=True, max_leaves=20, seed=4),
    ],
    ids=[
        *("depth", "leaf", "split", "weight", "gain", "draw", "columns", "few", "best", "many"),
        *("random", "random, best"),
    ],
)
def test_rules(rules):
    X, signal, rng = table(missing=0.05)
    target = class_target((signal > 0).astype(int), 2, rng.integers(0, 3, len(X)).astype(float))
    assert_same(both(X, target, rules))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_random_splits_of_numbers(n_outputs, weights):
    """Infinities have no value between them, so that a code is drawn."""
    X, signal, rng = table(missing=0.1)
    X[rng.random(X.shape) < 0.05] = np.inf
    y = np.stack([signal, signal**2], axis=1)[:, :n_outputs]
    target = value_target(y, WEIGHTS[weights](rng, len(X)))
    assert_same(both(X, target, Rules(GINI, is_random=True, seed=1)))


def test_more_rows_than_are_looked_at_together():
    X, signal, rng = table(n_rows=9000)
    target = class_target((signal > 0).astype(int), 2, rng.integers(0, 3, len(X)).astype(float))
    assert_same(both(X, target, Rules(GINI, n_drawn=2)))


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.integers(2, 400), st.integers(1, 5), st.booleans())
def test_any_small_table(seed, n_rows, n_features, is_weighted):
    X, signal, rng = table(n_rows, n_features + 2, seed, missing=0.2)
    weight = rng.integers(0, 3, n_rows).astype(float) + (np.arange(n_rows) == 0)
    target = class_target((signal > 0).astype(int), 2, weight if is_weighted else None)
    trees = both(X, target, Rules(GINI, n_drawn=2, seed=seed))
    assert all(
        getattr(trees[0], name).tobytes() == getattr(trees[1], name).tobytes()
        for name in trees[0].DTYPES
    )


def test_several_trees_have_draws_of_their_own():
    X, signal, _ = table()
    target = class_target((signal > 0).astype(int), 2, None)
    bins, data = bin_table(BACKEND, read_table(X), None, 255)
    starts = [
        Start(BACKEND.begin(data, bins, target), target.channels, target.totals) for _ in range(5)
    ]
    rules = Rules(GINI, n_drawn=2)
    grown = grow_whole(BACKEND, starts, bins, rules, range(5), 2**24)
    for seed, each in enumerate(grown):
        alone = grow(BACKEND, data, bins, target, replace(rules, seed=seed), 2**24)
        own = [finish(one, target, np.empty(0), Finish(GINI)) for one in (each, alone)]
        assert own[0].threshold.tobytes() == own[1].threshold.tobytes()
    assert len({each.layout.node.size for each in grown}) > 1


def test_trees_are_taken_one_by_one():
    """While they grow, trees take more room than afterwards: a thread has one at a time."""
    X, signal, _ = table()
    target = class_target((signal > 0).astype(int), 2, None)
    bins, data = bin_table(BACKEND, read_table(X), None, 255)
    starts = [
        Start(BACKEND.begin(data, bins, target), target.channels, target.totals) for _ in range(12)
    ]
    met = []

    def take(number, grown):
        met.append(weakref.ref(grown.draft))
        return number, sum(draft() is not None for draft in met)

    found = choose_loop.grow_whole(BACKEND, starts, bins, Rules(GINI), range(12), 2**24, take)
    assert [number for number, _ in found] == list(range(12))
    assert max(n_alive for _, n_alive in found) <= BACKEND.n_lanes


def test_what_it_cannot_do_is_left_to_frontiers():
    X, signal, _ = table()
    target = class_target((signal > 0).astype(int), 2, None)
    bins, data = bin_table(BACKEND, read_table(X), None, 255)
    start = Start(BACKEND.begin(data, bins, target), target.channels, target.totals)
    rules = Rules(GINI, missing="fractional")
    assert grow_whole(BACKEND, [start], bins, rules, [0], 2**24) is None
    nominal = bin_table(
        BACKEND, read_table(X[:, :1].astype(str), categorical_features=[0]), None, 255
    )
    start = Start(BACKEND.begin(nominal[1], nominal[0], target), target.channels, target.totals)
    for rules in (Rules(GINI, is_multiway=True), Rules(GINI, subset_method="greedy")):
        assert grow_whole(BACKEND, [start], nominal[0], rules, [0], 2**24) is None


NOMINAL = [1, 3, 4, 5]
TARGETS = {
    "two": lambda signal, weight: class_target((signal > 0).astype(int), 2, weight),
    "five": lambda signal, weight: class_target(np.digitize(signal, [-2, -1, 0, 1]), 5, weight),
    "mean": lambda signal, weight: value_target(np.round(signal, 1)[:, None], weight),
    "means": lambda signal, weight: value_target(np.stack([signal, signal**2], axis=1), weight),
}


@pytest.mark.parametrize("weights", ["none", "counts"])
@pytest.mark.parametrize("goal", TARGETS)
@pytest.mark.parametrize(
    "rules",
    [
        Rules(GINI),
        Rules(GINI, n_drawn=1, seed=3, min_category=4, most_whole=20),
        Rules(GINI, max_leaves=12, missing="category", min_rows_leaf=3),
        Rules(GINI, subset_method="ordered", columns=np.arange(6) > 0),
        Rules(GINI, subset_method="exact", max_depth=6, min_category=30),
    ],
    ids=["all", "draw", "best", "order", "exact"],
)
def test_categories(rules, goal, weights):
    X, signal, rng = table(n_rows=700, missing=0.05)
    for feature, n_categories in zip(NOMINAL, (2, 7, 12, 40), strict=True):
        category = rng.integers(0, n_categories, len(X))
        signal += rng.normal(size=n_categories)[category]
        X[:, feature] = np.where(rng.random(len(X)) < 0.05, np.nan, category)
    target = TARGETS[goal](signal, WEIGHTS[weights](rng, len(X)))
    trees = both(X, target, rules, NOMINAL)
    assert_same(trees)
    assert (trees[1].kind == Split.SUBSET).any()


def test_equal_splits_have_their_turns_in_order():
    """Every node of the same depth gains the same, so that only the order of arrival tells."""
    X = np.array([[i >> bit & 1 for bit in range(6)] for i in range(64)], np.float64)
    X = np.repeat(X, 2, axis=0)
    target = value_target((X @ np.full(6, 1.0))[:, None], None)
    assert_same(both(X, target, Rules(GINI, max_leaves=13)))


def test_few_leaves_of_many_rows_are_left_to_frontiers():
    n_rows = AHEAD_ROWS + 1
    X = np.arange(n_rows, dtype=np.float64)[:, None]
    target = class_target(np.arange(n_rows) % 2, 2, None)
    bins, data = bin_table(BACKEND, read_table(X), None, 255)
    start = Start(BACKEND.begin(data, bins, target), target.channels, target.totals)
    assert grow_whole(BACKEND, [start], bins, Rules(GINI, max_leaves=5), [0], 2**24) is None


def test_one_large_tree_is_shared_by_all_threads():
    n_rows = LONE_ROWS + 1
    X = np.arange(n_rows, dtype=np.float64)[:, None]
    target = class_target(np.arange(n_rows) % 2, 2, None)
    bins, data = bin_table(BACKEND, read_table(X), None, 255)
    start = Start(BACKEND.begin(data, bins, target), target.channels, target.totals)
    assert grow_whole(BACKEND, [start], bins, Rules(GINI), [0], 2**24) is None
    assert (
        grow_whole(BACKEND, [start] * 2, bins, Rules(GINI, max_depth=2), [0, 1], 2**24) is not None
    )


def test_one_large_tree_of_random_splits_is_grown_by_one_call():
    """Frontiers would list codes for each draw, which takes many times as long."""
    X, signal, _ = table(LONE_ROWS + 1)
    target = class_target((signal > 0).astype(int), 2, None)
    assert_same(both(X, target, Rules(GINI, is_random=True, max_depth=6, seed=2)))


@pytest.mark.parametrize("weights", ["none", "counts"])
def test_values_of_more_rows_than_have_lists_at_once(weights):
    """Several nodes list their rows in the order of the codes; one column has missing values."""
    X, signal, rng = table(LOCAL_ROWS + 1500)
    X[rng.random(len(X)) < 0.02, 3] = np.nan
    target = value_target(signal[:, None], WEIGHTS[weights](rng, len(X)))
    assert_same(both(X, target, Rules(GINI)))
