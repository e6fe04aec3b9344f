"""Random cases: tables with all that tables have, and parameters from each estimator's ranges."""

import numpy as np

from tests.fuzz.cases import Case

ROWS = [1, 2, 3, 5, 8, 13, 21, 34, 55]
LARGE = [1e-300, -1e-300, 1e300, -1e300, 3.4e38, -3.4e38, 1e-45]

TREE = {
    "max_depth": [None, 1, 2, 3, 6],
    "max_bins": [255, 2, 3, 16, 300],
    "min_impurity_decrease": [0.0, 0.01, 0.2],
    "min_samples_leaf": [1, 1, 2, 5],
    "min_samples_split": [2, 2, 3, 8],
    "unknown_category": ["missing", "majority"],
}
GROWN = {
    "max_leaf_nodes": [None, None, 2, 4, 9],
    "max_features": [None, 1, 0.5, "sqrt", "log2"],
    "min_weight_fraction_leaf": [0.0, 0.0, 0.1, 0.4],
    "missing": ["direction", "direction", "category", "fractional", "surrogate"],
    "ccp_alpha": [0.0, 0.0, 0.01],
}
CATEGORIES = {
    "nominal": ["subset", "subset", "multiway"],
    "subset_search": ["auto", "exact", "ordered"],
    "max_exact_levels": [10, 2, 0],
    "min_samples_category": ["auto", 1, 2, 4],
}
CLASSES = {
    "criterion": ["gini", "entropy", "error", "twoing", "gain_ratio"],
    "class_weight": [None, None, "balanced"],
}
NUMBERS = {"criterion": ["squared_error", "friedman_mse", "poisson"]}
PRUNED = {
    "pruning": [None, None, "pessimistic", "error_based", "minimum_error", "pre"],
}
OBLIQUE = {
    "directions": ["lda", "logistic", "cart-lc", "sparse"],
    "max_terms": [8, 2, 3],
    "max_projections": [32, 1, 4],
    "projection_density": [3.0, 0.5, 9.0],
    "term_cost": [0.05, 0.0, 1.0],
    "max_leaf_nodes": [None, None, 2, 4, 9],
    "ccp_alpha": [0.0, 0.0, 0.01],
}
TREES = {
    "n_estimators": [1, 2, 3],
    "bootstrap": [True, False],
    "max_samples": [None, 0.5, 1.0],
    "oob_score": [False, False, True],
}
BOOSTED = {
    "n_estimators": [1, 2, 4],
    "learning_rate": [0.1, 0.5, 1.0],
    "max_depth": [6, None, 1, 2],
    "max_leaf_nodes": [None, 2, 4, 9],
    "l2_regularization": [1.0, 0.0, 0.1, 10.0],
    "min_child_weight": [1.0, 0.0, 1e-3, 20.0, 1e30],
    "min_samples_leaf": [1, 2, 5],
    "min_split_gain": [0.0, 0.1],
    "subsample": [1.0, 1.0, 0.5],
    "colsample_bytree": [1.0, 0.5],
    "max_features": [None, 0.5, 1],
    "max_bins": [255, 2, 16],
    "early_stopping": [False, False, True],
    "missing": ["direction", "category"],
    "min_samples_category": ["auto", 1, 2, 4],
}
MONOTONE = ("DecisionTree", "RandomForest", "GradientBoosting")  # estimators with constraints
SPACE = {
    "DecisionTreeClassifier": TREE
    | GROWN
    | CATEGORIES
    | CLASSES
    | PRUNED
    | {"splitter": ["best", "random"]},
    "DecisionTreeRegressor": TREE | GROWN | CATEGORIES | NUMBERS | {"splitter": ["best", "random"]},
    "CARTClassifier": TREE
    | {
        "criterion": ["gini", "twoing", "entropy"],
        "pruning": [None, "cost_complexity"],
        "surrogate_style": ["cart", "rpart"],
        "max_surrogates": [0, 1, 5],
    },
    "CARTRegressor": TREE
    | {"pruning": [None, "cost_complexity"], "surrogate_style": ["cart", "rpart"]},
    "C45Classifier": {
        "max_depth": [None, 2, 4],
        "max_bins": [255, 3, 16],
        "min_branch": [2, 1, 4],
        "mdl_correction": [False, True],
        "pruning": ["error_based", None, "pessimistic"],
        "thresholds": ["midpoint", "value"],
        "class_weight": [None, "balanced"],
    },
    "ID3Classifier": {"max_depth": [None, 2], "min_samples_split": [2, 5]},
    "ObliqueTreeClassifier": TREE | OBLIQUE | {"criterion": ["gini", "entropy", "error", "twoing"]},
    "ObliqueTreeRegressor": TREE | OBLIQUE | NUMBERS,
    "RandomForestClassifier": TREE | GROWN | CATEGORIES | CLASSES | TREES,
    "RandomForestRegressor": TREE
    | GROWN
    | CATEGORIES
    | NUMBERS
    | TREES
    | {"keep_targets": [False, True]},
    "ExtraTreesClassifier": TREE | GROWN | TREES | {"criterion": ["gini", "entropy"]},
    "ExtraTreesRegressor": TREE | GROWN | TREES | NUMBERS | {"keep_targets": [False, True]},
    "BaggingClassifier": TREES | {"max_features": [1.0, 0.5], "bootstrap_features": [False, True]},
    "BaggingRegressor": TREES | {"max_features": [1.0, 0.5], "bootstrap_features": [False, True]},
    "AdaBoostClassifier": {
        "n_estimators": [1, 3],
        "learning_rate": [1.0, 0.3],
        "resample": [False, True],
    },
    "AdaBoostRegressor": {
        "n_estimators": [1, 3],
        "loss": ["linear", "square", "exponential"],
        "resample": [True, False],
    },
    "GradientBoostingClassifier": BOOSTED | {"class_weight": [None, "balanced"]},
    "GradientBoostingRegressor": BOOSTED
    | {
        "loss": ["squared_error", "absolute_error", "huber", "quantile", "poisson"],
        "alpha": [0.9, 0.5, 0.1],
    },
    "RuleSetClassifier": {"confidence": [0.25, 0.1], "selection": ["description_length", "greedy"]},
}


