"""A line that tells how far a fit has come and how long it will take."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

EVERY_SECONDS = 0.1  # a terminal need not be written to more often
PATIENCE_SECONDS = 1.0  # what takes less needs no line


class Progress:
    """Trees done, or rows, seconds passed and seconds left.

    On a terminal one line is rewritten in place; elsewhere a line is written for every tenth of
    them. Nothing is shown unless it is asked for.
    """

    def __init__(
        self,
        what: str,
        n: int,
        *,
        is_shown: bool,
        n_before: int = 0,
        stream: TextIO | None = None,
        unit: str = "trees",
        note: Callable[[], str] = str,
    ) -> None:
        """`note` tells what else goes on, in a few words; nothing by default."""
        self._note = note
        self._what, self._n, self._n_before, self._unit = what, n, n_before, unit
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = is_shown
        self._is_terminal = self._stream.isatty()
        self._began = time.perf_counter()
        self._shown_at = -EVERY_SECONDS
        self.n_done = n_before

        if is_shown and (text := note()):
            self._begin(f"{what}: {text}")

    def _begin(self, text: str) -> None:
        """Tell why the first of them is long in coming."""
        if self._is_terminal:
            rewrite(self._stream, text)
        else:
            self._stream.write(f"{text}\n")

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._began

    @property
    def seconds_left(self) -> float:
        """As long as the mean so far says."""
        done = self.n_done - self._n_before
        return self.seconds / done * (self._n - self.n_done) if done else 0.0

    def step(self, n: int = 1) -> None:
        """One more is done, or some more."""
        self.n_done += n
        if not self._is_shown:
            return
        is_last = self.n_done == self._n
        text = (
            f"{self._what}: {self.n_done}/{self._n} {self._unit}, {self.seconds:.1f} s, "
            f"{self.seconds_left:.1f} s left"
        )
        if note := self._note():
            text += f", {note}"
        if not self._is_terminal:
            tenth = max(1, self._n // 10)
            if is_last or self.n_done // tenth > (self.n_done - n) // tenth:
                self._stream.write(f"{text}\n")
        elif is_last or self.seconds - self._shown_at >= EVERY_SECONDS:
            self._shown_at = self.seconds
            rewrite(self._stream, text)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._is_shown and self._is_terminal:
            self._stream.write("\n")


class Waiting:
    """A line for work of unknown length: what is done, and for how long.

    It appears on a terminal only, after a second, and is gone when the work is. `detail` may say
    more, such as how many trees there are; a thread of its own writes the line, since work in
    compiled code comes back only when it is done.
    """

    def __init__(
        self,
        what: str,
        *,
        is_shown: bool = True,
        stream: TextIO | None = None,
        note: Callable[[], str] = str,
    ) -> None:
        """`note` tells what else goes on, in a few words; nothing by default."""
        self.detail, self._note = "", note
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = is_shown and self._stream.isatty()
        self._is_done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._is_shown:
            self._began = time.perf_counter()
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self._is_done.set()
            self._thread.join()

    def _write(self) -> None:
        if self._is_done.wait(PATIENCE_SECONDS):
            return
        while True:
            seconds = time.perf_counter() - self._began
            details = (each for each in (self.detail, f"{seconds:.1f} s", self._note()) if each)
            rewrite(self._stream, f"{self._what}: {', '.join(details)}")
            if self._is_done.wait(EVERY_SECONDS):
                break
        rewrite(self._stream, "")


def rewrite(stream: TextIO, text: str) -> None:
    """Put a text in the place of the line of a terminal."""
    columns = shutil.get_terminal_size().columns
    stream.write(f"\r\x1b[K{text[: columns - 1]}")
    stream.flush()
