"""What a fit did: where, why there, how long, how much memory."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class RankReport:
    """What one of several ranks that fitted a model together said, and how long it waited."""

    where: str  # the address of its worker, or the number of its process
    n_rows: int
    n_messages: int
    n_bytes: int  # that it sent
    seconds_waiting: float  # for other ranks: the slowest one waits least


@dataclass(frozen=True)
class FitReport:
    """Facts about one fit.

    `seconds` has one entry per phase of the fit, and `total`; `compile_seconds` of them were spent
    compiling kernels. `peak_bytes` is the largest total size of the arrays that gputree itself
    holds (bins, channels, node numbers, histograms); temporary arrays inside an operation and the
    caller's own table are not counted. The report of an unpickled model has no `seconds`, so that
    equal models have equal pickles.
    """

    backend: str
    device: str
    reason: str
    n_rows: int
    n_features: int
    n_nodes: int
    peak_bytes: int
    compile_seconds: float
    seconds: dict[str, float]
    notes: tuple[str, ...] = ()
    n_trees: int | None = None  # of an ensemble
    ranks: tuple[RankReport, ...] = ()  # that fitted it together, if several did
    n_restarts: int = 0  # after which a fit on several ranks had lost none

    @property
    def slowest_rank(self) -> RankReport | None:
        """The rank that the others waited for; None where one has done all."""
        return min(self.ranks, key=lambda rank: rank.seconds_waiting, default=None)

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: no times, so that equal models have equal pickles."""
        no_times = {"seconds": {}, "compile_seconds": 0.0, "ranks": (), "n_restarts": 0}
        return vars(self) | no_times

    def __copy__(self) -> Self:
        """Nothing of it can change."""
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Nothing of it can change."""
        return self

    def __str__(self) -> str:
        why, *more = self.reason.split("; ")
        lines = [
            f"backend  {self.backend} on {self.device} ({why})",
            *(f"         {reason}" for reason in more),
            *(f"note     {note}" for note in self.notes),
            f"table    {self.n_rows:,} rows x {self.n_features:,} features",
            f"tree     {self.n_nodes:,} nodes"
            if self.n_trees is None
            else f"trees    {self.n_trees:,}, {self.n_nodes:,} nodes",
            f"memory   {self.peak_bytes / 2**20:,.1f} MiB at most",
        ]
        if "total" in self.seconds:
            total, compiling = self.seconds["total"], self.compile_seconds
            lines.append(f"time     {total:.3f} s, {compiling:.3f} s of it compiling")
        lines += self._of_ranks()
        phases = [item for item in self.seconds.items() if item[0] != "total"]
        lines += [f"  {name:<14} {second:.3f} s" for name, second in phases]
        return "\n".join(lines)

    def _of_ranks(self) -> list[str]:
        """How much ranks said and waited."""
        slowest = self.slowest_rank
        if slowest is None:
            return []
        again = f", started again {self.n_restarts} times" if self.n_restarts else ""
        sent, waited = (
            max(getattr(rank, name) for rank in self.ranks)
            for name in ("n_bytes", "seconds_waiting")
        )
        return [
            f"ranks    {len(self.ranks)}{again}; each sent {sent / 2**20:,.1f} MiB at most",
            f"         and waited {waited:.3f} s at most; slowest: {slowest.where}",
        ]
