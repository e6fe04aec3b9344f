"""The line for work of unknown length."""

import io
import re
import time

import pytest

from gputree import progress
from gputree.progress import Waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def wait_for(self, text):
        """Wait until a line with this text is written."""
        end = time.monotonic() + 60
        while text not in self.getvalue():
            assert time.monotonic() < end, f"{text!r} is not in {self.getvalue()!r}"
            time.sleep(0.005)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.01)


def test_long_work_is_told_on_a_terminal_and_the_line_is_gone_afterwards():
    stream = Terminal()
    with Waiting("reading", stream=stream) as line:
        stream.wait_for("reading: ")
        line.detail = "3/5 trees"
        stream.wait_for("3/5 trees")
    text = stream.getvalue()
    assert re.search(r"\r\x1b\[Kreading: \d\.\d s", text)
    assert re.search(r"\r\x1b\[Kreading: 3/5 trees, \d\.\d s", text)
    assert text.endswith("\r\x1b[K")


def test_short_work_is_not_told(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 60.0)
    stream = Terminal()
    with Waiting("reading", stream=stream):
        pass
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("kind", "is_shown"), [(io.StringIO, True), (Terminal, False)])
def test_nothing_is_told_elsewhere_or_where_nobody_asks(kind, is_shown):
    stream = kind()
    with Waiting("reading", is_shown=is_shown, stream=stream):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_an_error_ends_the_line():
    stream = Terminal()

    def fail():
        with Waiting("reading", stream=stream):
            stream.wait_for("reading: ")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue().endswith("\r\x1b[K")
