"""Training rows end, at predict, in the leaf that counted them: every estimator, every kind of
split, every way of missing values, and values that are hard to separate.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gputree
from gputree.data.inputs import read_table

NAN = np.nan
HARD = {  # values that a careless threshold does not separate
    "neighbours": [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1.0 + 2**-51],
    "neighbours of large ones": [1e300, np.nextafter(1e300, np.inf), -1e300],
    "the smallest": [0.0, -0.0, 5e-324, -5e-324],
    "the largest": [-1.79e308, 1.79e308, 1e308, 0.0],
    "infinities": [-np.inf, np.inf, -1.7e308, 1.7e308, 0.0],
    "whole numbers beyond 2**53": [2.0**53, 2.0**53 + 2.0, 2.0**60, 2.0**60 + 2.0**8],
}


def recount(model, tree, X, weight):
    """How many rows, and what weight, come to each node at predict."""
    row, node, share = model._ends(tree, read_table(X, like=model.schema_), model.missing_)
    counts = weight[row] > 0
    n_rows = np.bincount(node[counts], minlength=tree.n_nodes)
    weighs = np.bincount(node, share * weight[row], minlength=tree.n_nodes)
    for child in range(tree.n_nodes - 1, 0, -1):
        n_rows[tree.parent[child]] += n_rows[child]
        weighs[tree.parent[child]] += weighs[child]
    return n_rows, weighs


def same_rows(model, X, weight=None, *, only_rows=False):
    """Whether every node has the rows, or of divided rows the weight, that it counted."""
    tree, weight = model.nodes_, np.ones(len(X)) if weight is None else weight
    n_rows, weighs = recount(model, tree, X, weight)
    if model.missing_ != "fractional" and not np.array_equal(n_rows, tree.n_rows):
        return False
    return only_rows or np.allclose(weighs, tree.weight, rtol=0.0, atol=1e-9 * weight.sum())


def drawn_rows(seed):
    """A table with columns of hard values, numbers and categories, with missing cells or none."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 60))
    names = list(HARD)
    columns = [
        rng.choice(HARD[names[rng.integers(len(names))]], n),
        rng.integers(0, 5, n).astype(float),
        rng.normal(size=n),
        rng.integers(0, 4, n).astype(float),
    ]
    X = np.stack(columns, axis=1)[:, rng.permutation(4)[: int(rng.integers(2, 5))]]
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.5])] = NAN
    is_category = [bool(np.isin(c[~np.isnan(c)], range(5)).all()) for c in X.T]
    nominal = [at for at in np.flatnonzero(is_category).tolist() if rng.integers(2)]
    weight = rng.integers(0, 3, n).astype(float) if rng.integers(2) else np.ones(n)
    weight[:4] = 1.0
    y = rng.integers(0, 3, n)
    y[:2] = 0, 1
    return X, y, weight, nominal


TREE, REGRESSION = gputree.DecisionTreeClassifier, gputree.DecisionTreeRegressor
SINGLE = {
    "direction": partial(TREE),
    "category": partial(TREE, missing="category"),
    "fractional": partial(TREE, missing="fractional"),
    "surrogate": partial(TREE, missing="surrogate"),
    "multiway": partial(TREE, nominal="multiway"),
    "multiway, category": partial(TREE, nominal="multiway", missing="category"),
    "multiway, fractional": partial(TREE, nominal="multiway", missing="fractional"),
    "oblique": partial(gputree.ObliqueTreeClassifier),
    "oblique, cart-lc": partial(gputree.ObliqueTreeClassifier, directions="cart-lc"),
    "oblique, sparse": partial(gputree.ObliqueTreeClassifier, directions="sparse"),
    "gain ratio": partial(TREE, criterion="gain_ratio"),
    "gain ratio, category": partial(TREE, criterion="gain_ratio", missing="category"),
    "gain ratio, multiway, category": partial(
        TREE, criterion="gain_ratio", missing="category", nominal="multiway"
    ),
    "random": partial(TREE, splitter="random"),
    "random, category": partial(TREE, splitter="random", missing="category"),
    "random, fractional": partial(TREE, splitter="random", missing="fractional"),
    "random, surrogate": partial(TREE, splitter="random", missing="surrogate"),
    "leaf by leaf": partial(TREE, max_leaf_nodes=6),
    "few bins": partial(REGRESSION, max_bins=4),
    "few bins, surrogate": partial(REGRESSION, max_bins=4, missing="surrogate"),
    "few bins, random": partial(REGRESSION, max_bins=4, splitter="random"),
    "C4.5": partial(gputree.C45Classifier),
    "C4.5, thresholds at values": partial(
        gputree.C45Classifier, pruning=None, thresholds="value", mdl_correction=True
    ),
    "CART": partial(gputree.CARTClassifier, pruning=None),
    "CART, numbers": partial(gputree.CARTRegressor, pruning=None),
}


