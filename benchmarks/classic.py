"""Classic trees beside other systems: C4.5 on a real table, and splits of categories.

python benchmarks/classic.py --weka weka.jar --repeats 3

C4.5 is timed on the table `adult` (48,842 rows, 8 of 14 columns nominal, missing values) beside
Weka's J48, where Java and the jar are there, and chefboost, where it is installed. Splits of
categories are timed on made tables beside LightGBM's, one tree each. Contestants take turns; a
fit starts from a data frame (Weka: from its instances in memory) and medians are shown.
"""

import argparse
import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pandas as pd
from contestants import available_cores
from progress import Progress
from tables import REAL_TABLES

import gputree

Fit = Callable[[], float]  # runs once, and returns seconds

BUILD_TIME = re.compile(r"Time taken to build model:\s*([\d.]+) seconds")
NOMINAL_ROWS = (10_000, 100_000, 1_000_000)
NOMINAL_COLUMNS, NOMINAL_CATEGORIES, NOMINAL_DEPTH = 20, 50, 8
CHEFBOOST_ROWS = 2_000  # it takes minutes from here on; its time grows with the rows at least


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    suites = [adult(options), *(nominal(n_rows, options) for n_rows in NOMINAL_ROWS)]
    suites = [suite for suite in suites if suite is not None]
    progress = Progress(len(suites))
    results: dict[str, Any] = {
        "machine": machine.describe(["gputree-ml", "lightgbm", "chefboost", "scikit-learn"]),
        "repeats": options.repeats,
        "suites": {},
    }
    for name, contestants in suites:
        progress.begin(name)
        results["suites"][name] = take_turns(contestants, options.repeats, progress)
        progress.end()
        print(f"\n{name}\n{as_table(results['suites'][name])}", flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "classic.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="warm rounds")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--data", type=Path, default=REAL_TABLES, help="folder of Parquet files")
    parser.add_argument("--weka", type=Path, help="weka.jar; without it J48 is left out")
    parser.add_argument("--out", type=Path)
    return parser.parse_args(argv)


def take_turns(contestants: dict[str, Fit], repeats: int, progress: Progress) -> dict[str, Any]:
    """Seconds of each contestant: the first time, and in later rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, fit in contestants.items():
            progress.tell(f"{name}, round {turn}")
            seconds[name].append(fit())
    return {
        name: {"first": times[0], "fit": statistics.median(times[1:]), "all": times}
        for name, times in seconds.items()
    }


def as_table(results: dict[str, Any]) -> str:
    ours = min(own["fit"] for name, own in results.items() if name.startswith("gputree"))
    lines = ["| contestant | first s | fit s | times gputree |", "| --- | ---: | ---: | ---: |"]
    lines += [
        f"| {name} | {own['first']:.3f} | {own['fit']:.3f} | {own['fit'] / ours:.1f} |"
        for name, own in results.items()
    ]
    return "\n".join(lines)


def timed(task: Callable[[], Any]) -> Fit:
    def run() -> float:
        start = time.perf_counter()
        task()
        return time.perf_counter() - start

    return run


# C4.5 on adult.


def adult(options: argparse.Namespace) -> tuple[str, dict[str, Fit]] | None:
    path = options.data / "adult.parquet"
    if not path.is_file():
        return None
    frame = pd.read_parquet(path)
    X, y = frame.drop(columns="target"), frame["target"].cat.codes.to_numpy()
    settings: dict[str, Any] = {"mdl_correction": True, "thresholds": "value", "pruning": None}
    contestants: dict[str, Fit] = {
        "gputree C4.5": timed(
            lambda: gputree.C45Classifier(
                backend="numba", n_jobs=options.threads, max_bins=32_767, **settings
            ).fit(X, y)
        ),
        "gputree C4.5, 255 bins": timed(
            lambda: gputree.C45Classifier(backend="numba", n_jobs=options.threads, **settings).fit(
                X, y
            )
        ),
    }
    if options.weka is not None and shutil.which("java"):
        contestants["Weka J48 -U -O -M 2"] = j48(frame, options.weka)
    chef = chefboost(frame.iloc[:CHEFBOOST_ROWS])
    if chef is not None:
        contestants[f"chefboost C4.5, first {CHEFBOOST_ROWS:,} rows"] = chef
    return "C4.5, adult, 48,842 rows", contestants


def j48(frame: pd.DataFrame, jar: Path) -> Fit:
    """J48 in a fresh Java each time, which tells how long building took."""
    folder = Path(tempfile.mkdtemp())
    table = folder / "adult.arff"
    write_arff(frame, table)
    options = ["-U", "-O", "-M", "2", "-no-cv", "-t", str(table)]
    command = ["java", "-Xmx4g", "-cp", str(jar), "weka.classifiers.trees.J48", *options]

    def run() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = BUILD_TIME.search(done.stdout)
        assert found is not None, done.stdout[:500] + done.stderr[:500]
        return float(found[1])

    return run


def write_arff(frame: pd.DataFrame, path: Path) -> None:
    """A table in Weka's format; categories as declared."""
    with path.open("w", encoding="utf-8") as file:
        file.write("@relation table\n")
        for name in frame:
            column = frame[name]
            kind = "numeric"
            if isinstance(column.dtype, pd.CategoricalDtype):
                kind = "{" + ",".join(f"'{category}'" for category in column.cat.categories) + "}"
            file.write(f"@attribute '{name}' {kind}\n")
        file.write("@data\n")
        for row in frame.itertuples(index=False):
            cells = ("?" if pd.isna(c) else f"'{c}'" if isinstance(c, str) else str(c) for c in row)
            file.write(",".join(cells) + "\n")