def draw(seed):
    """The case of a number."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(SPACE)))
    params = _params(rng, name)
    n_rows = int(rng.choice(ROWS))
    dtype = str(rng.choice(["float64", "float64", "float32"]))
    columns, categorical = _columns(rng, n_rows, dtype, can_miss=name != "ID3Classifier")
    if name == "ID3Classifier":
        categorical = list(range(len(columns)))
        columns = [_categories(rng, n_rows) for _ in columns]
    if name.startswith(MONOTONE) and rng.random() < 0.15:
        ways = rng.integers(-1, 2, len(columns)).tolist()
        params["monotonic_cst"] = [0 if at in categorical else way for at, way in enumerate(ways)]
    y = _target(rng, n_rows, columns, params, is_classes="Classifier" in name)
    return Case(name, params, columns, categorical, dtype, y, _weight(rng, n_rows))


def _params(rng, name):
    space = SPACE[name]
    chosen = [key for key in space if rng.random() < 0.35]
    params = {key: space[key][rng.integers(len(space[key]))] for key in chosen}
    if "n_estimators" in space:
        params.setdefault("n_estimators", 2)
    if "Bagging" in name or "AdaBoost" in name:
        inner = "DecisionTreeClassifier" if "Classifier" in name else "DecisionTreeRegressor"
        given = {"max_depth": int(rng.integers(1, 4)), "missing": "direction"}
        params["estimator"] = [inner, given]
    if name == "RuleSetClassifier":
        params["tree"] = ["C45Classifier", _params(rng, "C45Classifier")]
    elif name != "ID3Classifier":
        params["random_state"] = int(rng.integers(100))
    return params


def _columns(rng, n_rows, dtype, can_miss):
    columns, categorical = [], []
    for place in range(int(rng.integers(1, 5))):
        is_category = rng.random() < 0.25
        if columns and rng.random() < 0.15:
            columns.append(list(columns[rng.integers(place)]))  # a duplicate
            if place - 1 in categorical and columns[-1] == columns[-2]:
                categorical.append(place)
            continue
        column = _categories(rng, n_rows) if is_category else _numbers(rng, n_rows, dtype)
        if is_category:
            categorical.append(place)
        if can_miss and rng.random() < 0.35:
            share = rng.choice([0.1, 0.4, 1.0], p=[0.6, 0.3, 0.1])
            column = [None if rng.random() < share else value for value in column]
        columns.append(column)
    return columns, categorical


def _numbers(rng, n_rows, dtype):
    kind = rng.choice(["few", "ties", "any", "constant", "integers", "zeros", "large", "near"])
    if kind == "few":
        found = rng.integers(0, 3, n_rows).astype(float)
    elif kind == "ties":
        found = rng.integers(0, 12, n_rows) / 8
    elif kind == "constant":
        found = np.full(n_rows, float(rng.choice([0.0, -0.0, 2.5])))
    elif kind == "integers":
        found = rng.integers(-(2**20), 2**20, n_rows).astype(float)
    elif kind == "zeros":
        found = rng.choice([0.0, -0.0, 1.0, -1.0], n_rows)
    elif kind == "large" and dtype == "float64":
        found = rng.choice([*LARGE, 0.0, 1.0], n_rows)
    elif kind == "near":
        base = rng.choice([1.0, 1e10, -3.0])
        found = np.array([_stepped(base, rng.integers(4), dtype) for _ in range(n_rows)])
    else:
        found = rng.normal(size=n_rows)
    return [float(value) for value in found.astype(dtype)]


def _stepped(value, n_steps, dtype):
    """A number some steps of its width above another."""
    value = np.dtype(dtype).type(value)
    for _ in range(n_steps):
        value = np.nextafter(value, np.dtype(dtype).type(np.inf))
    return float(value)


def _categories(rng, n_rows):
    n_categories = int(rng.choice([1, 2, 3, 7, 30, 60]))
    return [int(value) for value in rng.integers(0, n_categories, n_rows)]


def _target(rng, n_rows, columns, params, *, is_classes):
    first = np.array([0.0 if value is None else value for value in columns[0]])
    rank = np.argsort(np.argsort(first, kind="stable")) / max(1, n_rows)
    noise = rng.random(n_rows) * rng.choice([0.0, 0.5, 3.0])
    if is_classes:
        n_classes = int(rng.choice([1, 2, 2, 3, 5]))
        return [int(value) for value in ((rank + noise) * n_classes).astype(int) % n_classes]
    scale = float(rng.choice([1.0, 1.0, 1e-200, 1e12, 0.0]))
    if "poisson" in (params.get("loss"), params.get("criterion")):
        return [int(value) for value in np.floor((rank + noise) * 4)]
    found = (rank + noise) * scale
    if rng.random() < 0.2:
        found = rng.choice([0.0, -0.0, 1.0], n_rows)
    return [float(value) for value in found]


def _weight(rng, n_rows):
    kind = rng.choice(["none", "whole", "real", "decades", "zeros"], p=[0.5, 0.2, 0.1, 0.1, 0.1])
    if kind == "none":
        return None
    if kind == "whole":
        found = rng.integers(0, 4, n_rows).astype(float)
    elif kind == "real":
        found = rng.random(n_rows) + 0.1
    elif kind == "decades":
        found = 10.0 ** rng.integers(-2, 3, n_rows)
    else:
        found = rng.choice([0.0, 1.0], n_rows)
    return [float(value) for value in found]
