"""NumPy begins a fit while another process compiles kernels, and compiled ones take over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gputree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from gputree.backends import aside, registry
from gputree.data.inputs import read_table
from gputree.fit.first_fit import job_of

# What stands for the other process: it says who it is, and leaves its mark when it is told to.
OTHER = """
import os, pathlib, pickle, sys, threading, time
sys.path[:] = pickle.load(sys.stdin.buffer)
from gputree.diagnostics import compile_aside
folder = pathlib.Path(os.environ["FOLDER_OF_THE_TEST"])
(folder / "pid").write_text(str(os.getpid()))
threading.Thread(target=compile_aside._end_with_the_other, daemon=True).start()
mark = pathlib.Path(pickle.load(sys.stdin.buffer))
while not (folder / "go").exists():
    time.sleep(0.01)
if (folder / "go").read_text() == "well":
    mark.touch()
"""

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + RNG.normal(size=400)
KINDS = np.digitize(Y, (-1, 1))


@pytest.fixture
def other(monkeypatch, tmp_path):
    """A process that is asked to compile for fits of any size, and marks of its own."""
    monkeypatch.setenv("GPUTREE_COMPILE_ASIDE", "1")
    monkeypatch.setenv("FOLDER_OF_THE_TEST", str(tmp_path))
    monkeypatch.setattr(aside, "_folder", lambda: tmp_path)
    monkeypatch.setattr(aside, "_work", aside._Work())
    monkeypatch.setattr(aside, "PROGRAM", OTHER)
    monkeypatch.setattr(registry, "ASIDE_CELLS", 1_000)
    monkeypatch.setattr(registry, "_spent", 0.0)
    yield tmp_path
    aside._work.stop()


def ended(process):
    """Whether a process comes to its end soon."""
    end = time.monotonic() + 60
    while process.poll() is None:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("model", "y", "options"),
    [
        pytest.param(RandomForestRegressor(14, random_state=0), Y, {}, marks=pytest.mark.thorough),
        pytest.param(
            AdaBoostClassifier(n_estimators=6, random_state=0),
            KINDS,
            {},
            marks=pytest.mark.thorough,
        ),
        (GradientBoostingClassifier(6, subsample=0.5, max_depth=3, random_state=0), KINDS, {}),
        pytest.param(
            GradientBoostingRegressor(8, n_iter_no_change=20, early_stopping=True, random_state=0),
            Y,
            {},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            GradientBoostingRegressor(6, random_state=0),
            Y,
            {"X_val": X[:90], "y_val": Y[:90]},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_compiled_kernels_go_on_between_two_trees_with_the_same_bytes(other, model, y, options):
    begun = []

    def release(done):
        """After the third tree, the other process is done."""
        begun.append(done.number)
        if done.number == 2:
            (other / "go").write_text("well")
            assert ended(aside._work.process)

    model.fit(X, y, callbacks=[release], **options)
    report = model.fit_report_
    assert "NumPy begins while another process compiles" in report.reason
    assert report.backend == "numba"
    assert report.notes == ("NumPy began, and compiled kernels took over",)
    found = model.to_bytes()
    alone = model.set_params(backend="numpy").fit(X, y, **options)
    assert alone.fit_report_.backend == "numpy"
    assert found == alone.to_bytes()
    assert len(begun) > 5


def test_who_is_done_before_keeps_to_numpy_and_the_next_fit_finds_kernels(other):
    model = RandomForestRegressor(3, random_state=0).fit(X, Y)
    assert model.fit_report_.notes == ("NumPy has done all of it before kernels were compiled",)
    (other / "go").write_text("well")
    assert ended(aside._work.process)
    next_one = RandomForestRegressor(3, random_state=1).fit(X, Y).fit_report_
    assert (next_one.backend, next_one.notes) == ("numba", ())


def test_where_the_other_process_fails_a_fit_goes_on_by_itself(other):
    (other / "go").write_text("badly")

    def wait(done):
        if done.number == 0:
            assert ended(aside._work.process)

    model = RandomForestRegressor(9, random_state=0).fit(X, Y, callbacks=[wait])
    assert model.fit_report_.backend == "numba"
    assert aside._work.process is None


def test_what_cannot_be_told_to_another_process_is_no_error(other):
    model = GradientBoostingRegressor(3, loss=lambda y, raw: (raw - y, np.ones_like(raw)))
    model.fit(X, Y)
    assert aside._work.process is None


def test_little_work_starts_nothing_until_much_of_it_was_done(other, monkeypatch):
    monkeypatch.setattr(registry, "ASIDE_CELLS", 4_000)
    for started in (False, False, True):
        DecisionTreeClassifier(max_depth=2).fit(X, KINDS)
        assert (aside._work.process is not None) == started


def test_a_fit_waits_for_kernels_where_numpy_would_take_longer(other, monkeypatch):
    monkeypatch.setattr(registry, "ASIDE_TREE_CELLS", 1_600)
    report = DecisionTreeClassifier().fit(X, KINDS).fit_report_
    assert report.backend == "numba"
    assert "enough to wait until kernels are compiled" in report.reason
    assert aside._work.process is None


@pytest.mark.parametrize("name", ["GPUTREE_COMPILE_ASIDE", "NUMBA_DISABLE_JIT", "frozen", "folder"])
def test_no_process_is_started_where_none_may_be(other, monkeypatch, name):
    assert aside.is_possible()
    if name == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif name == "folder":
        monkeypatch.setattr(os, "access", lambda place, mode: False)
    else:
        monkeypatch.setenv(name, "0" if "ASIDE" in name else "1")
    assert not aside.is_possible()


SCRIPT = """
import multiprocessing, sys, time
import numpy as np
import tests.backends.test_aside as here
from gputree import RandomForestClassifier
from gputree.backends import aside, registry

