"""A boosted tree that the CPU backend grows by sweeps over all rows is the one of the frontiers."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree.backends.cpu import grow as cpu_grow
from gputree.backends.cpu import sweep as cpu_sweep
from gputree.backends.cpu.backend import CpuBackend
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.growth import choose_loop
from gputree.growth.builder import Start, grow_from
from gputree.growth.rules import Rules
from gputree.kernels.criteria import GINI
from gputree.kernels.losses import LOGISTIC, SQUARED

grow_whole = partial(choose_loop.grow_whole, then=choose_loop.as_grown)
BUDGET = 2**28


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    """Small tables are swept as well."""
    monkeypatch.setattr(cpu_grow, "LONE_ROWS", 0)
    monkeypatch.setattr(cpu_grow, "ROWS_A_LEAF", 0)


def table(n_rows=2000, n_features=6, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_features)), 1)
    signal = X[:, 0] * X[:, n_features // 2] + X[:, -1] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal


def both(X, y, rules, loss=LOGISTIC, takes_part=None, n_threads=2, max_bins=255, nominal=()):
    """The tree by frontiers, and the one by sweeps."""
    backend = CpuBackend(n_threads)
    bins, data = bin_table(backend, read_table(X, categorical_features=nominal), None, max_bins)
    raw_scores = backend.raw_scores(np.zeros((1, len(y))), y.astype(float), None)
    gradients = next(backend.gradients(raw_scores, loss, takes_part, counts_rows=False))

    def start():
        rows = backend.begin_gradients(data, bins, gradients)
        return Start(rows, gradients.channels, gradients.totals, gradients.n_rows)

    grown = grow_from(backend, start(), bins, rules, BUDGET)
    whole = grow_whole(backend, [start()], bins, rules, [rules.seed], BUDGET)
    assert whole is not None
    return [described(backend, each) for each in (grown, whole[0])]


def described(backend, grown):
    """All that a tree is made of, in the order of its nodes."""
    draft, layout = grown.draft, grown.layout
    inner = layout.node[layout.n_children > 0]
    by_threshold = inner[~draft.bins.is_nominal[draft.feature[inner]]]
    leaf = backend.leaves(grown.rows)
    return {
        "first_child": layout.first_child,
        "n_rows": draft.n_rows(layout.node),
        "leaf": np.where(leaf >= 0, layout.number[leaf], -1),
        **{name: getattr(draft, name)[layout.node] for name in ("sums", "depth")},
        **{name: getattr(draft, name)[inner] for name in ("score", "feature", "missing_slot")},
        **{name: getattr(draft, name)[by_threshold] for name in ("code", "next_code")},
        "slots": draft.slots(inner),
    }


def with_categories(n_rows=3000):
    """Numbers, and columns of three and of many categories, some cells missing."""
    X, signal = table(n_rows, 4, missing=0.05)
    rng = np.random.default_rng(2)
    many = (90 * rng.random(n_rows) ** 2).astype(int)
    few = rng.integers(0, 3, n_rows)
    own = np.stack([many, few], axis=1).astype(float)
    own[rng.random(own.shape) < 0.1] = np.nan
    return np.concatenate([X, own], axis=1), signal + many * 7 % 5 + 2.0 * (few == 1)


def assert_same(trees, least=20):
    assert len(trees[0]["sums"]) > least
    for name, values in trees[0].items():
        np.testing.assert_array_equal(values, trees[1][name], err_msg=name)


GROWTH = {
    "by depth": {"max_depth": 6},
    "by leaf": {"max_leaves": 40},
    "by leaf, not too deep": {"max_leaves": 40, "max_depth": 6},
}


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_same_tree(growth, loss, missing):
    X, signal = table(missing=missing)
    y = signal > 0 if loss == LOGISTIC else signal
    rules = Rules(GINI, splits_without_gain=False, ridge=3.0, **GROWTH[growth])
    assert_same(both(X, y, rules, loss))


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize(
    "rules",
    [
        {"min_weight_leaf": 10**7},
        {"min_score": 10.0**6},
        {"n_drawn": 2, "seed": 5},
        {"columns": np.array([True, False, True, False, False, True])},
        {"min_rows_split": 100},
    ],
    ids=["weight", "gain", "draw", "columns", "split"],
)
def test_rules(growth, rules):
    X, signal = table(missing=0.05)
    own = Rules(GINI, splits_without_gain=False, **GROWTH[growth], **rules)
    assert_same(both(X, signal > 0, own), least=4)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_several_chunks_of_rows(n_threads):
    X, signal = table(n_rows=2 * cpu_sweep.CHUNK + 5, missing=0.02)
    rules = Rules(GINI, max_leaves=30, splits_without_gain=False)
    assert_same(both(X, signal > 0, rules, n_threads=n_threads))


def test_more_features_than_are_summed_together():
    X, signal = table(n_features=cpu_sweep.FEATURES_TOGETHER + 3, missing=0.02)
    rules = Rules(GINI, max_leaves=30, splits_without_gain=False)
    assert_same(both(X, signal > 0, rules))


def test_codes_of_two_bytes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    rules = Rules(GINI, max_depth=5, splits_without_gain=False)
    assert_same(both(X, X[:, 0] + X[:, 1] * X[:, 2] > 0, rules, max_bins=1000))


@pytest.mark.parametrize("growth", GROWTH)
def test_rows_that_take_no_part(growth):
    X, signal = table()
    takes_part = np.random.default_rng(1).random(len(X)) < 0.6
    rules = Rules(GINI, splits_without_gain=False, **GROWTH[growth])
    trees = both(X, signal > 0, rules, takes_part=takes_part)
    assert_same(trees)
    np.testing.assert_array_equal(trees[1]["leaf"] >= 0, takes_part)


@settings(max_examples=20)
@given(
    st.integers(0, 2**31), st.integers(2, 300), st.integers(1, 5), st.sampled_from([None, 3, 17])
)
def test_any_small_table(seed, n_rows, n_features, max_leaves):
    X, signal = table(n_rows, n_features, seed, missing=0.2)
    rules = Rules(GINI, max_depth=5, max_leaves=max_leaves, splits_without_gain=False)
    assert_same(both(X, signal, rules, SQUARED), least=0)


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize(
    "rules",
    [
        {"ridge": 9e5, "category_ridge": 9e6, "min_category": 2 * 10**7, "most_whole": 32},
        {"missing": "category"},
        {"n_drawn": 2, "seed": 4, "min_category": 10**7},
        {"columns": np.array([True, False, False, True, True, False])},
    ],
    ids=["ridges and rare ones", "missing", "draw", "columns"],
)
def test_categories(growth, rules):
    X, signal = with_categories()
    own = Rules(GINI, splits_without_gain=False, **GROWTH[growth], **rules)
    takes_part = np.random.default_rng(1).random(len(X)) < 0.8
    trees = both(X, signal > 2, own, takes_part=takes_part, nominal=[4, 5])
    assert (trees[0]["feature"] >= 4).sum() > 3
    assert_same(trees, least=10)


def test_places_for_sums_are_found_where_many_nodes_are_divided_in_vain(monkeypatch):
    X, signal = table()
    first = cpu_sweep.WaveTree.__init__
    monkeypatch.setattr(
        cpu_sweep.WaveTree, "__init__", lambda self, *args: first(self, *args[:-1], 1)
    )
    rules = Rules(GINI, max_leaves=40, splits_without_gain=False)
    assert_same(both(X, signal > 0, rules))


@pytest.mark.parametrize(
    "rules", [Rules(GINI), Rules(GINI, max_depth=18)], ids=["no limit", "too many sums"]
)
def test_what_frontiers_do_better(rules):
    X, signal = table()
    with pytest.raises(AssertionError):
        both(X, signal > 0, rules)
