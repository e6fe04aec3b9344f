"""Every way to prune beside the fit: one tree of unlimited depth on a generated table.

python benchmarks/pruning.py --rows 1M --repeats 3

Rows are those of the suites (`tables.py`), with a fifth more that are held out to judge. Methods
take turns on the same tree; medians are shown, and what they are of the seconds that the fit took.
Cross-validation grows ten trees and is left out.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from cases import whole
from contestants import available_cores
from tables import HELD_OUT, Table, generated

from gputree import DecisionTreeClassifier, warmup
from gputree.pruning import (
    CostComplexity,
    CriticalValue,
    ErrorBased,
    MinimumError,
    Pessimistic,
    Prepruning,
    ReducedError,
)

ALPHA = 1e-5  # a share of the rows: ten of a million
Way = Callable[[DecisionTreeClassifier], DecisionTreeClassifier]


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    n_test = max(1, round(HELD_OUT * options.rows))
    table = generated(options.rows, options.features, options.classes, n_test)
    ways = ways_of(table)
    warmup()
    fits: list[float] = []
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 + options.repeats):  # the first turn loads what later ones use
        model = DecisionTreeClassifier(backend=options.backend, n_jobs=options.threads)
        fits.append(timed(model.fit, table.X, table.y)[0])
        pruned = {name: timed(way, model) for name, way in ways.items()}
        for name, (passed, _) in pruned.items():
            seconds[name].append(passed)
    fit = statistics.median(fits[1:])
    print(
        f"{options.rows:,} rows x {options.features} columns, {options.classes} classes, "
        f"{options.backend}, {options.threads} threads: the fit takes {fit:.2f} s, "
        f"{model.get_n_leaves():,} leaves, depth {model.get_depth()}\n"
    )
    print("| method | leaves left | seconds | of the fit |\n|---|---|---|---|")
    for name in ways:
        median = statistics.median(seconds[name][1:])
        print(
            f"| {name} | {pruned[name][1].get_n_leaves():,} | {median:.2f} | {median / fit:.0%} |"
        )


def ways_of(table: Table) -> dict[str, Way]:
    """Each method by its name."""
    judges = table.X_test, table.y_test
    return {
        "simplify": lambda model: model.simplify(),
        "reduced error": lambda model: model.prune(ReducedError(), *judges),
        "prepruning": lambda model: model.prune(Prepruning(), *judges),
        "pessimistic": lambda model: model.prune(Pessimistic()),
        "minimum error": lambda model: model.prune(MinimumError()),
        "critical value": lambda model: model.prune(CriticalValue()),
        "cost-complexity, error": lambda model: model.prune(CostComplexity(ALPHA)),
        "cost-complexity, impurity": lambda model: model.prune(CostComplexity(ALPHA, "impurity")),
        "error-based, no raising": lambda model: model.prune(ErrorBased(raising=False)),
        "error-based": lambda model: model.prune(ErrorBased(), table.X, table.y),
    }


def timed(task: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """The seconds that a task takes, and what it gives."""
    start = time.perf_counter()
    found = task(*args)
    return time.perf_counter() - start, found


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time every method of pruning beside the fit.")
    parser.add_argument("--rows", type=whole, default=1_000_000, help="such as 200k or 1M")
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--backend", default="numba")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--repeats", type=int, default=3, help="turns that are counted")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
