"""Forests of oblique trees beside those of YDF and treeple: seconds of a fit, and accuracy.

python benchmarks/oblique_forests.py --python ours=python,ydf=python,treeple=other/bin/python
python benchmarks/oblique_forests.py --data folder --tables segment,vehicle --repeats 5

Each contestant runs in a process of its own, by the interpreter that is given for it: `pip install
ydf`, and `pip install treeple "scikit-learn<1.7"`, since the compiled code of treeple needs the
scikit-learn that it was made for. Without --data a table is generated, of `--rows` rows and 28
columns; of other tables a third of the rows is left out, anew in each repeat. All forests have
unlimited depth and leaves of one row, and use `--threads` threads. YDF tries p^exponent projections
at a node, and treeple the square root of p. Behind ± is the standard error of the accuracy: of one
share of rows, or of the mean of repeats.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

TABLES = "segment,vehicle,wdbc,ionosphere,sonar,vowel"
N_TEST = 50_000
CONTESTANTS = {  # by name: who, and parameters
    "ours": ("ours", {}),
    "ours, few": ("ours", {"max_projections": 5}),
    "ours, many": ("ours", {"max_projections": 28, "max_features": 1.0}),
    "ours, columns": ("ours", {"splits": "axis"}),
    "ydf, p^0.5": ("ydf", {"sparse_oblique_num_projections_exponent": 0.5}),
    "ydf, p": ("ydf", {"sparse_oblique_num_projections_exponent": 1.0}),
    "treeple": ("treeple", {}),
}


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    if options.run:
        print(json.dumps(measured(options)))
        return
    pythons = dict(pair.split("=", 1) for pair in options.python.split(","))
    names = [name for name in options.contestants.split(";") if CONTESTANTS[name][0] in pythons]
    print("| table | forest | fit s | CPU s | predict s | accuracy |\n|---|---|---|---|---|---|")
    for table in ["generated"] if options.data is None else options.tables.split(","):
        for name in names:
            print(f"| {table} | {name} | {told(options, table, name, pythons)} |", flush=True)


def told(options: argparse.Namespace, table: str, name: str, pythons: dict[str, str]) -> str:
    """The cells of a line, from a process for each repeat."""
    runs = []
    for repeat in range(options.repeats):
        shared = [f"--{each}={getattr(options, each)}" for each in ("rows", "trees", "threads")]
        if options.data is not None:
            shared += [f"--data={options.data}", f"--tables={table}"]
        command = [pythons[CONTESTANTS[name][0]], __file__, *shared]
        done = subprocess.run(
            [*command, f"--run={name}", f"--seed={repeat}"],
            capture_output=True,
            text=True,
            timeout=options.timeout,
            check=False,
        )
        if done.returncode:
            return f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]} | | |"
        runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
    seconds = [min(run[key] for run in runs) for key in ("fit", "cpu", "predict")]
    accuracy = np.array([run["accuracy"] for run in runs])
    error = math.sqrt(accuracy[0] * (1.0 - accuracy[0]) / runs[0]["n_test"])
    if len(runs) > 1:
        error = float(accuracy.std(ddof=1)) / math.sqrt(len(runs))
    cells = [f"{each:.2f}" for each in seconds]
    return " | ".join([*cells, f"{accuracy.mean():.4f} ± {error:.4f}"])


# One process


def measured(options: argparse.Namespace) -> dict[str, float]:
    """What a contestant needs for a fit, and how many of the rows that were left out it knows."""
    who, parameters = CONTESTANTS[options.run]
    X, y, X_test, y_test = data(options)
    fit, answer = {"ours": ours, "ydf": ydf, "treeple": treeple}[who](options, parameters)
    if who == "ours":
        fit(X[:3000], y[:3000])  # compiles
    cpu, start = time.process_time(), time.perf_counter()
    model = fit(X, y)
    fit_seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    start = time.perf_counter()
    found = answer(model, X_test)
    return {
        "fit": fit_seconds,
        "cpu": cpu,
        "predict": time.perf_counter() - start,
        "accuracy": float(np.mean(found == y_test)),
        "n_test": len(y_test),
    }


def ours(options: argparse.Namespace, parameters: dict[str, Any]) -> Any:
    from gputree import RandomForestClassifier

    how = {"splits": "oblique", "backend": "numba", "n_jobs": options.threads} | parameters
    forest = RandomForestClassifier(options.trees, random_state=options.seed, **how)
    return forest.fit, lambda model, X: model.predict(X)


def treeple(options: argparse.Namespace, parameters: dict[str, Any]) -> Any:
    from treeple import ObliqueRandomForestClassifier

    forest = ObliqueRandomForestClassifier(
        options.trees, n_jobs=options.threads, random_state=options.seed, **parameters
    )
    return forest.fit, lambda model, X: model.predict(X)


def ydf(options: argparse.Namespace, parameters: dict[str, Any]) -> Any:
    import ydf

    learner = ydf.RandomForestLearner(
        label="y",
        num_trees=options.trees,
        split_axis="SPARSE_OBLIQUE",
        sparse_oblique_normalization="STANDARD_DEVIATION",
        max_depth=-1,
        min_examples=1,
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=options.threads,
        random_seed=options.seed,
        **parameters,
    )

    def columns(X: Any) -> dict[str, Any]:
        return {f"x{at}": X[:, at] for at in range(X.shape[1])}

    def answer(model: Any, X: Any) -> Any:
        found = model.predict(columns(X))
        number = found > 0.5 if found.ndim == 1 else found.argmax(axis=1)
        return np.array(model.label_classes())[number.astype(int)].astype(int)

    return lambda X, y: learner.train(columns(X) | {"y": y}, verbose=0), answer


# Tables


def data(options: argparse.Namespace) -> tuple[Any, ...]:
    """Rows and classes to fit, and those that are left out."""
    if options.data is None:
        X, y = generated(options.rows + N_TEST)
        return X[: options.rows], y[: options.rows], X[options.rows :], y[options.rows :]
    import pandas as pd

    frame = pd.read_parquet(options.data / f"{options.tables}.parquet")
    _, y = np.unique(frame.pop("target").astype(str), return_inverse=True)
    X = frame.select_dtypes("number").to_numpy(np.float32)
    is_whole = np.isfinite(X).all(axis=1)  # treeple takes no missing values
    X, y = X[is_whole], y[is_whole]
    order = np.random.default_rng(options.seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 3])
    return X[train], y[train], X[test], y[test]


def generated(n_rows: int, n_columns: int = 28) -> tuple[Any, Any]:
    """Two classes by a signal along some turned axes and some that are those of the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    turn, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    Z = X @ turn[:, :3]
    signal = np.sin(2.0 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.7 * X[:, 3]
    signal -= 0.5 * np.abs(X[:, 4] + X[:, 5])
    y = signal + 0.5 * rng.normal(size=n_rows) > np.median(signal)
    return X, y.astype(int)


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = sys.executable
    parser.add_argument("--python", default=f"ours={here},ydf={here},treeple={here}")
    parser.add_argument("--contestants", default=";".join(CONTESTANTS))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds of a process")
    parser.add_argument("--data", type=Path, help="a folder of tables")
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
