"""Shapley values by a kernel are those of NumPy, bit for bit."""

import numpy as np
import pytest

from gputree.backends import registry
from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cuda import attribution as cuda_attribution
from gputree.backends.cuda import predict as cuda_predict
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice, open_device
from gputree.explain.shap import attributed
from gputree.kernels.cuda.gpu import SIMULATED
from gputree.tree.stack import Stack
from tests.drawn_trees import drawn_table, drawn_tree
from tests.gpu.conftest import no_races

NUMPY = registry.choose(backend="numpy").backend
MIXED = (0, 3, 0, 4, 0)
N_ROWS = 6 if SIMULATED else 150
# What trees do with missing values, and which share of the nodes has no branch for them.
WAYS = {"direction": ("direction", 0.0), "stop": ("surrogate", 0.4), "divide": ("fractional", 1.0)}


def drawn_stack(rng, n_splits=7, **options):
    """Trees of two outputs each, of which the second belongs to both."""
    trees = [drawn_tree(rng, MIXED, n_splits, width=2, **options) for _ in range(2)]
    return Stack.of(trees, column=[0, 1], n_outputs=3)


def on_device(stack, table, others=None, missing="direction"):
    backend = CudaBackend(open_device("cuda:0"))
    with no_races():
        return attributed(backend, stack, table, others, missing=missing).values


@pytest.fixture
def no_host(monkeypatch):
    """The host computes nothing."""
    monkeypatch.delattr(CpuBackend, "attribute")


@pytest.mark.quick("stop", "divide-0")
@pytest.mark.parametrize("n_others", [0, 3])
@pytest.mark.parametrize("way", WAYS)
def test_values_are_those_of_numpy(no_host, way, n_others):
    rng, (missing, stops) = np.random.default_rng(n_others), WAYS[way]
    stack, table = drawn_stack(rng, stops=stops), drawn_table(rng, MIXED, N_ROWS, np.float32)
    others = drawn_table(rng, MIXED, n_others) if n_others else None
    found = on_device(stack, table, others, missing)
    right = attributed(NUMPY, stack, table, others, missing=missing).values
    assert right.any()
    assert found.tobytes() == right.tobytes()
    assert found.flags.c_contiguous


def test_trees_without_categories_and_without_splits(no_host, monkeypatch):
    """One block takes all rows, a few at a time."""
    monkeypatch.setattr(cuda_attribution, "LEAST_THREADS", 0)
    monkeypatch.setattr(cuda_attribution, "PATH_BYTES", 1)
    rng = np.random.default_rng(0)
    numbers = (0, 0, 0)
    trees = [drawn_tree(rng, numbers, n_splits, width=1) for n_splits in (9, 0, 4)]
    stack, table = Stack.of(trees), drawn_table(rng, numbers, N_ROWS)
    assert on_device(stack, table).tobytes() == attributed(NUMPY, stack, table).values.tobytes()
    leaf, none = Stack.of(trees[1:2]), np.zeros((N_ROWS, 3, 1))
    assert on_device(leaf, table).tobytes() == none.tobytes()


def test_rows_are_explained_as_many_at_a_time_as_there_is_memory_for(no_host, monkeypatch):
    rng = np.random.default_rng(2)
    stack, table = drawn_stack(rng, n_splits=3), drawn_table(rng, MIXED, 10)
    right, n_rows = attributed(NUMPY, stack, table).values, []
    usual = NumbaDevice.launch

    def launch(device, kernel, blocks, threads, *args, **more):
        n_rows.append(args[0])
        usual(device, kernel, blocks, threads, *args, **more)

    row_bytes = 8 * len(stack.tested) + 8 * stack.n_outputs * len(MIXED)
    monkeypatch.setattr(cuda_attribution, "LEAST_THREADS", 0)
    monkeypatch.setattr(cuda_predict, "LEAST_ROWS", 1)
    monkeypatch.setattr(NumbaDevice, "free_bytes", lambda _: 2 * 4 * row_bytes)
    monkeypatch.setattr(NumbaDevice, "launch", launch)
    backend = CudaBackend(NumbaDevice())
    found = attributed(backend, stack, table).values
    assert n_rows == [4, 4, 2]
    assert found.tobytes() == right.tobytes()


def test_paths_too_deep_for_memory_are_left_to_the_host(monkeypatch):
    rng = np.random.default_rng(3)
    stack, table = drawn_stack(rng), drawn_table(rng, MIXED, 5)
    monkeypatch.setattr(cuda_attribution, "PATH_BYTES", 2**10)
    monkeypatch.setattr(NumbaDevice, "launch", None)
    found = attributed(CudaBackend(NumbaDevice()), stack, table).values
    assert found.tobytes() == attributed(NUMPY, stack, table).values.tobytes()
