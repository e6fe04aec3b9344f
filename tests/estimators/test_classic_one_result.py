"""Classic trees are the same, byte for byte, on every backend, thread count and budget."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
)
from tests.thorough import examples

CATEGORIES = [f"category {i}" for i in range(40)]


def table(n_rows=400, seed=0, share_missing=0.1):
    """Numbers, few and many categories, an order, a single category, a column without any value."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 4, n_rows)
    many = rng.integers(0, 40, n_rows)
    number = rng.normal(size=n_rows).round(1)
    frame = pd.DataFrame(
        {
            "number": number,
            "few": pd.Categorical.from_codes(few, list("abcd")),
            "many": pd.Categorical.from_codes(many, CATEGORIES),
            "size": pd.Categorical.from_codes(
                rng.integers(0, 3, n_rows), ["small", "middle", "large"], ordered=True
            ),
            "one": pd.Categorical(["only"] * n_rows),
            "none": np.full(n_rows, np.nan),
        }
    )
    signal = number + (few % 2) + 0.8 * (many % 3) + rng.normal(size=n_rows) * 0.7
    for column in ("number", "few", "many", "size"):
        frame.loc[rng.random(n_rows) < share_missing, column] = np.nan
    return frame, signal


def labels(signal, n_classes):
    return np.searchsorted(np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]), signal)


WAYS = {
    "multiway, divided": {"nominal": "multiway", "missing": "fractional"},
    "multiway, category": {"nominal": "multiway", "missing": "category"},
    "multiway, direction": {"nominal": "multiway", "missing": "direction"},
    "gain ratio, divided": {
        "criterion": "gain_ratio",
        "nominal": "multiway",
        "missing": "fractional",
    },
    "gain ratio of subsets": {"criterion": "gain_ratio", "missing": "category"},
    "ordered or exact": {},
    "exact": {"subset_search": "exact", "max_exact_levels": 4},
    "principal": {"subset_search": "principal"},
    "greedy": {"subset_search": "greedy"},
    "twoing": {"criterion": "twoing"},
    "error": {"criterion": "error", "min_samples_category": 1},
    "surrogates": {"missing": "surrogate"},
    "subsets, divided": {"missing": "fractional"},
    "category": {"missing": "category"},
    "drawn features": {"max_features": 2, "random_state": 3},
    "best first": {"max_leaf_nodes": 9},
}


def columns_for(options, X):
    """Half a million subsets of 40 categories are too many to try."""
    return X.drop(columns="many") if options.get("subset_search") == "exact" else X


@pytest.mark.cover("numba")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_class_tree_is_that_of_numpy(backend, way, n_classes):
    X, signal = table()
    options = WAYS[way]
    X, y = columns_for(options, X), labels(signal, n_classes)
    ours, numpys = (
        DecisionTreeClassifier(backend=name, max_depth=6, **options).fit(X, y)
        for name in (backend.name, "numpy")
    )
    assert ours.to_bytes() == numpys.to_bytes()
    assert numpys.tree_.n_nodes > 10
    other, _ = table(150, seed=9, share_missing=0.4)
    other = columns_for(options, other)
    assert ours.predict_proba(other).tobytes() == numpys.predict_proba(other).tobytes()
    assert_all_rows_end(ours, other)


def assert_all_rows_end(model, X):
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("missing", ["direction", "surrogate", "category"])
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_regression_tree_is_that_of_numpy(backend, missing, nominal, n_outputs):
    if (nominal, missing) == ("multiway", "surrogate"):
        pytest.skip("surrogates agree with a split in two")
    X, signal = table()
    y = np.stack([signal, np.sin(signal)], axis=1)[:, :n_outputs]
    ours, numpys = (
        DecisionTreeRegressor(backend=name, max_depth=6, missing=missing, nominal=nominal).fit(X, y)
        for name in (backend.name, "numpy")
    )
    assert ours.to_bytes() == numpys.to_bytes()
    other, _ = table(150, seed=9, share_missing=0.4)
    assert ours.predict(other).tobytes() == numpys.predict(other).tobytes()


