"""A line that tells how far a run has come; only on a terminal."""

import shutil
import sys
import time
from typing import TextIO

BAR = 20  # characters


class Progress:
    """Cases done and what is going on, rewritten in place."""

    def __init__(self, n_cases: int, stream: TextIO = sys.stderr) -> None:
        self._n_cases, self._stream = n_cases, stream
        self._is_shown = stream.isatty()
        self._done = 0
        self._case = ""
        self._began = time.perf_counter()

    def begin(self, case: str) -> None:
        self._case = case
        self.tell("making the table")

    def tell(self, what: str) -> None:
        """Show what is going on."""
        filled = BAR * self._done // max(1, self._n_cases)
        minutes, seconds = divmod(int(time.perf_counter() - self._began), 60)
        count = f"{self._done}/{self._n_cases} {minutes}:{seconds:02}"
        self._write(f"{'█' * filled}{'·' * (BAR - filled)} {count} {self._case} {what}")

    def end(self) -> None:
        """A case is done."""
        self._done += 1
        if self._done == self._n_cases:
            self._write("")

    def _write(self, text: str) -> None:
        if self._is_shown:
            columns = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{text[: columns - 1]}")
            self._stream.flush()
