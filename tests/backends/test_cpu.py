"""Threads, chunks, and the size from which nodes are summed change nothing in a model."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gputree import formulas
from gputree.backends import registry
from gputree.backends.contract import Moves, Search
from gputree.backends.cpu import backend as cpu_backend
from gputree.backends.cpu import distinct as cpu_distinct
from gputree.backends.cpu import histogram as cpu_histogram
from gputree.backends.cpu import rows as cpu_rows
from gputree.backends.cpu import workers
from gputree.backends.cpu.backend import CpuBackend
from gputree.backends.cpu.binning import as_matrix
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import class_target, value_target
from gputree.dtypes import SLOT, STAY
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.cpu import split
from gputree.kernels.cpu.scoring import BETWEEN
from gputree.kernels.criteria import GINI

NUMPY = registry.choose(backend="numpy").backend


def example(n_rows, n_values, seed=0):
    """Two columns of many values, one of few and one of missing ones; classes and numbers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n_rows, 4)).astype(np.float64)
    X[:, 2] = rng.integers(0, 3, n_rows)
    X[rng.random(n_rows) < 0.2, 3] = np.nan
    y = (X[:, 0] > n_values / 3) + (X[:, 1] > n_values / 2) + rng.integers(0, 2, n_rows)
    return X, y, rng.integers(0, 3, n_rows) * 0.75


def table_of(X):
    columns = (Column(f"x{at}", Kind.NUMERIC, column) for at, column in enumerate(X.T))
    return Table(tuple(columns), len(X))


def model(backend, X, target, max_bins=255, **rules):
    """Every array of the tree, as bytes."""
    table = table_of(X)
    bins, data = bin_table(backend, table, target.weight, max_bins)
    grown = grow(backend, data, bins, target, Rules(GINI, **rules), 10**7)
    tree = finish(grown, target, backend.leaves(grown.rows), Finish(GINI))
    assert tree.n_nodes > 20
    arrays = [getattr(tree, name) for name in tree.DTYPES]
    return [array.tobytes() for array in arrays], backend.apply(tree, table).tolist()


def targets(y, weight):
    return {
        "classes": class_target(y, 4, None),
        "weighted classes": class_target(y, 4, weight),
        "numbers": value_target(np.stack([y, y % 2], axis=1) * 0.3, None),
        "weighted numbers": value_target(y[:, None] * 0.3, np.rint(weight)),
    }


KINDS = ["classes", "weighted classes", "numbers", "weighted numbers"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_model_is_that_of_numpy(kind):
    X, y, weight = example(3000, 1000)  # several chunks of rows in the root
    target = targets(y, weight)[kind]
    assert model(CpuBackend(2), X, target) == model(NUMPY, X, target)


@pytest.mark.parametrize("kind", KINDS)
def test_features_drawn_by_compiled_kernels_are_those_of_numpy(kind):
    X, y, weight = example(700, 50)
    target = targets(y, weight)[kind]
    rules = {"n_drawn": 1, "seed": 3}
    assert model(CpuBackend(2), X, target, **rules) == model(NUMPY, X, target, **rules)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_number_of_threads_does_not_change_a_model(n_threads):
    X, y, weight = example(900, 300)
    target = class_target(y, 4, weight)
    assert model(CpuBackend(n_threads), X, target) == model(CpuBackend(3), X, target)


@pytest.mark.parametrize(
    "sizes",
    [
        {"DIRECT_ROWS": 0},
        {"DIRECT_ROWS": 30},
        {"DIRECT_ROWS": 10_000},
        {"CHUNK_ROWS": 7},
        {"LEAST_ROWS": 5},
        {"DIRECT_ROWS": 30, "CACHE_BYTES": 0},
        {"DIRECT_ROWS": 30, "CACHE_BYTES": 0, "FEATURES_TOGETHER": 1},
        {"DIRECT_ROWS": 100, "CHUNK_ROWS": 64, "LEAST_ROWS": 64},
    ],
    ids=str,
)
def test_sizes_that_make_kernels_fast_do_not_change_a_model(monkeypatch, sizes):
    X, y, weight = example(900, 300)
    target = value_target(y[:, None] * 0.3, np.rint(weight))
    usual = model(CpuBackend(2), X, target)
    for name, size in sizes.items():
        for module in (cpu_backend, cpu_rows, cpu_histogram):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, size)
    assert model(CpuBackend(2), X, target) == usual


