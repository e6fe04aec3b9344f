"""Rounds of one call split categories as rounds that are made one after another do."""

import numpy as np
import pandas as pd
import pytest

from gputree import GradientBoostingClassifier, GradientBoostingRegressor
from gputree.boosting.rounds import Rounds
from gputree.tree.tree import Split

C, R = GradientBoostingClassifier, GradientBoostingRegressor
LEAFWISE = {"max_depth": None, "max_leaf_nodes": 12}


def table(n_rows=900, n_categories=60, missing=0.08, seed=0):
    """Two columns of numbers, and of many, of few and of seven categories."""
    rng = np.random.default_rng(seed)
    many = (n_categories * rng.random(n_rows) ** 2).astype(int)
    few, seven = rng.integers(0, 3, n_rows), rng.integers(0, 7, n_rows)
    X = pd.DataFrame(rng.normal(size=(n_rows, 2)).round(1), columns=["a", "b"])
    y = X["a"].to_numpy() + many * 7 % 5 + (few == 1) + seven % 3 + rng.normal(size=n_rows)
    X["many"], X["few"], X["seven"] = many.astype(float), few.astype(float), seven.astype(float)
    return X.mask(rng.random(X.shape) < missing).to_numpy(), y


NOMINAL = {"categorical_features": [2, 3, 4]}
CASES = {
    "two classes, by depth": (C, {}, 2),
    "three classes, by leaf, rows counted": (C, {"min_samples_leaf": 8} | LEAFWISE, 3),
    "two classes, by leaf": (C, LEAFWISE, 2),
    "a regression without a limit": (R, {"max_depth": None, "min_child_weight": 2.0}, 0),
    "missing values as a category": (C, {"missing": "category", "min_samples_leaf": 4}, 2),
    "no ridge, and no category too rare": (
        R,
        {"l2_regularization": 0.0, "min_samples_category": 1, "min_child_weight": 1.0},
        0,
    ),
    "rows, columns and features drawn": (
        C,
        {"subsample": 0.5, "colsample_bytree": 0.8, "max_features": 2, "random_state": 3},
        2,
    ),
    "early stopping": (R, {"early_stopping": True, "random_state": 0} | LEAFWISE, 0),
}


def target(signal, n_classes):
    if n_classes == 0:
        return signal
    return np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def refuse(*_):
    raise AssertionError("a round was made by itself")


def has_groups(model):
    kinds = np.concatenate([member.tree_.kind for member in model.estimators_])
    return (kinds == Split.SUBSET).sum() > 5


@pytest.mark.parametrize("name", CASES)
def test_rounds_of_one_call_are_those_of_numpy(name, monkeypatch):
    kind, parameters, n_classes = CASES[name]
    X, signal = table()
    y = target(signal, n_classes)
    expected = kind(6, **parameters, **NOMINAL, backend="numpy").fit(X, y)
    assert has_groups(expected)
    monkeypatch.setattr(Rounds, "_next", refuse)
    for n_jobs in (1, 2):
        model = kind(6, **parameters, **NOMINAL, backend="numba", n_jobs=n_jobs).fit(X, y)
        assert model.to_bytes() == expected.to_bytes()


def test_weights_of_rows_and_rows_without():
    X, y = table()
    weight = np.random.default_rng(5).random(len(y)) * 4
    weight[::9] = 0.0
    models = [
        R(5, min_samples_leaf=3, min_child_weight=0.0, **NOMINAL, backend=backend).fit(X, y, weight)
        for backend in ("numpy", "numba")
    ]
    assert has_groups(models[0])
    assert models[0].to_bytes() == models[1].to_bytes()


def test_more_categories_than_are_put_in_order_one_by_one():
    X, y = table(4_000, n_categories=240)
    given = {"min_samples_category": 2} | NOMINAL
    models = [C(3, **given, backend=own).fit(X, y > 4) for own in ("numpy", "numba")]
    assert has_groups(models[0])
    assert models[0].to_bytes() == models[1].to_bytes()


def test_a_gpu_grows_the_same_rounds():
    X, signal = table(30, n_categories=40, missing=0.2)
    models = [
        C(1, max_depth=2, min_child_weight=0.1, **NOMINAL, backend=backend).fit(X, signal > 4)
        for backend in ("numba", "cuda")
    ]
    kinds = np.concatenate([member.tree_.kind for member in models[0].estimators_])
    assert (kinds == Split.SUBSET).any()
    assert models[0].to_bytes() == models[1].to_bytes()
