"""Fits on worker processes of a Dask cluster, which may leave at any moment."""

import gc
import logging
import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gputree
from gputree import cluster
from gputree.cluster import rank
from gputree.errors import ClusterError

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@pytest.fixture(scope="module")
def client():
    # A busy machine takes longer to start a worker again than Dask waits before it gives it up.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"})
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with (
        distributed.LocalCluster(
            n_workers=3, processes=True, silence_logs=logging.CRITICAL, **options
        ) as workers,
        distributed.Client(workers) as client,
    ):
        cluster.fit(gputree.DecisionTreeClassifier(), parts_of_rows(40), client=client)
        yield client


def table(n_rows):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n_rows), "kind": rng.choice(["a", "b", "c"], n_rows)})
    X["kind"] = X["kind"].astype("category")
    X.loc[::7, "x"] = np.nan
    return X, (X["x"] > 0.3).to_numpy().astype(int) + (X["kind"] == "b").to_numpy()


def parts_of_rows(n_rows, n_parts=5):
    X, y = table(n_rows)
    return [(X.iloc[at::n_parts], y[at::n_parts]) for at in range(n_parts)]


def what_is_left(client):
    """Ways to talk to ranks, and data, on the workers."""

    def look(dask_worker):
        return [name for name in dask_worker.handlers if "gputree" in name], len(dask_worker.data)

    gc.collect()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:  # the scheduler forgets a moment later
        found = list(client.run(look, on_error="ignore").values())
        if found == [([], 0)] * len(found):
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    "estimator",
    [
        gputree.DecisionTreeClassifier(max_depth=6, categorical_features=["kind"]),
        gputree.RandomForestClassifier(3, random_state=0),
        gputree.GradientBoostingClassifier(3, subsample=0.7, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_model_is_that_of_the_whole_table(client, estimator):
    expected = clone(estimator).fit(*table(500))
    found = cluster.fit(estimator, parts_of_rows(500), client=client, timeout=60)
    assert found is estimator
    assert found.to_bytes() == expected.to_bytes()
    assert what_is_left(client) == [([], 0)] * 3


def test_collections_are_taken_partition_by_partition(client):
    import dask.array as da
    import dask.dataframe as dd

    X, y = table(300)
    frame = dd.from_pandas(X.assign(y=y), npartitions=7)
    tree = gputree.DecisionTreeClassifier()
    expected = clone(tree).fit(X, y).to_bytes()
    parts = cluster.parts_of(frame[["x", "kind"]], frame["y"])
    assert cluster.fit(tree, parts, client=client).to_bytes() == expected
    # Some partitions are empty, and nobody knows how many rows there are.
    few = frame[frame["x"] > 1.5]
    found = cluster.fit(tree, cluster.parts_of(few[["x", "kind"]], few["y"]), client=client)
    at = X["x"] > 1.5
    assert found.to_bytes() == clone(tree).fit(X[at], y[at]).to_bytes()
    numbers = np.random.default_rng(0).normal(size=(200, 4))
    X, y = da.from_array(numbers, chunks=(60, 2)), da.from_array(numbers[:, 0], chunks=60)
    found = cluster.fit(
        gputree.DecisionTreeRegressor(), cluster.parts_of(X, y, y**2), client=client
    )
    expected = gputree.DecisionTreeRegressor().fit(numbers, numbers[:, 0], numbers[:, 0] ** 2)
    assert found.to_bytes() == expected.to_bytes()
    assert len(cluster.parts_of(X, y.rechunk(100))) == 4  # as X ends, whose rows are counted
    with pytest.raises(TypeError, match="ndarray is no collection"):
        cluster.parts_of(numbers, y)


def test_the_error_of_a_rank_is_that_of_the_fit(client):
    X, y = table(100)
    parts = [(X[:50], y[:50]), (X[50:], y[50:] + 0.5)]
    start = time.monotonic()
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        cluster.fit(gputree.DecisionTreeClassifier(), parts, client=client, timeout=60)
    assert time.monotonic() - start < 30
    assert what_is_left(client) == [([], 0)] * 3


@contextmanager
def killed(client, delay):
    """One of the workers is killed so long after the ranks of what is done meanwhile have begun."""
    client.wait_for_workers(3, timeout=60)
    _, victim = sorted(client.run(os.getpid).items())[1]
    is_over = threading.Event()

    def kill():
        while not is_over.is_set():
            if any("gputree-" in str(keys) for keys in client.processing().values()):
                is_over.wait(delay)
                os.kill(victim, signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    is_over.set()
    thread.join()


def test_a_fit_goes_on_from_the_trees_that_were_done_when_a_worker_is_killed(client):
    """With early stopping, which has to count the rounds that it has not seen."""
    model = gputree.GradientBoostingClassifier(
        30, backend="numpy", early_stopping=True, n_iter_no_change=30, random_state=0
    )
    expected = clone(model).fit(*table(3000))
    with killed(client, 0.5):
        found = cluster.fit(clone(model), parts_of_rows(3000), client=client, timeout=60)
    assert found.fit_report_.n_restarts == 1
    assert not found.warm_start
    assert found.to_bytes() == expected.to_bytes()
    assert (found.validation_score_ == expected.validation_score_).all()
    client.wait_for_workers(3, timeout=60)
    assert what_is_left(client) == [([], 0)] * 3


def test_a_worker_that_is_killed_too_often_ends_the_fit_with_one_error(client):
    model = gputree.GradientBoostingClassifier(5000, backend="numpy")
    start = time.monotonic()
    options = {"client": client, "timeout": 120, "max_restarts": 0}
    with killed(client, 0.5), pytest.raises(ClusterError, match=r"(left|lost).*max_restarts=0"):
        cluster.fit(model, parts_of_rows(3000), **options)
    assert time.monotonic() - start < 60
    client.wait_for_workers(3, timeout=60)
    tree = gputree.DecisionTreeClassifier()
    found = cluster.fit(tree, parts_of_rows(100), client=client)
    assert found.to_bytes() == gputree.DecisionTreeClassifier().fit(*table(100)).to_bytes()
    assert what_is_left(client) == [([], 0)] * 3


def test_an_interrupt_of_the_client_ends_the_ranks(client):
    model = gputree.GradientBoostingClassifier(5000, backend="numpy")
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cluster.fit(model, parts_of_rows(3000), client=client, timeout=120)
    assert time.monotonic() - start < 30
    assert what_is_left(client) == [([], 0)] * 3


def test_the_report_tells_of_each_worker_and_progress_is_told_here(client, capsys):
    model = gputree.GradientBoostingClassifier(20, backend="numpy", verbose=1)
    found = cluster.fit(model, parts_of_rows(3000), client=client)
    ranks = found.fit_report_.ranks
    assert [rank.where for rank in ranks] == sorted(client.nthreads())
    assert sum(rank.n_rows for rank in ranks) == 3000
    assert all(rank.n_bytes > 0 < rank.seconds_waiting for rank in ranks)
    assert found.fit_report_.slowest_rank in ranks
    assert "ranks    3; each sent" in str(found.fit_report_)
    assert "GradientBoostingClassifier: 20/20 trees" in capsys.readouterr().err


def test_a_worker_with_another_version_is_refused_by_its_address(client, monkeypatch):
    monkeypatch.setattr(rank, "versions", lambda: "gputree 0 and numpy 0")
    with pytest.raises(RuntimeError, match=r"worker tcp://.* has gputree .* and numpy"):
        cluster.fit(gputree.DecisionTreeClassifier(), parts_of_rows(30), client=client)
    assert what_is_left(client) == [([], 0)] * 3


def test_two_fits_at_the_same_time_do_not_wait_for_each_other(client):
    """Each has a task on every worker, and a worker has one thread."""
    found = {}

    def fit(seed):
        forest = gputree.RandomForestClassifier(3, random_state=seed)
        found[seed] = cluster.fit(forest, parts_of_rows(200), client=client, timeout=60)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    for seed in (1, 2):
        expected = gputree.RandomForestClassifier(3, random_state=seed).fit(*table(200))
        assert found[seed].to_bytes() == expected.to_bytes()