def chefboost(frame: pd.DataFrame) -> Fit | None:
    try:
        from chefboost import Chefboost
    except ImportError:
        return None
    table = frame.rename(columns={"target": "Decision"}).copy()
    for name in table:
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            table[name] = pd.Series(table[name].astype(object).fillna("?"), dtype=object)
    config = {"algorithm": "C4.5", "enableParallelism": False}
    # It writes its tree as a module into the current folder, and imports it from there.
    folder = tempfile.mkdtemp()
    sys.path.insert(0, folder)

    def fit() -> None:
        with contextlib.chdir(folder):
            Chefboost.fit(table.copy(), config=config, silent=True)

    return timed(fit)


# Splits of categories.


def nominal(n_rows: int, options: argparse.Namespace) -> tuple[str, dict[str, Fit]]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, NOMINAL_CATEGORIES, (NOMINAL_COLUMNS, n_rows))
    effect = rng.normal(size=(NOMINAL_COLUMNS, NOMINAL_CATEGORIES))
    signal = sum(effect[at][column] for at, column in enumerate(codes[:8]))
    y = (signal + rng.normal(size=n_rows) * 2 > 0).astype(int)
    X = pd.DataFrame(
        {
            f"c{at}": pd.Categorical.from_codes(own, range(NOMINAL_CATEGORIES))
            for at, own in enumerate(codes)
        }
    )
    contestants: dict[str, Fit] = {
        "gputree": timed(
            lambda: gputree.DecisionTreeClassifier(
                max_depth=NOMINAL_DEPTH, backend="numba", n_jobs=options.threads
            ).fit(X, y)
        )
    }
    try:
        import lightgbm
    except ImportError:
        return name_of(n_rows), contestants
    contestants["LightGBM, one tree"] = timed(
        lambda: lightgbm.LGBMClassifier(
            n_estimators=1,
            learning_rate=1.0,
            max_depth=NOMINAL_DEPTH,
            num_leaves=2**NOMINAL_DEPTH,
            min_child_samples=1,
            n_jobs=options.threads,
            verbose=-1,
        ).fit(X, y)
    )
    return name_of(n_rows), contestants


def name_of(n_rows: int) -> str:
    return (
        f"{n_rows:,} rows x {NOMINAL_COLUMNS} columns of {NOMINAL_CATEGORIES} categories, depth "
        f"{NOMINAL_DEPTH}"
    )


if __name__ == "__main__":
    main()
