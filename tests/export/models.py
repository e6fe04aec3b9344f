"""Tables with everything a column can be, and models of every kind fitted on them."""

from functools import cache

import numpy as np
import pytest

import gputree

pd = pytest.importorskip("pandas")

N_ROWS = 10_000
CATEGORIES = ["red", "green", "o'blue", 'gr"ey\\?', "né"]
SIZES = ["S", "M", "L", "XL"]
CATEGORICAL = ["colour", "size", "code"]
NAMES = ["width", 'a "b', "colour", "size", "code"]


def table(n_rows, seed, *, is_new):
    """Columns with missing values; new ones have categories that nobody has seen at fit."""
    draw = np.random.default_rng(seed)

    def some(values, unseen):
        values = np.array(values, object)[draw.integers(0, len(values), n_rows)]
        if is_new:
            values[draw.random(n_rows) < 0.1] = unseen
        values[draw.random(n_rows) < 0.15] = None
        return values

    # Few different widths, so that values are equal to one another and lie near thresholds.
    width, other = draw.normal(size=n_rows).round(2), draw.normal(size=n_rows)
    width[draw.random(n_rows) < 0.15] = np.nan
    other[draw.random(n_rows) < 0.15] = np.nan
    other[draw.random(n_rows) < 0.01] = np.inf
    other[draw.random(n_rows) < 0.01] = -np.inf
    sizes = [*SIZES, *(["XXS"] if is_new else [])]
    return pd.DataFrame(
        {
            "width": width,
            'a "b': other,
            "colour": some(CATEGORIES, "purple"),
            "size": pd.Categorical(some(SIZES, "XXS"), sizes, ordered=True),
            "code": some([0, 1, 2, 3, 5, 8], 77),
        }
    )


def score(X):
    """A target that depends on every column."""
    noise = np.random.default_rng(0).normal(size=len(X)) * 0.5
    found = X["width"].fillna(0.3).to_numpy() + (X["colour"] == "red") * 1.5 + noise
    return found + (X["size"] == "XL") * 2.0 - (X["code"] == 3) - (X['a "b'] > 1) * 0.5


KNOWN = table(600, 0, is_new=False)
NEW = table(N_ROWS, 1, is_new=True)
SCORE = score(KNOWN).to_numpy(np.float64)
TARGETS = {
    "three": np.array(["high", "low", "mid'"])[np.digitize(SCORE, [-0.5, 1.0])],
    "two": np.where(SCORE > 0, 7, 3),
    "number": SCORE,
    "numbers": np.stack([SCORE, SCORE**2], axis=1),
    "count": np.abs(SCORE).round(),
}
NUMERIC = ["width", 'a "b']  # for estimators that know no categories

of = {"categorical_features": CATEGORICAL}


def tree(**options):
    return gputree.DecisionTreeClassifier(**{"max_depth": 5, **of, **options})


def value_tree(**options):
    return gputree.DecisionTreeRegressor(**{"max_depth": 5, **of, **options})


