"""Rows on several ranks give the model that they give together, byte for byte."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import gputree
from gputree import cluster
from gputree.estimators.base import TreeEstimator
from tests.cluster.spread import DEADLINE, corpus_table, parts_of, spread_fit
from tests.corpus import digests

BY_ROWS = {"c45", "cart", "cart numbers"}  # prune by rows
TREES = [
    name
    for name, (estimator, _) in digests.cases().items()
    if isinstance(estimator, TreeEstimator) and name not in BY_ROWS
]


@pytest.mark.parametrize("name", TREES)
def test_every_kind_of_tree(name):
    """Seven ranks, of which some have no rows."""
    X, y = corpus_table(name)
    expected = digests.fitted(name, "numpy")
    found = spread_fit(digests._on(clone(digests.cases()[name][0]), "numpy"), 7, X, y)
    assert found.to_bytes() == expected.to_bytes()


def table(draw, n_rows):
    """Few values, so that many tie; categories, missing ones, and weights that are 0 at times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = pd.DataFrame(
        {
            "size": rng.integers(0, 9, n_rows).astype(float),
            "share": rng.normal(size=n_rows).round(draw(st.sampled_from([1, 6]))),
            "colour": pd.Categorical.from_codes(
                rng.integers(-1, 6, n_rows), ["red", "blue", "green", "pink", "grey", "black"]
            ),
        }
    )
    X.loc[rng.random(n_rows) < 0.2, "share"] = np.nan
    weight = rng.choice([0.0, 0.3, 1.0, 2.0, 7.5], n_rows)
    weight[0] = 1.0
    return X, rng.integers(0, 3, n_rows), weight


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_partition_of_any_rows(data):
    n_rows = data.draw(st.integers(2, 60))
    X, y, weight = table(data.draw, n_rows)
    n_ranks = data.draw(st.sampled_from([1, 2, 3, 5]))
    owner = np.array(
        data.draw(st.lists(st.integers(0, n_ranks - 1), min_size=n_rows, max_size=n_rows))
    )
    if data.draw(st.booleans()):
        tree = gputree.DecisionTreeClassifier(
            max_features=data.draw(st.sampled_from([None, 2])),
            max_leaf_nodes=data.draw(st.sampled_from([None, 5])),
            nominal=data.draw(st.sampled_from(["subset", "multiway"])),
            missing=data.draw(st.sampled_from(["direction", "category", "fractional"])),
            random_state=1,
        )
    else:
        tree = gputree.DecisionTreeRegressor(
            splitter=data.draw(st.sampled_from(["best", "random"])),
            missing=data.draw(st.sampled_from(["direction", "surrogate"])),
            random_state=1,
        )
    arrays = (X, y, weight) if data.draw(st.booleans()) else (X, y)
    expected = clone(tree).fit(*arrays)
    found = cluster.fit(tree, parts_of(owner, n_ranks, *arrays), timeout=DEADLINE)
    assert found.to_bytes() == expected.to_bytes()
    assert (found.predict(X) == expected.predict(X)).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_long_columns_are_cut_alike(backend):
    """So many rows that buckets are counted, and crowded ones divided."""
    rng = np.random.default_rng(0)
    X = np.stack(
        [rng.normal(size=40_000), rng.uniform(1.0, 1.5, 40_000), rng.integers(0, 9, 40_000)]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.normal(size=40_000)
    tree = gputree.DecisionTreeRegressor(max_depth=4, backend=backend)
    expected = clone(tree).fit(X.T, y)
    assert spread_fit(tree, 3, X.T, y).to_bytes() == expected.to_bytes()


def test_categories_that_only_one_rank_has_seen_are_united_in_order():
    X = pd.DataFrame({"kind": ["b", "c", "a", "b", "d", "a"], "x": [1.0, 2, 3, 4, 5, 6]})
    y = np.array([0, 1, 0, 1, 1, 0])
    tree = gputree.DecisionTreeClassifier(categorical_features=["kind"])
    parts = [(X.iloc[at], y[at]) for at in ([1, 4], [0, 3], [2, 5])]
    found = cluster.fit(clone(tree), parts, timeout=DEADLINE)
    assert found.schema_.categories[0] == ("a", "b", "c", "d")
    assert found.to_bytes() == clone(tree).fit(X, y).to_bytes()
    # Declared ones that differ are sorted; those that all parts declare keep their order.
    own = [(part.astype({"kind": "category"}), target) for part, target in parts]
    assert cluster.fit(clone(tree), own, timeout=DEADLINE).to_bytes() == found.to_bytes()
    dtype = pd.CategoricalDtype(["d", "c", "b", "a"])
    own = [(part.astype({"kind": dtype}), target) for part, target in parts]
    declared = cluster.fit(clone(tree), own, timeout=DEADLINE)
    assert declared.to_bytes() == clone(tree).fit(X.astype({"kind": dtype}), y).to_bytes()


def test_weights_of_classes_count_the_rows_of_all_ranks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.choice(["few", "many"], 200, p=[0.1, 0.9])
    for options in (
        {"class_weight": "balanced"},
        {"class_weight": {"few": 3.0}},
        {"priors": "uniform"},
    ):
        tree = gputree.DecisionTreeClassifier(max_depth=4, **options)
        expected = clone(tree).fit(X, y)
        assert spread_fit(tree, 3, X, y).to_bytes() == expected.to_bytes()


def test_the_estimator_of_the_user_is_fitted_and_keeps_its_parameters():
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]}), np.array([0, 1, 0])
    tree = gputree.DecisionTreeClassifier(max_features=1)
    assert cluster.fit(tree, [(X, y), (X, y)]) is tree
    assert tree.random_state is None
    assert tree.fit_report_.n_rows == 2 * len(X)
    assert list(tree.feature_names_in_) == list(X.columns)


def test_what_looks_at_rows_of_others_is_refused_with_the_cure():
    X, y = np.zeros((4, 2)), np.arange(4)
    for estimator, cure in [
        (gputree.C45Classifier(), "pruning=None"),
        (gputree.CARTClassifier(validation_fraction=0.2, pruning=None), "set it to None"),
        (gputree.RuleSetClassifier(), "on one machine"),
    ]:
        with pytest.raises(ValueError, match=cure):
            cluster.fit(estimator, [(X, y)])


def test_parts_that_do_not_go_together_are_told_of():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    y = np.array([0, 1])
    tree = gputree.DecisionTreeClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other, problem in [
            ((X[["b", "a"]], y), "different columns"),
            ((X.astype({"a": str}).astype({"a": "category"}), y), "column 'a' is numeric in one"),
            ((X, y, np.ones(2)), "no sample_weight"),
            ((X, y[:1]), "inconsistent numbers"),
            ((X, None), "y to be passed"),
        ]:
            with pytest.raises(ValueError, match=problem):
                cluster.fit(tree, [(X, y), other], timeout=DEADLINE)
    with pytest.raises(ValueError, match="0 sample"):
        cluster.fit(tree, [(X[:0], y[:0]), (X[:0], y[:0])], timeout=DEADLINE)
