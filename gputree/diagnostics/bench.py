"""Time gputree's backends and scikit-learn's trees on a table of the user's.

Knows estimators and clocks; must not know files, nor how a backend works. The suite that compares
more libraries, each in a process of its own, is in benchmarks/.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO, TypeAlias

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier as ExactClassifier
from sklearn.tree import DecisionTreeRegressor as ExactRegressor

from gputree.backends.registry import BACKENDS, choose
from gputree.diagnostics.tables import LabelledTable, Task
from gputree.dtypes import HostArray
from gputree.errors import BackendUnavailable
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

FOR_TESTS = ("array_api_strict",)  # backends that no one uses for work
TEST_SHARE = 0.25
LEAST_ROWS = 8  # a quarter of them, two, are the fewest that can be scored

Make: TypeAlias = Callable[[], Any]  # an estimator that is not fitted
Split: TypeAlias = tuple[HostArray, HostArray, HostArray, HostArray]  # X, X_test, y, y_test


@dataclass
class Contestant:
    """One estimator and what has been measured of it."""

    name: str
    make: Make
    is_peer: bool
    fits: list[float] = field(default_factory=list)  # seconds, the first is cold
    predicts: list[float] = field(default_factory=list)
    score: float = math.nan
    content: bytes = b""  # the model, where it can tell
    reason: str = ""  # why it is out


def bench(
    table: LabelledTable,
    *,
    backends: Sequence[str] | None = None,
    peers: bool = True,
    repeats: int = 3,
    max_depth: int | None = 8,
    stream: TextIO | None = None,
) -> dict[str, Any]:
    """Fit one tree with each backend and peer, by turns, and print how long each takes.

    A quarter of the rows is held out for the score and for the time of predicting. The first round
    is cold: it loads, and perhaps compiles, what a backend needs. The others are warm.

    Parameters
    ----------
    table : LabelledTable
        The rows and the target.
    backends : sequence of str, optional
        Which backends of gputree; all by default. One that cannot run is listed with the reason.
    peers : bool, default=True
        Whether scikit-learn's exact tree and its histogram boosting, stopped after one round, take
        part.
    repeats : int, default=3
        Warm rounds.
    max_depth : int, optional
        The most splits above a leaf; None for no limit.
    stream : text stream, optional
        Where to print; standard output by default.

    Returns
    -------
    dict
        `contestants` maps a name to `cold`, `warm` and `predict` in seconds, `ratio` to the fastest
        warm fit, `score` and `same_bytes`; `skipped` maps a name to a reason; `same_bytes` says
        whether all backends gave one model, None with fewer than two of them.
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: at least 1 is needed")
    if len(table.y) < LEAST_ROWS:
        raise ValueError(f"{len(table.y)} rows are too few to time; {LEAST_ROWS} are needed")
    split: Split = tuple(
        train_test_split(table.X, table.target(table.task), test_size=TEST_SHARE, random_state=0)
    )
    everyone = _ours(table, backends, max_depth)
    if peers:
        everyone += _peers(table.task, max_depth)
    for turn in range(repeats + 1):
        for contestant in _rotated([each for each in everyone if not each.reason], turn):
            _measure(contestant, split)
    result = _result(table, everyone, repeats, max_depth)
    print(as_text(result), file=sys.stdout if stream is None else stream)
    return result


# Who takes part


def _ours(
    table: LabelledTable, backends: Sequence[str] | None, max_depth: int | None
) -> list[Contestant]:
    cls = DecisionTreeClassifier if table.task == "classification" else DecisionTreeRegressor
    kinds: Any = list(table.text_columns) or "from_dtype"
    names = [name for name in BACKENDS if name not in FOR_TESTS] if backends is None else backends

    def contestant(backend: str) -> Contestant:
        made = Contestant(
            f"gputree-{backend}",
            lambda: cls(max_depth=max_depth, categorical_features=kinds, backend=backend),
            is_peer=False,
        )
        made.reason = _reason_to_skip(backend)
        return made

    return [contestant(name) for name in names]