aside.PROGRAM, registry.ASIDE_CELLS = here.OTHER, 1_000
if __name__ == "__main__":
    RandomForestClassifier(3).fit(here.X, here.KINDS)
    print(aside._work.process.pid, flush=True)
    time.sleep(60 if sys.argv[1] == "killed" else 0)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("end", ["killed", pytest.param("done", marks=pytest.mark.thorough)])
def test_the_other_process_never_outlives_this_one(tmp_path, end):
    env = {
        **os.environ,
        "GPUTREE_COMPILE_ASIDE": "1",
        "FOLDER_OF_THE_TEST": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path),  # where marks are
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-c", SCRIPT, end]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as process:
        pid = int(process.stdout.readline())
        if end == "killed":
            os.kill(process.pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while is_there(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Whom nobody has asked for is a zombie.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_kind_of_fit_is_told_by_what_kernels_depend_on():
    def kind(model=None, X=X, y=KINDS, weight=None):
        model = DecisionTreeClassifier() if model is None else model
        return job_of(model, X, y, weight, read_table(X)).kind

    usual = kind()
    assert kind(DecisionTreeClassifier(min_samples_split=9, random_state=3, n_jobs=7)) == usual
    assert kind(y=KINDS[::-1]) == usual
    others = [
        kind(DecisionTreeClassifier(max_depth=3)),
        kind(DecisionTreeClassifier(criterion="entropy")),
        kind(X=X.astype(np.float32)),
        kind(X=np.tile(X, (50, 1)), y=np.tile(KINDS, 50)),
        kind(y=KINDS > 0),
        kind(weight=np.ones(400)),
        kind(RandomForestRegressor(), y=Y),
    ]
    assert len({usual, *others}) == 1 + len(others)


def test_another_process_compiles_what_a_fit_needs(monkeypatch, tmp_path):
    """The real one, with the machine code that there is."""
    monkeypatch.setenv("GPUTREE_COMPILE_ASIDE", "1")
    monkeypatch.setattr(aside, "_work", aside._Work())
    mark = tmp_path / "fit.nbi"
    monkeypatch.setattr(
        aside, "_mark", lambda kind: mark if kind != aside.USUAL else tmp_path / "0"
    )
    monkeypatch.setattr(registry, "ASIDE_CELLS", 1_000)
    monkeypatch.setattr(registry, "_spent", 0.0)
    GradientBoostingClassifier(3, max_depth=3).fit(X, KINDS)
    assert ended(aside._work.process)
    assert mark.exists()
    assert GradientBoostingClassifier(3, max_depth=3).fit(X, KINDS).backend_ == "numba"
