"""The verbs for many trees, on every backend: equal bits to a loop over trees, rows and nodes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gputree import CARTRegressor, prediction
from gputree.backends import registry
from gputree.backends.array import predict as array_predict
from gputree.backends.cpu import predict as cpu_predict
from gputree.data.inputs import read_table
from gputree.dtypes import MISSING_CATEGORY, STAY
from gputree.kernels.cpu import predict_many
from gputree.kernels.cuda.gpu import SIMULATED
from gputree.tree.stack import Stack
from tests.backends.test_contract import opened
from tests.drawn_trees import drawn_table, drawn_tree

NUMBERS, MIXED = (0, 0, 0), (0, 3, 0, 5)
NUMBA = registry.choose(backend="numba", n_jobs=2).backend


@pytest.fixture(scope="module", params=["numpy", "array_api_strict", "torch", "numba", "cuda"])
def backend(request):
    return opened(request.param)


def rows_for(backend, n_rows):
    return 40 if backend.name == "cuda" and SIMULATED else n_rows


def end_of(tree, table, row):
    """Where one row ends in one tree, by the words of the contract."""
    node = 0
    while tree.first_child[node] >= 0:
        value = table.columns[tree.feature[node]].values[row]
        slot = STAY
        if tree.category_start[node] >= 0:
            if value != MISSING_CATEGORY:
                slot = tree.slots(node, value + 1)[value]
        elif not np.isnan(value):
            slot = int(float(value) > tree.threshold[node])
        if slot == STAY:
            slot = tree.missing_slot[node]
        if slot == STAY:
            return node
        node = tree.first_child[node] + int(slot)
    return node


def looped(stack, table, start):
    """Leaves and sums of a stack, one addition at a time."""
    leaf = np.zeros((table.n_rows, stack.n_trees), np.int32)
    total = np.tile(np.asarray(start, np.float64), (table.n_rows, 1))
    for row in range(table.n_rows):
        for number, tree in enumerate(stack.trees):
            leaf[row, number] = end_of(tree, table, row)
            for i in range(stack.width):
                value = stack.value[stack.root[number] + leaf[row, number], i]
                total[row, stack.column[number] + i] += value
    return leaf, total


def drawn_stack(rng, n_categories, *, n_trees=7, n_outputs=1, width=1, **options):
    trees = [
        drawn_tree(rng, n_categories, int(rng.integers(0, 12)), width=width, **options)
        for _ in range(n_trees)
    ]
    column = rng.integers(0, n_outputs - width + 1, n_trees)
    return Stack.of(trees, column=column, n_outputs=n_outputs)


CASES = {
    "numbers": (NUMBERS, {}),
    "numbers, a column a tree": (NUMBERS, {"n_outputs": 3}),
    "numbers, many values": (NUMBERS, {"n_outputs": 4, "width": 3}),
    "levels": (MIXED, {"n_outputs": 2}),
    "rows that stop": (MIXED, {"stops": 0.3, "width": 2, "n_outputs": 2}),
}


@pytest.mark.cover("numba")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_leaves_are_found_and_added_up_in_the_order_of_the_trees(backend, case, dtype):
    n_categories, options = CASES[case]
    rng = np.random.default_rng(3)
    stack = drawn_stack(rng, n_categories, **options)
    table = drawn_table(rng, n_categories, rows_for(backend, 600), dtype)
    start = rng.normal(size=stack.n_outputs)
    leaf, total = looped(stack, table, start)
    found = backend.leaves_of(stack, table)
    assert found.dtype == np.int32
    assert_array_equal(found, leaf)
    assert backend.sum_leaves(stack, table, start).tobytes() == total.tobytes()
    assert len(np.unique(leaf)) > 5


def test_a_sum_begins_with_the_first_tree(backend):
    """1e16 + 1 - 1e16 is 0 in this order, and 1 in another."""
    rng = np.random.default_rng(0)
    tree = drawn_tree(rng, NUMBERS, 0)
    stack = Stack.of([tree] * 3, [np.array([x]) for x in (1e16, 1.0, -1e16)])
    table = drawn_table(rng, NUMBERS, 3)
    assert backend.sum_leaves(stack, table, np.zeros(1)).tolist() == [[0.0]] * 3


def test_trees_without_a_split_add_their_root(backend):
    rng = np.random.default_rng(0)
    stack = Stack.of([drawn_tree(rng, MIXED, 0) for _ in range(2)])
    table = drawn_table(rng, MIXED, 3)
    right = 0.5 + stack.value[0, 0] + stack.value[1, 0]
    assert backend.sum_leaves(stack, table, np.array([0.5])).tolist() == [[right]] * 3
    assert backend.leaves_of(stack, table).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("most", [None, 0, 200])
def test_a_stack_of_mixed_trees_keeps_their_order(monkeypatch, most):
    """Coded and walked trees take turns, and large ones are by themselves."""
    if most is not None:
        monkeypatch.setattr(cpu_predict, "LARGE_NODES", most)
        monkeypatch.setattr(cpu_predict, "MOST_NODES", most)
    rng = np.random.default_rng(5)
    trees = [drawn_tree(rng, MIXED, 6, kinds=(1,) if at % 3 else (1, 2, 3)) for at in range(9)]
    stack = Stack.of(trees)
    kinds = [type(part).__name__ for part in cpu_predict._pack(stack)]
    assert len(kinds) == 9 if most == 0 else kinds.count("CodedTrees") >= 2
    assert kinds.count("Walked") >= 2
    table = drawn_table(rng, MIXED, 300)
    leaf, total = looped(stack, table, [0.25])
    assert_array_equal(NUMBA.leaves_of(stack, table), leaf)
    assert NUMBA.sum_leaves(stack, table, np.array([0.25])).tobytes() == total.tobytes()


@pytest.mark.parametrize("most", [1, 4, 9])
def test_trees_with_too_many_thresholds_are_parted_or_walked(monkeypatch, most):
    monkeypatch.setattr(cpu_predict, "MOST_CUTS", most)
    rng = np.random.default_rng(6)
    stack = drawn_stack(rng, NUMBERS, n_trees=9)
    parts = list(cpu_predict._pack(stack))
    assert len(parts) > 1
    assert most > 1 or any(isinstance(part, cpu_predict.Walked) for part in parts)
    table = drawn_table(rng, NUMBERS, 300)
    leaf, total = looped(stack, table, [0.0])
    assert_array_equal(NUMBA.leaves_of(stack, table), leaf)
    assert NUMBA.sum_leaves(stack, table, np.zeros(1)).tobytes() == total.tobytes()


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 255, 256, 257, 1_000])
def test_blocks_and_lanes_need_not_be_full(n_rows):
    rng = np.random.default_rng(n_rows)
    stack = drawn_stack(rng, NUMBERS)
    table = drawn_table(rng, NUMBERS, n_rows, np.float32)
    leaf, total = looped(stack, table, [0.0])
    assert_array_equal(NUMBA.leaves_of(stack, table), leaf)
    assert NUMBA.sum_leaves(stack, table, np.zeros(1)).tobytes() == total.tobytes()
    assert predict_many.BLOCK_ROWS == 256


@pytest.mark.parametrize("walkers", [1, 5, 40])
def test_walks_in_blocks_of_rows_and_of_trees_are_the_same(monkeypatch, walkers):
    monkeypatch.setattr(array_predict, "WALKERS", walkers)
    rng = np.random.default_rng(8)
    stack = drawn_stack(rng, MIXED, n_trees=9, stops=0.2)
    table = drawn_table(rng, MIXED, 23)
    leaf, total = looped(stack, table, [0.5])
    backend = opened("numpy")
    assert_array_equal(backend.leaves_of(stack, table), leaf)
    assert backend.sum_leaves(stack, table, np.array([0.5])).tobytes() == total.tobytes()


def test_float32_cuts_are_below_their_thresholds():
    cut = np.array([0.1, -0.1, 1e300, -1e300, np.inf, -np.inf, 0.5, np.finfo(np.float32).min])
    found = cpu_predict._rounded_down(cut)
    assert found.dtype == np.float32
    assert (found <= cut).all()
    with np.errstate(over="ignore"):
        above = np.nextafter(found, np.float32(np.inf))
    assert (above > cut)[np.isfinite(cut)].all()


def test_what_is_packed_goes_with_the_stack():
    rng = np.random.default_rng(0)
    stack = drawn_stack(rng, NUMBERS)
    NUMBA.leaves_of(stack, drawn_table(rng, NUMBERS, 3))
    assert stack in cpu_predict._PACKED
    before = len(cpu_predict._PACKED)
    del stack
    assert len(cpu_predict._PACKED) == before - 1


# Rows that stop are walked on.


@pytest.mark.parametrize("missing", ["direction", "fractional"])
@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_rows_that_stop_are_walked_on_in_each_tree(name, missing):
    rng = np.random.default_rng(8)
    n_categories = (0, 0)
    stack = drawn_stack(rng, n_categories, stops=0.3, width=2, n_outputs=2)
    table = drawn_table(rng, n_categories, 200)
    where = opened(name)
    found = prediction.sum_leaves(where, stack, table, missing=missing)
    total = np.zeros((200, 2))
    leaves, n_divided = [], 0
    for number, tree in enumerate(stack.trees):
        walked = prediction.walk_table(where, tree, table, missing)
        n_divided += walked.divided is not None
        total += walked.values(stack.values_of(number))
        leaves.append(walked.leaf())
    assert found.tobytes() == total.tobytes()
    assert_array_equal(prediction.leaves_of(where, stack, table, missing), np.transpose(leaves))
    assert (n_divided > 1) == (missing == "fractional")


def test_surrogates_have_their_say_in_each_tree():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 3))
    X[:, 1] += X[:, 0]
    X[rng.random(X.shape) < 0.3] = np.nan
    models = [
        CARTRegressor(pruning=None, max_depth=depth).fit(X, np.nan_to_num(X[:, 0] + X[:, 1]))
        for depth in (2, 4)
    ]
    stack = Stack.of([model.nodes_ for model in models])
    assert stack.may_stop
    found = prediction.sum_leaves(NUMBA, stack, read_table(X), missing="surrogate")
    assert found[:, 0].tobytes() == (models[0].predict(X) + models[1].predict(X)).tobytes()


# What a stack refuses.


def test_a_stack_wants_values_for_all_nodes_and_a_place_to_add_them():
    tree = drawn_tree(np.random.default_rng(0), NUMBERS, 2)
    for wrong, what in [
        ({"trees": []}, "trees: a stack has at least one"),
        ({"values": [np.zeros(3)]}, "values: 3 of them for a tree of 5 nodes"),
        ({"column": [0, 1]}, "column: 2 numbers for 1 trees"),
        ({"column": [2], "n_outputs": 2}, "column: trees add to outputs 0..2 of 2"),
        ({"column": [-1]}, "column: trees add to outputs"),
    ]:
        with pytest.raises(ValueError, match=what):
            Stack.of(**{"trees": [tree], **wrong})
