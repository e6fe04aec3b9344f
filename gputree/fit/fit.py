"""One fit of any model: its table on a backend, the room for histograms, and what it reports."""

import time
from typing import Any, Self

from gputree.backends.aside import COMPILING
from gputree.backends.timed import Timed
from gputree.comm import smallest
from gputree.dtypes import HostArray
from gputree.fit.dataset import Dataset
from gputree.fit.report import FitReport

# Bytes of histograms where nobody knows how much memory there is: thousands of nodes of an
# ordinary table.
AUTOMATIC_BUDGET = 256 * 2**20


class Fit:
    """What trees, forests and boosted models share while they grow."""

    def __init__(self, dataset: Dataset, budget: int | None) -> None:
        """`budget`: the bytes that histograms may take; None: what the device has room for."""
        self.dataset = dataset
        self.backend: Any = Timed(dataset.backend)
        wanted = AUTOMATIC_BUDGET if budget is None else budget
        room: int = self.backend.room_for_hists() or wanted
        own = room if budget is None else min(budget, room)
        self.budget = int(smallest(dataset.comm, own))
        self.peak_bytes = 0
        self.heuristic: set[int] = set()  # columns whose categories were divided by a heuristic
        self._compiled_before = self.backend.compile_seconds

    def go_over(self) -> None:
        """Between two trees: let compiled kernels take over, once they are there."""
        if self.backend.can_go_over:
            self.backend.go_over()

    def compiling_note(self) -> str:
        """What a line of progress says while kernels are compiled, which happens once."""
        return COMPILING if self.dataset.is_compiling() else ""

    def holds(self, n_bytes: int) -> None:
        """Note how many bytes were held at once."""
        self.peak_bytes = max(self.peak_bytes, n_bytes)

    def learn_from(self, other: Self, columns: HostArray) -> None:
        """Take in what was noted while a tree was grown on some of the columns."""
        self.holds(other.peak_bytes)
        self.heuristic |= set(columns[sorted(other.heuristic)].tolist())

    def report(self, X: Any, start: float, n_nodes: int, n_trees: int | None = None) -> FitReport:
        """What has been done since `start`; a Dataset that was given for X has cost it nothing."""
        dataset, backend = self.dataset, self.backend
        dataset.note_compiled()
        seconds = dict(backend.seconds)
        compile_seconds = backend.compile_seconds - self._compiled_before
        if dataset is not X:
            seconds = dataset.seconds | seconds
            compile_seconds += dataset.compile_seconds
        return FitReport(
            backend=backend.name,
            device=backend.device,
            reason=dataset.reason,
            n_rows=dataset.n_everywhere,
            n_features=dataset.n_features,
            n_nodes=n_nodes,
            peak_bytes=self.peak_bytes,
            compile_seconds=compile_seconds,
            seconds=seconds | {"total": time.perf_counter() - start},
            notes=self._notes(),
            n_trees=n_trees,
        )

    def _notes(self) -> tuple[str, ...]:
        """What a user should know."""
        notes: tuple[str, ...] = self.dataset.backend.notes
        if not self.heuristic:
            return notes
        names = ", ".join(self.dataset.schema.names[feature] for feature in sorted(self.heuristic))
        return (
            *notes,
            f"categories of {names} were divided by a heuristic in some nodes; a better division "
            "may exist",
        )
