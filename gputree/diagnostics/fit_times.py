"""What whole trees and rounds of boosting take on a GPU, and beside the CPU from which size on.

The table is cut and coded before: what is timed is growing trees, with all that the host does for
it. `python -m gputree.diagnostics.fit_times cuda:0` prints JSON.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.dtypes import HostArray
from gputree.ensembles.forests import RandomForestClassifier
from gputree.estimators.trees import DecisionTreeClassifier
from gputree.fit.dataset import Dataset

N_FEATURES, REPEATS = 28, 3
ROWS = 10**6  # where one size is enough
SIZES = (10**4, 10**5, 10**6, 10**7)

MODELS: dict[str, Callable[[], Any]] = {
    "tree of depth 8": lambda: DecisionTreeClassifier(max_depth=8),
    "unlimited tree of a forest": lambda: RandomForestClassifier(1, random_state=0),
    "10 rounds of boosting": lambda: GradientBoostingClassifier(10, max_depth=8),
}


@dataclass(frozen=True)
class FitTiming:
    """The median of some fits, after a first one that compiles."""

    name: str
    n_rows: int
    n_features: int
    device: str
    seconds: float


def fit_times(
    device: str,
    n_rows: int = ROWS,
    *,
    n_features: int = N_FEATURES,
    repeats: int = REPEATS,
    now: Callable[[], float] = time.perf_counter,
) -> list[FitTiming]:
    """Time each model on a table of a size; on "cpu" by compiled kernels."""
    X, y = _table(n_rows, n_features)
    data = Dataset(X, y, device=device, backend="numba" if device == "cpu" else "cuda")
    return [
        FitTiming(name, n_rows, n_features, device, _seconds(make, data, repeats, now))
        for name, make in MODELS.items()
    ]


def _seconds(
    make: Callable[[], Any], data: Dataset, repeats: int, now: Callable[[], float]
) -> float:
    make().fit(data)
    found = []
    for _ in range(repeats):
        begin = now()
        make().fit(data)
        found.append(now() - begin)
    return median(found)


def _table(n_rows: int, n_features: int) -> tuple[HostArray, HostArray]:
    """Numbers, of which some tell something about two classes."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, n_features), np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n_rows, np.float32)
    return X, (score > 0).astype(np.int64)


def crossovers(timings: Iterable[FitTiming]) -> dict[str, int | None]:
    """The rows from which on a GPU is faster than the CPU, by model; None: never."""
    seconds: dict[str, dict[int, dict[bool, float]]] = {}
    for each in timings:
        by_rows = seconds.setdefault(each.name, {}).setdefault(each.n_rows, {})
        by_rows[each.device == "cpu"] = each.seconds
    return {name: _crossover(by_rows) for name, by_rows in seconds.items()}


def _crossover(seconds: dict[int, dict[bool, float]]) -> int | None:
    """The rows from which on a GPU is faster, of the sizes that both have done."""
    faster = None
    for n_rows, own in sorted(seconds.items(), reverse=True):
        if len(own) < 2:
            continue
        if own[False] >= own[True]:
            break
        faster = n_rows
    return faster


def main(args: Sequence[str]) -> None:
    """Print the times of all sizes, one line each, and at last the crossovers."""
    device, *sizes = args
    timings: list[FitTiming] = []
    for n_rows in map(int, sizes) if sizes else SIZES:
        for own in ("cpu", device):
            timings += fit_times(own, n_rows)
            # What was measured is told at once: a deadline may end the rest.
            print(*(json.dumps(asdict(each)) for each in timings[-len(MODELS) :]), sep="\n")
    print(json.dumps({"faster_from_rows": crossovers(timings)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
