"""Oblique trees beside the tree of single columns: size and accuracy in ten folds.

python benchmarks/oblique.py                           # generated problems, rotated
python benchmarks/oblique.py --data folder --tables iris,wine

For forests beside those of YDF and treeple see benchmarks/oblique_forests.py.

All trees are pruned in the same way, pessimistically by default. Behind ± is the standard error of
the mean of paired differences, corrected for folds that share rows to train on (Nadeau and Bengio
2003); a difference is marked where it is outside of 95% by Student's t.
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.model_selection import StratifiedKFold
from tables import REAL_TABLES

from gputree import DecisionTreeClassifier, ObliqueTreeClassifier

TABLES = (
    *("balance_scale", "breast_cancer", "diabetes_pima", "glass", "ionosphere", "iris", "segment"),
    *("sonar", "vehicle", "vowel", "wdbc", "wine", "heart_c", "credit_g"),
)
MOST_ROWS = 5000
DIRECTIONS = ("lda", "cart-lc", "sparse")
Problem = tuple[str, Any, Any]


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    generated = rotated(options.rows) if options.data is None else real(options)
    directions = options.directions.split(",")
    heads = [f"{name}: nodes | accuracy | difference | CPU s" for name in directions]
    print(f"| problem | rows | columns: nodes | accuracy | CPU s | {' | '.join(heads)} |")
    print("|---" * (5 + 4 * len(directions)) + "|")
    for name, X, y in generated:
        along = in_folds(options, X, y, None)
        cells = [
            name,
            f"{len(y):,}",
            f"{along[1]:.0f}",
            f"{along[0].mean():.3f}",
            f"{along[2]:.1f}",
        ]
        for each in directions:
            accuracy, n_nodes, seconds = in_folds(options, X, y, each)
            cells += [f"{n_nodes:.0f}", f"{accuracy.mean():.3f}"]
            cells += [told(accuracy - along[0]), f"{seconds:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def in_folds(
    options: argparse.Namespace, X: Any, y: Any, directions: str | None
) -> tuple[Any, float, float]:
    """Accuracy in each fold, mean number of nodes, and seconds of the processor for all fits."""
    how = {"pruning": options.pruning, "backend": "numba", "n_jobs": 1, "random_state": 0}
    model: Any = DecisionTreeClassifier(**how)
    if directions is not None:
        model = ObliqueTreeClassifier(directions=directions, **how)
    accuracy, n_nodes, seconds = [], [], 0.0
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0)
    for train, test in folds.split(np.zeros(len(y)), y):
        start = time.process_time()
        model.fit(X.iloc[train], y[train])
        seconds += time.process_time() - start
        accuracy.append(model.score(X.iloc[test], y[test]))
        n_nodes.append(model.nodes_.n_nodes)
    return np.array(accuracy), float(np.mean(n_nodes)), seconds


def told(difference: Any) -> str:
    """The mean of paired differences, with its error, and whether it is more than noise."""
    n = len(difference)
    error = math.sqrt(difference.var(ddof=1) * (1.0 / n + 1.0 / (n - 1)))
    mean = float(difference.mean())
    is_clear = abs(mean) > error * stats.t.ppf(0.975, n - 1)
    word = "" if not is_clear else " better" if mean > 0 else " worse"
    return f"{mean:+.3f} ± {error:.3f}{word}"


# The problems


def rotated(n_rows: int) -> Iterator[Problem]:
    """Problems that are simple along some axes, which are not those of the table."""
    rng = np.random.default_rng(0)

    def made(name: str, Z: Any, y: Any) -> Problem:
        turn, _ = np.linalg.qr(rng.normal(size=(Z.shape[1], Z.shape[1])))
        return name, pd.DataFrame(Z @ turn).add_prefix("x"), np.asarray(y).astype(int)

    for n_columns in (2, 5):
        Z = rng.uniform(-1.0, 1.0, (n_rows, n_columns))
        yield made(f"checkerboard, {n_columns} columns", Z, (Z[:, 0] > 0.1) ^ (Z[:, 1] > -0.1))
    for n_columns in (2, 4):
        Z = rng.uniform(-1.0, 1.0, (n_rows, n_columns))
        yield made(f"bands, {n_columns} columns", Z, np.floor(3.0 * Z[:, 0]) % 2)
    for n_columns in (2, 5, 10):
        y = rng.integers(0, 2, n_rows)
        Z = rng.normal(size=(n_rows, n_columns)) * np.linspace(1.0, 3.0, n_columns)
        Z[:, 0] = 0.4 * Z[:, 0] + 2.0 * y
        yield made(f"Gaussians, {n_columns} columns", Z, y)


def real(options: argparse.Namespace) -> Iterator[Problem]:
    """Tables of a folder, each with its classes in a column named target."""
    for name in options.tables.split(","):
        path = options.data / f"{name}.parquet"
        if not path.exists():
            continue
        frame = pd.read_parquet(path)
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
        y = frame.pop("target").astype(str).to_numpy()
        kept = pd.Series(y).map(pd.Series(y).value_counts()).to_numpy() >= options.folds
        yield name, frame[kept], y[kept]


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000, help="of a generated problem")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--pruning", default="pessimistic")
    parser.add_argument("--directions", default=",".join(DIRECTIONS))
    parser.add_argument(
        "--data", type=Path, nargs="?", const=REAL_TABLES, help="a folder of tables"
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
