"""Threads share the items among them; none is lost and none is done twice."""

import _thread
import os
import signal
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.backends.cpu import workers
from gputree.backends.cpu.workers import LEAST_WORK, Workers, available_cores


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


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interruption_of_compiled_code_is_one(n_threads):
    """It comes from numba as a SystemError, in which the KeyboardInterrupt is wrapped twice."""

    def interrupt(item):
        try:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        except SystemError as error:
            raise SystemError("returned a result with an exception set") from error

    def fail(item):
        raise SystemError("of another kind")

    with pytest.raises(KeyboardInterrupt):
        Workers(n_threads).map(interrupt, range(3))
    with pytest.raises(SystemError, match="of another kind"):
        Workers(n_threads).map(fail, range(3))


def meet_and_fail_here(begun, meeting):
    """Two threads meet; then this one fails, and the other is slow."""
    is_failed = threading.Event()

    def work(item):
        begun.append(item)
        meeting.wait()
        if threading.current_thread() is threading.main_thread():
            is_failed.set()
            raise KeyboardInterrupt
        is_failed.wait(timeout=20)
        time.sleep(0.1)
        begun.append("done")

    return work


def test_after_an_error_here_the_others_end_what_they_have_begun_and_begin_nothing_more():
    begun, meeting = [], threading.Barrier(2, timeout=20)
    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(meet_and_fail_here(begun, meeting), range(50))
    assert sorted(begun, key=str) == [0, 1, "done"]


def test_an_interrupt_of_the_wait_for_the_others_waits_on():
    """A helper may be writing to arrays of the caller, which must not go on before."""
    begun, left, done = threading.Event(), threading.Event(), []

    def work(item):
        if threading.current_thread() is threading.main_thread():
            begun.wait(timeout=20)
            left.set()
            return
        begun.set()
        left.wait(timeout=20)  # so that nobody takes both items on a busy machine
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(work, range(2))
    assert len(done) == 1


def test_an_interrupted_call_leaves_workers_that_share_their_work():
    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(meet_and_fail_here([], threading.Barrier(2, timeout=20)), range(5))
    test_several_threads_work_at_the_same_time()


def test_all_workers_of_a_process_share_its_threads():
    def n_threads():
        Workers(3).map(lambda _: time.sleep(0.001), range(12))
        return _thread._count()

    before = n_threads()
    assert {n_threads() for _ in range(20)} == {before}


def test_work_goes_on_where_no_thread_can_be_started(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "_HELPERS", workers._Helpers())
    monkeypatch.setattr(workers._thread, "start_new_thread", refuse)
    assert Workers(3).map(lambda item: item + 1, range(5)) == [1, 2, 3, 4, 5]


def test_two_callers_at_once_do_not_wait_for_each_other():
    """The helper is busy with the work of one; the other does its own work alone, and is done."""
    is_over = threading.Event()
    long = threading.Thread(target=lambda: Workers(2).map(lambda _: is_over.wait(20), range(2)))
    long.start()
    try:
        assert Workers(2).map(lambda item: item, range(5)) == list(range(5))
        assert long.is_alive()
    finally:
        is_over.set()
        long.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_has_threads_of_its_own():
    test_several_threads_work_at_the_same_time()
    if (child := os.fork()) == 0:
        try:
            test_several_threads_work_at_the_same_time()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
