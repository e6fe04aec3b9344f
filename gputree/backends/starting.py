"""A backend that begins with NumPy, and goes on with compiled kernels once they are there.

Codes lie alike in both, and results have the same bytes, so that whoever fits may change between
two trees or two rounds. In the middle of one, nothing changes.
"""

from collections.abc import Callable
from typing import Any

from gputree.backends import aside
from gputree.backends.aside import Job
from gputree.backends.contract import Backend, Other
from gputree.backends.watched import HostOther
from gputree.data.table import Table
from gputree.dtypes import HostArray


class Starting:
    """One backend after another; each verb is that of the one whose turn it is."""

    def __init__(self, first: Backend, open_next: Callable[[], Backend], job: Job) -> None:
        """`open_next` makes the backend whose kernels the job compiles."""
        self._now, self._open_next, self._job = first, open_next, job
        self.is_starting = True

    def __getattr__(self, name: str) -> Any:
        if name == "_now":  # a copy that is just being made asks for everything
            raise AttributeError(name)
        return getattr(self._now, name)

    @property
    def can_go_over(self) -> bool:
        """Whether the next backend is there; callers ask between trees."""
        return self.is_starting and aside.has_settled(self._job)

    def go_over(self) -> None:
        """Let the next one go on. Handles of the first, but for codes, are of no more use."""
        self._now, self.is_starting = self._open_next(), False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report says of it."""
        if self.is_starting:
            return ("NumPy has done all of it before kernels were compiled",)
        return ("NumPy began, and compiled kernels took over",)

    def other_rows(self, table: Table, start: HostArray, y: HostArray, weight: HostArray) -> Other:
        """Rows that are predicted by whoever has the turn."""
        return HostOther(lambda *which: self._now.apply(*which), table, start, y, weight)
