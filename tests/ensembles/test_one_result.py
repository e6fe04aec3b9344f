"""One model, byte for byte, whatever it was computed with and in whatever order."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import gputree
from gputree import Dataset, DecisionTreeClassifier, DecisionTreeRegressor

CLASSES = tuple(part[::3] for part in load_iris(return_X_y=True))
NUMBERS = tuple(part[::9] for part in load_diabetes(return_X_y=True))
SMALL = DecisionTreeClassifier(max_features=2), DecisionTreeRegressor(max_features=2)
KINDS = {
    "AdaBoostClassifier": {"resample": True, "estimator": SMALL[0].set_params(max_depth=2)},
    "AdaBoostRegressor": {},
    "BaggingClassifier": {"estimator": SMALL[0], "max_features": 0.5},
    "BaggingRegressor": {"estimator": SMALL[1], "max_samples": 0.6, "bootstrap": False},
    "ExtraTreesClassifier": {"class_weight": "balanced_subsample", "bootstrap": True},
    "ExtraTreesRegressor": {},
    "ExtraTreesRegressor, oblique": {"splits": "oblique", "max_projections": 8},
    "RandomForestClassifier, oblique": {"splits": "oblique", "bootstrap": False},
    "RandomForestClassifier": {"class_weight": "balanced_subsample", "missing": "fractional"},
    "RandomForestRegressor": {"max_features": 0.4, "keep_targets": True},
}


def model(name, **options):
    return getattr(gputree, name.partition(",")[0])(
        n_estimators=3, random_state=7, **KINDS[name], **options
    )


def table(name, rng=None):
    X, y = CLASSES if "Classifier" in name else NUMBERS
    X = X.copy()
    X[::8, 1] = np.nan
    if rng is None:
        return X, y
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="module")
def right():
    """The bytes by NumPy."""
    return {name: model(name, backend="numpy").fit(*table(name)).to_bytes() for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compiled_kernels_give_the_bytes_of_numpy(right, name, n_jobs):
    found = model(name, backend="numba", n_jobs=n_jobs).fit(*table(name))
    assert found.to_bytes() == right[name]


@pytest.mark.parametrize("name", KINDS)
def test_any_array_library_gives_the_bytes_of_numpy(right, name):
    pytest.importorskip("array_api_strict")
    assert model(name, backend="array_api_strict").fit(*table(name)).to_bytes() == right[name]


@pytest.mark.parametrize("name", KINDS)
def test_the_order_of_the_rows_changes_nothing(right, name):
    rng = np.random.default_rng(0)
    assert model(name).fit(*table(name, rng)).to_bytes() == right[name]


@pytest.mark.parametrize("name", KINDS)
def test_a_dataset_that_was_cut_before_gives_the_same(right, name):
    assert model(name).fit(Dataset(*table(name))).to_bytes() == right[name]


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
def test_the_budget_of_histograms_changes_nothing(right, name):
    assert model(name, histogram_budget=1).fit(*table(name)).to_bytes() == right[name]


@pytest.mark.parametrize("name", [name for name in KINDS if "AdaBoost" not in name])
def test_a_tree_does_not_depend_on_how_many_there_are(name):
    few = model(name).fit(*table(name))
    many = model(name).set_params(n_estimators=5).fit(*table(name))
    for one, other in zip(few.estimators_, many.estimators_, strict=False):
        assert one.nodes_.threshold.tobytes() == other.nodes_.threshold.tobytes()


@pytest.mark.parametrize("name", KINDS)
def test_another_seed_gives_another_model(right, name):
    assert model(name).set_params(random_state=8).fit(*table(name)).to_bytes() != right[name]


def test_whole_weights_are_repeated_rows():
    for name in KINDS:
        X, y = table(name)
        count = np.arange(len(y)) % 3
        weighed = model(name).fit(X, y, count)
        repeated = model(name).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        if name in ("BaggingRegressor", "AdaBoostClassifier", "AdaBoostRegressor"):
            continue  # a row is in or out; weights of rows are not whole
        np.testing.assert_allclose(weighed.predict(X), repeated.predict(X), rtol=1e-9)
