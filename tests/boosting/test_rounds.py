"""Rounds that one call of a backend makes are those that are made one after another."""

import numpy as np
import pytest

from gputree import GradientBoostingClassifier, GradientBoostingRegressor
from gputree.boosting.rounds import Rounds


def table(n_rows, n_features=5, digits=2, missing=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(digits)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def with_categories(X, y, n_categories=400):
    """The same with a column that tells some more of the target."""
    category = np.random.default_rng(1).integers(0, n_categories, len(y))
    return np.column_stack([X, category]), y + category % 7 - 3


def refuse(*_):
    raise AssertionError("a round was made by itself")


COUNTED = {"min_samples_leaf": 9, "max_leaf_nodes": 12, "max_depth": None}
ENDS = np.arange(900) // 30.0  # 60 rows below 2, and 60 from 28 on
CASES = {
    "leaf by leaf, rows counted": (GradientBoostingClassifier, COUNTED, table(700)),
    "leaves of just as many rows as they must have": (
        GradientBoostingClassifier,
        COUNTED | {"min_samples_leaf": 60},
        (ENDS[:, None], (ENDS < 2) | (ENDS >= 28)),
    ),
    "a column twice": (
        GradientBoostingClassifier,
        COUNTED,
        (np.repeat(table(600, digits=0)[0], 2, axis=1), table(600, digits=0)[1]),
    ),
    "no limit": (GradientBoostingRegressor, {"max_depth": None}, table(500)),
    # With categories, so that kernels are those of other tests of wide codes.
    "more codes than a bit set lists": (
        GradientBoostingClassifier,
        {"max_bins": 3_000, "categorical_features": [3]} | COUNTED,
        with_categories(*table(2_500, n_features=3, digits=9)),
    ),
    "rounds that draw no row": (
        GradientBoostingRegressor,
        {"subsample": 0.1, "random_state": 0},
        table(6),
    ),
    "a column without values": (
        GradientBoostingRegressor,
        {"min_samples_leaf": 3},
        (np.column_stack([np.full(300, np.nan), table(300)[0]]), table(300)[1]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rounds_of_one_call_are_those_of_numpy(name, monkeypatch):
    kind, parameters, (X, y) = CASES[name]
    if kind is GradientBoostingClassifier:
        y = y > 0
    one_by_one = kind(7, **parameters, backend="numpy").fit(X, y)
    monkeypatch.setattr(Rounds, "_next", refuse)
    for n_jobs in (1, 2):
        model = kind(7, **parameters, backend="numba", n_jobs=n_jobs).fit(X, y)
        assert model.to_bytes() == one_by_one.to_bytes()


def test_how_many_rounds_a_call_makes_changes_nothing(monkeypatch):
    X, y = table(300)
    y = np.digitize(y, [-1.0, 1.0])
    given = {"subsample": 0.7, "colsample_bytree": 0.7, "random_state": 1, "backend": "numba"}
    model = GradientBoostingClassifier(6, **given).fit(X, y)
    monkeypatch.setattr("gputree.boosting.rounds.CELLS_TOGETHER", 1)
    assert GradientBoostingClassifier(6, **given).fit(X, y).to_bytes() == model.to_bytes()


def test_a_callback_ends_a_fit_among_rounds_of_one_call():
    X, y = table(300)
    told = []

    def stop(done):
        told.append(done.number)
        return done.number == 4

    model = GradientBoostingRegressor(20, backend="numba").fit(X, y, callbacks=[stop])
    assert told == [0, 1, 2, 3, 4]
    first = GradientBoostingRegressor(5, backend="numba").fit(X, y)
    assert [each.tree_.value.tobytes() for each in model] == [
        each.tree_.value.tobytes() for each in first
    ]
    more = GradientBoostingRegressor(20, backend="numba", warm_start=True)
    more.set_params(n_estimators=5).fit(X, y)
    assert more.set_params(n_estimators=20).fit(X, y).to_bytes() == (
        GradientBoostingRegressor(20, backend="numba").fit(X, y).to_bytes()
    )