@pytest.mark.parametrize("name", SINGLE)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_rows_of_a_tree(name, seed):
    X, y, weight, nominal = drawn_rows(seed)
    backend = ["numpy", "numba"][seed % 2]
    model = SINGLE[name](categorical_features=nominal, backend=backend)
    assert same_rows(model.fit(X, y, sample_weight=weight), X, weight)


def test_rows_of_id3():
    X = np.random.default_rng(0).integers(0, 3, (80, 4))
    y = X[:, 0] ^ X[:, 1]
    assert same_rows(gputree.ID3Classifier(categorical_features=range(4)).fit(X, y), X)


def some_rows(n=150):
    """Numbers and categories, a fifth of the cells missing."""
    rng = np.random.default_rng(1)
    X = np.stack([rng.integers(0, 6, n), rng.integers(0, 5, n), rng.integers(0, 3, n)], axis=1)
    X = np.concatenate([X, rng.normal(size=(n, 1))], axis=1)
    y = (np.nan_to_num(X[:, 0]) + X[:, 3] > 2.5).astype(int)
    X[rng.random(X.shape) < 0.2] = NAN
    return X, y


FORESTS = {
    "forest": partial(gputree.RandomForestClassifier),
    "forest, numbers": partial(gputree.RandomForestRegressor),
    "forest, category": partial(gputree.RandomForestClassifier, missing="category"),
    "forest, surrogate": partial(gputree.RandomForestClassifier, missing="surrogate"),
    "extra trees": partial(gputree.ExtraTreesClassifier),
    "extra trees, numbers": partial(gputree.ExtraTreesRegressor),
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("name", FORESTS)
def test_rows_of_the_members_of_a_forest(name, backend):
    X, y = some_rows()
    model = FORESTS[name](3, random_state=0, categorical_features=[1, 2], backend=backend)
    model.fit(X, y)
    every = [np.arange(len(X))] * 3
    draws = model.estimators_samples_ if model.bootstrap else every
    for member, drawn in zip(model.estimators_, draws, strict=True):
        assert same_rows(member, X, np.bincount(drawn, minlength=len(X)).astype(float))


@pytest.mark.parametrize("missing", ["direction", "fractional"])
def test_rows_of_the_members_of_a_bag(missing):
    X, y = some_rows()
    tree = TREE(categorical_features=[1, 2], missing=missing)
    model = gputree.BaggingClassifier(tree, 3, random_state=0).fit(X, y)
    for member, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert same_rows(member, X, np.bincount(drawn, minlength=len(X)).astype(float))


@pytest.mark.parametrize("missing", ["direction", "surrogate"])
def test_rows_of_the_members_of_adaboost(missing):
    """Every member sees all rows, with weights of its own."""
    X, y = some_rows()
    tree = TREE(max_depth=3, categorical_features=[1, 2], missing=missing)
    model = gputree.AdaBoostClassifier(tree, n_estimators=4, random_state=0).fit(X, y)
    for member in model.estimators_:
        assert same_rows(member, X, only_rows=True)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"categorical_features": [1, 2]},
        {"monotonic_cst": [1, 0, 0, -1]},
        {"categorical_features": [1, 2], "missing": "category"},
        {"categorical_features": [0, 1], "max_leaf_nodes": 6, "min_samples_category": 30},
        {"max_bins": 5, "max_leaf_nodes": 6, "max_depth": None},
    ],
    ids=[
        "thresholds",
        "levels",
        "monotone",
        "missing as a category",
        "rare categories, leaf by leaf",
        "few bins, leaf by leaf",
    ],
)
def test_rows_of_the_members_of_boosting(options, backend):
    X, y = some_rows()
    model = gputree.GradientBoostingClassifier(4, random_state=0, backend=backend, **options)
    for member in model.fit(X, y).estimators_:
        assert same_rows(member, X, only_rows=True)


# Tables that are not float64 in memory.


def test_float32_at_fit_and_at_predict():
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[::7, 1] = NAN
    model = TREE().fit(X, y)
    assert same_rows(model, X)
    assert same_rows(model, X.astype(np.float64))


def test_a_sparse_table():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 4), density=0.3, format="csr", rng=rng)
    model = TREE().fit(X, rng.integers(0, 2, 120))
    assert same_rows(model, X.toarray())
    assert np.array_equal(model.apply(X), model.apply(X.toarray()))


@pytest.mark.parametrize("max_bins", [8, 255, 1000], ids=["coarse", "bytes", "words"])
@pytest.mark.parametrize("missing", ["direction", "surrogate"])
def test_codes_of_many_values(max_bins, missing):
    """Codes that hold several values, as many as a byte can tell, and more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 1] = X[:, 0] + rng.normal(scale=0.2, size=600)
    y = np.sin(3 * X[:, 0]) + X[:, 2]
    X[rng.random(X.shape) < 0.1] = NAN
    assert same_rows(REGRESSION(max_bins=max_bins, missing=missing, max_depth=7).fit(X, y), X)


def test_whole_numbers_that_no_float_holds():
    X = (2**53 + np.arange(40, dtype=np.int64) % 7)[:, None]
    model = TREE().fit(X, np.arange(40) % 7 > 3)
    assert same_rows(model, X)