def _reason_to_skip(backend: str) -> str:
    """Why a backend cannot run here; empty if it can. A name that is unknown is an error."""
    try:
        choose(backend=backend)
    except BackendUnavailable as error:
        return str(error)
    return ""


def _peers(task: Task, max_depth: int | None) -> list[Contestant]:
    is_classes = task == "classification"
    exact = ExactClassifier if is_classes else ExactRegressor
    hist = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
    one_round = {"max_iter": 1, "learning_rate": 1.0, "early_stopping": False}
    no_limits = {"max_leaf_nodes": None, "min_samples_leaf": 1}
    return [
        Contestant(
            "sklearn-exact", lambda: exact(max_depth=max_depth, random_state=0), is_peer=True
        ),
        Contestant(
            "sklearn-hist",
            lambda: hist(max_depth=max_depth, **one_round, **no_limits),
            is_peer=True,
        ),
    ]


# Measuring


def _rotated(contestants: list[Contestant], turn: int) -> list[Contestant]:
    """Nobody is always first."""
    first = turn % max(1, len(contestants))
    return contestants[first:] + contestants[:first]


def _measure(contestant: Contestant, split: Split) -> None:
    """Fit and predict once. What a peer cannot do puts it out; our own errors are raised."""
    X, X_test, y, y_test = split
    try:
        start = time.perf_counter()
        model = contestant.make().fit(X, y)
        fitted = time.perf_counter()
        model.predict(X_test)
        predicted = time.perf_counter()
    except ValueError as error:
        if not contestant.is_peer:
            raise
        contestant.reason = " ".join(str(error).split())
        return
    contestant.fits.append(fitted - start)
    contestant.predicts.append(predicted - fitted)
    contestant.score = float(model.score(X_test, y_test))
    if not contestant.is_peer:
        contestant.content = model.to_bytes()


def _result(
    table: LabelledTable, everyone: list[Contestant], repeats: int, max_depth: int | None
) -> dict[str, Any]:
    took_part = [each for each in everyone if not each.reason]
    contents = [each.content for each in took_part if not each.is_peer]
    fastest = min((_warm(each) for each in took_part), default=math.nan)
    return {
        "table": table.name,
        "task": table.task,
        "n_rows": table.X.shape[0],
        "n_features": table.X.shape[1],
        "max_depth": max_depth,
        "repeats": repeats,
        "contestants": {
            each.name: {
                "cold": each.fits[0],
                "warm": _warm(each),
                "predict": statistics.median(each.predicts[1:]),
                "ratio": _warm(each) / fastest,
                "score": each.score,
                "same_bytes": None if each.is_peer else each.content == contents[0],
            }
            for each in took_part
        },
        "skipped": {each.name: each.reason for each in everyone if each.reason},
        "same_bytes": len(set(contents)) == 1 if len(contents) > 1 else None,
    }


def _warm(contestant: Contestant) -> float:
    return statistics.median(contestant.fits[1:])


# What is printed


def as_text(result: dict[str, Any]) -> str:
    """The result as a table, with the reasons of those that sat out below."""
    depth = "unlimited depth" if result["max_depth"] is None else f"depth {result['max_depth']}"
    score = "accuracy" if result["task"] == "classification" else "R²"
    lines = [
        f"{result['table']}: {result['n_rows']:,} rows x {result['n_features']:,} features, "
        f"{result['task']}, {depth}; seconds, medians of {result['repeats']}, a quarter of the "
        "rows held out",
        "",
        f"{'':<16} {'cold':>9} {'warm':>9} {'x fastest':>9} {'predict':>9} {score:>9}  same model",
    ]
    lines += [_line(name, each) for name, each in result["contestants"].items()]
    lines += [f"{name:<16} skipped: {reason}" for name, reason in result["skipped"].items()]
    return "\n".join(lines)


def _line(name: str, each: dict[str, Any]) -> str:
    same = {True: "yes", False: "NO", None: "-"}[each["same_bytes"]]
    return (
        f"{name:<16} {each['cold']:>9.4f} {each['warm']:>9.4f} {each['ratio']:>9.2f} "
        f"{each['predict']:>9.4f} {each['score']:>9.4f}  {same}"
    )
