"""Whole fits on a CUDA device: simulated, compiled and run on the CPU, or real."""

import numpy as np
import pytest

from gputree.backends import registry
from gputree.backends.cuda import CudaBackend
from gputree.backends.cuda_device import open_device
from gputree.backends.cuda_plan import AUTOMATIC
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.growth.builder import grow
from gputree.growth.finish import finish
from gputree.growth.rules import Rules
from gputree.tree.tree import Tree

PLENTY = 10**7  # bytes of histograms


def grown(backend, X, target, *, formula="between", max_bins=255, budget=PLENTY, **rules):
    """Every array of the tree, as bytes."""
    columns = (Column(f"x{at}", Kind.NUMERIC, column) for at, column in enumerate(X.T))
    table = Table(tuple(columns), len(X))
    bins, data = bin_table(backend, table, target.weight, max_bins)
    found = grow(backend, data, bins, target, Rules(formula, **rules), budget)
    impurity = {"between": "gini", "information": "entropy", "corrected": "error"}[formula]
    leaf = backend.leaves(found.rows)
    tree = finish(found, target, leaf, impurity if target.channels.is_classes else None)
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
