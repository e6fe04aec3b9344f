"""Nodes are searched in sums or from rows, a few or many at a time, with the same result."""

import numpy as np
import pytest

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.backends.array import histogram as array_histogram
from gputree.backends.array import lines
from gputree.backends.array import row_split as array_row_split
from gputree.backends.array import split as array_split
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Kind
from gputree.data.target import Channels

N_ROWS = 900
RNG = np.random.default_rng(4)
X = RNG.integers(0, 300, (N_ROWS, 5)).astype(np.float64)
X[:, 2] = RNG.integers(0, 3, N_ROWS)
X[RNG.random(N_ROWS) < 0.2, 3] = np.nan
X[:, 4] = np.where(RNG.random(N_ROWS) < 0.5, np.nan, X[:, 0])
LABEL = (X[:, 0] > 100) + (X[:, 1] > 150) + RNG.integers(0, 2, N_ROWS) + np.isnan(X[:, 3])
NUMBER = X[:, 0] * (X[:, 1] > 150) + RNG.normal(size=N_ROWS)
COUNT = RNG.integers(0, 4, N_ROWS)
WEIGHT = RNG.random(N_ROWS) + 0.01


def classes(y=LABEL, weight=None, **parameters):
    return DecisionTreeClassifier(**parameters), y, weight


def numbers(y=NUMBER, weight=None, **parameters):
    return DecisionTreeRegressor(**parameters), y, weight


CASES = {
    "classes": classes(),
    "two classes": classes(LABEL > 1),
    "entropy": classes(criterion="entropy"),
    "error": classes(criterion="error"),
    "weighted classes": classes(weight=WEIGHT),
    "counted classes": classes(weight=COUNT, criterion="entropy"),
    "numbers": numbers(),
    "two outputs": numbers(np.stack([NUMBER, LABEL * 1e4], axis=1)),
    "weighted numbers": numbers(weight=WEIGHT),
    "two weighted outputs": numbers(np.stack([NUMBER, LABEL], axis=1), weight=COUNT),
    "drawn features": classes(max_features=2, random_state=3),
    "drawn features of numbers": numbers(max_features=1, random_state=3, weight=WEIGHT),
    "least rows": classes(min_samples_leaf=7, weight=COUNT),
    "least weight": numbers(min_weight_fraction_leaf=0.01, weight=WEIGHT),
    "best first": classes(max_leaf_nodes=60),
    "few codes": classes(max_bins=6),
    "more codes than a byte has": classes(max_bins=1000),
    "a small budget": numbers(histogram_budget=100_000),
}


def model(case, backend="numpy"):
    estimator, y, weight = CASES[case]
    estimator.set_params(backend=backend).fit(X, y, weight)
    assert estimator.tree_.n_nodes > 40
    return estimator.to_bytes()


def only(monkeypatch, **sizes):
    for name, size in sizes.items():
        for module in (array_histogram, lines, array_row_split, array_split):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, size)


@pytest.fixture
def from_rows(monkeypatch):
    """Every node is searched from its rows, and from nothing else."""
    only(monkeypatch, CELLS_PER_BIN=10**6)
    monkeypatch.setattr(array_split, "best_splits", None)


@pytest.fixture(scope="module")
def by_sums():
    """The models whose nodes are all searched in sums."""
    with pytest.MonkeyPatch.context() as patch:
        only(patch, CELLS_PER_BIN=0)
        patch.setattr(array_row_split, "best_splits", None)
        return {case: model(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_the_model_found_from_rows_is_that_found_in_sums(from_rows, by_sums, case):
    assert model(case) == by_sums[case]


@pytest.mark.parametrize("case", CASES)
def test_nodes_of_both_kinds_grow_one_tree(by_sums, case):
    assert model(case) == by_sums[case]


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("case", ["two classes", "weighted classes", "two outputs"])
def test_every_library_searches_rows_alike(from_rows, by_sums, library, case):
    pytest.importorskip(library)
    assert model(case, library) == by_sums[case]


@pytest.mark.parametrize(
    "sizes",
    [
        {"CELLS_PER_BIN": 0.2},
        {"CELLS_AT_ONCE": 1},
        {"CELLS_AT_ONCE": 1000, "CELLS_PER_BIN": 0.5},
        {"CELLS_AT_ONCE": 10**9, "CELLS_PER_BIN": 10**6},
        {"NARROW": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("case", ["classes", "weighted numbers", "drawn features"])
def test_sizes_that_make_a_search_fast_do_not_change_a_model(monkeypatch, by_sums, sizes, case):
    only(monkeypatch, **sizes)
    assert model(case) == by_sums[case]


def test_a_small_node_takes_the_memory_of_its_rows_and_a_large_one_that_of_its_sums():
    edge = np.arange(99.0)
    bins = Bins((FeatureBins("x", Kind.NUMERIC, None, edge, edge + 1, False),) * 2)
    n_bytes = array_histogram.hist_bytes(bins, Channels(3, True, False), np.array([1, 40, 10_000]))
    assert n_bytes.tolist() == [8, 320, 8 * 200 * 3]
