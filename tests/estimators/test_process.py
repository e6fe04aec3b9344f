"""What fits and predictions leave in a process: no threads, no locks, nothing half done."""

import _thread
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gputree import Dataset, DecisionTreeClassifier

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
INTERRUPTED = Path(__file__).with_name("interrupted.py")


def table(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def test_predictions_leave_no_threads():
    X, y = table(60_000)
    tree = DecisionTreeClassifier(max_depth=2, backend="numba", n_jobs=2).fit(X, y)
    tree.predict(X)
    before = _thread._count()
    for _ in range(20):
        tree.predict(X)
    assert _thread._count() == before


def fit_in_fork(dataset, y, answer):
    answer.put(DecisionTreeClassifier(max_depth=3, n_jobs=2).fit(dataset, y).to_bytes())


@FORKS
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_fits_on_the_dataset_of_its_parent():
    X, y = table(60_000)
    dataset = Dataset(X, backend="numba", n_jobs=2)
    model = DecisionTreeClassifier(max_depth=3, n_jobs=2).fit(dataset, y)
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    child = context.Process(target=fit_in_fork, args=(dataset, y, answer), daemon=True)
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0, "the child hangs or has failed"
    assert answer.get() == model.to_bytes()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_ctrl_c_ends_every_fit_and_prediction_and_later_ones_are_right():
    """Interrupts at random times, for some seconds; `interrupted.py` says what may come of them."""
    ran = subprocess.run(
        [sys.executable, str(INTERRUPTED), "--seconds", "4", "--seed", "0"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout.split(" interrupts")[0]) > 10
