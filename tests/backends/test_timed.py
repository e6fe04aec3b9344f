"""A timed backend is the backend it wraps, with a clock."""

import pytest

from gputree.backends import timed
from gputree.backends.timed import Timed


class Counting:
    name = "counting"

    def double(self, x, *, plus=0):
        return 2 * x + plus

    def each(self, task, items):
        return [task(item) for item in items]

    def dive(self, wrapped, depth):
        if depth > 1:
            wrapped.dive(wrapped, depth - 1)

    def fail(self):
        raise RuntimeError("no")


@pytest.fixture
def clock(monkeypatch):
    """Every look at the clock is a second later than the last."""
    ticks = iter(range(100))
    monkeypatch.setattr(timed.time, "perf_counter", lambda: float(next(ticks)))


def test_verbs_and_names_pass_through(clock):
    wrapped = Timed(Counting())
    assert wrapped.name == "counting"
    assert wrapped.double(4, plus=1) == 9


def test_the_seconds_of_a_verb_add_up(clock):
    wrapped = Timed(Counting())
    wrapped.double(1)
    wrapped.double(2)
    assert dict(wrapped.seconds) == {"double": 2.0}


def test_verbs_of_several_lanes_share_the_time_that_passed(clock):
    """Calls inside calls stand for calls at the same time: 5, 3 and 1 seconds, 7 passed in all."""
    wrapped = Timed(Counting())
    wrapped.double(1)
    assert wrapped.each(wrapped.double, [1, 2]) == [2, 4]
    assert dict(wrapped.seconds) == {"double": 3.0}  # one after the other: nothing to share
    wrapped.each(lambda depth: wrapped.dive(wrapped, depth), [3])
    assert wrapped.seconds["dive"] == pytest.approx(7.0)


def test_a_verb_that_fails_is_timed_too(clock):
    wrapped = Timed(Counting())
    with pytest.raises(RuntimeError, match="no"):
        wrapped.fail()
    assert dict(wrapped.seconds) == {"fail": 1.0}


def test_what_the_backend_lacks_is_lacking():
    with pytest.raises(AttributeError):
        _ = Timed(Counting()).missing
