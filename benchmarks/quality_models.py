"""Who is compared for quality: the same number of trees, rate and size of trees for all.

All else is each library's own default. Categories and missing values go to a library as it takes
them. A library that is not installed is left out.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import gputree

FOREST_TREES, ROUNDS, RATE = 100, 200, 0.1
LEAVES, DEPTH = 31, 6
FEW_CATEGORIES = 16  # a column of more is not worth a column per category

COLUMN_PER_CATEGORY = "scikit-learn, a column per category"

Fit = Callable[[pd.DataFrame, Any, int], Any]  # of features, target and seed: a model


def forests(is_classes: bool, threads: int) -> dict[str, Fit]:
    """Forests of scikit-learn get categories by their numbers, or a column each."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = gputree.RandomForestClassifier if is_classes else gputree.RandomForestRegressor
    other = RandomForestClassifier if is_classes else RandomForestRegressor

    def theirs(as_numbers: Callable[[pd.DataFrame], pd.DataFrame]) -> Fit:
        return lambda X, y, seed: AsNumbers(
            other(FOREST_TREES, random_state=seed, n_jobs=threads), as_numbers
        ).fit(X, y)

    return {
        "gputree": lambda X, y, seed: kind(FOREST_TREES, random_state=seed, n_jobs=threads).fit(
            X, y
        ),
        "scikit-learn": theirs(numbered),
        COLUMN_PER_CATEGORY: theirs(spread),
    }


def leaf_wise(is_classes: bool, threads: int) -> dict[str, Fit]:
    """Boosting of trees that grow leaf by leaf."""
    return boosters(
        is_classes,
        threads,
        {"max_depth": None, "max_leaf_nodes": LEAVES},
        {"num_leaves": LEAVES},
        {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0},
    )


def depth_wise(is_classes: bool, threads: int) -> dict[str, Fit]:
    """Boosting of trees of some depth."""
    return boosters(
        is_classes,
        threads,
        {"max_depth": DEPTH},
        {"max_depth": DEPTH, "num_leaves": 2**DEPTH},
        {"max_depth": DEPTH},
    )


def boosters(
    is_classes: bool, threads: int, ours: dict[str, Any], light: dict[str, Any], xg: dict[str, Any]
) -> dict[str, Fit]:
    """gputree, LightGBM and XGBoost, each told the size of trees in its own words."""
    kind = gputree.GradientBoostingClassifier if is_classes else gputree.GradientBoostingRegressor
    found: dict[str, Fit] = {
        "gputree": lambda X, y, seed: kind(
            ROUNDS, learning_rate=RATE, random_state=seed, n_jobs=threads, **ours
        ).fit(X, y)
    }
    shared = {"n_estimators": ROUNDS, "learning_rate": RATE, "n_jobs": threads}
    if find_spec("lightgbm") is not None:
        import lightgbm

        other = lightgbm.LGBMClassifier if is_classes else lightgbm.LGBMRegressor
        found["LightGBM"] = lambda X, y, seed: other(
            random_state=seed, verbose=-1, **shared, **light
        ).fit(X, y)
    if find_spec("xgboost") is not None:
        import xgboost

        third = xgboost.XGBClassifier if is_classes else xgboost.XGBRegressor
        found["XGBoost"] = lambda X, y, seed: third(
            random_state=seed, enable_categorical=True, **shared, **xg
        ).fit(X, y)
    return found


CONTESTS: dict[str, Callable[[bool, int], dict[str, Fit]]] = {
    "forest": forests,
    "leaf-wise": leaf_wise,
    "depth-wise": depth_wise,
}


def contestants(contest: str, X: pd.DataFrame, is_classes: bool, threads: int) -> dict[str, Fit]:
    """Who takes part on a table; without categories there is one way to make them numbers."""
    found = CONTESTS[contest](is_classes, threads)
    if not few_categories(X):
        found.pop(COLUMN_PER_CATEGORY, None)
    return found


class AsNumbers:
    """A model that sees numbers only; missing values are NaN, which scikit-learn's trees know."""

    def __init__(self, model: Any, as_numbers: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        self._model, self._as_numbers = model, as_numbers

    def fit(self, X: pd.DataFrame, y: Any) -> "AsNumbers":
        self._model.fit(self._as_numbers(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self._model.predict(self._as_numbers(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self._model.predict_proba(self._as_numbers(X))

    @property
    def classes_(self) -> Any:
        return self._model.classes_


def numbered(X: pd.DataFrame) -> pd.DataFrame:
    """Categories by their numbers."""
    return X.apply(
        lambda column: (
            column.cat.codes.astype(float).replace(-1.0, np.nan)
            if isinstance(column.dtype, pd.CategoricalDtype)
            else column.astype(float)
        )
    )


def spread(X: pd.DataFrame) -> pd.DataFrame:
    """A column for each category of columns that have few, and one for missing values."""
    few = few_categories(X)
    return numbered(X.drop(columns=few)).join(pd.get_dummies(X[few], dummy_na=True, dtype=float))


def few_categories(X: pd.DataFrame) -> list[Any]:
    """Nominal columns that are worth a column per category."""
    return [
        name
        for name, kind in X.dtypes.items()
        if isinstance(kind, pd.CategoricalDtype) and len(kind.categories) <= FEW_CATEGORIES
    ]
