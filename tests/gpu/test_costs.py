"""What kernels would pay on a GPU, counted while their compiled code runs on the CPU."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gputree.backends import registry
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import class_target, value_target
from gputree.kernels.losses import LOGISTIC, SQUARED

ptxrun = pytest.importorskip("ptxrun")

N_ROWS, N_FEATURES = 100_000, 16
ROOT = np.zeros(1, np.int64)
BUDGET = json.loads((Path(__file__).parent / "costs.json").read_text())


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_FEATURES)).astype(np.float32)
    columns = tuple(Column(f"x{i}", Kind.NUMERIC, X[:, i]) for i in range(N_FEATURES))
    return Table(columns, N_ROWS)


def begun(backend, data, bins, kind):
    """Rows at the root with channels of a kind."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, N_ROWS)
    if kind == "class counts":
        return backend.begin(data, bins, class_target(label, 2, None))
    if kind == "regression":
        return backend.begin(data, bins, value_target(rng.standard_normal((N_ROWS, 1)), None))
    raw_scores = backend.raw_scores(rng.standard_normal((1, N_ROWS)), label, None)
    loss = SQUARED if kind == "gradients" else LOGISTIC
    [gradients] = backend.gradients(raw_scores, loss, None, counts_rows=False)
    return backend.begin_gradients(data, bins, gradients)


@pytest.mark.parametrize("kind", BUDGET)
def test_the_histogram_of_many_rows(table, kind):
    """Right, without races, and within the budget of traffic and of conflicts."""
    backend, oracle = CudaBackend(NumbaDevice()), registry.choose(backend="numpy").backend
    bins, data = bin_table(backend, table, None, 255)
    rows = begun(backend, data, bins, kind)
    ptxrun.reset()
    with ptxrun.configure(profile=True, race="grid"):
        hist = backend.tally(rows, ROOT)
    totals = ptxrun.totals().items()
    [counted] = [own for name, own in totals if re.search(r"(?<![a-z_])sum_tiles$", name)]
    right_bins, right_data = bin_table(oracle, table, None, 255)
    right = oracle.tally(begun(oracle, right_data, right_bins, kind), ROOT)
    sums = hist.sums.copy_to_host().reshape(1, bins.width, -1)
    assert np.array_equal(np.moveaxis(sums, 1, 2), right.sums)
    found = figures(counted)
    assert found.keys() == BUDGET[kind].keys()
    over = {name: (found[name], most) for name, most in BUDGET[kind].items() if found[name] > most}
    assert not over


def figures(counted):
    """What the budget bounds."""
    n = counted.n
    n_updates = N_ROWS * N_FEATURES / 32  # of a warp
    return {
        "sectors read over distinct ones": n["global_load_sectors"] / counted.footprint_read,
        "wavefronts of a shared atomic": n["shared_atomic_waves"] / n["shared_atomic_req"],
        "issue slots of a row and feature": counted.issue_slots / n_updates,
    }
