"""Ensembles on a CUDA device are those of NumPy, byte for byte, and answer alike."""

import numpy as np
import pytest

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.kinds import ENSEMBLES

FEW = {"n_estimators": 2, "random_state": 0}
SMALL = {"max_depth": 2}
OPTIONS = {
    "AdaBoostClassifier": {"estimator": DecisionTreeClassifier(max_depth=1)},
    "AdaBoostRegressor": {"estimator": DecisionTreeRegressor(max_depth=2)},
    "BaggingClassifier": {"estimator": DecisionTreeClassifier(max_depth=2), "max_features": 0.7},
    "BaggingRegressor": {"estimator": DecisionTreeRegressor(max_depth=2), "max_samples": 0.6},
    "RandomForestClassifier": {**SMALL, "class_weight": "balanced_subsample"},
    "RandomForestRegressor": {**SMALL, "keep_targets": True},
    "ExtraTreesClassifier": SMALL,
    "ExtraTreesRegressor": SMALL,
    "GradientBoostingClassifier": {**SMALL, "subsample": 0.8},
    "GradientBoostingRegressor": {**SMALL, "min_child_weight": 2.0, "loss": "poisson"},
}


def test_every_ensemble_is_here():
    assert set(OPTIONS) == {kind.__name__ for kind in ENSEMBLES}


@pytest.mark.quick(
    "AdaBoostRegressor",
    "RandomForestClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingRegressor",
)
@pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
def test_an_ensemble_is_that_of_numpy(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (40, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 5) + (X[:, 2] > 3).astype(int)
    y[::9] = 0
    X[::7, 1] = np.nan
    on_device, right = (
        kind(backend=backend, **FEW, **OPTIONS[kind.__name__]).fit(X, y)
        for backend in ("cuda", "numpy")
    )
    assert max(tree.tree_.n_nodes for tree in right.estimators_) > 1
    assert on_device.to_bytes() == right.to_bytes()
    assert on_device.predict(X[:9]).tobytes() == right.predict(X[:9]).tobytes()
    np.testing.assert_array_equal(on_device.apply(X[:9]), right.apply(X[:9]))
