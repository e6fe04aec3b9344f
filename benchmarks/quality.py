"""Held-out quality of forests and boosting on real tables, beside other libraries.

python benchmarks/quality.py --seeds 5

Every seed draws its own four fifths of the rows to train on. Forests are compared with
scikit-learn's, boosting with LightGBM and XGBoost, all with the same number of trees, the same rate
and depth or leaves, and their own defaults elsewhere. Scores are minus the log loss of classes, or
R² of numbers; means over the seeds and, in brackets, the standard error of the difference to
gputree. Categories go to every library as categories, where it knows them; scikit-learn's forest
gets their numbers, and medians for missing values.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from contestants import available_cores
from progress import Progress
from sklearn.metrics import log_loss, r2_score
from tables import REAL_TABLES

import gputree

TABLES = (
    *("adult", "bank_marketing", "credit_data", "wa_churn", "spambase", "pendigits", "segment"),
    *("attrition", "waveform5000", "california_housing", "bike_sharing", "abalone", "ames"),
    *("elevators", "kin8nm", "diamonds"),
)
HELD_OUT = 0.2
FOREST_TREES, ROUNDS, RATE, LEAVES = 100, 200, 0.1, 31

Fit = Callable[[pd.DataFrame, Any, int], Any]


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    names = [
        name for name in options.tables.split(",") if (options.data / f"{name}.parquet").exists()
    ]
    progress = Progress(len(names))
    results: dict[str, Any] = {}
    for name in names:
        progress.begin(name)
        results[name] = compare(
            pd.read_parquet(options.data / f"{name}.parquet"), options, progress
        )
        progress.end()
        print(as_line(name, results[name]), flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "quality.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kind", default="forest,boosting")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--data", type=Path, default=REAL_TABLES, help="folder of Parquet files")
    parser.add_argument("--out", type=Path)
    return parser.parse_args(argv)


def compare(
    frame: pd.DataFrame, options: argparse.Namespace, progress: Progress
) -> dict[str, dict[str, list[float]]]:
    """Scores of each contestant and seed, higher being better."""
    X, y = frame.drop(columns="target"), frame["target"]
    X.columns = [f"x{at}" for at in range(X.shape[1])]  # LightGBM refuses some names
    is_classes = isinstance(y.dtype, pd.CategoricalDtype)
    target = y.cat.codes.to_numpy() if is_classes else y.to_numpy(np.float64)
    if is_classes:
        target = np.unique(target, return_inverse=True)[1]
    scores: dict[str, dict[str, list[float]]] = {}
    for kind in options.kind.split(","):
        contestants = KINDS[kind](is_classes, options.threads)
        scores[kind] = {name: [] for name in contestants}
        for seed in range(options.seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            test, train = np.split(order, [round(HELD_OUT * len(X))])
            for name, fit in contestants.items():
                progress.tell(f"{kind}, {name}, seed {seed}")
                answer = fit(X.iloc[train], target[train], seed)
                scores[kind][name].append(
                    score(answer, X.iloc[test], target[test], is_classes, target)
                )
    return scores


def score(model: Any, X: pd.DataFrame, y: Any, is_classes: bool, all_y: Any) -> float:
    if not is_classes:
        return float(r2_score(y, model.predict(X)))
    share = np.zeros((len(y), int(all_y.max()) + 1))
    share[:, model.classes_.astype(int)] = model.predict_proba(X)
    return -float(log_loss(y, np.clip(share, 1e-6, 1.0), labels=range(share.shape[1])))


def as_line(name: str, results: dict[str, Any]) -> str:
    parts = [f"{name:20}"]
    for kind, scores in results.items():
        ours = np.array(scores["gputree"])
        parts.append(f"{kind}: gputree {ours.mean():.4f}")
        for other, values in scores.items():
            if other != "gputree":
                apart = np.array(values) - ours
                noise = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
                parts.append(f"{other} {np.mean(values):.4f} ({noise:.4f})")
    return "  ".join(parts)


# Contestants.


def forests(is_classes: bool, threads: int) -> dict[str, Fit]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = gputree.RandomForestClassifier if is_classes else gputree.RandomForestRegressor
    other = RandomForestClassifier if is_classes else RandomForestRegressor
    return {
        "gputree": lambda X, y, seed: kind(
            FOREST_TREES, random_state=seed, n_jobs=threads, backend="numba"
        ).fit(X, y),
        "scikit-learn": lambda X, y, seed: AsNumbers(
            other(FOREST_TREES, random_state=seed, n_jobs=threads)
        ).fit(X, y),
    }


def boosters(is_classes: bool, threads: int) -> dict[str, Fit]:
    found: dict[str, Fit] = {}
    kind = gputree.GradientBoostingClassifier if is_classes else gputree.GradientBoostingRegressor
    found["gputree"] = lambda X, y, seed: kind(
        ROUNDS, learning_rate=RATE, max_depth=None, max_leaf_nodes=LEAVES, n_jobs=threads
    ).fit(X, y)
    found["gputree, depth 6"] = lambda X, y, seed: kind(
        ROUNDS, learning_rate=RATE, n_jobs=threads
    ).fit(X, y)
    try:
        import lightgbm

        other = lightgbm.LGBMClassifier if is_classes else lightgbm.LGBMRegressor
        found["lightgbm"] = lambda X, y, seed: other(
            n_estimators=ROUNDS, learning_rate=RATE, num_leaves=LEAVES, n_jobs=threads, verbose=-1
        ).fit(X, y)
    except ImportError:
        pass
    try:
        import xgboost

        third = xgboost.XGBClassifier if is_classes else xgboost.XGBRegressor
        found["xgboost"] = lambda X, y, seed: third(
            n_estimators=ROUNDS, learning_rate=RATE, n_jobs=threads, enable_categorical=True
        ).fit(X, y)
    except ImportError:
        pass
    return found


class AsNumbers:
    """A model on the numbers of levels, with medians in the place of missing values."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: pd.DataFrame, y: Any) -> "AsNumbers":
        self._median = self._numbers(X).median()
        self._model.fit(self._numbers(X).fillna(self._median).fillna(0.0), y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self._model.predict(self._numbers(X).fillna(self._median).fillna(0.0))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self._model.predict_proba(self._numbers(X).fillna(self._median).fillna(0.0))

    @property
    def classes_(self) -> Any:
        return self._model.classes_

    @staticmethod
    def _numbers(X: pd.DataFrame) -> pd.DataFrame:
        return X.apply(
            lambda column: (
                column.cat.codes.astype(float).replace(-1.0, np.nan)
                if isinstance(column.dtype, pd.CategoricalDtype)
                else column.astype(float)
            )
        )


KINDS = {"forest": forests, "boosting": boosters}


if __name__ == "__main__":
    main()
