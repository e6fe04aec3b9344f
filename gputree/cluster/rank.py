"""What one rank does: it checks that all ranks are alike, fits, and tells how that went.

An ensemble that has lost a rank keeps the trees that were done. All ranks have the same ones, so
that any of them may hand them to a fit that goes on from there.
"""

import copy
import pickle
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np

from gputree.cluster.comm import Ranks
from gputree.cluster.files import dataset_of
from gputree.cluster.rows import is_watched, other_rows
from gputree.comm import total
from gputree.ensembles.base import Ensemble
from gputree.errors import ClusterError, LostRank
from gputree.fit.report import FitReport, RankReport


@dataclass
class Fitted:
    """What a rank has found."""

    estimator: Any
    report: dict[str, Any]  # the fields of its report, of which a pickle would forget the times


def versions() -> str:
    """What has to be the same everywhere."""
    return f"gputree {import_module('gputree').__version__} and numpy {np.__version__}"


def check_versions(found: dict[str, str]) -> None:
    """Refuse whoever has other versions than those here; `found` tells them by place."""
    own = versions()
    others = [f"{where} has {each}" for where, each in found.items() if each != own]
    if others:
        raise RuntimeError(
            f"{'; '.join(others)}; here is {own}: install the same ones everywhere, so that all "
            "ranks find the same model"
        )


def fit_rank(estimator: Any, comm: Ranks, parts: Sequence[Sequence[Any]]) -> Fitted:
    """The estimator, fitted with the rows of all ranks; the same one on each of them."""
    start = time.perf_counter()
    told = comm.gather(pickle.dumps((comm.traffic.where, versions())))
    check_versions(dict(map(pickle.loads, told)))
    own = copy.copy(estimator)
    if getattr(own, "n_jobs", 0) is None:
        own.n_jobs = comm.n_threads
    if hasattr(own, "verbose") and (comm.rank or comm.on_tree):
        own.verbose = 0
    options: dict[str, Any] = {}
    if comm.on_tree and isinstance(own, Ensemble):
        options["callbacks"] = [comm.on_tree]
    watched = [part for part in parts if is_watched(part)]
    if total(comm, len(watched)):
        options |= other_rows(watched, comm)
    dataset = dataset_of(comm, own, [part for part in parts if not is_watched(part)])
    try:
        with warnings.catch_warnings():
            if _goes_on(own):  # perhaps the last tree was there
                warnings.filterwarnings("ignore", "Warm-start fitting without increasing")
            own.fit(dataset, **options)
    except ClusterError as error:
        so_far, error.so_far = error.so_far, None
        if isinstance(error, LostRank):
            error.kept = _kept(own, so_far)
        raise
    if getattr(own, "_draws", None) is not None:
        del own._draws  # which rows of this rank the trees have seen: a part is of no use
    # Ranks that went separate ways are told of, whatever the reason.
    marks = set(comm.gather(sha256(own.to_bytes()).digest()))
    if len(marks) > 1:
        raise ClusterError(f"{comm.size} ranks have found {len(marks)} different models")
    seconds = {"total": time.perf_counter() - start}
    seconds = dataset.seconds | own.fit_report_.seconds | seconds
    ranks = _of_all(comm, dataset.n_rows)
    report = replace(own.fit_report_, ranks=ranks, seconds=seconds)
    return Fitted(own, vars(report))


def take_over(estimator: Any, found: Fitted, n_restarts: int = 0) -> Any:
    """The estimator of the user with what was learned, and with its own parameters."""
    own = estimator.get_params(deep=False)
    vars(estimator).clear()
    vars(estimator).update(vars(found.estimator) | own)
    estimator.fit_report_ = FitReport(**found.report | {"n_restarts": n_restarts})
    return estimator


def _goes_on(estimator: Any) -> bool:
    """Whether a fit has trees to begin with."""
    return bool(getattr(estimator, "warm_start", False)) and hasattr(estimator, "_members")


def _kept(estimator: Any, so_far: Callable[[], dict[str, Any] | None] | None) -> Any:
    """The estimator with the trees that were done; None before the first."""
    learned = None if so_far is None else so_far()
    if learned is None:
        return None
    kept = copy.copy(estimator)
    vars(kept).update(learned)
    kept.warm_start = True
    vars(kept).pop("_draws", None)
    return kept


def _of_all(comm: Ranks, n_rows: int) -> tuple[RankReport, ...]:
    """What each rank has said so far, and how long it has waited."""
    said = comm.traffic
    own = RankReport(said.where, n_rows, said.n_messages, said.n_bytes, said.seconds_waiting)
    return tuple(map(pickle.loads, comm.gather(pickle.dumps(own))))
