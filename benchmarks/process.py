"""A worker seen from outside: started, asked, and ended when its time is over."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from contestants import Job

WORKER = Path(__file__).with_name("worker.py")
SECONDS_TO_END = 10.0


class Stopped(Exception):
    """Did not answer in time."""


class Refused(Exception):
    """Answered with an error, or ended."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind


@dataclass(frozen=True)
class Place:
    """Where a worker finds its table and keeps its compiled code."""

    data: Path
    cache: Path


class Process:
    """One contestant in a process of its own."""

    def __init__(self, contestant: str, job: Job, place: Place) -> None:
        self._log = place.data / f"{contestant}.log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(WORKER), contestant, json.dumps(asdict(job)), place.data],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(job.threads, place.cache),
                text=True,
                encoding="utf-8",
            )
        self._answers: Queue[str | None] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, request: str, most_seconds: float) -> dict[str, Any]:
        """The answer to a request, or one of the exceptions above."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(f"{request}\n")
            stdin.flush()
            line = self._answers.get(timeout=max(0.0, most_seconds))
        except BrokenPipeError:
            line = None
        except Empty:
            self.end(at_once=True)
            raise Stopped from None
        if line is None:
            raise Refused("its process ended", self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Refused(answer["kind"], answer["error"])
        return answer

    def end(self, *, at_once: bool = False) -> None:
        """Let it finish, or kill it."""
        if at_once:
            self._process.kill()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it may have ended already
                self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                self._answers.put(line)
        self._answers.put(None)

    def _last_words(self) -> str:
        status = self._process.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        lines = self._log.read_text(errors="replace").split("\n")
        return ", ".join([how, *[line.strip() for line in lines if line.strip()][-1:]])


def environment(threads: int, cache: Path) -> dict[str, str]:
    """The environment of the caller with the number of threads and the cache of compiled code."""
    return os.environ | {"OMP_NUM_THREADS": str(threads), "NUMBA_CACHE_DIR": str(cache)}
