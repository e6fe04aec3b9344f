"""Trees that grow on the device, level by level, are those that frontiers give."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gputree.backends import registry
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice, open_device
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import class_target, drawn_target, value_target
from gputree.growth import choose_loop
from gputree.growth.builder import Start, grow
from gputree.growth.choose_loop import grow_together
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.criteria import ENTROPY, ERROR, GINI
from gputree.kernels.cuda.gpu import SIMULATED, WARP
from gputree.tree.tree import Tree
from tests.gpu.conftest import no_races
from tests.gpu.test_launches import counts

grow_whole = partial(choose_loop.grow_whole, then=choose_loop.as_grown)

N_ROWS = 60 if SIMULATED else 3000
PLENTY = 10**7  # bytes of histograms
MOST_LAUNCHES = 8
NUMPY = registry.choose(backend="numpy").backend


def arrays(tree):
    return [getattr(tree, name).tobytes() for name in Tree.DTYPES]


def by_frontiers(X, target, rules):
    """The tree of NumPy, and where its rows end."""
    bins, data = bin_table(NUMPY, read_table(X), None, 255)
    grown = grow(NUMPY, data, bins, target, rules, PLENTY)
    leaf = NUMPY.leaves(grown.rows)
    tree = finish(grown, target, leaf, Finish(rules.criterion))
    return tree, [*arrays(tree), grown.layout.number[leaf[leaf >= 0]].tobytes()]


def on_device(X, target, rules, budget=PLENTY, tuning=AUTOMATIC):
    """The same of the device by itself."""
    backend = CudaBackend(open_device("cuda:0"), tuning)
    bins, data = bin_table(backend, read_table(X), None, 255)
    start = Start.of(backend, data, bins, target)
    found = grow_whole(backend, [start], bins, rules, [rules.seed], budget)
    assert found is not None
    leaf = backend.leaves(found[0].rows)
    tree = finish(found[0], target, leaf, Finish(rules.criterion))
    return [*arrays(tree), found[0].layout.number[leaf[leaf >= 0]].tobytes()]


CASES = {
    "classes": (0, Rules(GINI, min_rows_leaf=2)),
    "weighted classes, drawn features": (1, Rules(ENTROPY, n_drawn=2, seed=5)),
    "some columns": (0, Rules(ERROR, columns=np.array([True, False, True]))),
    "numbers": (2, Rules(GINI, max_depth=4, min_score=0.5)),
    "two weighted outputs": (3, Rules(GINI, max_depth=3, min_weight_leaf=3)),
}


def case(example, name, n_rows=N_ROWS):
    X, label, values, weight = example(n_rows)
    values = np.round(values)
    number, rules = CASES[name]
    target = [
        lambda: class_target(label, 2, None),
        lambda: class_target(label, 2, weight),
        lambda: value_target(values[:, :1], None),
        lambda: value_target(values, weight),
    ][number]()
    return X, target, rules


@pytest.mark.quick("drawn features", "two weighted outputs")
@pytest.mark.parametrize("name", CASES)
def test_a_tree_is_that_of_frontiers(example, name):
    X, target, rules = case(example, name)
    tree, right = by_frontiers(X, target, rules)
    assert tree.n_nodes > 10
    assert on_device(X, target, rules) == right


@pytest.mark.quick("2")
@pytest.mark.parametrize("n_drawn", [None, 2])
def test_trees_that_share_a_frontier_are_those_that_grow_alone(example, n_drawn):
    X, label, values, _ = example(N_ROWS)
    target = value_target(np.round(values), None) if n_drawn else class_target(label, 2, None)
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(len(X), np.ones(len(X)) / len(X)) for _ in range(3)]
    targets = [drawn_target(target, counts, len(X)) for counts in drawn]
    rules, seeds = Rules(GINI, n_drawn=n_drawn, max_depth=3), [5, 1, 5]
    backend = CudaBackend(open_device("cuda:0"))
    bins, data = bin_table(backend, read_table(X), None, 255)
    with no_races():
        found = grow_together(backend, data, bins, targets, rules, seeds, PLENTY)
    for own, seed, grown in zip(targets, seeds, found, strict=True):
        tree = finish(grown, own, None, Finish(GINI), partial(backend.apart, grown.rows))
        assert arrays(tree) == by_frontiers(X, own, replace(rules, seed=seed))[1][:-1]


def test_sums_and_launches_of_a_forest_do_not_grow_with_its_nodes(example, monkeypatch):
    """Nodes of few rows have no sums, those of all others have 32 bits, and levels few launches."""
    X, label, _, _ = example(N_ROWS)
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(len(X), np.ones(len(X)) / len(X)) for _ in range(2)]
    targets = [drawn_target(class_target(label, 2, None), own, len(X)) for own in drawn]
    device, summed = NumbaDevice(), []
    backend = CudaBackend(device)
    bins, data = bin_table(backend, read_table(X), None, 255)
    zeros, following = device.zeros, cuda_histogram.CudaHist.following

    def counted(n, dtype):
        summed.append(n * np.dtype(dtype).itemsize)
        return zeros(n, dtype)

    def followed(rows, n_nodes, *args):
        summed.append(n_nodes * rows.stride * np.dtype(rows.planes.sum_dtype).itemsize)
        return following(rows, n_nodes, *args)

    monkeypatch.setattr(device, "zeros", counted)
    monkeypatch.setattr(cuda_histogram.CudaHist, "following", followed)
    before = device.n_launches
    first, _ = grow_together(backend, data, bins, targets, Rules(GINI, n_drawn=2), [5, 1], PLENTY)
    draft = first.draft
    n_rows, n_levels = draft.sums[:, -1], int(draft.depth.max())
    n_large = np.count_nonzero(n_rows > AUTOMATIC.few_rows)
    assert draft.n_nodes > 3 * n_large
    # A node has sums, or its sibling that is smaller has.
    assert 0 < sum(summed) <= 2 * n_large * bins.width * draft.channels.n * 4
    # Beside those of levels: a list of the rows of each tree, their codes, classes and weights;
    # rows in one list and at their leaves, and longer tables of nodes.
    assert device.n_launches - before <= (MOST_LAUNCHES + 2) * n_levels + 4 + 8 * len(targets)


@pytest.mark.parametrize("weight", [2**30 - 1, 2**30])
def test_sums_have_32_bits_where_all_fit(weight):
    X, label = np.array([[1.0], [2.0], [2.0]]), np.array([0, 1, 1])
    target = drawn_target(class_target(label, 2, None), np.array([weight, 0, weight]), 3)
    backend = CudaBackend(open_device("cuda:0"))
    bins, data = bin_table(backend, read_table(X), None, 255)
    hist = backend.tally(backend.begin(data, bins, target), np.zeros(1, np.int64))
    assert hist.sums.dtype.itemsize == (4 if 2 * weight < 2**31 else 8)
    assert backend.dense(hist).array.max() == weight


@pytest.mark.quick("5000")
@pytest.mark.parametrize("budget", [1, 5000])
def test_levels_that_the_budget_has_no_room_for(example, budget):
    X, target, rules = case(example, "weighted classes, drawn features")
    rules = replace(rules, max_depth=4)
    assert on_device(X, target, rules, budget) == by_frontiers(X, target, rules)[1]


@pytest.mark.quick("64")
@pytest.mark.parametrize("few_rows", [0, 64])
def test_nodes_are_searched_by_sums_or_by_rows(example, few_rows):
    """Blocks of one warp have many turns."""
    X, target, rules = case(example, "classes")
    rules = replace(rules, max_depth=3)
    tuning = replace(AUTOMATIC, few_rows=few_rows, grow_threads=WARP)
    assert on_device(X, target, rules, tuning=tuning) == by_frontiers(X, target, rules)[1]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_classes", [True, False])
def test_splits_that_gain_nothing(is_classes, is_weighted):
    """No first split of an exclusive or gains anything; nodes of equal targets are not split."""
    X = np.array([[i >> bit & 1 for bit in range(3)] for i in range(8)], np.float64)
    y = (X[:, 0] != X[:, 1]).astype(np.int64)
    weight = np.full(8, 0.7) if is_weighted else None
    target = class_target(y, 2, weight) if is_classes else value_target(y[:, None] * 0.1, weight)
    tree, right = by_frontiers(X, target, Rules(GINI))
    assert tree.n_nodes == 7
    assert on_device(X, target, Rules(GINI)) == right


def test_a_root_that_is_a_leaf(example):
    X, target, _ = case(example, "classes")
    for rules in (Rules(GINI, max_depth=0), Rules(GINI, min_score=1e9)):
        assert on_device(X, target, rules) == by_frontiers(X, target, rules)[1]


@pytest.mark.parametrize("rules", [Rules(GINI, max_leaves=4), Rules(GINI, is_random=True)])
def test_what_it_cannot_do_is_left_to_frontiers(example, rules):
    X, target, _ = case(example, "classes")
    backend = CudaBackend(open_device("cuda:0"))
    bins, data = bin_table(backend, read_table(X), None, 255)
    start = Start.of(backend, data, bins, target)
    assert grow_whole(backend, [start], bins, rules, [0], PLENTY) is None


@pytest.mark.quick("40")
@pytest.mark.parametrize("n_rows", [40, 160])
def test_a_level_takes_few_launches_one_wait_and_no_upload(example, n_rows):
    """Nodes of a level are many or few, large or small: it makes no difference."""
    X, target, _ = case(example, "classes", n_rows)
    device = NumbaDevice()
    backend = CudaBackend(device)
    bins, data = bin_table(backend, read_table(X), None, 255)
    found = []
    for depth in (2, 4, 6):  # every other depth, as rows go to and fro between two lists
        start = Start.of(backend, data, bins, target)
        before = counts(device)
        grow_whole(backend, [start], bins, Rules(GINI, max_depth=depth), [0], PLENTY)
        found.append(counts(device) - before)
    for of_levels in np.diff(found, axis=0):
        assert (of_levels <= [2 * MOST_LAUNCHES, 2, 0]).all(), of_levels
