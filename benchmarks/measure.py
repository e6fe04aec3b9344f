"""Measure contestants on one case, interleaved, each in a process of its own.

First everyone is timed cold, then in warm rounds of rotating order. A contestant that cannot go on
is out with a reason; the others go on.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contestants import Contestant, Job
from process import Place, Process, Refused, Stopped
from tables import Table

PAUSE_SECONDS = 0.05  # lets idle threads of the contestant before stop spinning
CANNOT = ("BackendUnavailable", "ModuleNotFoundError", "ImportError")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How often, and how long at most."""

    repeats: int = 5
    starts: int = 1  # fresh processes whose first fit is timed
    limit: float = 600.0  # seconds a contestant may take for a case
    allow_slow: bool = False


class Run:
    """One contestant on one case."""

    def __init__(self, contestant: Contestant, job: Job, place: Place, plan: Plan) -> None:
        self.contestant = contestant
        self.name = contestant.name
        self._job, self._place, self._plan = job, place, plan
        self._process: Process | None = None
        self._spent = 0.0  # seconds
        self._round = 0.0  # seconds that the last round took
        self.times: dict[str, list[float]] = {
            each: [] for each in ("import", "first", "fit", "predict")
        }
        self.facts: dict[str, Any] = {"status": "measured", "threads": contestant.threads_for(job)}
        reason = contestant.reason_to_skip(job, plan.allow_slow)
        if reason is not None:
            self._leave("skipped", reason)

    @property
    def is_out(self) -> bool:
        return bool(self.facts["status"] != "measured")

    def compile(self) -> None:
        """Fit in a process of its own, so that machine code is on disk from here on.

        Its time is a result only where nothing was on disk before.
        """
        was_empty = not any(self._place.cache.iterdir())
        with self._in_time("compiling"):
            self._start()
            seconds = self._ask("fit")["seconds"]
            self._ask("predict")
            if was_empty and any(self._place.cache.iterdir()):
                self.facts["compile"] = seconds
        self.end()
        self._spent = 0.0

    def start(self) -> None:
        """Fit for the first time in a fresh process."""
        self.end()
        with self._in_time("the first fit"):
            self.times["import"].append(self._start())
            first = self._ask("fit")
            self.times["first"].append(first["seconds"])
            self.facts["first_bytes"] = first["bytes"]
            self._ask("predict")

    def repeat(self) -> None:
        """Fit and predict again, if another round fits into the limit."""
        if not self._has_time():
            return
        began = self._spent
        with self._in_time("a warm round"):
            for verb in ("fit", "predict"):
                self.times[verb].append(self._ask(verb)["seconds"])
        self._round = self._spent - began

    def finish(self) -> None:
        """Measure memory, describe the model and let the process go."""
        if self._has_time():
            with self._in_time("measuring memory"):
                self.facts["bytes"] = self._ask("fit_for_memory")["bytes"]
        self._spent = 0.0
        with self._in_time("scoring"):
            self.facts |= self._ask("describe")
        self.end()

    def end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def result(self) -> dict[str, Any]:
        """Facts, and every kind of time with its median and range."""
        version = self.contestant.version()
        about = {
            "library": self.contestant.distribution,
            "version": version,
            "is_peer": self.contestant.is_peer,
            "on_gpu": self.contestant.on_gpu,
            "is_default": self.contestant.threads is None,
        }
        summaries = {verb: summary(times) for verb, times in self.times.items() if times}
        return about | self.facts | {"seconds": summaries}

    def _start(self) -> float:
        """Seconds that importing the library took."""
        self._process = Process(self.name, self._own_job(), self._place)
        return float(self._ask("load")["seconds"])

    def _own_job(self) -> Job:
        return replace(self._job, threads=self.contestant.threads or self._job.threads)

    def _ask(self, request: str) -> dict[str, Any]:
        assert self._process is not None
        start = time.perf_counter()
        try:
            return self._process.ask(request, self._plan.limit - self._spent)
        finally:
            self._spent += time.perf_counter() - start

    def _has_time(self) -> bool:
        last = self._round or (self.times["first"] or [0.0])[-1]
        if self.is_out or self._spent + last <= self._plan.limit:
            return not self.is_out
        n_rounds = len(self.times["fit"])
        self.facts["note"] = f"{n_rounds} warm rounds within the limit of {self._plan.limit:g} s"
        return False

    @contextmanager
    def _in_time(self, what: str) -> Iterator[None]:
        """Leave, where what is done raises or takes too long; keep what was measured before."""
        try:
            yield
        except Stopped:
            self._leave("stopped", f"over the limit of {self._plan.limit:g} s in {what}")
        except Refused as error:
            is_ours = not self.contestant.is_peer and error.kind not in CANNOT
            self._leave("failed" if is_ours else "skipped", str(error))

    def _leave(self, status: str, reason: str) -> None:
        self.facts |= {"status": status, "reason": reason}
        self.end()


def measure(
    table: Table,
    job: Job,
    contestants: Sequence[Contestant],
    plan: Plan,
    cache: Path,
    tell: Tell,
) -> dict[str, dict[str, Any]]:
    """The result of each contestant, by name; `tell` hears what is going on."""
    with tempfile.TemporaryDirectory(prefix="gputree-bench-") as folder:
        table.save(Path(folder))
        place = Place(Path(folder), cache)
        runs = [Run(each, job, place, plan) for each in contestants]
        try:
            _measure(runs, plan, tell)
        finally:
            for run in runs:
                run.end()
    return {run.name: run.result() for run in runs}


def _measure(runs: list[Run], plan: Plan, tell: Tell) -> None:
    for run in _turns(_compilers(runs), 0, tell, "compiling"):
        run.compile()
    for turn in range(plan.starts):
        for run in _turns(runs, turn, tell, f"cold {turn + 1}/{plan.starts}"):
            run.start()
    for turn in range(plan.repeats):
        for run in _turns(runs, turn + 1, tell, f"warm {turn + 1}/{plan.repeats}"):
            run.repeat()
    for run in _turns(runs, 0, tell, "memory and score"):
        run.finish()


def _compilers(runs: list[Run]) -> list[Run]:
    """One for each backend that makes machine code, which all its threads share."""
    compiling = [run for run in runs if run.contestant.compiles and not run.is_out]
    return list({run.contestant.backend: run for run in reversed(compiling)}.values())


def _turns(runs: list[Run], turn: int, tell: Tell, what: str) -> Iterator[Run]:
    """Those still in, in an order that is rotated by `turn`."""
    first = turn % len(runs) if runs else 0
    for run in runs[first:] + runs[:first]:
        if not run.is_out:
            tell(f"{run.name}: {what}")
            time.sleep(PAUSE_SECONDS)
            yield run


def summary(times: Sequence[float]) -> dict[str, Any]:
    """The median, the range and every measurement."""
    return {
        "median": statistics.median(times),
        "min": min(times),
        "max": max(times),
        "all": list(times),
    }
