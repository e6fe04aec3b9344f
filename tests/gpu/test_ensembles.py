"""Ensembles on a CUDA device are those of NumPy, byte for byte, and answer alike."""

import numpy as np
import pytest

from gputree import (
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gputree.backends.samples import Samples
from gputree.ensembles.draws import Draws
from gputree.growth import choose_loop
from gputree.kernels.cuda.gpu import SIMULATED
from gputree.kinds import ENSEMBLES
from tests.gpu.conftest import no_races
from tests.gpu.test_rounds import Traffic

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


# Samples


def rows_of(n_rows, *, counts=False):
    rng = np.random.default_rng(0)
    X = np.tile(rng.integers(0, 6, (20, 3)).astype(np.float32), (n_rows // 20, 1))
    y = X[:, 0] * 2 + (X[:, 1] > 2)
    return X, y if counts else y - 3.5, np.tile(rng.integers(1, 4, 20), n_rows // 20) * 0.75


SAMPLES = {
    "bootstrap": (RandomForestClassifier, {}, False),
    "by weight": (RandomForestClassifier, {"max_samples": 0.6}, True),
    "balanced": (RandomForestClassifier, {"class_weight": "balanced_subsample"}, True),
    "parts": (RandomForestClassifier, {"bootstrap": False, "max_samples": 0.6}, False),
    "parts by weight": (RandomForestClassifier, {"bootstrap": False, "max_samples": 0.6}, True),
    "numbers": (RandomForestRegressor, {}, False),
    "numbers by weight": (RandomForestRegressor, {"max_samples": 9}, True),
    "parts of numbers": (RandomForestRegressor, {"bootstrap": False, "max_samples": 0.6}, True),
    "counts": (RandomForestRegressor, {"criterion": "poisson"}, False),
    "two outputs": (RandomForestRegressor, {}, False),
    "all rows": (RandomForestRegressor, {"bootstrap": False}, True),
    "columns": (
        BaggingClassifier,
        {"estimator": DecisionTreeClassifier(max_depth=1), "max_features": 0.7},
        False,
    ),
}


def fitted(name, n_rows, n_trees, *, backend, depth=1):
    make, options, weighs = SAMPLES[name]
    X, y, weight = rows_of(n_rows, counts=name == "counts")
    if name == "two outputs":
        y = np.stack([y, X[:, 2]], axis=1)
    elif make is not RandomForestRegressor:
        y = (y > 2) + (y > 6).astype(int)
    size = {} if make is BaggingClassifier else {"max_depth": depth, "max_features": None}
    model = make(n_estimators=n_trees, random_state=0, backend=backend, **size, **options)
    with no_races():
        return model.fit(X, y, weight if weighs else None)


def on_a_device(monkeypatch, device, *, shares):
    """Trees share frontiers, or each has one; none of them asks the host which rows it has."""
    monkeypatch.setattr("gputree.backends.cuda.device.open_device", lambda name: device)
    monkeypatch.setattr(choose_loop, "MOST_TOGETHER", 16 if shares else 1)
    monkeypatch.delattr(Samples, "of")
    monkeypatch.delattr(Draws, "counts")


@pytest.mark.quick("balanced-True", "parts of numbers-False")
@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("name", SAMPLES)
def test_trees_on_samples_are_those_of_numpy(monkeypatch, name, shares):
    right = fitted(name, 40, 3, backend="numpy", depth=3).to_bytes()
    on_a_device(monkeypatch, Traffic(), shares=shares)
    assert fitted(name, 40, 3, backend="cuda", depth=3).to_bytes() == right


@pytest.mark.skipif(not SIMULATED, reason="there are as many bytes anywhere")
@pytest.mark.quick("bootstrap-True")
@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "columns"])
def test_what_a_tree_moves_to_and_from_the_device_does_not_depend_on_the_rows(
    monkeypatch, name, shares
):
    """What two more trees of a forest cost: bytes and waits."""
    on_a_device(monkeypatch, Traffic(), shares=shares)
    costs = []
    for n_rows in (20, 80):
        moved = []
        for n_trees in (2, 4):
            device = Traffic()
            monkeypatch.setattr(
                "gputree.backends.cuda.device.open_device", lambda name, own=device: own
            )
            fitted(name, n_rows, n_trees, backend="cuda")
            moved.append((device.n_bytes, device.n_syncs))
        costs.append(np.subtract(moved[1], moved[0]).tolist())
    assert costs[0] == costs[1]
    assert 0 < costs[0][0] < 2**17
