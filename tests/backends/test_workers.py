"""Threads share the items among them; none is lost and none is done twice."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.backends import workers
from gputree.backends.workers import LEAST_WORK, Workers, available_cores


def ranges(n_threads, n_items, least):
    """The ranges for which a kernel is called, in order."""
    found = []
    Workers(n_threads).run(lambda begin, end: found.append((begin, end)), n_items, least=least)
    return sorted(found)


@given(st.integers(1, 5), st.integers(0, 100), st.integers(1, 40))
def test_every_item_is_in_one_range(n_threads, n_items, least):
    found = ranges(n_threads, n_items, least)
    assert [item for begin, end in found for item in range(begin, end)] == list(range(n_items))


@given(st.integers(1, 5), st.integers(1, 100), st.integers(1, 40))
def test_no_range_is_shorter_than_it_is_worth(n_threads, n_items, least):
    assert min(end - begin for begin, end in ranges(n_threads, n_items, least)) >= min(
        least, n_items
    )


def test_arguments_reach_the_kernel():
    found = []
    Workers(2).run(lambda begin, end, *args: found.append(args), 2, "a", 7)
    assert found == [("a", 7), ("a", 7)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_items(n_threads):
    assert Workers(n_threads).map(lambda item: item * item, range(20)) == [i * i for i in range(20)]


def test_several_threads_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=20)
    Workers(2).map(lambda _: meeting.wait(), range(2))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_thread_is_an_error(n_threads):
    def fail(item):
        if item == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Workers(n_threads).map(fail, range(5))


def test_this_process_may_use_a_core():
    assert available_cores() >= 1


@pytest.mark.parametrize(("work", "n_ranges"), [(0, 1), (3 * LEAST_WORK, 3), (10**9, 8)])
def test_little_work_is_not_shared_out(work, n_ranges):
    found = []
    Workers(2).run(lambda begin, end: found.append((begin, end)), 1000, work=work)
    assert len(found) == n_ranges
    assert sum(end - begin for begin, end in found) == 1000


def test_after_an_error_here_the_others_begin_nothing_more(monkeypatch):
    begun, is_told = [], threading.Event()
    wait = workers.wait
    monkeypatch.setattr(workers, "wait", lambda others: (is_told.set(), wait(others)))

    def work(item):
        begun.append(item)
        if threading.current_thread() is threading.main_thread():
            meeting.wait()
            raise KeyboardInterrupt
        meeting.wait()
        is_told.wait(timeout=20)

    meeting = threading.Barrier(2, timeout=20)
    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(work, range(50))
    assert len(begun) == 2
