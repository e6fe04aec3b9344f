"""Whole fits on a CUDA device: simulated, compiled and run on the CPU, or real."""

import numpy as np
import pandas as pd
import pytest

from gputree.backends import registry
from gputree.backends.cuda import CudaBackend
from gputree.backends.cuda_device import open_device
from gputree.backends.cuda_plan import AUTOMATIC
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import CLASS_CRITERIA, Rules
from gputree.tree.tree import Tree

PLENTY = 10**7  # bytes of histograms


def grown(backend, X, target, *, formula="between", max_bins=255, budget=PLENTY, **rules):
    """Every array of the tree, as bytes."""
    columns = (Column(f"x{at}", Kind.NUMERIC, column) for at, column in enumerate(X.T))
    table = Table(tuple(columns), len(X))
    bins, data = bin_table(backend, table, target.weight, max_bins)
    found = grow(backend, data, bins, target, Rules(formula, **rules), budget)
    impurities = dict(CLASS_CRITERIA.values()) if target.channels.is_classes else {}
    leaf = backend.leaves(found.rows)
    tree = finish(found, target, leaf, Finish(impurities.get(formula)))
    walked = backend.apply(tree, table)
    return [getattr(tree, name).tobytes() for name in Tree.DTYPES] + [walked.tobytes()]


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
