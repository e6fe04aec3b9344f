"""Trees that share a frontier are those that grow alone."""

import numpy as np
import pytest

from gputree import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from gputree.backends import registry
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import class_target, drawn_target, value_target
from gputree.growth import choose_loop
from gputree.growth.builder import grow
from gputree.growth.choose_loop import can_grow_together, grow_together
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.criteria import GINI

BACKENDS = ["numpy", "numba"]


def table(n_rows=300):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n_rows, 5)), 1)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, signal, rng


def samples(target, rng, n=4):
    size = target.n_rows
    counts = [np.bincount(rng.integers(0, size, size), minlength=size) for _ in range(n)]
    return [drawn_target(target, each, size) for each in counts]


@pytest.mark.parametrize("budget", [2**12, 2**24])
@pytest.mark.parametrize("is_classes", [True, False])
@pytest.mark.parametrize("name", BACKENDS)
def test_the_same_trees(name, is_classes, budget, monkeypatch):
    backend = registry.choose(backend=name).backend
    X, signal, rng = table()
    bins, data = bin_table(backend, read_table(X), None, 255)
    whole = class_target((signal > 0).astype(int), 2, None)
    if not is_classes:
        whole = value_target(signal[:, None], None)
    targets, seeds = samples(whole, rng), [3, 1, 4, 1]
    rules = Rules(GINI, n_drawn=2)
    # What a backend grows whole has a test of its own.
    monkeypatch.setattr(type(backend), "grows_whole", False)
    together = grow_together(backend, data, bins, targets, rules, seeds, budget)
    for target, seed, grown in zip(targets, seeds, together, strict=True):
        alone = grow(backend, data, bins, target, Rules(GINI, n_drawn=2, seed=seed), budget)
        trees = [
            finish(grown, target, grown.leaf, Finish(GINI)),
            finish(alone, target, backend.leaves(alone.rows), Finish(GINI)),
        ]
        assert trees[0].n_nodes > 50
        for field in trees[0].DTYPES:
            assert getattr(trees[0], field).tobytes() == getattr(trees[1], field).tobytes(), field


ENSEMBLES = {
    "forest": RandomForestClassifier(9, random_state=3),
    "forest of nominal columns": RandomForestClassifier(
        9, random_state=3, categorical_features=[0, 1]
    ),
    "regressors": RandomForestRegressor(9, random_state=3),
    "random splits": ExtraTreesRegressor(9, random_state=3),
}


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_ensembles_do_not_depend_on_how_many_trees_grow_together(ensemble, name, monkeypatch):
    X, signal, _ = table()
    X[:, :2] = np.abs(np.round(np.nan_to_num(X[:, :2])))
    model = ENSEMBLES[ensemble].set_params(backend=name)
    y = signal if "egressor" in type(model).__name__ else signal > 0
    found = []
    for most in (1, 4, 16):
        monkeypatch.setattr(choose_loop, "MOST_TOGETHER", most)
        found.append(model.fit(X, y).to_bytes())
    assert found[0] == found[1] == found[2]


def test_one_frontier_has_the_nodes_of_all_trees(monkeypatch):
    X, signal, _ = table()
    model = RandomForestClassifier(12, random_state=0, backend="numpy")
    seen = []
    first = choose_loop.grow_together
    monkeypatch.setattr(
        choose_loop, "grow_together", lambda *args: seen.append(len(args[3])) or first(*args)
    )
    model.fit(X, signal > 0)
    assert seen == [12]
    # Rows of more trees than the budget has room for are not taken at once.
    seen.clear()
    n_bytes = X.size + len(X) * choose_loop.ROW_BYTES
    model.set_params(histogram_budget=3 * n_bytes + 1).fit(X, signal > 0)
    assert seen == [3, 3, 3, 3]


@pytest.mark.parametrize("rules", [Rules(GINI, max_leaves=9), Rules(GINI, missing="fractional")])
def test_what_trees_cannot_share(rules):
    alike = [class_target(np.array([0, 1]), 2, None)] * 2
    assert not can_grow_together(rules, alike)
    assert can_grow_together(Rules(GINI), alike)
    weighted = class_target(np.array([0, 1]), 2, np.array([0.5, 1.0]))
    assert not can_grow_together(Rules(GINI), [alike[0], weighted])
    assert not can_grow_together(Rules(GINI), alike[:1])
