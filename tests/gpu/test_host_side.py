"""What the host asks of a device through CuPy, which here is a fake one; see CONTRIBUTING.md."""

import os
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

if "GPUTREE_FAKEGPU" not in os.environ:
    pytest.skip("GPUTREE_FAKEGPU names no folder with fakegpu", allow_module_level=True)

import cupy
import fakegpu
import pandas as pd

import gputree
from benchmarks.gpu_host import units
from gputree import (
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from gputree.backends.cuda import cupy_device, functions, kept
from gputree.backends.cuda.cupy_device import PART_BYTES, CupyDevice
from gputree.kernels.cuda import machine_code, route

N_ROWS, DEPTH = 1500, 4
LEVEL = {"launches": 8, "uploads": 0, "waits": 1}
# Once: row numbers, classes, constants and the root; tiles; rows of all leaves in one list; nodes.
TREE = {"launches": 2, "uploads": 7, "waits": 1}
# Once: gradients, integers and steps.
ROUND = {"launches": 7, "uploads": 7, "waits": 5}
# Once: the key of a draw, how many rows it has, a list of them; the tree for the others.
SAMPLED = {"launches": 10, "uploads": 11, "waits": 6}
# Once: the tree for the others; the largest loss, and the sum of all; the rows that are watched, in
# the first round.
WATCHED = {"launches": 9, "uploads": 10, "waits": 7}
# Once: a list of the rows at leaves, keys and a pass for each of their digits.
RANKED = {"launches": 38, "uploads": 11, "waits": 5}
# Frontiers: sums, thresholds, categories, what winners have seen, and moves.
NOMINAL_LEVEL = {"launches": 12, "uploads": 8, "waits": 6}


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


@pytest.fixture(scope="module")
def on_numpy(table):
    return DecisionTreeClassifier(max_depth=DEPTH, backend="numpy").fit(*table)


def fit(X, y, **where):
    return DecisionTreeClassifier(max_depth=DEPTH, **where).fit(X, y)


# The same bytes


def test_a_tree_is_that_of_numpy(table, on_numpy):
    tree = fit(*table, backend="cuda", device="cuda:0")
    assert tree.to_bytes() == on_numpy.to_bytes()
    assert tree.predict_proba(table[0]).tolist() == on_numpy.predict_proba(table[0]).tolist()
    assert tree.fit_report_.compile_seconds > 0


def test_a_boosted_model_is_that_of_numpy(table):
    models = [
        GradientBoostingClassifier(3, subsample=0.5, random_state=0, backend=backend).fit(*table)
        for backend in ("numpy", "cuda")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()
    assert models[0].predict_proba(table[0]).tolist() == models[1].predict_proba(table[0]).tolist()


def test_a_tree_with_surrogates_is_that_of_numpy(table):
    X, y = table[0].copy(), table[1]
    X[:, 4] = X[:, 0] + (X[:, 1] > 10)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    options = {"max_depth": 3, "pruning": None, "categorical_features": [3]}
    models = [
        gputree.CARTClassifier(backend=backend, **options).fit(X, y)
        for backend in ("numpy", "cuda")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()
    assert models[0].nodes_.n_surrogates.any()


@pytest.mark.parametrize("where", [{}, {"device": "cuda"}, {"backend": "cuda"}])
def test_a_table_on_the_second_device_stays_there(table, on_numpy, where):
    with cupy.cuda.Device(1):
        X = cupy.asarray(table[0])
    tree = fit(X, table[1], **where)
    assert tree.device_ == "cuda:1"
    assert tree.to_bytes() == on_numpy.to_bytes()
    n_launches = fakegpu.counters()["launches"]
    predicted = tree.predict(X)
    assert fakegpu.counters()["launches"] > n_launches
    assert predicted.device == X.device
    assert predicted.get().tolist() == on_numpy.predict(table[0]).tolist()


# What travels


ANSWERS = {
    "tree": (gputree.DecisionTreeClassifier, ["predict", "predict_proba", "apply"]),
    "regression": (gputree.DecisionTreeRegressor, ["predict"]),
    "forest": (gputree.RandomForestClassifier, ["predict", "predict_proba", "apply"]),
    "forest of means": (gputree.RandomForestRegressor, ["predict"]),
    "boosting": (
        GradientBoostingClassifier,
        ["predict", "decision_function", "predict_proba", "apply"],
    ),
    "boosting of three classes": (GradientBoostingClassifier, ["predict_proba"]),
    "boosted numbers": (gputree.GradientBoostingRegressor, ["predict"]),
    "boosted counts": (partial(gputree.GradientBoostingRegressor, loss="poisson"), ["predict"]),
    "AdaBoost": (gputree.AdaBoostClassifier, ["predict"]),
    "AdaBoost of three classes": (gputree.AdaBoostClassifier, ["predict", "decision_function"]),
}


def answering(X, y, kind):
    """A model of NumPy, and what it answers."""
    make, methods = ANSWERS[kind]
    options = {"random_state": 0, "backend": "numpy"}
    if kind.startswith("AdaBoost"):
        options["estimator"] = DecisionTreeClassifier(max_depth=3)
    else:
        options["max_depth"] = 3
    if kind not in ("tree", "regression"):
        options["n_estimators"] = 3
    y = y + (X[:, 0] > 12) if "three" in kind else y * 2 - (0 if "counts" in kind else 1)
    model = make(**options).fit(X, y)
    return model, {method: getattr(model, method)(X) for method in methods}


@pytest.mark.parametrize("kind", ANSWERS)
def test_predictions_of_a_table_on_the_device_stay_there(table, kind):
    X, y = table
    model, right = answering(X, y, kind)
    model.set_params(backend="cuda")
    there = cupy.asarray(X)
    for method in right:
        getattr(model, method)(there)  # what is compiled is not counted
        for layout in (there, there[: N_ROWS // 4]):
            fakegpu.reset()
            found = getattr(model, method)(layout)
            asked = fakegpu.counters()
            assert type(found) is cupy.ndarray
            assert asked.get("download_bytes", 0) == 0
            assert found.dtype == right[method].dtype
            assert found.get().tobytes() == right[method][: len(layout)].tobytes()
            assert asked["upload_bytes"] < 20_000  # the trees


ON_THE_HOST = {
    "AdaBoost": (gputree.AdaBoostClassifier, "predict_proba", 2),
    "two sides": (gputree.AdaBoostClassifier, "decision_function", 2),
    "a median": (gputree.AdaBoostRegressor, "predict", 3),
    "logarithms": (GradientBoostingClassifier, "predict_log_proba", 1),
}


@pytest.mark.parametrize("kind", ON_THE_HOST)
def test_what_the_host_answers_comes_down_once_and_the_table_never(table, kind):
    X, y = table
    make, method, n_sums = ON_THE_HOST[kind]
    model = make(n_estimators=3, random_state=0, backend="numpy").fit(X, y)
    right = getattr(model, method)(X)
    model.set_params(backend="cuda")
    fakegpu.reset()
    found = getattr(model, method)(cupy.asarray(X))
    assert fakegpu.counters()["download_bytes"] == 8 * n_sums * N_ROWS
    assert found.get().tobytes() == right.tobytes()


def test_what_a_fit_sends_down_does_not_grow(table):
    X, y = table
    sent = []
    for n_rows in (N_ROWS // 4, N_ROWS):
        some, classes = cupy.asarray(X[:n_rows]), y[:n_rows]
        fakegpu.reset()
        DecisionTreeClassifier(max_depth=1, backend="cuda").fit(some, classes)
        sent.append(fakegpu.counters()["download_bytes"])
    assert sent[1] == sent[0]


FORESTS = {
    "bootstrap": RandomForestClassifier(bootstrap=True),
    "half of the rows": RandomForestClassifier(bootstrap=False, max_samples=0.5),
    "numbers": gputree.RandomForestRegressor(),
}


@pytest.mark.parametrize("name", FORESTS)
def test_what_a_tree_of_a_forest_moves_does_not_grow(table, name):
    """Two more trees, in one frontier with the others; roots have more rows than `few_rows`."""
    moved = []
    for times in (1, 4):
        X, y, found = np.tile(table[0], (times, 1)), np.tile(table[1], times), []
        for n_trees in (2, 4):
            model = clone(FORESTS[name]).set_params(
                n_estimators=n_trees, max_depth=1, max_features=None, random_state=0, backend="cuda"
            )
            fakegpu.reset()
            model.fit(X, y)
            asked = fakegpu.counters()
            found.append([asked[f"{way}_bytes"] for way in ("upload", "download")])
        moved.append(np.subtract(found[1], found[0]).tolist())
    assert moved[1] == moved[0]
    assert 0 < sum(moved[0]) < 2**13


# Two devices


MODELS = {
    "a whole tree": DecisionTreeClassifier(min_samples_leaf=20),
    "a forest": RandomForestClassifier(3, min_samples_leaf=20, random_state=0),
    "a forest of numbers": gputree.RandomForestRegressor(2, min_samples_leaf=20, random_state=0),
    "boosting, half of the rows": GradientBoostingClassifier(2, subsample=0.5, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_two_devices_are_those_of_numpy(table, name):
    """One after another, and each on memory of its own device: `no_problems` tells, too."""
    model = clone(MODELS[name])
    right = model.set_params(backend="numpy").fit(*table).to_bytes()
    for number in (1, 0):
        other = held(1 - number)
        model.set_params(backend="cuda", device=f"cuda:{number}").fit(*table)
        assert model.to_bytes() == right
        assert held(1 - number) == other


def held(number):
    """How much a device has given away."""
    with cupy.cuda.Device(number):
        free, total = cupy.cuda.runtime.memGetInfo()
    return total - free


# Waits and copies


@pytest.mark.parametrize(
    ("number", "once"),
    [(0, TREE), (1, ROUND), (2, SAMPLED), (3, WATCHED), (4, RANKED)],
    ids=["tree", "round", "round of half of the rows", "watched round", "round of a quantile"],
)
def test_the_host_asks_for_little(number, once):
    """The device is never done before it has to be: every wait that can be is one."""
    unit = list(units(N_ROWS, 5, DEPTH).values())[number]
    fakegpu.reset()
    unit()
    asked = fakegpu.counters()
    for kind, most in LEVEL.items():
        assert asked[kind] <= once[kind] + DEPTH * most, kind
    assert asked.get("device_syncs", 0) == 0


def test_categories_stay_on_the_device_and_what_winners_have_seen_comes_down(table):
    rng, n_rows, n_columns, n_categories = np.random.default_rng(0), 400, 6, 100
    codes, y = rng.integers(0, n_categories, (n_columns, n_rows)), table[1][:n_rows]
    X = pd.DataFrame({at: pd.Categorical(own) for at, own in enumerate(codes)})
    model = DecisionTreeClassifier(
        max_depth=DEPTH, nominal="subset", min_samples_category=1, backend="cuda"
    )
    data = gputree.Dataset(X, y, backend="cuda")
    fakegpu.reset()
    model.fit(data)
    asked, n_inner = fakegpu.counters(), int((model.nodes_.first_child >= 0).sum())
    where_rows_end, cells = 4 * n_rows, n_inner * n_columns * n_categories * 2 * 4
    assert n_inner > 4
    assert asked["download_bytes"] - where_rows_end < cells / 2
    for kind, most in NOMINAL_LEVEL.items():
        assert asked[kind] <= TREE[kind] + DEPTH * most, kind
    model.set_params(backend="numpy")
    assert model.to_bytes() == model.fit(X, y).to_bytes()


def test_shapley_values_are_those_of_numpy(table):
    model = GradientBoostingClassifier(2, max_depth=3, backend="cuda").fit(*table)
    fakegpu.reset()
    found = model.shap_values(table[0][:100])
    asked = fakegpu.counters()
    assert asked["launches"] == 1
    assert asked["waits"] == 1
    model.set_params(backend="numpy")
    assert found.tobytes() == model.shap_values(table[0][:100]).tobytes()


def test_every_wait_is_counted(table):
    device = CupyDevice("cuda:0")
    for n_bytes in (8, PART_BYTES, 5 * PART_BYTES):
        array = np.random.default_rng(0).integers(0, 255, n_bytes, np.uint8)
        fakegpu.reset()
        before = device.n_uploads, device.n_syncs
        there = device.upload(array)
        asked = fakegpu.counters()
        assert device.n_uploads - before[0] == asked["uploads"]
        assert device.n_syncs - before[1] == asked.get("waits", 0)
        assert ("waits" in asked) == (n_bytes > PART_BYTES)  # a part waits for the one in its place
        assert device.download(there).tobytes() == array.tobytes()


def test_arrays_that_travel_together_arrive_as_they_were():
    device = CupyDevice("cuda:1")
    arrays = [np.arange(5, dtype=np.uint8), np.zeros(0), np.arange(6.0).reshape(2, 3)]
    there = device.pack(*arrays)
    assert fakegpu.counters()["uploads"] == 1
    assert [(each.size, each.dtype) for each in there] == [(5, "u1"), (1, "f8"), (6, "f8")]
    assert device.download(there[0]).tolist() == [0, 1, 2, 3, 4]
    assert device.download(there[2]).tolist() == arrays[2].reshape(-1).tolist()


def test_pinned_memory_is_written_again_only_when_it_has_been_read(monkeypatch):
    monkeypatch.setattr(cupy_device, "PART_BYTES", 256)
    device = CupyDevice("cuda:0")
    there = [device.upload(np.full(24, number)) for number in range(50)]
    for number, each in enumerate(there):
        assert device.download(each).tolist() == [number] * 24


# Streams and memory


def test_predictions_share_a_stream_and_leave_the_pools_of_others_alone(table):
    pool = cupy.get_default_memory_pool()
    held = cupy.empty(2**24, np.uint8)
    del held
    tree = fit(*table, backend="cuda")
    tree.predict(table[0])
    fakegpu.reset()
    before = pool.total_bytes()
    for _ in range(3):
        tree.predict(table[0])
    assert "streams_created" not in fakegpu.counters()
    assert before == pool.total_bytes() >= 2**24


# Compiling


def test_what_is_on_the_disk_is_not_compiled(table, on_numpy, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUTREE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("gputree.backends.cuda.device._cupy_device", CupyDevice)
    fit(*table, backend="cuda")
    assert list(tmp_path.iterdir())
    monkeypatch.delattr(kept, "made")
    tree = fit(*table, backend="cuda")
    assert tree.to_bytes() == on_numpy.to_bytes()


def test_machine_code_is_made_without_a_driver():
    types = "i8[]", "i4[]", "i4[]", "i4[]"
    ptx = machine_code.ptx_of(route.mark, types, (9, 0))
    assert ".entry mark(" in ptx
    assert machine_code.assembled(ptx, (9, 0)).startswith(b"\x7fELF")


def test_a_card_runs_what_was_tested_for_its_generation():
    found = [functions.nearest_architecture(own) for own in ((7, 5), (8, 6), (9, 0), (11, 0))]
    assert found == [(7, 5), (8, 0), (9, 0), (11, 0)]


def test_a_card_that_is_too_old_is_an_error():
    with pytest.raises(gputree.BackendUnavailable, match=r"capability 7\.0.* need 7\.5 or later"):
        functions.nearest_architecture((7, 0))
