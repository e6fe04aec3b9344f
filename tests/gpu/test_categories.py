"""Divisions of categories are rated by a kernel; only what winners have seen comes down."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gputree
from gputree.backends import registry
from gputree.backends.contract import NO_SPLIT, CategoryRules, Moves
from gputree.backends.cuda import categories as cuda_categories
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice, open_device
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.backends.seen import OTHERS
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import class_target, value_target
from gputree.dtypes import SLOT
from gputree.kernels.criteria import ENTROPY, ERROR, GINI, POISSON, TWOING
from gputree.kernels.cuda.gpu import SIMULATED, WARP
from tests.gpu.conftest import no_races

NUMPY = registry.choose(backend="numpy").backend
N_ROWS, N_CATEGORIES = (120, 24) if SIMULATED else (1_500, 200)
NODES = np.array([1, 2])


def table_of(seed=0):
    """A column of many categories and one of few; both have missing values and equal shares."""
    rng = np.random.default_rng(seed)
    columns = {
        "many": (rng.random(N_ROWS) ** 2 * N_CATEGORIES).astype(int),
        "few": rng.integers(0, 5, N_ROWS),
    }
    frame = pd.DataFrame({name: pd.Categorical(codes) for name, codes in columns.items()})
    frame.loc[rng.random(N_ROWS) < 0.15, "many"] = None
    frame.loc[:40, "few"] = None
    return read_table(frame)


def target_of(kind, seed=1):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, N_ROWS) * 0.5 if "weighted" in kind else None
    if "classes" in kind:
        n_classes = 3 if "three" in kind else 2
        return class_target(rng.integers(0, n_classes, N_ROWS), n_classes, weight)
    if "counts" in kind:
        return value_target(rng.poisson(0.7, (N_ROWS, 1)).astype(float), weight, is_counts=True)
    n_outputs = 2 if "two outputs" in kind else 1
    return value_target(rng.integers(-2, 3, (N_ROWS, n_outputs)) * 0.25, weight)


def tallied(backend, kind):
    """Sums of two nodes: those whose value of the second column is missing are in the second."""
    table, target = table_of(), target_of(kind)
    bins, data = bin_table(backend, table, None, 255)
    rows = backend.begin(data, bins, target)
    side = (np.arange(bins.n_codes[1]) == bins.n_values[1]).astype(SLOT)
    one = np.ones(1, np.int64)
    rows = backend.route(rows, Moves(0 * one, one, one, 2 * one, 0 * one, side))
    return backend.tally(rows, NODES)


CASES = {
    "classes": ("classes", CategoryRules(GINI, 1, 1)),
    "weighted classes": ("weighted classes", CategoryRules(ENTROPY, 3, 2, missing="category")),
    "twoing, a pool": ("classes", CategoryRules(TWOING, 2, 1, min_category=4, missing="known")),
    "numbers, a pool": ("numbers", CategoryRules(GINI, 2, 1, min_category=6)),
    "weighted numbers, a ridge": ("weighted numbers", CategoryRules(GINI, 1, 9, ridge=7.5)),
    "counts": ("weighted counts", CategoryRules(POISSON, 4, 1)),
    "three weighted classes": ("three weighted classes", CategoryRules(ENTROPY, 2, 1)),
    "two outputs": ("two outputs", CategoryRules(GINI, 2, 1, min_category=4, ridge=0.5)),
    "error": ("classes", CategoryRules(ERROR, 1, 1, missing="category")),
    "by component": ("three classes", CategoryRules(GINI, 1, 1, method="principal")),
    "a branch each": ("three weighted classes", CategoryRules(ENTROPY, 4, 3, is_multiway=True)),
    "a branch each, error": (
        "classes",
        CategoryRules(ERROR, 1, 1, is_multiway=True, missing="category"),
    ),
    "a branch each, numbers": (
        "weighted numbers",
        CategoryRules(GINI, 1, 1, is_multiway=True, missing="known"),
    ),
    "all are rare": ("classes", CategoryRules(GINI, 1, 1, min_category=10**6)),
}


@pytest.mark.quick(
    "weighted classes", "numbers, a pool", "a ridge", "outputs", "a branch each, error", "rare"
)
@pytest.mark.parametrize("case", CASES)
def test_categories_are_rated_as_numpy_does(monkeypatch, case):
    kind, rules = CASES[case]
    monkeypatch.setattr(cuda_categories, "SCRATCH_BYTES", 0)  # one block has all pairs, in turn
    place, feature = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    backend = CudaBackend(open_device("cuda:0"))
    found = []
    for each in (backend, NUMPY):
        hist = tallied(each, kind)
        with no_races():
            seen = each.seen(hist, place, feature)
            rates = each.rate_categories(hist, place, feature, rules, seen.n)
        found.append((seen, rates))
    (seen, rates), (right_seen, right) = found
    assert cuda_categories.can_rate(hist.channels, rules)
    assert (right.score > NO_SPLIT).any() == ("rare" not in case or rules.missing == "direction")
    for name in ("n", "code", "cells"):
        assert np.array_equal(getattr(seen, name), getattr(right_seen, name)), name
    for name in ("score", "is_heuristic"):
        assert getattr(rates, name).tobytes() == getattr(right, name).tobytes(), name
    is_found = right.score > NO_SPLIT
    assert rates.bits[is_found].tobytes() == right.bits[is_found].tobytes()


# Rows of two classes by category, and last of all those without a value.
TIES = {
    "equal shares, the first category": (GINI, 1, [(1, 1), (2, 2), (4, 4), (0, 0)]),
    "missing values go to the right": (GINI, 4, [(1, 1), (1, 1), (2, 2), (2, 2)]),
    "scores that rounding tells apart": (ENTROPY, 1, [(2, 1), (1, 0), (1, 2), (0, 0)]),
}


@pytest.mark.parametrize("case", TIES)
def test_of_equal_divisions_the_same_one_wins(case):
    criterion, min_rows, counts = TIES[case]
    n_rows = np.array(counts).reshape(-1)
    code, label = np.repeat(np.arange(8) // 2, n_rows), np.repeat(np.arange(8) % 2, n_rows)
    column = pd.Categorical.from_codes(np.where(code < 3, code, -1), ["a", "b", "c"])
    table = read_table(pd.DataFrame({"x": column, "same": np.zeros(len(code))}))
    rules, one = CategoryRules(criterion, min_rows, 1), np.zeros(1, np.int64)
    found = []
    for backend in (CudaBackend(open_device("cuda:0")), NUMPY):
        bins, data = bin_table(backend, table, None, 255)
        hist = backend.tally(backend.begin(data, bins, class_target(label, 2, None)), one)
        found.append(backend.rate_categories(hist, one, one, rules, bins.n_codes[:1]))
    assert found[1].score[0] > NO_SPLIT
    assert found[0].score.tobytes() == found[1].score.tobytes()
    assert found[0].bits.tobytes() == found[1].bits.tobytes()


def test_of_what_nodes_have_seen_nothing_else_comes_down(monkeypatch):
    device, sizes, usual = NumbaDevice(), [], NumbaDevice.download
    hist = tallied(CudaBackend(device), "weighted classes")

    def download(device, array):
        sizes.append(array.nbytes)
        return usual(device, array)

    monkeypatch.setattr(NumbaDevice, "download", download)
    seen = CudaBackend(device).seen(hist, np.array([0, 1]), np.array([0, 0]))
    n_listed = int((seen.code != OTHERS).sum())
    assert n_listed < 2 * hist.bins.n_codes[0]
    assert sizes == [2 * 4, n_listed * 8 * (1 + hist.channels.n)]


@pytest.mark.quick("4")
@pytest.mark.parametrize("n_warps", [1, 4])
def test_the_size_of_blocks_changes_nothing(n_warps):
    tuning = replace(AUTOMATIC, category_threads=n_warps * WARP)
    hists = [
        tallied(CudaBackend(open_device("cuda:0"), own), "classes") for own in (tuning, AUTOMATIC)
    ]
    pairs = np.array([0, 1]), np.array([0, 0])
    rules = CategoryRules(GINI, 1, 1, min_category=2)
    rates = [
        CudaBackend(open_device("cuda:0"), own).rate_categories(hist, *pairs, rules, None)
        for own, hist in zip((tuning, AUTOMATIC), hists, strict=True)
    ]
    assert rates[0].score.tobytes() == rates[1].score.tobytes()


def test_sums_of_categories_stay_on_the_device(monkeypatch):
    """What comes down grows with what winners have seen, not with nodes times columns."""
    rng = np.random.default_rng(0)
    n_rows, n_columns, n_categories = 60, 6, 30
    X = pd.DataFrame(
        {at: pd.Categorical(rng.integers(0, n_categories, n_rows)) for at in range(n_columns)}
    )
    y = rng.integers(0, 2, n_rows)
    sizes, usual = [], NumbaDevice.download

    def download(device, array):
        sizes.append(array.nbytes)
        return usual(device, array)

    model = gputree.DecisionTreeClassifier(
        max_depth=3, nominal="subset", min_samples_category=1, backend="cuda"
    )
    data = gputree.Dataset(X, y, backend="cuda")
    with monkeypatch.context() as patch:
        patch.setattr(NumbaDevice, "download", download)
        model.fit(data)
    n_inner = int((model.nodes_.first_child >= 0).sum())
    of_cells = n_inner * n_columns * n_categories * 2 * 4
    leaves = 4 * n_rows  # where rows end
    assert n_inner >= 5
    assert sum(sizes) - leaves < of_cells / 2, sizes
    assert model.to_bytes() == model.set_params(backend="numpy").fit(X, y).to_bytes()
