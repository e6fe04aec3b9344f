"""Small models of every estimator, way to split and way to treat missing values.

`python -m tests.corpus.write` writes them for a release, and mutated files begin from them.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

import gputree

pd = pytest.importorskip("pandas")

COLOURS = ["red", "green", "né", "o'blue"]
SIZES = ["S", "M", "L"]
CATEGORIES = {"categorical_features": ["colour", "size", "code"]}


def table(n_rows: int, seed: int, *, has_missing: bool = True, is_new: bool = False) -> Any:
    """Columns of every kind, with infinities; new ones have a colour that no fit has seen."""
    draw = np.random.default_rng(seed)

    def some(values: list[Any]) -> Any:
        found = np.array(values, object)[draw.integers(0, len(values), n_rows)]
        if has_missing:
            found[draw.random(n_rows) < 0.2] = None
        return found

    width = draw.normal(size=n_rows).round(1)
    if has_missing:
        width[draw.random(n_rows) < 0.2] = np.nan
    width[draw.random(n_rows) < 0.05] = np.inf
    return pd.DataFrame(
        {
            "width": width,
            "height": draw.integers(-3, 4, n_rows).astype(np.float64),
            "colour": some([*COLOURS, "purple"] if is_new else COLOURS),
            "size": pd.Categorical(some(SIZES), SIZES, ordered=True),
            "code": some([0, 1, 8]),
        }
    )


def score(X: Any) -> Any:
    """A target that depends on every column."""
    width = X["width"].fillna(0.3).clip(-3, 3).to_numpy()
    found = width + (X["colour"] == "red") * 1.5 + (X["size"] == "L") * 2.0 - (X["code"] == 8)
    return (found - 0.3 * X["height"]).to_numpy(np.float64).round(2)


def targets(X: Any) -> dict[str, Any]:
    """A target of each kind, with labels of each type."""
    number = score(X)
    return {
        "three": np.array(["high", "low", "mid'"])[np.digitize(number, [-0.5, 1.0])],
        "two": np.where(number > 0, 7, 3),
        "bool": number > 0,
        "float": np.where(number > 0, 1.0, -1.0),
        "one": np.full(len(X), "only"),
        "number": number,
        "numbers": np.stack([number, number**2], axis=1),
        "count": np.abs(number).round(),
    }


def small(kind: Any, **options: Any) -> Any:
    return kind(**{"max_depth": 3, **CATEGORIES, **options})


def tree(**options: Any) -> Any:
    return small(gputree.DecisionTreeClassifier, **options)


def value_tree(**options: Any) -> Any:
    return small(gputree.DecisionTreeRegressor, **options)


def few(kind: Any, *args: Any, **options: Any) -> Any:
    return kind(*args, n_estimators=3, random_state=0, **options)


def all_models() -> dict[str, tuple[Any, str]]:
    """By name: an estimator, and its target."""
    trees = {
        f"tree {missing} {nominal}": (tree(missing=missing, nominal=nominal), "three")
        for missing in ("direction", "category", "fractional", "surrogate")
        for nominal in ("subset", "multiway")
        if (missing, nominal) != ("surrogate", "multiway")
    }
    values = {
        f"regression {missing} {nominal}": (value_tree(missing=missing, nominal=nominal), "number")
        for missing in ("direction", "category", "surrogate")
        for nominal in ("subset", "multiway")
        if (missing, nominal) != ("surrogate", "multiway")
    }
    options = {"max_depth": 2, **CATEGORIES}
    return {
        **trees,
        **values,
        "tree majority": (tree(unknown_category="majority", max_depth=4), "two"),
        "tree error": (tree(unknown_category="error"), "bool"),
        "tree gain ratio": (tree(criterion="gain_ratio"), "float"),
        "tree random": (tree(splitter="random", random_state=3), "two"),
        "tree pruned": (tree(pruning="pessimistic", max_depth=4), "two"),
        "tree one class": (tree(), "one"),
        "regression outputs": (value_tree(max_leaf_nodes=5, max_depth=None), "numbers"),
        "regression leaf": (value_tree(min_samples_leaf=60), "number"),
        "id3": (gputree.ID3Classifier(**options), "three"),
        "c45": (gputree.C45Classifier(**options), "three"),
        "cart": (gputree.CARTClassifier(**options, random_state=0), "three"),
        "cart numbers": (gputree.CARTRegressor(surrogate_style="rpart", **options), "number"),
        "oblique": (gputree.ObliqueTreeClassifier(max_depth=4, **CATEGORIES), "three"),
        "oblique numbers": (
            gputree.ObliqueTreeRegressor(
                directions="sparse", random_state=1, max_depth=4, **CATEGORIES
            ),
            "number",
        ),
        "rules": (gputree.RuleSetClassifier(gputree.C45Classifier(**options)), "three"),
        "bagging c45": (
            few(gputree.BaggingClassifier, gputree.C45Classifier(**options)),
            "three",
        ),
        "bagging columns": (
            few(gputree.BaggingRegressor, value_tree(max_depth=2), max_features=0.6),
            "number",
        ),
        "forest": (few(gputree.RandomForestClassifier, **options), "three"),
        "forest multiway": (
            few(gputree.RandomForestClassifier, nominal="multiway", **options),
            "two",
        ),
        "forest surrogate": (
            few(gputree.RandomForestRegressor, missing="surrogate", **options),
            "number",
        ),
        "forest targets": (
            few(gputree.RandomForestRegressor, keep_targets=True, **options),
            "number",
        ),
        "extra trees": (few(gputree.ExtraTreesClassifier, **options), "two"),
        "forest oblique": (
            few(gputree.RandomForestClassifier, splits="oblique", **options),
            "three",
        ),
        "extra trees oblique": (
            few(gputree.ExtraTreesRegressor, splits="oblique", max_projections=8, **options),
            "numbers",
        ),
        "extra trees outputs": (few(gputree.ExtraTreesRegressor, **options), "numbers"),
        "adaboost": (few(gputree.AdaBoostClassifier, tree(max_depth=2)), "three"),
        "adaboost fractional": (
            few(gputree.AdaBoostClassifier, tree(missing="fractional", max_depth=2)),
            "two",
        ),
        "adaboost numbers": (few(gputree.AdaBoostRegressor, value_tree(max_depth=2)), "number"),
        "boosting": (few(gputree.GradientBoostingClassifier, **options), "three"),
        "boosting oblique": (
            few(gputree.GradientBoostingRegressor, splits="oblique", **options),
            "number",
        ),
        "boosting two": (
            few(gputree.GradientBoostingClassifier, missing="category", **options),
            "two",
        ),
        "boosting numbers": (few(gputree.GradientBoostingRegressor, **options), "number"),
        "boosting counts": (
            few(gputree.GradientBoostingRegressor, loss="poisson", **options),
            "count",
        ),
        "boosting huber": (
            few(gputree.GradientBoostingRegressor, loss="huber", subsample=0.5, **options),
            "number",
        ),
    }


@cache
def fitted(name: str) -> Any:
    """One of the models, fitted on sixty rows."""
    estimator, target = all_models()[name]
    X = table(60, 0, has_missing=name != "id3")
    y = targets(X)[target]
    if name == "id3":  # which knows categories only
        X = X[["colour", "size", "code"]]
    return estimator.fit(X, y)