FEW = {"n_estimators": 7, "random_state": 0}
MODELS = {
    "subsets": (lambda: tree(), "three"),
    # Deep enough for nodes that have not seen all categories.
    "subsets, majority": (lambda: tree(unknown_category="majority", max_depth=9), "three"),
    "branches": (lambda: tree(nominal="multiway", max_depth=4), "three"),
    "branches, majority": (
        lambda: tree(nominal="multiway", unknown_category="majority", max_depth=4),
        "two",
    ),
    "own category": (lambda: tree(missing="category", nominal="multiway", max_depth=3), "two"),
    "own category, majority": (
        lambda: tree(missing="category", unknown_category="majority"),
        "two",
    ),
    "fractions": (lambda: tree(missing="fractional", max_depth=4), "three"),
    "fractions, branches": (
        lambda: tree(
            missing="fractional", nominal="multiway", unknown_category="majority", max_depth=3
        ),
        "three",
    ),
    "surrogates": (lambda: tree(missing="surrogate"), "three"),
    "surrogates, majority": (
        lambda: tree(missing="surrogate", unknown_category="majority"),
        "three",
    ),
    "ID3": (lambda: gputree.ID3Classifier(**of), "three"),
    "C4.5": (lambda: gputree.C45Classifier(**of), "three"),
    "CART": (lambda: gputree.CARTClassifier(max_depth=5, pruning=None, **of), "three"),
    "CART, rpart": (
        lambda: gputree.CARTRegressor(
            max_depth=4, pruning=None, surrogate_style="rpart", max_surrogates=1, **of
        ),
        "number",
    ),
    "regression": (lambda: value_tree(), "number"),
    "outputs": (lambda: value_tree(), "numbers"),
    "only a leaf": (lambda: value_tree(min_samples_leaf=600), "number"),
    "forest": (lambda: gputree.RandomForestClassifier(max_depth=6, **FEW, **of), "three"),
    "forest of numbers": (
        lambda: gputree.RandomForestRegressor(max_depth=5, **FEW, **of),
        "number",
    ),
    "extra trees": (lambda: gputree.ExtraTreesClassifier(max_depth=5, **FEW, **of), "two"),
    "extra trees of outputs": (
        lambda: gputree.ExtraTreesRegressor(max_depth=4, **FEW, **of),
        "numbers",
    ),
    "bagging of C4.5": (
        lambda: gputree.BaggingClassifier(
            gputree.C45Classifier(max_depth=3, **of), n_estimators=3, random_state=0
        ),
        "three",
    ),
    "bagging, columns": (
        lambda: gputree.BaggingRegressor(
            gputree.DecisionTreeRegressor(max_depth=5), max_features=0.5, **FEW
        ),
        "number",
    ),
    "AdaBoost": (lambda: gputree.AdaBoostClassifier(tree(max_depth=2), **FEW), "three"),
    "AdaBoost, two": (lambda: gputree.AdaBoostClassifier(tree(max_depth=2), **FEW), "two"),
    "AdaBoost, fractions": (
        lambda: gputree.AdaBoostClassifier(tree(missing="fractional", max_depth=2), **FEW),
        "three",
    ),
    "AdaBoost of numbers": (lambda: gputree.AdaBoostRegressor(value_tree(), **FEW), "number"),
    "boosting": (lambda: gputree.GradientBoostingClassifier(max_depth=3, **FEW, **of), "three"),
    "boosting, two": (lambda: gputree.GradientBoostingClassifier(max_depth=3, **FEW, **of), "two"),
    "boosting of numbers": (
        lambda: gputree.GradientBoostingRegressor(max_depth=3, **FEW, **of),
        "number",
    ),
    "boosting, one tree": (
        lambda: gputree.GradientBoostingClassifier(
            max_depth=3, multi_strategy="one_tree", **FEW, **of
        ),
        "three",
    ),
    "boosting of outputs": (
        lambda: gputree.GradientBoostingRegressor(
            max_depth=3, multi_strategy="one_tree", min_child_weight=1.0, **FEW, **of
        ),
        "numbers",
    ),
    "boosting of counts": (
        lambda: gputree.GradientBoostingRegressor(loss="poisson", max_depth=3, **FEW, **of),
        "count",
    ),
}
DIVIDED = ["fractions", "fractions, branches", "C4.5", "bagging of C4.5", "AdaBoost, fractions"]
WITH_SURROGATES = ["surrogates", "surrogates, majority", "CART", "CART, rpart"]
# Exponentials of other libraries, in the last place or two.
WITH_EXPONENTIALS = {name for name in MODELS if "oost" in name} - {
    "boosting of numbers",
    "boosting of outputs",
    "AdaBoost of numbers",
}


def columns_of(name):
    if name == "ID3":
        return CATEGORICAL
    return NUMERIC if name == "bagging, columns" else NAMES


@cache
def fitted(name):
    make, target = MODELS[name]
    X, y = KNOWN[columns_of(name)], TARGETS[target]
    if name == "ID3":  # which knows no missing values at fit
        is_whole = X.notna().all(axis=1)
        X, y = X[is_whole], y[is_whole.to_numpy()]
    return make().fit(X, y)


@cache
def rows(name):
    return NEW[columns_of(name)]


@cache
def expected(name):
    """Probabilities or predictions of the new rows, a column an answer."""
    model, X = fitted(name), rows(name)
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    found = found.reshape(len(X), -1)
    found.setflags(write=False)
    return found


def values_of(X):
    """The rows as lists of plain values."""
    return X.astype(object).where(X.notna(), None).to_numpy().tolist()


def numbered(model, X):
    """A matrix with the numbers of categories; NaN is missing."""
    schema = model.schema_
    matrix = np.empty(X.shape)
    for at, name in enumerate(X.columns):
        if schema.categories[at] is None:
            matrix[:, at] = X[name]
            continue
        place = {category: number for number, category in enumerate(schema.categories[at])}
        is_ordered = schema.kinds[at].name == "ORDINAL"
        takes_unknown = schema.unknown == "majority" and not is_ordered
        unknown = len(place) if takes_unknown else np.nan
        matrix[:, at] = [
            np.nan if value is None or value != value else place.get(value, unknown)
            for value in X[name].astype(object)
        ]
    return matrix
