"""Ranks say the same in the same order, and none waits for ever."""

import threading
import time

import numpy as np
import pytest

import gputree
from gputree import cluster
from gputree.cluster.threads import run_ranks
from gputree.errors import ClusterError
from tests.cluster.spread import parts_of


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("length", [0, 5, 40_000])
def test_sums_extremes_and_messages_are_those_of_all_ranks(n_ranks, length):
    """Long arrays go round in a ring, short ones along a tree."""
    own = np.random.default_rng(0).integers(-(2**50), 2**50, (n_ranks, length))

    def task(comm):
        sums = own[comm.rank].copy()
        comm.add(sums)
        turned = np.array([own[comm.rank], own[comm.rank]]).T  # not in the order of its memory
        comm.add(turned)
        high, low = own[comm.rank].astype(float), own[comm.rank].astype(float)
        comm.extreme(high, largest=True)
        comm.extreme(low, largest=False)
        return sums, turned[:, 1], high, low, comm.gather(b"rank %d" % comm.rank * comm.rank)

    for sums, turned, high, low, messages in run_ranks([task] * n_ranks, 10):
        assert (sums == own.sum(axis=0)).all()
        assert (turned == sums).all()
        assert (high == own.max(axis=0)).all()
        assert (low == own.min(axis=0)).all()
        assert messages == [b"rank %d" % rank * rank for rank in range(n_ranks)]


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5, 7, 8])
def test_each_rank_adds_up_its_part_and_sends_less_than_the_whole_twice(n_ranks):
    own = np.random.default_rng(0).integers(-9, 9, (n_ranks, 3, 1000, 2)).astype(np.int32)
    own[:, :, 50:] = 0  # what is 0 is left out
    own[0, 0, ::97] = 5
    bounds = np.sort(np.random.default_rng(1).integers(0, 1000, n_ranks + 1))
    bounds[[0, -1]] = 0, 1000

    def task(comm):
        part = comm.add_parts(own[comm.rank].copy(), bounds)
        at = comm.order.index(comm.rank)
        expected = own.sum(axis=0, dtype=np.int32)
        assert (part == expected[:, bounds[at] : bounds[at + 1]]).all()
        n_bytes = comm.traffic.n_bytes
        assert (comm.gather_parts(part, bounds) == expected).all()
        return n_bytes

    sent = run_ranks([task] * n_ranks, 10)
    assert max(sent) < 2 * own[0].nbytes
    if n_ranks > 1:
        assert 0 < max(sent) < own[0].nbytes / 2  # most of it is 0


def test_a_rank_that_raises_ends_all_with_its_error():
    seen = []

    def task(comm):
        try:
            for turn in range(1000):
                comm.add(np.zeros(1, np.int64))
                if comm.rank == 2 and turn == 5:
                    raise ValueError("no luck")
        except ClusterError as error:
            seen.append(str(error))
            raise

    start = time.monotonic()
    with pytest.raises(ValueError, match="no luck"):
        run_ranks([task] * 4, 30)
    assert time.monotonic() - start < 10
    assert len(seen) == 3
    assert all(
        "rank 2 of 4 failed: ValueError: no luck" in each and "in task" in each for each in seen
    )


def test_a_rank_that_is_silent_ends_all_at_the_deadline():
    is_over = threading.Event()

    def task(comm):
        if comm.rank == 1:
            is_over.wait(30)
            return
        comm.add(np.zeros(1, np.int64))

    start = time.monotonic()
    with pytest.raises(
        ClusterError, match=r"rank \d of 3 has not answered rank \d for 0\.5 seconds"
    ):
        run_ranks([task] * 3, 0.5)
    assert time.monotonic() - start < 20
    is_over.set()


def test_ranks_that_do_not_do_the_same_are_told_of():
    def task(comm):
        comm.add(np.zeros(1 + comm.rank, np.int64))

    with pytest.raises(ClusterError, match="out of step"):
        run_ranks([task] * 2, 10)


def test_an_error_in_the_middle_of_a_fit_reaches_the_user():
    X, y = np.arange(90.0)[:, None], np.array(["a", "b"] * 45, object)
    y[17] = None
    parts = parts_of(np.arange(90) % 3, 3, X, y)
    with pytest.raises(ValueError, match="missing values"):
        cluster.fit(gputree.DecisionTreeClassifier(), parts, timeout=30)
