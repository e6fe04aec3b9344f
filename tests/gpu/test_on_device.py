"""Laws that only a real GPU can break: races, streams, memory, and tables that live on it."""

import gc
import os
from dataclasses import replace

import numpy as np
import pytest

import gputree
from gputree import DecisionTreeClassifier
from gputree.backends.cuda.cards import by_cupy, by_numba
from gputree.backends.cuda.device import device_count
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.data.target import class_target, value_target
from gputree.diagnostics import doctor
from gputree.kernels.cuda import gpu
from gputree.kernels.losses import LOGISTIC, SOFTMAX, SQUARED

N_ROWS = 50_000  # several tiles of rows


def reason_to_skip():
    """Why nothing here can run; empty on a machine with a GPU."""
    if gpu.SIMULATED:
        return "CUDA is simulated; NUMBA_ENABLE_CUDASIM=0 takes a real device"
    if "GPUTREE_PTXRUN" in os.environ:
        return "CUDA is emulated"
    return "" if device_count() else "no CUDA device was found"


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "there is a GPU"),
    pytest.mark.filterwarnings("ignore:Grid size"),  # numba's, of launches with few blocks
]


def fit(X, y, **where):
    return DecisionTreeClassifier(max_depth=8, **where).fit(X, y)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 12)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) + rng.standard_normal(N_ROWS) / 2 > 0).astype(np.int64)
    return X, y


@pytest.fixture
def expected(table):
    """What NumPy makes of the table."""
    return fit(*table, backend="numpy")


# The same bytes


def test_the_self_test_passes():
    result = gputree.selftest()
    assert "simulated" not in result.device
    assert result.passed, str(result)


