"""How often the host starts kernels and waits: a bounded number of times a level."""

import numpy as np
import pytest

from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice
from gputree.boosting.rounds import Recipe, Rounds
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import class_target, value_target
from gputree.growth.builder import grow
from gputree.growth.rules import Rules
from gputree.kernels.criteria import GINI
from gputree.kernels.losses import LOGISTIC, SOFTMAX, SQUARED

MOST_LAUNCHES, MOST_SYNCS, MOST_UPLOADS = 8, 1, 3  # uploads: of tally, derive and route
GRADIENT_LAUNCHES, GRADIENT_SYNCS = 3, 3  # of an output: gradients, wide integers, narrow ones
TREE_LAUNCHES, TREE_SYNCS = 1, 1  # rows of all leaves in one list; the nodes
ROUND_UPLOADS = 12  # of an output, whatever the number of levels
LEAF_LAUNCHES, LEAF_SYNCS = 2, 1  # of a tree: sums of leaves, and steps


class Counted(CudaBackend):
    """Notes launches and waits from one search for splits to the next."""

    def __init__(self):
        self.counter = NumbaDevice()
        self.levels = []
        super().__init__(self.counter)

    def begin(self, data, bins, target):
        rows = super().begin(data, bins, target)
        self._seen = counts(self.counter)
        return rows

    def best_splits(self, hist, search):
        splits = super().best_splits(hist, search)
        now = counts(self.counter)
        self.levels.append((hist.n_nodes, *(now - self._seen)))
        self._seen = now
        return splits


def counts(device):
    return np.array([device.n_launches, device.n_syncs, device.n_uploads])


@pytest.mark.cover
@pytest.mark.parametrize("is_regression", [False, True])
@pytest.mark.parametrize("n_rows", [40, 100])
def test_a_level_takes_few_launches_and_one_wait(n_rows, is_regression):
    """Nodes of a level are many or few, large or small: it makes no difference."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (n_rows, 2)).astype(np.float32)
    table = Table(tuple(Column(f"x{i}", Kind.NUMERIC, X[:, i]) for i in range(2)), n_rows)
    if is_regression:
        target = value_target(rng.standard_normal((n_rows, 1)), None)
    else:
        target = class_target(rng.integers(0, 2, n_rows), 2, None)
    backend = Counted()
    bins, data = bin_table(backend, table, None, 255)
    grow(backend, data, bins, target, Rules(GINI, max_depth=4), 10**8)
    n_nodes, launches, syncs, uploads = np.array(backend.levels).T
    assert len(backend.levels) == 4
    assert n_nodes.max() >= 4
    assert launches.max() <= MOST_LAUNCHES
    assert syncs.max() <= MOST_SYNCS
    assert uploads.max() <= MOST_UPLOADS + 1  # an array that never changes travels once a fit


def test_lists_of_rows_and_of_nodes_are_not_copied_from_frontier_to_frontier(monkeypatch):
    lists, lengths = set(), set()
    route = CudaBackend.route

    def noted(backend, rows, moves):
        rows = route(backend, rows, moves)
        lists.add(id(rows.order))
        lengths.add((len(rows.start), id(rows.start)))
        return rows

    monkeypatch.setattr(CudaBackend, "route", noted)
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)).astype(np.float32)
    table = Table(tuple(Column(f"x{i}", Kind.NUMERIC, X[:, i]) for i in range(2)), 40)
    backend = CudaBackend(NumbaDevice())
    bins, data = bin_table(backend, table, None, 255)
    target = class_target(rng.integers(0, 2, 40), 2, None)
    found = grow(backend, data, bins, target, Rules(GINI, max_leaves=12), 10**8)
    assert found.draft.n_nodes > 20
    assert len(lists) == 1
    assert len(lengths) <= 1 + np.log2(found.draft.n_nodes)


@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [(SQUARED, 1), (LOGISTIC, 1), pytest.param(SOFTMAX, 3, marks=pytest.mark.thorough)],
)
def test_a_round_of_boosting_takes_few_launches_and_waits(loss, n_outputs):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 2)).astype(np.float32)
    table = Table(tuple(Column(f"x{i}", Kind.NUMERIC, X[:, i]) for i in range(2)), 60)
    device = NumbaDevice()
    backend = CudaBackend(device)
    bins, data = bin_table(backend, table, None, 255)
    y, start = rng.integers(0, max(2, n_outputs), 60).astype(float), np.zeros((n_outputs, 60))
    recipe = Recipe(max_depth=3, min_child_weight=0.0)
    rounds = Rounds(backend, data, bins, y, None, start, loss, recipe)
    before = counts(device)
    (trees,) = rounds.some(0, 1)
    assert min(tree.n_leaves for tree in trees) > 4
    levels = 3 * n_outputs
    launches = (GRADIENT_LAUNCHES + TREE_LAUNCHES + LEAF_LAUNCHES) * n_outputs + (n_outputs > 1)
    syncs = (GRADIENT_SYNCS + TREE_SYNCS + LEAF_SYNCS) * n_outputs
    asked = counts(device) - before
    assert asked[0] <= launches + MOST_LAUNCHES * levels
    assert asked[1] <= syncs + MOST_SYNCS * levels
    assert asked[2] <= ROUND_UPLOADS * n_outputs