@pytest.mark.parametrize("direct_rows", [0, 10_000], ids=["by sums", "by rows"])
@pytest.mark.parametrize("order", [None, (0, 1, 2, 3), (3, 2, 1, 0)], ids=str)
@pytest.mark.parametrize("kind", ["two classes", *KINDS])
def test_features_without_an_order_are_not_split(monkeypatch, direct_rows, order, kind):
    """The best feature is not ordered; one is drawn, and the next one where it cannot be split."""
    X, y, weight = example(900, 40)
    target = {"two classes": class_target(y > 1, 2, None), **targets(y, weight)}[kind]
    monkeypatch.setattr(cpu_backend, "DIRECT_ROWS", direct_rows)
    rank = None if order is None else np.array([order])
    found = []
    for is_ordered in (np.array([False, True, False, True]), None):
        search = Search(GINI, 1, 0, 1, rank, is_ordered)
        for backend in (CpuBackend(2), NUMPY):
            _, rows = begun(backend, X, target)
            splits = backend.best_splits(backend.tally(rows, np.zeros(1, np.int64)), search)
            found.append([getattr(splits, field.name).tolist() for field in fields(splits)])
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[0][1] in ([1], [3])
    assert found[0] != found[2] or order == (3, 2, 1, 0)


# Many children, rows that stay, and copies.


def begun(backend, X, target):
    bins, data = bin_table(backend, table_of(X), target.weight, 255)
    return bins, backend.begin(data, bins, target)


def to_three_children(bins, node, feature, first_child):
    """Moves by the third column, whose values are 0, 1 and 2, or by the last, which has gaps."""
    node, feature = np.array(node), np.array(feature)
    by_value = np.arange(bins.n_codes[3]) % 3
    by_value[-1] = STAY
    table = np.concatenate([by_value if f == 3 else [2, 0, 1] for f in feature])
    start = np.cumsum(bins.n_codes[feature]) - bins.n_codes[feature]
    first = first_child + 3 * np.arange(len(node))
    return Moves(node, feature, first, np.full(len(node), 3), start, table.astype(SLOT))


def divided_twice(backend, X, target):
    """At node 0 a third of those who stayed, nodes 1 and 3 divided, node 2 as it was."""
    bins, rows = begun(backend, X, target)
    rows = backend.route(rows, to_three_children(bins, [0], [3], 1))
    moves = to_three_children(bins, [0, 1, 3], [2, 2, 3], 4)
    moves.table[1] = STAY
    return backend.route(rows, moves)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("chunk_rows", [1, 7, 100, 10**6])
def test_threads_and_chunks_do_not_change_the_lists_of_many_children(
    monkeypatch, n_threads, chunk_rows
):
    X, y, _ = example(900, 40)
    target = class_target(y, 4, None)
    nodes = np.arange(13)
    expected = NUMPY.rows_at(divided_twice(NUMPY, X, target), nodes)
    monkeypatch.setattr(cpu_rows, "CHUNK_ROWS", chunk_rows)
    monkeypatch.setattr(workers, "LEAST_WORK", 1)
    backend = CpuBackend(n_threads)
    found = backend.rows_at(divided_twice(backend, X, target), nodes)
    assert_array_equal(found[1], expected[1])
    assert_array_equal(found[0], expected[0])  # in the same order, too
    assert (found[1][[0, 2, 5, 6, 7, 8, 9]] > 0).all()


def test_two_children_are_told_apart_alike_whether_or_not_another_node_has_three():
    X, y, _ = example(900, 40)
    backend, target = CpuBackend(2), class_target(y, 4, None)
    bins, rows = begun(backend, X, target)
    rows = backend.route(rows, to_three_children(bins, [0], [3], 1))
    table = np.array([1, 0, 0, 2, 0, 1], SLOT)
    alone = Moves(*(np.array([n]) for n in (1, 2, 4, 2, 0)), table[:3])
    both = Moves(*(np.array(n) for n in ([1, 2], [2, 2], [4, 6], [2, 3], [0, 3])), table)
    found = [backend.rows_at(backend.route(rows, m), np.array([4, 5])) for m in (alone, both)]
    assert_array_equal(found[0][1], found[1][1])
    assert_array_equal(found[0][0], found[1][0])


