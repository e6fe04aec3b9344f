"""Whole fits on a CUDA device: simulated, compiled and run on the CPU, or real."""

import os
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from gputree.backends import registry
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import open_device
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.boosting.rounds import Recipe, Rounds
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.table import Column, Kind, Table
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.criteria import GINI
from gputree.tree.tree import Tree

PLENTY = 10**7  # bytes of histograms


def grown(backend, X, target, *, criterion=GINI, max_bins=255, budget=PLENTY, **rules):
    """Every array of the tree, as bytes."""
    columns = (Column(f"x{at}", Kind.NUMERIC, column) for at, column in enumerate(X.T))
    table = Table(tuple(columns), len(X))
    bins, data = bin_table(backend, table, target.weight, max_bins)
    found = grow(backend, data, bins, target, Rules(criterion, **rules), budget)
    leaf = backend.leaves(found.rows)
    tree = finish(found, target, leaf, Finish(criterion))
    walked = backend.apply(tree, table)
    return [getattr(tree, name).tobytes() for name in Tree.DTYPES] + [walked.tobytes()]


@contextmanager
def no_races():
    """Where compiled code runs on the CPU: no two threads meet in memory by chance."""
    if "GPUTREE_PTXRUN" not in os.environ:
        yield
        return
    import ptxrun

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with ptxrun.configure(race="grid", on_race="warn"):
            yield
    lines = [line for each in found for line in str(each.message).splitlines()[1:]]
    # A word of shared memory that many lanes read counts as read until the next barrier of the
    # block; kernels whose warps work by themselves have barriers of a warp only.
    by_warps, kind = ("_features", "move_by_digit"), "write after read on shared memory"
    assert not [
        line for line in lines if kind not in line or not any(name in line for name in by_warps)
    ]


def boosted(backend, table, y, loss, n_rounds, weight=None, n_outputs=1, **recipe):
    """Every array of the trees of some rounds, and what they say of the rows, as bytes."""
    bins, data = bin_table(backend, read_table(table), None, 255)
    start = np.zeros((n_outputs, len(y)))
    recipe = Recipe(max_depth=3, min_child_weight=0.1, **recipe)
    with no_races():
        rounds = Rounds(backend, data, bins, y, weight, start, loss, recipe)
        trees = [tree for number in range(n_rounds) for tree in rounds.some(number, 1)[0]]
        said = rounds.predictions()
    assert max(tree.n_nodes for tree in trees) > 4
    return [getattr(tree, name).tobytes() for tree in trees for name in Tree.DTYPES], said.tobytes()


@pytest.fixture(scope="session")
def boosted_on_numpy():
    """Boost with NumPy."""

    def boost_here(*args, **options):
        return boosted(registry.choose(backend="numpy").backend, *args, **options)

    return boost_here


@pytest.fixture(scope="session")
def boosted_on_device():
    """Boost on the device, by kernels of the given sizes."""

    def boost_there(*args, tuning=AUTOMATIC, **options):
        return boosted(CudaBackend(open_device("cuda:0"), tuning), *args, **options)

    return boost_there


@pytest.fixture(scope="session")
def on_numpy():
    """Grow a tree with NumPy."""

    def grow_here(X, target, **options):
        return grown(registry.choose(backend="numpy").backend, X, target, **options)

    return grow_here


@pytest.fixture(scope="session")
def on_device():
    """Grow a tree on the device, by kernels of the given sizes."""

    def grow_there(X, target, tuning=AUTOMATIC, **options):
        return grown(CudaBackend(open_device("cuda:0"), tuning), X, target, **options)

    return grow_there


@pytest.fixture
def example():
    """A table of few values, some of them missing; classes, numbers and weights."""

    def make(n_rows, n_features=3, n_classes=2, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 9, (n_rows, n_features)).astype(np.float32)
        X[rng.random(n_rows) < 0.2, -1] = np.nan
        label = (X[:, 0] + X[:, 1] + rng.integers(0, 2, n_rows)).astype(np.int64) % n_classes
        return X, label, rng.standard_normal((n_rows, 2)), rng.integers(0, 4, n_rows) * 0.75

    return make


@pytest.fixture
def weather():
    """Numbers and categories, some of them missing, and a target that both tell something about."""

    def make(n_rows, seed=0):
        rng = np.random.default_rng(seed)
        heat = rng.integers(0, 12, n_rows).astype(np.float64)
        sky, wind = rng.integers(0, 5, n_rows), rng.integers(0, 3, n_rows)
        target = (heat > 6) + 2 * np.isin(sky, [0, 3]) + (wind == 1) + rng.integers(0, 2, n_rows)
        heat[rng.random(n_rows) < 0.15] = np.nan
        columns = {
            "heat": heat,
            "sky": np.array(list("abcde"))[sky],
            "wind": np.array(list("xyz"))[wind],
        }
        table = pd.DataFrame(columns).astype({"sky": "category", "wind": "category"})
        table.loc[rng.random(n_rows) < 0.15, "sky"] = None
        return table, target

    return make
