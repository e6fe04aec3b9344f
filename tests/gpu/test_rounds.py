"""What a round of boosting asks of its rows is found on the device, and is what the host finds."""

from dataclasses import replace

import numpy as np
import pytest

from gputree import GradientBoostingClassifier
from gputree.backends import registry
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice, open_device
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.backends.cuda.sorting import sorted_by
from gputree.backends.defaults import Defaults
from gputree.boosting.losses import Sample, named
from gputree.boosting.rounds import Recipe, Rounds
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.kernels import losses
from gputree.kernels.cuda.gpu import SIMULATED, WARP
from gputree.tree.tree import Tree
from tests.gpu.conftest import no_races

N_ROWS = 40 if SIMULATED else 200
N_ROUNDS = 1 if SIMULATED else 2


def rows_of(kind, *, weighs=False):
    """A table, targets and weights, a few of which are 0; many residuals are alike."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 9, (N_ROWS, 3)).astype(np.float32)
    X[rng.random(N_ROWS) < 0.2, 2] = np.nan
    y = np.rint(X[:, 0] * 2 - X[:, 1] + rng.standard_normal(N_ROWS)) / 4
    if kind == "softmax":
        y = np.digitize(y, [0.5, 2.0]).astype(np.float64)
    elif kind in ("logistic", "poisson", "gamma"):
        y = (y > 1.0) + (1.0 if kind == "gamma" else 0.0)
    weight = rng.integers(0, 4, N_ROWS) * 0.3 if weighs else None
    return X, y, weight


LOSSES = {each.name: each for each in losses.every_loss()}
ALPHA = 0.7


def rounds_on(backend, kind, *, weighs=False, share=0.7, held_out=0.2):
    """Rounds that see some of the rows, which are drawn by a rank; then what was watched."""
    X, y, weight = rows_of(kind, weighs=weighs)
    bins, data = bin_table(backend, read_table(X), weight, 255)
    rng = np.random.default_rng(1)
    own = np.ones(N_ROWS) if weight is None else weight
    n_outputs = 3 if kind == "softmax" else 1
    loss = named(LOSSES[kind], Sample(y, own, ALPHA, n_outputs))
    recipe = Recipe(max_depth=3, min_child_weight=0.1, row_share=share, learning_rate=0.5)
    given = y, weight, np.zeros((n_outputs, N_ROWS)), loss.loss, recipe, loss.refine
    inside = rng.random(N_ROWS) >= held_out if held_out else None
    rounds = Rounds(backend, data, bins, *given, inside, rng.permutation(N_ROWS))
    row = np.flatnonzero((own > 0) & (~inside if held_out else True))
    watched = rounds.watched(row, y[row], own[row])
    with no_races():
        trees = [tree for number in range(N_ROUNDS) for tree in rounds.some(number, 1)[0]]
        mean = watched.mean_loss(loss.loss)
    assert max(tree.n_nodes for tree in trees) > 4
    arrays = [getattr(tree, name).tobytes() for tree in trees for name in Tree.DTYPES]
    return arrays, rounds.predictions().tobytes(), mean


def on_device(*args, tuning=AUTOMATIC, **options):
    return rounds_on(CudaBackend(open_device("cuda:0"), tuning), *args, **options)


def on_numpy(*args, **options):
    return rounds_on(registry.choose(backend="numpy").backend, *args, **options)


@pytest.mark.quick("huber-True", "quantile-False", "logistic-True")
@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_rounds_on_some_of_the_rows_are_those_of_numpy(monkeypatch, kind, weighs):
    right = on_numpy(kind, weighs=weighs)
    for verb in ("drawn", "pass_on", "residuals", "watched"):
        monkeypatch.delattr(Defaults, verb)  # nothing goes by the host
    assert on_device(kind, weighs=weighs) == right


def test_a_sample_of_no_rows_is_all_of_them():
    assert on_device("squared", share=1e-9) == on_numpy("squared", share=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sizes",
    [
        {"sort_threads": WARP, "sort_rows": 3 * WARP, "threads": WARP},
        pytest.param(
            {"sort_threads": 3 * WARP, "sort_rows": 3 * WARP, "gradient_blocks": 100},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_sizes_of_blocks_change_nothing(sizes):
    tuning = replace(AUTOMATIC, **sizes)
    found = on_device("absolute", weighs=True, tuning=tuning)
    assert found == on_numpy("absolute", weighs=True)


def test_rows_with_equal_keys_keep_their_order():
    rng = np.random.default_rng(0)
    device = open_device("cuda:0")
    key = rng.integers(-3, 3, N_ROWS) * rng.choice([1, 2**40, 2**61], N_ROWS)
    row = rng.permutation(N_ROWS).astype(np.int32)
    args = Launches(device, AUTOMATIC), N_ROWS, *device.pack(key, row)
    with no_races():
        found = device.download(sorted_by(*args, has_sign=True))
    assert found.tolist() == row[np.argsort(key, kind="stable")].tolist()


@pytest.mark.parametrize("weighs", [False, True])
def test_rows_are_ordered_by_what_they_hold(weighs):
    """Some rows are alike, and some are out."""
    X, y, weight = rows_of("squared", weighs=weighs)
    X[1:N_ROWS:3], y[1:N_ROWS:3] = X[0], 0.0
    y[4] = -0.0
    is_in, orders = np.arange(N_ROWS) % 7 > 0, []
    for backend in (registry.choose(backend="numpy").backend, CudaBackend(open_device("cuda:0"))):
        bins, data = bin_table(backend, read_table(X), weight, 255)
        answers = np.stack([y, np.arange(N_ROWS) % 2], axis=1)
        orders.append(backend.row_order(data, bins, is_in, answers, weight).tolist())
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == np.flatnonzero(is_in).tolist()


@pytest.mark.quick("logistic")
@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_rows_of_another_table_are_watched_on_the_device(weather, kind):
    """Some of their categories nobody has seen; some have no weight."""
    table, target = weather(N_ROWS)
    other, _ = weather(N_ROWS, seed=1)
    other["sky"] = other["sky"].cat.rename_categories({"e": "none has seen it"})
    y = np.minimum(target // 2, 2) if kind == "softmax" else target > 2
    weight_val = np.arange(N_ROWS) % 3 * 1.5
    options = {"n_estimators": 3, "max_depth": 2, "early_stopping": True}
    found, right = (
        GradientBoostingClassifier(**options, backend=backend).fit(
            table, y, X_val=other, y_val=y, sample_weight_val=weight_val
        )
        for backend in ("cuda", "numpy")
    )
    assert found.to_bytes() == right.to_bytes()
    assert found.validation_score_.tolist() == right.validation_score_.tolist()
    assert len(set(right.validation_score_)) == 3


class Traffic(NumbaDevice):
    """Counts the bytes that go to the device and come from it, and how often the host waits."""

    n_bytes = 0

    def pack(self, *arrays):
        self.n_bytes += sum(each.nbytes for each in arrays)
        return super().pack(*arrays)

    def download(self, array):
        found = super().download(array)
        self.n_bytes += found.nbytes
        return found


def traffic(n_rows, kind, *, weighs=False, share=1.0, watches=False):
    """The bytes and the waits of a second round, whose tree has three nodes."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.integers(0, 9, (20, 2)).astype(np.float32), (n_rows // 20, 1))
    y = X[:, 0] * 2 + X[:, 1]
    weight = rng.integers(1, 4, n_rows) * 0.5 if weighs else None
    own = np.ones(n_rows) if weight is None else weight
    device = Traffic()
    backend = CudaBackend(device)
    bins, data = bin_table(backend, read_table(X), weight, 255)
    loss = named(LOSSES[kind], Sample(y, own, ALPHA))
    recipe = Recipe(max_depth=1, min_child_weight=0.0, row_share=share)
    given = y, weight, np.zeros((1, n_rows)), loss.loss, recipe, loss.refine
    inside = np.arange(n_rows) % 5 > 0 if watches else None
    rounds = Rounds(backend, data, bins, *given, inside, rng.permutation(n_rows))
    row = np.flatnonzero(np.arange(n_rows) % 5 == 0)
    watched = rounds.watched(row, y[row], own[row])
    for number in range(2):
        before = device.n_bytes, device.n_syncs
        [[tree]] = rounds.some(number, 1)
        if watches:
            watched.mean_loss(loss.loss)
    assert tree.n_nodes == 3
    return device.n_bytes - before[0], device.n_syncs - before[1]


TRAFFIC = {
    "plain": ("squared", {}),
    "weighted": ("squared", {"weighs": True}),
    "sampled": ("squared", {"share": 0.7}),
    "early stopping": ("squared", {"watches": True}),
    "quantile": ("quantile", {}),
    "absolute, weighted": ("absolute", {"weighs": True, "share": 0.7}),
    "huber": ("huber", {}),
}


@pytest.mark.skipif(not SIMULATED, reason="there are as many bytes anywhere")
@pytest.mark.quick("sampled", "early stopping")
@pytest.mark.parametrize("case", TRAFFIC)
def test_what_a_round_moves_to_and_from_the_device_does_not_depend_on_the_rows(case):
    kind, options = TRAFFIC[case]
    few, many = (traffic(n_rows, kind, **options) for n_rows in (40, 160))
    assert few == many
    assert few[0] < 2**17