def test_rows_that_were_taken_out_are_still_where_they_were_before(monkeypatch):
    """Codes that are laid out for the rows that are left are not taken for those of all rows."""
    X, y, _ = example(900, 40)
    backend, target = CpuBackend(2), class_target(y, 4, None)
    monkeypatch.setattr(cpu_backend, "DIRECT_ROWS", 10_000)
    search, root, none = Search(GINI, 1, 0, 4, None), np.zeros(1, np.int64), np.arange(0)
    _, fresh = begun(backend, X, target)
    expected = backend.best_splits(backend.tally(fresh, root), search)
    bins, whole = begun(backend, X, target)
    rows = backend.route(whole, to_three_children(bins, [0], [3], 1))
    rows = backend.disperse(rows, np.array([0, 1]), none, none)
    assert rows.n_rows[:2].tolist() == [0, 0]
    backend.best_splits(backend.tally(rows, np.array([2, 3])), search)
    found = backend.best_splits(backend.tally(whole, root), search)
    assert found.score.tobytes() == expected.score.tobytes()
    assert_array_equal(found.left, expected.left)


@pytest.mark.parametrize(("n_rows", "max_bins"), [(60, 20), (200, 255), (250, 4_000)])
def test_small_nodes_list_their_codes_in_order_however_many_there_are(n_rows, max_bins):
    """Few codes, many of 256, and many of 4,000 are put in order in different ways."""
    rng = np.random.default_rng(2)
    values = rng.permutation(4_000) * 1.0
    label = rng.integers(0, 3, len(values))
    weight = np.zeros(len(values))
    weight[:n_rows] = 1.0  # the cuts come from all rows, the tree from a few
    table = table_of(values[:, None])
    trees = []
    for backend in (CpuBackend(2), NUMPY):
        bins, data = bin_table(backend, table, None, max_bins)
        target = class_target(label, 3, weight)
        grown = grow(backend, data, bins, target, Rules(GINI), 10**7)
        trees.append(finish(grown, target, backend.leaves(grown.rows), Finish(GINI)))
    assert trees[0].n_nodes > 10
    assert trees[0].threshold.tobytes() == trees[1].threshold.tobytes()
    assert trees[0].value.tobytes() == trees[1].value.tobytes()


MATRIX = np.arange(24.0).reshape(6, 4)


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        np.asfortranarray(MATRIX),
        MATRIX[:, ::-1],
        MATRIX[::-1],
        MATRIX[::2, 1:],
        MATRIX[:, ::2],
        MATRIX[:, :1],
        np.broadcast_to(MATRIX[:, :1], (6, 3)),
    ],
    ids=["C", "Fortran", "columns back", "rows back", "part", "every other", "one", "broadcast"],
)
def test_neighbouring_columns_are_seen_as_the_matrix_they_come_from(matrix):
    found = as_matrix([matrix[:, at] for at in range(matrix.shape[1])])
    assert_array_equal(found, matrix)
    assert np.shares_memory(found, matrix)


@pytest.mark.parametrize(
    "columns",
    [
        [MATRIX[:, 0].copy(), MATRIX[:, 1].copy()],
        [MATRIX[:, 0], MATRIX[:, 1], MATRIX[:, 3]],
        [MATRIX[:, 0], MATRIX[:, 1].astype(np.float32)],
        [MATRIX[:, 0], MATRIX.copy()[:, 1]],
    ],
    ids=["own memory", "not evenly spaced", "other dtype", "other matrix"],
)
def test_columns_that_come_from_no_matrix_are_not_taken_for_one(columns):
    assert as_matrix(columns) is None


def test_columns_of_any_layout_are_held_alike():
    X, y, _ = example(300, 40)
    target = class_target(y, 4, None)
    right = model(CpuBackend(2), X, target)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1]):
        assert model(CpuBackend(2), other, target) == right


