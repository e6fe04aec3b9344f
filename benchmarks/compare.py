"""Fit one tree with gputree and its peers on the same table, interleaved; print ratios.

python benchmarks/compare.py --rows 100000 --features 28 --depth 8 --backends numpy
"""

import argparse
import json
import os
import platform
import statistics
import time
from typing import Any

from contestants import PEERS, Fit, gputree_with
from tables import generate


def main() -> None:
    options = read_options()
    X, y = generate(options.rows, options.features, options.classes)
    is_classes = options.classes > 0
    fits = {
        f"gputree-{backend}": gputree_with(backend, options.depth, is_classes)
        for backend in options.backends.split(",")
    }
    fits |= {name: PEERS[name](options.depth, is_classes) for name in options.peers.split(",")}
    results = measure(fits, X, y, options.repeats)
    print_table(results)
    if options.json:
        described = {"machine": machine(), "options": vars(options), "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(described, file, indent=1)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--classes", type=int, default=2, help="0 for a regression")
    parser.add_argument("--depth", type=int, default=None, help="unlimited by default")
    parser.add_argument("--backends", default="numpy")
    parser.add_argument("--peers", default="sklearn-hist")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="where to write the figures")
    return parser.parse_args()


def measure(fits: dict[str, Fit], X: Any, y: Any, repeats: int) -> dict[str, dict[str, Any]]:
    """Seconds of a cold and of repeated warm fits; everyone has a turn in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    scores = {}
    for _ in range(repeats + 1):
        for name, fit in fits.items():
            start = time.perf_counter()
            model = fit(X, y)
            seconds[name].append(time.perf_counter() - start)
            scores[name] = float(model.score(X, y))
    return {
        name: {
            "cold": times[0],
            "warm": statistics.median(times[1:]),
            "all": times,
            "train_score": scores[name],
        }
        for name, times in seconds.items()
    }


def print_table(results: dict[str, dict[str, Any]]) -> None:
    """Medians, and how many times slower than the first contestant each one is."""
    first = next(iter(results.values()))["warm"]
    print("| contestant | cold s | warm s | times the first | training score |")
    print("|---|---|---|---|---|")
    for name, result in results.items():
        print(
            f"| {name} | {result['cold']:.3f} | {result['warm']:.3f} | {result['warm'] / first:.2f}"
            f" | {result['train_score']:.4f} |"
        )


def machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
