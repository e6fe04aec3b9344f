"""Ranks with a GPU each, simulated: sums are added up where they are."""

import sys
import threading
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import gputree
from gputree import cluster
from gputree.backends.cuda.device import NumbaDevice
from gputree.cluster import nccl
from gputree.cluster.threads import run_ranks
from gputree.errors import LostRank

LOCK = threading.Lock()
MODELS = {
    "classes": gputree.DecisionTreeClassifier(max_depth=3),
    "values": gputree.DecisionTreeRegressor(max_depth=2),
    "rounds": gputree.GradientBoostingClassifier(2, max_depth=2, subsample=0.6, random_state=0),
}


@pytest.mark.quick("classes")
@pytest.mark.parametrize("name", MODELS)
def test_devices_find_the_model_of_all_rows(name, monkeypatch):
    launch = NumbaDevice.launch

    def one_by_one(*args, **options):  # the simulator runs one kernel at a time
        with LOCK:
            launch(*args, **options)

    monkeypatch.setattr(NumbaDevice, "launch", one_by_one)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = MODELS[name]
    y = rng.integers(0, 3, 120) if is_classifier(model) else rng.normal(size=120)
    expected = clone(model).set_params(backend="numpy").fit(X, y)
    found = clone(model).set_params(backend="cuda")
    cluster.fit(found, [(X[:40], y[:40]), (X[40:], y[40:])], timeout=60)
    assert found.device_ == "cuda:0 (simulated)"
    assert found.to_bytes() == expected.to_bytes()


class FakeNccl(ModuleType):
    """What is asked of `cupy.cuda.nccl`; ranks that are threads meet at a barrier."""

    NCCL_INT64, NCCL_SUM = 4, 0
    available = True

    def __init__(self, n_ranks):
        super().__init__("cupy.cuda.nccl")
        self.barrier, self.memory, self.sums = threading.Barrier(n_ranks), {}, {}
        self.aborted = []

    def get_unique_id(self):
        return tuple(range(128))

    def NcclCommunicator(self, n_ranks, unique_id, rank):
        assert unique_id == tuple(range(128))
        return SimpleNamespace(
            allReduce=lambda *args: self.reduce(rank, *args),
            check_async_error=lambda: None,
            abort=lambda: self.aborted.append(rank),
        )

    def reduce(self, rank, source, to, n, kind, operation, stream):
        assert (source, kind, operation, stream) == (to, self.NCCL_INT64, self.NCCL_SUM, 77)
        self.sums[rank] = self.memory[source][:n].copy()
        self.barrier.wait(10)
        self.memory[to][:n] = sum(self.sums.values())
        self.barrier.wait(10)


class FakeDevice:
    """A device with one array, whose stream has the address 77."""

    def __init__(self, is_done=True):
        self.is_done = is_done

    def queue(self):
        return nullcontext(77)

    def record(self):
        return SimpleNamespace(done=self.is_done)


@pytest.fixture
def fake(monkeypatch):
    found = FakeNccl(3)
    package = ModuleType("cupy.cuda")
    package.nccl = found
    for name, module in [("cupy", ModuleType("cupy")), ("cupy.cuda", package)]:
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", found)
    return found


def array_of(fake, rank):
    """An array on a device: only its address is asked for."""
    fake.memory[rank] = np.arange(5) + 10 * rank
    return SimpleNamespace(data=SimpleNamespace(ptr=rank), size=5)


def test_nccl_adds_up_where_the_sums_are(fake):
    def task(comm):
        adder = nccl.ByNccl(comm, FakeDevice())
        for _ in range(2):
            adder.add(array_of(fake, comm.rank))
        return fake.memory[comm.rank].tolist()

    assert run_ranks([task] * 3, 10) == [[30, 33, 36, 39, 42]] * 3


def test_sums_that_never_come_end_the_fit_at_the_deadline(fake):
    def task(comm):
        nccl.ByNccl(comm, FakeDevice(is_done=False), timeout=0.2).add(array_of(fake, comm.rank))

    with pytest.raises(LostRank, match=r"within 0\.2 seconds"):
        run_ranks([task] * 3, 10)
    assert fake.aborted