@pytest.mark.quick("numba", "array_api_strict-True", "torch-True")
@pytest.mark.parametrize("weighted", [False, True])
def test_presets_are_those_of_numpy(backend, weighted):
    X, signal = table(200)
    y = labels(signal, 3)
    weight = np.random.default_rng(1).integers(1, 5, len(y)) / 2 if weighted else None
    for preset in (C45Classifier, CARTClassifier, CARTRegressor):
        ours, numpys = (preset(backend=name).fit(X, y, weight) for name in (backend.name, "numpy"))
        assert ours.to_bytes() == numpys.to_bytes(), preset
    nominal = X[["few", "many"]].astype(object).fillna("none").astype("category")
    ours, numpys = (
        ID3Classifier(backend=name).fit(nominal, y, weight) for name in (backend.name, "numpy")
    )
    assert ours.to_bytes() == numpys.to_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_threads_and_budgets_change_nothing(way):
    X, signal = table(3000, seed=4)
    options = WAYS[way]
    X, y = columns_for(options, X), labels(signal, 3)
    models = [
        DecisionTreeClassifier(backend="numba", max_depth=7, **how, **options).fit(X, y)
        for how in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 2, "histogram_budget": 1})
    ]
    assert models[0].to_bytes() == models[1].to_bytes() == models[2].to_bytes()


@pytest.mark.parametrize("missing", ["direction", "fractional", "surrogate", "category"])
def test_the_order_of_rows_changes_nothing(missing):
    X, signal = table(500, seed=2)
    y = labels(signal, 3)
    order = np.random.default_rng(0).permutation(len(y))
    models = [
        DecisionTreeClassifier(missing=missing, max_depth=6).fit(X.iloc[rows], y[rows])
        for rows in (np.arange(len(y)), order)
    ]
    assert models[0].to_bytes() == models[1].to_bytes()


def test_five_thousand_categories(backend):
    if backend.name == "array_api_strict":
        pytest.skip("takes long")
    rng = np.random.default_rng(3)
    category = rng.integers(0, 5000, 12_000)
    y = (category % 7 + rng.integers(0, 4, 12_000)) % 3
    X = pd.DataFrame(
        {"level": pd.Categorical.from_codes(category, range(5000)), "x": rng.random(12_000)}
    )
    for options in ({}, {"nominal": "multiway"}, {"subset_search": "principal"}):
        ours, numpys = (
            DecisionTreeClassifier(
                backend=name, max_depth=3, min_samples_category=1, **options
            ).fit(X, y)
            for name in (backend.name, "numpy")
        )
        assert ours.to_bytes() == numpys.to_bytes()
        assert numpys.score(X, y) > 0.5


column = st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=8, max_size=8)


@settings(max_examples=examples(60))
@given(
    columns=st.lists(column, min_size=1, max_size=3),
    numbers=st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=8, max_size=8),
    y=st.lists(st.integers(0, 2), min_size=8, max_size=8),
    weight=st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=8, max_size=8),
    way=st.sampled_from(sorted(WAYS)),
    unseen=column,
    unknown=st.sampled_from(["missing", "majority"]),
)
def test_any_small_table_gives_one_tree(columns, numbers, y, weight, way, unseen, unknown):
    """Among them: columns without values, a single category, categories of rows without weight."""
    if not any(weight):
        weight = [1.0] * 8
    X = pd.DataFrame({f"c{i}": pd.Categorical(values) for i, values in enumerate(columns)})
    X["number"] = numbers
    models = [
        DecisionTreeClassifier(backend=name, unknown_category=unknown, **WAYS[way]).fit(
            X, y, weight
        )
        for name in ("numpy", "numba")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()
    new = X.copy()
    new["c0"] = pd.Categorical(
        [category if category != "b" else "never seen" for category in unseen]
    )
    proba = [model.predict_proba(new) for model in models]
    assert proba[0].tobytes() == proba[1].tobytes()
    assert np.allclose(proba[0].sum(axis=1), 1.0)
