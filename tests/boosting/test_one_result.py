"""A boosted model has the same bytes on every backend, thread count and budget."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree import Dataset, GradientBoostingClassifier, GradientBoostingRegressor
from gputree.dtypes import STAY
from tests.tables import all_slots

WHERE = [
    {"backend": "numpy"},
    {"backend": "numba", "n_jobs": 1},
    {"backend": "numba", "n_jobs": 2},
    {"backend": "array_api_strict"},
    {"backend": "numba", "histogram_budget": 1},
]


def table(n_rows=400, seed=0, categories=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(2), columns=list("abcd"))
    signal = (X["a"] * X["b"] + X["c"] + rng.normal(size=n_rows)).to_numpy()
    X = X.mask(rng.random(X.shape) < missing)
    if categories:
        category = rng.integers(0, categories, n_rows)
        X["level"] = pd.Categorical(np.array(list("abcdefghij"))[category])
        signal = signal + (category % 3)
    return X, signal, rng.random(n_rows)


def bytes_of(model, X, y, weight=None, where=None):
    return model(where).fit(X, y, weight).to_bytes()


MODELS = {
    "logistic": (lambda w: GradientBoostingClassifier(4, max_depth=4, **w), 2),
    "softmax": (lambda w: GradientBoostingClassifier(3, max_depth=3, **w), 3),
    "leafwise": (lambda w: GradientBoostingClassifier(4, max_depth=None, max_leaf_nodes=9, **w), 2),
    "sampled": (
        lambda w: GradientBoostingClassifier(
            4, subsample=0.6, colsample_bytree=0.6, max_features=2, random_state=5, **w
        ),
        2,
    ),
    "rows counted": (lambda w: GradientBoostingClassifier(4, min_samples_leaf=7, **w), 2),
    "squared": (lambda w: GradientBoostingRegressor(4, min_samples_leaf=3, **w), 0),
    "huber": (lambda w: GradientBoostingRegressor(3, loss="huber", **w), 0),
    "poisson": (lambda w: GradientBoostingRegressor(4, loss="poisson", **w), -1),
    "exponential": (lambda w: GradientBoostingClassifier(4, loss="exponential", **w), 2),
    "gamma": (lambda w: GradientBoostingRegressor(4, loss="gamma", **w), -2),
    "tweedie": (lambda w: GradientBoostingRegressor(4, loss="tweedie", power=1.7, **w), -1),
    "scored": (
        lambda w: GradientBoostingClassifier(
            20, early_stopping=True, scoring="roc_auc", n_iter_no_change=3, random_state=0, **w
        ),
        2,
    ),
    "constrained": (
        lambda w: GradientBoostingRegressor(
            4, monotonic_cst={"a": 1}, interaction_cst=[["a", "b"], ["c", "d"]], **w
        ),
        0,
    ),
    "one tree": (
        lambda w: GradientBoostingClassifier(4, max_depth=3, multi_strategy="one_tree", **w),
        4,
    ),
    "one tree, sampled": (
        lambda w: GradientBoostingRegressor(
            4,
            multi_strategy="one_tree",
            max_leaf_nodes=9,
            min_samples_leaf=4,
            subsample=0.6,
            max_features=2,
            early_stopping=True,
            random_state=5,
            **w,
        ),
        -3,
    ),
    "stopped": (
        lambda w: GradientBoostingRegressor(30, early_stopping=True, random_state=0, **w),
        0,
    ),
    "stopped by class": (
        lambda w: GradientBoostingClassifier(20, early_stopping=True, random_state=0, **w),
        3,
    ),
}


def target_for(kind, signal):
    if kind > 0:
        return np.digitize(signal, np.quantile(signal, np.arange(1, kind) / kind))
    if kind == -2:
        return np.exp(signal)
    if kind == -3:
        return np.stack([signal, np.abs(signal), signal**3], axis=1)
    return signal if kind == 0 else np.floor(np.abs(signal) * 2)


@pytest.mark.parametrize("name", MODELS)
def test_every_backend_and_thread_count(name):
    model, kind = MODELS[name]
    X, signal, _ = table(categories=0 if name == "sampled" else 6)
    y = target_for(kind, signal)
    expected = bytes_of(model, X, y, where=WHERE[0])
    for where in WHERE[1:]:
        assert bytes_of(model, X, y, where=where) == expected, where


@pytest.mark.parametrize("name", ["softmax", "sampled", "huber", "stopped"])
def test_torch(name):
    pytest.importorskip("torch")
    model, kind = MODELS[name]
    X, signal, _ = table(categories=6)
    y = target_for(kind, signal)
    expected = bytes_of(model, X, y, where=WHERE[0])
    assert bytes_of(model, X, y, where={"backend": "torch"}) == expected


def test_columns_of_few_and_of_many_categories():
    X, signal, _ = table(categories=6)
    few = np.random.default_rng(3).integers(0, 3, len(X))
    X["few"] = pd.Categorical(np.array(["u", "v", "w"])[few]).astype(object)
    X["few"] = X["few"].mask(few == 2).astype("category")
    model, kind = MODELS["logistic"]
    y = target_for(kind, signal + 2 * (few == 1))
    expected = model(WHERE[0]).fit(X, y)
    tested = {feature for each in expected.estimators_ for feature in each.nodes_.feature.tolist()}
    assert {X.columns.get_loc("few"), X.columns.get_loc("level")} <= tested
    for where in WHERE[1:]:
        assert bytes_of(model, X, y, where=where) == expected.to_bytes(), where


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_categories_of_few_rows(name):
    X, signal, _ = table()
    rng = np.random.default_rng(3)
    category = np.where(
        rng.random(len(X)) < 0.8, rng.integers(0, 6, len(X)), 6 + rng.integers(0, 60, len(X))
    )
    X["level"] = pd.Categorical(category)
    model, kind = MODELS[name]
    y = target_for(kind, signal + (category % 3))
    expected = model(WHERE[0]).fit(X, y)
    tree = next(each.nodes_ for each in expected.estimators_ if (each.tree_.kind == 2).any())
    assert len(X["level"].cat.categories) > 32
    assert STAY not in all_slots(tree)  # all of them go with the rare ones
    for where in WHERE[1:]:
        assert bytes_of(model, X, y, where=where) == expected.to_bytes(), where


@pytest.mark.parametrize("name", ["logistic", "softmax", "squared", "huber"])
def test_weights(name):
    model, kind = MODELS[name]
    X, signal, weight = table()
    weight[:20] = 0.0
    y = target_for(kind, signal)
    expected = bytes_of(model, X, y, weight, WHERE[0])
    for where in WHERE[1:3]:
        assert bytes_of(model, X, y, weight, where) == expected, where


@settings(max_examples=8)
@given(st.integers(0, 2**31), st.integers(2, 60), st.sampled_from(["logistic", "squared"]))
def test_any_small_table(seed, n_rows, name):
    model, kind = MODELS[name]
    X, signal, _ = table(n_rows, seed, missing=0.3)
    y = target_for(kind, signal)
    assert bytes_of(model, X, y, where=WHERE[0]) == bytes_of(model, X, y, where=WHERE[2])


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_shuffled_rows_give_the_same_model(name, is_weighted):
    model, kind = MODELS[name]
    X, signal, weight = table()
    weight[:20] = 0.0
    y = target_for(kind, signal)
    order = np.random.default_rng(1).permutation(len(X))
    own = weight if is_weighted else np.ones(len(X))
    expected = bytes_of(model, X, y, own, WHERE[0])
    assert bytes_of(model, X.iloc[order], y[order], own[order], WHERE[0]) == expected


def test_a_dataset_is_cut_once_for_many_models():
    X, signal, _ = table()
    data = Dataset(X, signal)
    model = GradientBoostingRegressor(3)
    assert model.fit(data).to_bytes() == model.fit(X, signal).to_bytes()


def test_large_nodes_give_what_small_ones_do():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 3)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + rng.normal(size=20_000) > 0
    models = [
        GradientBoostingClassifier(2, max_depth=4, **where).fit(X, y).to_bytes()
        for where in WHERE[:3]
    ]
    assert models[0] == models[1] == models[2]
