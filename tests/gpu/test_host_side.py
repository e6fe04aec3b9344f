"""What the host asks of a device through CuPy, which here is a fake one; see CONTRIBUTING.md."""

import os

import numpy as np
import pytest

if "GPUTREE_FAKEGPU" not in os.environ:
    pytest.skip("GPUTREE_FAKEGPU names no folder with fakegpu", allow_module_level=True)

import fakegpu

from gputree import DecisionTreeClassifier, GradientBoostingClassifier

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:cupy")
N_ROWS = 1500


@pytest.fixture(autouse=True)
def no_problems():
    """No stream or array of a device that is not the current one."""
    fakegpu.reset()
    yield
    assert fakegpu.problems() == []


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (N_ROWS, 5)).astype(np.float32)
    X[rng.random(N_ROWS) < 0.2, 2] = np.nan
    y = (np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) > 90).astype(np.int64)
    return X, y


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_a_tree_is_that_of_numpy_on_every_device(table, device):
    X, y = table
    here = DecisionTreeClassifier(max_depth=4, backend="numpy").fit(X, y)
    there = DecisionTreeClassifier(max_depth=4, backend="cuda", device=device).fit(X, y)
    assert there.to_bytes() == here.to_bytes()
    assert there.predict(X).tolist() == here.predict(X).tolist()
    assert fakegpu.counters()["launches"] > 10


def test_a_boosted_model_is_that_of_numpy(table):
    X, y = table
    models = [
        GradientBoostingClassifier(3, subsample=0.5, random_state=0, backend=backend).fit(X, y)
        for backend in ("numpy", "cuda")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()
    assert models[0].predict_proba(X).tolist() == models[1].predict_proba(X).tolist()
