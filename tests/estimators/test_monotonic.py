"""Single trees and forests whose predictions go one way with a feature."""

import numpy as np
import pytest
import sklearn.tree

import gputree

WAYS = [1, -1, 0]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] - X[:, 1] + np.sin(4 * X[:, 0]) + X[:, 2] + rng.normal(size=len(X))
    return X, y


def is_kept(predict, X):
    """Whether what is predicted rises with the first column and falls with the second."""
    steps = np.linspace(-3, 3, 40)
    for feature, way in ((0, 1), (1, -1)):
        moved = np.repeat(X[:20], len(steps), axis=0)
        moved[:, feature] = np.tile(steps, 20)
        if (np.diff(predict(moved).reshape(20, -1), axis=1) * way < 0).any():
            return False
    return True


@pytest.mark.parametrize(
    "options",
    [{}, {"max_leaf_nodes": 20}, {"criterion": "poisson"}, {"splitter": "random"}],
)
def test_numbers_go_the_way_they_must(table, options):
    X, y = table
    y = np.exp(y) if options.get("criterion") else y
    free = gputree.DecisionTreeRegressor(**options).fit(X, y)
    kept = gputree.DecisionTreeRegressor(monotonic_cst=WAYS, **options).fit(X, y)
    assert not is_kept(free.predict, X)
    assert is_kept(kept.predict, X)
    assert kept.get_n_leaves() > 10


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_shares_of_the_second_class_go_the_way_they_must(table, criterion):
    X, y = table
    label = np.where(y > 0, "yes", "no")
    free = gputree.DecisionTreeClassifier(criterion=criterion).fit(X, label)
    kept = gputree.DecisionTreeClassifier(criterion=criterion, monotonic_cst=WAYS).fit(X, label)
    assert not is_kept(lambda rows: free.predict_proba(rows)[:, 1], X)
    assert is_kept(lambda rows: kept.predict_proba(rows)[:, 1], X)


def test_a_forest_keeps_to_what_its_trees_keep_to(table):
    X, y = table
    forest = gputree.RandomForestRegressor(3, monotonic_cst=WAYS, random_state=0).fit(X, y)
    assert is_kept(forest.predict, X)


def test_extra_trees_draw_no_split_against_a_constraint(table):
    X, y = table
    options = {"max_features": 1, "random_state": 0}
    kept = gputree.ExtraTreesRegressor(3, monotonic_cst=WAYS, **options).fit(X, y)
    assert is_kept(kept.predict, X)
    assert min(tree.get_n_leaves() for tree in kept) > 10
    label = np.where(y > 0, "yes", "no")
    kept = gputree.ExtraTreesClassifier(3, monotonic_cst=WAYS, **options).fit(X, label)
    assert is_kept(lambda rows: kept.predict_proba(rows)[:, 1], X)
    free = gputree.ExtraTreesClassifier(3, **options).fit(X, label)
    assert not is_kept(lambda rows: free.predict_proba(rows)[:, 1], X)


def test_what_only_falls_is_not_split_where_it_may_only_rise(table):
    X = table[0][:, :1]
    options = {"splitter": "random", "random_state": 0}
    rising = gputree.DecisionTreeRegressor(monotonic_cst=[1], **options).fit(X, -X[:, 0])
    falling = gputree.DecisionTreeRegressor(monotonic_cst=[-1], **options).fit(X, -X[:, 0])
    assert rising.get_n_leaves() == 1
    assert falling.get_n_leaves() > 10


def test_a_constraint_that_nothing_breaks_changes_no_draw(table):
    X, y = table
    X = np.column_stack([X, np.zeros(len(X))])
    options = {"splitter": "random", "max_features": 2, "random_state": 0}
    free = gputree.DecisionTreeRegressor(**options).fit(X, y)
    kept = gputree.DecisionTreeRegressor(monotonic_cst=[0, 0, 0, 1], **options).fit(X, y)
    np.testing.assert_array_equal(kept.tree_.threshold, free.tree_.threshold)


def test_the_tree_is_that_of_scikit_learn(table):
    X, y = table
    options = {"monotonic_cst": WAYS, "max_depth": 5}
    ours = gputree.DecisionTreeRegressor(**options, max_bins=1000).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(**options, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert ours.tree_.node_count == theirs.tree_.node_count


def test_columns_may_be_named(table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    named = gputree.DecisionTreeRegressor(monotonic_cst={"a": 1, "b": -1}).fit(frame, y)
    listed = gputree.DecisionTreeRegressor(monotonic_cst=WAYS).fit(frame, y)
    assert named.to_bytes() == listed.to_bytes()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"missing": "surrogate"}, "missing='direction'"),
        ({"pruning": "cost_complexity"}, "ccp_alpha"),
        ({"monotonic_cst": [1, 0]}, "shape 2 but the input data X has 3 features"),
        ({"monotonic_cst": [1, 0, 0.8]}, r"-1, 0 or 1.*0\.8\]"),
    ],
)
def test_what_does_not_go_with_a_constraint_is_refused(table, options, what):
    model = gputree.DecisionTreeRegressor(**{"monotonic_cst": WAYS, **options})
    with pytest.raises(ValueError, match=what):
        model.fit(*table)


def test_more_than_one_value_has_no_way(table):
    X, y = table
    with pytest.raises(ValueError, match="multiple output"):
        gputree.DecisionTreeRegressor(monotonic_cst=WAYS).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="multiclass"):
        gputree.DecisionTreeClassifier(monotonic_cst=WAYS).fit(X, np.digitize(y, [0, 1]))


def test_one_class_keeps_every_constraint(table):
    X, _ = table
    model = gputree.DecisionTreeClassifier(monotonic_cst=WAYS).fit(X, np.zeros(len(X), int))
    assert (model.predict_proba(X) == 1.0).all()
