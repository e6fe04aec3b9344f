"""Shapley values of every ensemble: sums, the trees' own values, the shap package."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gputree
from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

FEW = {"n_estimators": 4, "random_state": 0}
CLASSIFIERS = {
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=4), max_features=0.6, **FEW),
    "forest": RandomForestClassifier(**FEW),
    "forest, multiway": RandomForestClassifier(nominal="multiway", **FEW),
    "forest, category": RandomForestClassifier(missing="category", **FEW),
    "forest, rows divided": RandomForestClassifier(missing="fractional", **FEW),
    "forest, surrogates": RandomForestClassifier(missing="surrogate", **FEW),
    "extra trees": ExtraTreesClassifier(**FEW),
    "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **FEW),
    "AdaBoost, surrogates": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3, missing="surrogate"), **FEW
    ),
    "boosting": GradientBoostingClassifier(max_depth=3, **FEW),
}
REGRESSORS = {
    "bagging": BaggingRegressor(DecisionTreeRegressor(max_depth=4), max_features=0.6, **FEW),
    "forest, surrogates": RandomForestRegressor(missing="surrogate", **FEW),
    "extra trees": ExtraTreesRegressor(**FEW),
    "boosting": GradientBoostingRegressor(min_child_weight=3.0, **FEW),
}


def houses(n_rows=90, seed=0):
    """Numbers and categories, some of them missing, and a price."""
    rng = np.random.default_rng(seed)
    area, age, side = rng.normal(size=n_rows), rng.normal(size=n_rows), rng.integers(0, 4, n_rows)
    price = area + 0.5 * age * (side == 2) + 0.2 * rng.normal(size=n_rows)
    table = pd.DataFrame(
        {"area": area, "age": age, "side": pd.Categorical.from_codes(side, list("nesw"))}
    )
    for name in table:
        table.loc[rng.random(n_rows) < 0.15, name] = None
    return table, price


def adds_up(model, table, raw):
    others = table[:12]
    by_path = model.expected_value_ + model.shap_values(table).sum(axis=1)
    assert_allclose(by_path, raw(table), rtol=0, atol=1e-9)
    values = model.shap_values(table, method="interventional", background=others)
    assert_allclose(raw(others).mean(axis=0) + values.sum(axis=1), raw(table), rtol=0, atol=1e-9)
    assert abs(values).max() > 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_values_of_classifiers_add_up(name, n_classes):
    table, price = houses()
    y = np.array(["low", "mean", "high"])[np.digitize(price, [0.0, 0.8][: n_classes - 1])]
    model = CLASSIFIERS[name].fit(table, y)
    adds_up(model, table, getattr(model, "decision_function", model.predict_proba))
    has_one = n_classes == 2 and hasattr(model, "decision_function")
    assert model.shap_values(table[:2]).shape == ((2, 3) if has_one else (2, 3, n_classes))


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_of_regressors_add_up(name):
    table, price = houses()
    model = REGRESSORS[name].fit(table, price)
    adds_up(model, table, model.predict)
    assert model.shap_values(table[:2]).shape == (2, 3)
    if name != "boosting":
        model.fit(table, np.stack([price, -price], axis=1))
        adds_up(model, table, model.predict)
        assert model.shap_values(table[:2]).shape == (2, 3, 2)


def test_values_of_a_forest_are_the_mean_of_those_of_its_trees():
    table, price = houses()
    model = RandomForestRegressor(**FEW).fit(table, price)
    mean = np.mean([tree.shap_values(table) for tree in model.estimators_], axis=0)
    assert_allclose(model.shap_values(table), mean, rtol=0, atol=1e-12)


def test_a_column_that_a_bag_has_not_drawn_is_credited_with_nothing():
    table, price = houses()
    model = BaggingRegressor(max_features=1, n_estimators=1, random_state=0).fit(table, price)
    (own,) = model.estimators_features_
    values = model.shap_values(table)
    assert np.flatnonzero(abs(values).sum(axis=0)).tolist() == own.tolist()


def test_what_is_not_a_sum_over_trees_is_not_explained():
    table, price = houses()
    median = AdaBoostRegressor(n_estimators=2).fit(table, price)
    assert not hasattr(median, "shap_values")
    with pytest.raises(AttributeError, match="the median of its trees, which is not a sum"):
        median.shap_values(table)
    divided = DecisionTreeClassifier(max_depth=2, missing="fractional")
    votes = AdaBoostClassifier(divided, n_estimators=2).fit(table, price > 0)
    with pytest.raises(ValueError, match="its vote is not a sum over them; fit with missing="):
        votes.shap_values(table)


# Against the shap package, which compares float32 values.


@pytest.fixture(scope="module")
def grid():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (200, 4)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + 3 * X[:, 2] + rng.normal(size=200)


@pytest.mark.parametrize("method", ["path", "interventional"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees"])
def test_values_of_forests_are_those_of_the_shap_package(grid, kind, task, method):
    shap = pytest.importorskip("shap")
    X, y = grid
    y = np.digitize(y, [30, 60]) if task == "Classifier" else y
    model = getattr(gputree, kind + task)(max_depth=5, **FEW).fit(X, y)
    others = X[:20] if method == "interventional" else None
    way = "interventional" if method == "interventional" else "tree_path_dependent"
    explainer = shap.TreeExplainer(model.to_sklearn(), others, feature_perturbation=way)
    right = explainer.shap_values(X[:40])
    found = model.shap_values(X[:40], method=method, background=others)
    # With a background shap adds float32 numbers.
    within = 1e-6 if method == "interventional" else 1e-12
    assert_allclose(found, right, rtol=0, atol=within * np.abs(right).max())


def test_values_of_boosting_are_sums_of_those_of_the_shap_package(grid):
    shap = pytest.importorskip("shap")
    X, y = grid
    model = GradientBoostingRegressor(5, max_depth=4).fit(X, y)
    right = sum(
        shap.TreeExplainer(tree.to_sklearn()).shap_values(X[:40]) for tree in model.estimators_
    )
    assert_allclose(model.shap_values(X[:40]), right, rtol=0, atol=1e-12 * np.abs(right).max())
