"""What large ensembles take of memory, beside their trees."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import gputree
from gputree import RandomForestRegressor
from gputree.backends.cpu import predict as cpu_predict
from gputree.tree.tree import Tree

MARGIN = 2**20  # bytes that do not grow with the model


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=3000) for name in "abc"})
    X["d"] = pd.Categorical(rng.integers(0, 20, 3000))
    return X, rng.normal(size=3000)


@pytest.fixture(scope="module")
def forest(table):
    return RandomForestRegressor(50, backend="numba", n_jobs=2, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def size(forest):
    """Bytes of the arrays of the trees."""
    trees = [member.tree for member in forest._members]
    return sum(getattr(tree, name).nbytes for tree in trees for name in Tree.DTYPES)


def traced(call):
    """What a call gives, the bytes that it holds on to, and the most that it took meanwhile."""
    tracemalloc.start()
    try:
        result = call()
        return result, *tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def test_saving_needs_no_copy_of_the_model(forest, size, tmp_path):
    _, _, peak = traced(lambda: forest.save(tmp_path / "model"))
    assert size > 8 * MARGIN
    assert peak < size / 4 + MARGIN


def test_the_bytes_of_a_model_are_put_together_once(forest, size):
    data, _, peak = traced(forest.to_bytes)
    assert len(data) > size
    assert peak < 1.25 * size + MARGIN


def test_a_model_is_loaded_once(forest, size, tmp_path):
    forest.save(tmp_path / "model")
    again, held, peak = traced(lambda: gputree.load(tmp_path / "model"))
    assert size < held < 1.1 * size + MARGIN
    assert peak < 1.25 * size + MARGIN
    assert again.to_bytes() == forest.to_bytes()


def test_large_trees_are_walked_where_they_are(forest, size, table, monkeypatch):
    monkeypatch.setattr(cpu_predict, "LARGE_NODES", 0)
    X, _ = table
    forest.predict(X[:9])  # whatever is kept of trees
    forest._members._stack = None
    _, held, peak = traced(lambda: forest.predict(X[:9]))
    assert held < size / 4
    assert peak < size / 4 + MARGIN