def test_columns_of_both_precisions_are_held_together():
    single, double = np.array([0.1, 0.2], np.float32), np.array([0.1, 0.2])
    columns = [Column("a", Kind.NUMERIC, single), Column("b", Kind.NUMERIC, double)]
    found = CpuBackend(1).refine(CpuBackend(1).hold(columns), None, [None, None])
    assert [value.tolist() for value, _ in found] == [single.tolist(), double.tolist()]


def in_many_lanes(X, weight=None, max_bins=255):
    """Cuts and codes with one thread; threads in any number give the same."""
    bins, data = bin_table(CpuBackend(1), table_of(X), weight, max_bins)
    for n_threads in (2, 5, 40):
        same, codes = bin_table(CpuBackend(n_threads), table_of(X), weight, max_bins)
        assert_array_equal(codes, data)
        for own, other in zip(same.features, bins.features, strict=True):
            assert_array_equal(own.cut, other.cut)
    return bins, data


@pytest.mark.parametrize("is_weighted", [False, True])
def test_values_that_crowd_in_few_buckets_are_told_apart(monkeypatch, is_weighted):
    """Few values that come again and again; many in one bucket; a few in many buckets."""
    monkeypatch.setattr(cpu_distinct, "LISTED_ROWS", 0)  # so that room for values is soon used up
    rng, n = np.random.default_rng(0), 40_000
    X = np.stack(
        [
            rng.integers(0, 5, n) - 0.0,
            1e6 + rng.integers(0, 40_000, n) / 2**16,
            np.where(rng.random(n) < 0.5, -0.0, rng.standard_normal(n)),
            np.where(rng.random(n) < 0.3, np.nan, rng.integers(-3, 4, n)),
        ],
        axis=1,
    )
    weight = rng.integers(0, 4, n) if is_weighted else None
    bins, data = in_many_lanes(X, weight)
    right, codes = bin_table(NUMPY, table_of(X), weight, 255)
    assert_array_equal(data, codes)
    assert (len(bins.features[0].cut), len(bins.features[3].cut)) == (4, 6)
    for own, other in zip(bins.features, right.features, strict=True):
        assert_array_equal(own.cut, other.cut)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_columns_divided_together_are_cut_like_each_alone(is_weighted):
    """In a matrix: divided, not divided, divided with a heavy value, of few values, missing."""
    rng, n = np.random.default_rng(1), 250_000
    X = np.stack(
        [
            rng.random(n),
            rng.standard_normal(n),
            np.where(rng.random(n) < 0.5, 1.5, 1.0 + rng.random(n)),
            rng.integers(0, 1500, n),
            np.where(rng.random(n) < 0.2, np.nan, -rng.random(n)),
        ],
        axis=1,
    )
    weight = rng.integers(0, 4, n) if is_weighted else None
    bins, data = in_many_lanes(X, weight)
    for at in range(X.shape[1]):
        right, codes = bin_table(NUMPY, table_of(X[:, at : at + 1]), weight, 255)
        assert_array_equal(data[at], codes[0])
        assert_array_equal(bins.features[at].cut, right.features[0].cut)


def test_one_class_stands_for_both_only_where_products_are_exact():
    """Up to 2**26 rows the quick search is used, above it the general one; both agree."""
    for scale in (1, 2**22, 2**26):
        counts = np.array([[3, 5], [7, 2], [0, 0], [4, 4]], np.int64) * scale + [[1, 0]] * 4
        score, winner, left = np.empty(1), np.empty((1, 4), np.int64), np.empty((1, 2), np.int64)
        split.search_hist(
            0, 1, np.zeros(1, np.int64), counts.reshape(1, -1), np.array([0, 4]), np.array([4]),
            np.ones(1, np.bool_), np.empty((0, 0), np.int64), 1, (True, 2, False, 2),
            (BETWEEN, 1, 1, 0.0), np.ones(2), score, winner, left,
        )  # fmt: skip
        total = counts.sum(axis=0).astype(float)
        parts = np.cumsum(counts, axis=0)[:3].astype(float)
        scores = [formulas.score(GINI, part, total, part.sum(), total.sum()) for part in parts]
        assert score[0] == max(scores)
        assert winner[0].tolist()[:3] == [0, int(np.argmax(scores)), int(np.argmax(scores)) + 1]
