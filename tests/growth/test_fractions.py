"""Rows that are divided: the size of what comes of them, and what it takes to grow it."""

import tracemalloc

import numpy as np
import pytest

from gputree import C45Classifier, DecisionTreeClassifier, prediction
from gputree.growth import fractions
from gputree.growth.queue import Batch, LastInFirstOut
from gputree.tree.tree import Tree

NAN = np.nan


def table(n_rows, seed=0, share=0.15, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) * 0.5 > 0).astype(int)
    X[rng.random(X.shape) < share] = NAN
    return X, y


def bytes_of(tree):
    return b"".join(getattr(tree, name).tobytes() for name in Tree.DTYPES)


@pytest.mark.parametrize("weight", [None, np.full(400, 0.1)])
def test_fractions_of_rows_are_no_rows(weight):
    """Every leaf has the weight of a row, so that there are no more leaves than rows."""
    model = DecisionTreeClassifier(missing="fractional", backend="numpy").fit(*table(400), weight)
    tree = model.nodes_
    row = 1.0 if weight is None else 0.1
    assert tree.weight[tree.is_leaf].min() >= row * (1 - 1e-6)
    assert tree.n_leaves <= 400
    assert tree.n_rows[tree.is_leaf].sum() > 400  # rows were divided


def test_rows_to_split_and_rows_of_leaves_are_counted_by_their_fractions():
    model = DecisionTreeClassifier(
        missing="fractional", min_samples_split=25, min_samples_leaf=5, backend="numpy"
    )
    tree = model.fit(*table(600)).nodes_
    assert tree.weight[tree.is_leaf].min() >= 5 - 1e-5
    assert tree.weight[~tree.is_leaf].min() >= 25 - 1e-5


def test_rows_that_were_never_divided_are_counted_as_before():
    """Without a missing value both ways to deal with them give the same tree, weights or not."""
    X, y = table(300, share=0.0)
    weight = np.random.default_rng(1).integers(1, 9, 300) / 8
    trees = [
        DecisionTreeClassifier(
            criterion="gain_ratio", missing=missing, min_samples_leaf=3, backend="numpy"
        )
        .fit(X, y, weight)
        .nodes_
        for missing in ("fractional", "direction")
    ]
    assert [tree.threshold.tobytes() for tree in trees[1:]] == [trees[0].threshold.tobytes()]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 30}])
def test_how_many_parts_are_divided_at_once_does_not_change_the_tree(backend, params):
    X, y = table(500)
    trees = [
        DecisionTreeClassifier(
            missing="fractional", backend=backend, histogram_budget=budget, **params
        )
        .fit(X, y)
        .nodes_
        for budget in (1, 100_000, None)
    ]
    assert len({bytes_of(tree) for tree in trees}) == 1


def test_parts_are_forgotten_with_their_node(monkeypatch):
    """Copies of codes are made for a few nodes at a time, and the newest nodes are split next."""
    X, y = table(2_000, share=0.3, n_features=6)
    n_taken = []
    tally = fractions.Fractions.tally

    def counted(self, parts):
        n_taken.append(len(parts.row))
        return tally(self, parts)

    monkeypatch.setattr(fractions.Fractions, "tally", counted)
    tree = C45Classifier(pruning=None, backend="numpy", histogram_budget=2**20).fit(X, y).nodes_
    assert tree.n_rows[tree.is_leaf].sum() > 20_000  # parts at last
    assert max(n_taken) < 10_000  # and at once


def test_the_newest_batch_comes_first_and_the_rest_of_it_next():
    queue, no_parent = LastInFirstOut(), np.zeros(2, np.int64)
    for first in (1, 3):
        node = np.arange(first, first + 2)
        batch = Batch(node, np.ones(2), np.arange(2), None, np.full(2, 10), 0)
        queue.push(batch, no_parent)
    found = []
    while (batch := queue.pop(10)) is not None:
        found += batch.node.tolist()
    assert found == [3, 4, 1, 2]
    assert np.flatnonzero(queue.split_nodes(5)).tolist() == [1, 2, 3, 4]


def test_predicting_rows_that_end_in_every_leaf_takes_little_memory(monkeypatch):
    monkeypatch.setattr(prediction, "FIRST_ROWS", 16)
    monkeypatch.setattr(prediction, "MOST_ENDS", 2**12)
    X, y = table(400)
    model = DecisionTreeClassifier(missing="fractional", backend="numpy").fit(X, y)
    n_leaves, asked = model.get_n_leaves(), np.full((500, 4), NAN)
    expected = model.predict_proba(asked[:1])
    tracemalloc.start()
    found = model.predict_proba(asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found == expected).all()
    assert peak < 24 * n_leaves * len(asked) / 2  # row, leaf and share of all ends
    leaf = model.apply(asked)
    assert (leaf == leaf[0]).all()
    assert model.tree_.weight[leaf[0]] == model.tree_.weight[model.tree_.is_leaf].max()
