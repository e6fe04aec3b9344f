"""Pruned trees and rules of tables with missing values: one result, whatever comes first."""

import numpy as np
import pytest

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    RuleSetClassifier,
)
from gputree.pruning import CostComplexity, ReducedError
from gputree.tree.tree import Tree

NAN = np.nan


def table(seed, n_rows=200):
    """Numbers, categories, missing values, and weights that no binary fraction holds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(1)
    X[:, 3] = rng.integers(0, 4, n_rows)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) * 0.5 > 0).astype(int)
    X[rng.random(X.shape) < 0.15] = NAN
    return X, y, rng.integers(1, 9, n_rows) / 10


def bytes_of(tree):
    return b"".join(getattr(tree, name).tobytes() for name in Tree.DTYPES)


def orders(n_rows, seed=0):
    """The rows as they come, reversed and shuffled."""
    every = np.arange(n_rows)
    return every, every[::-1], np.random.default_rng(seed).permutation(n_rows)


MODELS = {
    "C4.5": C45Classifier(categorical_features=[3]),
    "divided": DecisionTreeClassifier(missing="fractional", pruning="error_based"),
    "divided, pessimistic": DecisionTreeClassifier(missing="fractional", pruning="pessimistic"),
    "divided, least error": C45Classifier(pruning="minimum_error"),
    "divided, critical value": C45Classifier(pruning="critical_value"),
    "surrogates": CARTClassifier(pruning="error_based", categorical_features=[3]),
    "surrogates, priced": CARTRegressor(pruning=CostComplexity(alpha=0.01)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_rows_does_not_change_a_pruned_tree(name):
    model = MODELS[name].set_params(backend="numpy")
    for seed in range(4):
        X, y, weight = table(seed, 120)
        weight = weight if seed % 2 else np.ones(len(y))
        found = {bytes_of(model.fit(X[at], y[at], weight[at]).nodes_) for at in orders(len(y))}
        assert len(found) == 1


@pytest.mark.parametrize("method", [ReducedError(), ReducedError(row_shares="validation")])
def test_the_order_of_validation_rows_does_not_change_what_is_cut(method):
    for seed in range(3):
        X, y, weight = table(seed, 300)
        whole = C45Classifier(pruning=None, backend="numpy").fit(X[::2], y[::2])
        own = X[1::2], y[1::2], weight[1::2]
        pruned = [whole.prune(method, *(part[at] for part in own)) for at in orders(len(own[1]))]
        assert len({bytes_of(each.nodes_) for each in pruned}) == 1
        # Tenths have no exact sum in binary, and errors are shares of that sum.
        assert len({each.pruning_report_.error for each in pruned}) == 1


def test_the_order_of_rows_does_not_change_rules():
    for seed in range(2):
        X, y, weight = table(seed, 120)
        model = RuleSetClassifier(C45Classifier(backend="numpy"))
        found = {model.fit(X[at], y[at], weight[at]).to_bytes() for at in orders(len(y))}
        assert len(found) == 1


@pytest.mark.parametrize(("backend", "n_jobs"), [("numba", 1), ("numba", 2), ("cuda", None)])
def test_every_backend_prunes_to_the_same_tree(backend, n_jobs):
    for seed in range(1 if backend == "cuda" else 2):
        X, y, weight = table(seed, 60 if backend == "cuda" else 400)
        expected = C45Classifier(backend="numpy").fit(X, y, weight).nodes_
        backwards = slice(None, None, -1)
        model = C45Classifier(backend=backend, n_jobs=n_jobs)
        found = model.fit(X[backwards], y[backwards], weight[backwards]).nodes_
        assert bytes_of(found) == bytes_of(expected)
