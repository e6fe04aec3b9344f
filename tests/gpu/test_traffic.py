"""What travels between host and device: matrices whole, and back nothing that grows with rows."""

from dataclasses import replace

import numpy as np
import pytest

from gputree import (
    CARTClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from gputree.backends import registry
from gputree.backends.cuda import binning
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import predict as cuda_predict
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.backends.parts import HostParts
from gputree.data import cuts
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.tree.stack import Stack
from tests.gpu.conftest import no_races
from tests.gpu.test_rounds import Traffic

N_ROWS = 30


class Metered(NumbaDevice):
    """Counts what comes down."""

    n_bytes = 0

    def download(self, array):
        host = super().download(array)
        self.n_bytes += host.nbytes
        return host


def few_values(n_rows):
    """A column of every kind of few values: two, many zeros of both signs, missing ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (n_rows, 4)) * 0.1
    X[:, 0] = rng.integers(0, 2, n_rows)
    X[rng.random(n_rows) < 0.5, 1] = -0.0
    X[rng.random(n_rows) < 0.3, 2] = np.nan
    X[:, 3] = 16_777_216.0 + rng.integers(0, 3, n_rows)  # float32 does not tell them apart
    return np.concatenate([X, np.tile(X[:7], (n_rows // 7 + 1, 1))])[:n_rows]


def found_cuts(backend, X, weight):
    """The cuts of a table, as bytes, and whether values are missing."""
    bins, _ = bin_table(backend, read_table(X), weight, 255)
    return [(own.below.tobytes(), own.above.tobytes(), own.has_missing) for own in bins.features]


# From the host, by rows


LAYOUTS = {
    "rows": lambda X: X,
    "some columns": lambda X: X[:, 2:],
    "backwards": lambda X: X[::-1],
    "by columns": np.asfortranarray,
    "one column": lambda X: X[:, :1],
}


@pytest.mark.cover
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_arrives_column_by_column(layout, dtype):
    """A block of rows is smaller than the matrix, which is wider than a warp."""
    X = LAYOUTS[layout](np.arange(23 * 7, dtype=dtype).reshape(23, 7))
    backend = CudaBackend(NumbaDevice(), replace(AUTOMATIC, staged_bytes=9 * 7 * X.itemsize))
    held = backend.hold(read_table(X).columns)
    assert (held.n_rows, held.n_columns) == X.shape
    assert held.values.copy_to_host().tobytes() == X.T.tobytes()
    used = np.arange(0, X.shape[1], 2)
    some = binning.hold_rows(backend._launches, X, used)
    if layout == "by columns":
        assert some is None
    else:
        assert some.values.copy_to_host().tobytes() == X.T[used].tobytes()


# On the device


class Beside(NumbaDevice):
    """Takes matrices of NumPy for those of a user on the device, which test_host_side has."""

    def has(self, array):
        return isinstance(array, np.ndarray)

    def give(self, array, shape, dtype):
        return self.download(array).astype(dtype).reshape(shape)


@pytest.mark.parametrize("free", [None, 3_000])  # bytes: all rows at once, or some at a time
def test_answers_are_made_where_the_table_is(monkeypatch, free):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (40, 5)).astype(np.float32), rng.integers(0, 3, 40) * 10
    forest = RandomForestClassifier(3, max_depth=3, random_state=0, backend="numpy").fit(X, y)
    monkeypatch.setattr(cuda_predict, "LEAST_ROWS", 8)
    monkeypatch.setattr(Beside, "free_bytes", lambda device: free)
    backend, table, stack = CudaBackend(Beside()), read_table(X), forest._stack()
    mean = backend.answer(stack, table, np.zeros(3), 3.0, None, None)
    assert mean.tobytes() == forest.predict_proba(X).tobytes()
    largest = backend.answer(stack, table, np.zeros(3), 3.0, forest.classes_, None)
    assert largest.tobytes() == forest.predict(X).tobytes()
    tree, start = stack.trees[0], np.array([-0.0])
    ramp = Stack.of([tree], [np.linspace(-0.0, -1.0, tree.n_nodes)])
    right = backend.sum_leaves(ramp, table, start)
    assert backend.answer(ramp, table, start, 1.0, None, None).tobytes() == right.tobytes()
    assert len(np.unique(right)) > 2
    signs = backend.answer(ramp, table, start + 0.5, 1.0, np.array([3, 4]), None)
    assert signs.tolist() == np.where(right[:, 0] + 0.5 > 0, 4, 3).tolist()


@pytest.mark.parametrize("loss", ["two classes", "three classes", "poisson"])
@pytest.mark.parametrize("free", [None, 3_000])
def test_what_links_make_of_sums_is_made_where_the_table_is(monkeypatch, loss, free):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (40, 5)).astype(np.float32), rng.integers(0, 3, 40)
    options = {"n_estimators": 2, "max_depth": 2, "backend": "numpy"}
    if loss == "poisson":
        model = GradientBoostingRegressor(loss="poisson", **options).fit(X, y)
        right = model.predict(X)
    else:
        model = GradientBoostingClassifier(**options).fit(X, y > 1 if loss == "two classes" else y)
        right = model.predict_proba(X)
    monkeypatch.setattr(cuda_predict, "LEAST_ROWS", 8)
    monkeypatch.setattr(Beside, "free_bytes", lambda device: free)
    backend, table, stack = CudaBackend(Beside()), read_table(X), model._stack()
    with no_races():
        found = backend.answer(stack, table, model._start, 1.0, None, model._link())
        leaf = backend.number_leaves(stack, table)
    assert found.tobytes() == right.tobytes()
    assert leaf.tobytes() == model.apply(X).tobytes()


# To the host


@pytest.mark.parametrize(("is_long", "is_weighted"), [(False, False), (True, True)])
def test_what_columns_of_few_values_send_down_does_not_grow(monkeypatch, is_long, is_weighted):
    if is_long:
        monkeypatch.setattr(cuts, "LISTED_ROWS", 16)
    sent, numpy = [], registry.choose(backend="numpy").backend
    for n_rows in (N_ROWS, 4 * N_ROWS):
        X = few_values(n_rows)
        weight = np.random.default_rng(1).integers(0, 3, n_rows) if is_weighted else None
        device = Metered()
        with no_races():
            found = found_cuts(CudaBackend(device), X, weight)
        assert found == found_cuts(numpy, X, weight)
        sent.append(device.n_bytes)
    assert sent[1] == sent[0] > 0


def test_what_surrogates_send_down_does_not_grow(monkeypatch):
    """Agreement is told by sums, and rows are sent on where they are."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.integers(0, 6, (26, 1)), 4).astype(np.float64)
    X[:, 1] = rng.integers(0, 3, 26)
    X[:, 2:] += rng.integers(0, 2, (26, 2))
    y = (X[:, 0] > 2) * 2 + (X[:, 1] > 1)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight, sent = rng.integers(1, 3, 26), []
    for times in (1, 3):
        device = Metered()
        monkeypatch.setattr(
            "gputree.backends.cuda.device.open_device", lambda name, own=device: own
        )
        given = np.tile(X, (times, 1)), np.tile(y, times), np.tile(weight, times)
        trees = [
            CARTClassifier(max_depth=2, pruning=None, categorical_features=[3], backend=backend)
            for backend in ("numpy", "cuda")
        ]
        with no_races():
            found = trees[1].fit(*given).to_bytes()
        assert found == trees[0].fit(*given).to_bytes()
        assert (trees[0].nodes_.surrogate_category_start >= 0).any()
        assert np.count_nonzero(trees[0].nodes_.n_surrogates) > 1
        sent.append(device.n_bytes)
    assert sent[1] == sent[0] > 0


@pytest.mark.parametrize("is_sample", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_what_rows_that_are_divided_move_does_not_grow(monkeypatch, is_sample):
    """Of the same table three times over, by depth: what is moved once is left out."""
    monkeypatch.setattr(cuda_histogram, "FEW_TILES", 0)
    monkeypatch.delattr(HostParts, "whole")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (26, 3)).astype(np.float64)
    y = (X[:, 0] > 2) * 2 + (X[:, 1] > 1)
    X[rng.random(X.shape) < 0.25] = np.nan
    moved = []
    for times in (2, 6):
        given, found = (np.tile(X, (times, 1)), np.tile(y, times)), []
        for depth in (1, 2):
            device = Traffic()
            monkeypatch.setattr(
                "gputree.backends.cuda.device.open_device", lambda name, own=device: own
            )
            options = {"max_depth": depth, "missing": "fractional", "backend": "cuda"}
            tree = DecisionTreeClassifier(**options)
            if is_sample:
                tree = RandomForestClassifier(1, max_features=None, random_state=0, **options)
            with no_races():
                tree.fit(*given)
            found.append(device.n_bytes)
        moved.append(found[1] - found[0])
    assert moved[1] == moved[0] > 0