TARGETS = {
    "classes": lambda label, values, weight: class_target(label, 3, None),
    "weighted numbers": lambda label, values, weight: value_target(values[:, :1], weight),
}
SIZES = [
    {"sum_threads": 32, "tile_rows": 33, "direct_rows": 0},
    {"sum_threads": 96, "tile_rows": 1000, "direct_rows": 0},
    {"sum_threads": 1024, "direct_rows": 0},
    {"direct_rows": 10**9},  # every node is added to its histogram directly
    {"scan_warps": 1},
    {"scan_warps": 8},
    {"route_threads": 32, "route_rows": 32, "add_up_threads": 32},
    {"route_threads": 512, "route_rows": 4096, "add_up_threads": 64},
    {"threads": 32},
    {"threads": 512},
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kind", TARGETS)
def test_sizes_of_blocks_and_tiles_change_nothing(on_device, on_numpy, example, sizes, kind):
    X, *statistics = example(N_ROWS, n_features=6, n_classes=3)
    target = TARGETS[kind](*statistics)
    found = on_device(X, target, replace(AUTOMATIC, **sizes), max_depth=6)
    assert found == on_numpy(X, target, max_depth=6)


@pytest.mark.parametrize("kind", TARGETS)
def test_the_order_of_rows_changes_nothing(on_device, example, kind):
    X, *statistics = example(N_ROWS, n_features=6, n_classes=3)
    trees = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(N_ROWS)
        target = TARGETS[kind](*(part[order] for part in statistics))
        *tree, _ = on_device(X[order], target, max_depth=6)  # the last is the leaf of each row
        trees.add(tuple(tree))
    assert len(trees) == 1


BOOSTING_SIZES = [
    {},
    {"gradient_threads": 32, "gradient_blocks": 7},
    {"gradient_threads": 1024, "gradient_blocks": 2**16},
    {"route_threads": 32, "route_rows": 64},
]


@pytest.mark.parametrize("sizes", BOOSTING_SIZES, ids=str)
@pytest.mark.parametrize("loss", [LOGISTIC, SOFTMAX, SQUARED], ids=str)
def test_boosting_gives_the_same_bytes(boosted_on_device, boosted_on_numpy, example, sizes, loss):
    X, label, _, weight = example(N_ROWS, n_features=6, n_classes=3 if loss == SOFTMAX else 2)
    options = {"n_outputs": 3 if loss == SOFTMAX else 1, "row_share": 0.7, "weight": weight}
    args = X, label.astype(np.float64), loss, 3
    found = boosted_on_device(*args, tuning=replace(AUTOMATIC, **sizes), **options)
    assert found == boosted_on_numpy(*args, **options)


def test_a_fit_gives_the_same_bytes_every_time(table, expected):
    found = {fit(*table, backend="cuda").to_bytes() for _ in range(20)}
    assert found == {expected.to_bytes()}


# Where tables live


def on_cupy(X):
    return pytest.importorskip("cupy").asarray(X)


def on_torch(X):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return torch.from_numpy(X).cuda()


@pytest.mark.parametrize("move", [on_cupy, on_torch])
def test_an_array_on_the_device_is_fitted_there(table, expected, move):
    X, y = table
    there = move(X)
    model = fit(there, y)
    assert model.device_ == "cuda:0"
    assert model.to_bytes() == expected.to_bytes()
    predicted = model.predict(there)
    assert type(predicted) is type(there)
    assert predicted.device == there.device
    assert predicted.tolist() == expected.predict(X).tolist()


def test_an_array_that_is_still_being_made_is_waited_for(table, expected):
    """Work that the user has queued on a stream of his own comes first."""
    cupy = pytest.importorskip("cupy")
    X, y = table
    with cupy.cuda.Stream(non_blocking=True):
        late = cupy.asarray(X)
        for _ in range(200):
            late = (late + 1) - 1
        exact = cupy.where(late == late, cupy.asarray(X), cupy.nan)
        model = fit(exact, y)
    assert model.to_bytes() == expected.to_bytes()


def test_a_frame_on_the_device_adds_nothing_but_names(table, expected):
    cudf = pytest.importorskip("cudf")
    X, y = table
    columns = {f"c{at}": cudf.Series(X[:, at], nan_as_null=False) for at in range(X.shape[1])}
    model = fit(cudf.DataFrame(columns), y)
    assert model.device_ == "cuda:0"
    assert model.feature_names_in_.tolist() == list(columns)
    for name in ("feature", "threshold", "missing_slot", "first_child", "n_rows"):
        ours, right = getattr(model.nodes_, name), getattr(expected.nodes_, name)
        np.testing.assert_array_equal(ours, right)


def test_every_device_gives_the_same_bytes(table, expected):
    X, y = table
    for number in range(device_count()):
        model = fit(X, y, backend="cuda", device=f"cuda:{number}")
        assert model.device_ == f"cuda:{number}"
        assert model.to_bytes() == expected.to_bytes()
        assert model.predict(X).tolist() == expected.predict(X).tolist()


def test_a_device_beyond_the_last_is_an_error(table):
    with pytest.raises(gputree.BackendUnavailable, match="CUDA devices"):
        fit(*table, backend="cuda", device=f"cuda:{device_count()}")


# Memory


def test_a_fit_gives_its_memory_back(table):
    pool = pytest.importorskip("cupy").get_default_memory_pool()
    fit(*table, backend="cuda")
    gc.collect()
    used, held = pool.used_bytes(), pool.total_bytes()
    for _ in range(5):
        fit(*table, backend="cuda")
    gc.collect()
    assert pool.used_bytes() == used
    assert pool.total_bytes() <= held


# What the doctor says


def test_both_libraries_tell_the_same_of_the_cards():
    machines = by_cupy(pytest.importorskip("cupy")), by_numba(gpu.cuda)
    one, other = ([replace(card, free_bytes=0) for card in each.cards] for each in machines)
    assert one == other
    assert machines[0].driver == machines[1].driver


def test_the_doctor_measures():
    """Whether it is fast is for a reader to judge."""
    found = doctor.diagnose()
    assert found["cards"][0]["n_multiprocessors"] > 0
    assert found["selftest"]["passed"]
    assert len(found["kernels"]) == 4, found["not_measured"]
    assert all(kernel["milliseconds"] > 0.0 for kernel in found["kernels"])
    assert all(fit["seconds"] > 0.0 for fit in found["fits"])
