"""Held-out quality of forests and boosting on real tables, beside other libraries.

python benchmarks/quality.py --seeds 5 --out quality.json
python benchmarks/quality.py --markdown quality.json --page docs/quality.md

Every seed draws its own four fifths of the rows to train on, the same for all libraries. Tables
larger than `--rows` are cut to so many, drawn at random once. Who takes part, and how, is in
`quality_models.py`; what counts as more than noise in `quality_report.py`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import quality_report
from contestants import available_cores
from machine import describe
from progress import Progress
from quality_models import CONTESTS, contestants
from sklearn.metrics import accuracy_score, log_loss, r2_score
from tables import REAL_TABLES

TABLES = (
    *("adult", "bank_marketing", "credit_data", "wa_churn", "attrition", "sick", "diabetes130"),
    *("splice", "spambase", "pendigits", "segment", "waveform5000"),
    *("ames", "kc_housing", "hotel_rates", "diamonds", "bike_sharing", "abalone"),
    *("california_housing", "elevators", "kin8nm"),
)
HELD_OUT = quality_report.HELD_OUT
LEAST_SHARE = 1e-6  # of a class, so that a forest that rules it out has some log loss
LIBRARIES = ("gputree-ml", "scikit-learn", "lightgbm", "xgboost-cpu")

Scores = dict[str, list[float]]  # of each measure, by seed


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    if options.markdown:
        show(quality_report.read(options.markdown), options.page)
        return
    names = [
        name for name in options.tables.split(",") if (options.data / f"{name}.parquet").exists()
    ]
    progress = Progress(len(names))
    results: dict[str, Any] = {
        "setting": {"seeds": options.seeds, "rows": options.rows},
        "libraries": describe(LIBRARIES)["libraries"],
        "tables": {},
    }
    for name in names:
        progress.begin(name)
        frame = cut(pd.read_parquet(options.data / f"{name}.parquet"), options.rows)
        results["tables"][name] = about(frame) | {"scores": compare(frame, options, progress)}
        progress.end()
        print("\n".join(quality_report.lines(name, results["tables"][name])), flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000, help="the most rows of a table")
    parser.add_argument("--contests", default=",".join(CONTESTS))
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--data", type=Path, default=REAL_TABLES, help="folder of Parquet files")
    parser.add_argument("--out", type=Path, help="a JSON file, written after every table")
    parser.add_argument(
        "--markdown", type=Path, nargs="+", help="tell what is in such files, and measure nothing"
    )
    parser.add_argument("--page", type=Path, help="where to; printed without it")
    return parser.parse_args(argv)


def show(results: dict[str, Any], page: Path | None) -> None:
    if page is None:
        print(quality_report.text(results), end="")
    else:
        quality_report.write(results, page)


def cut(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """The table, or so many of its rows."""
    if len(frame) <= most:
        return frame
    kept = np.random.default_rng(0).permutation(len(frame))[:most]
    return frame.iloc[np.sort(kept)].reset_index(drop=True)


def about(frame: pd.DataFrame) -> dict[str, int]:
    """What kind of table it is."""
    X, y = frame.drop(columns="target"), frame["target"]
    return {
        "rows": len(X),
        "features": X.shape[1],
        "nominal": sum(isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes),
        "missing": int(X.isna().to_numpy().sum()),
        "classes": y.nunique() if isinstance(y.dtype, pd.CategoricalDtype) else 0,
    }


def compare(
    frame: pd.DataFrame, options: argparse.Namespace, progress: Progress
) -> dict[str, dict[str, Scores]]:
    """The scores of each contest and contestant."""
    X, y = frame.drop(columns="target"), frame["target"]
    X.columns = [f"x{at}" for at in range(X.shape[1])]  # LightGBM refuses some names
    is_classes = isinstance(y.dtype, pd.CategoricalDtype)
    target = y.cat.codes.to_numpy() if is_classes else y.to_numpy(np.float64)
    if is_classes:
        target = np.unique(target, return_inverse=True)[1]
    found: dict[str, dict[str, Scores]] = {}
    for contest in options.contests.split(","):
        fits = contestants(contest, X, is_classes, options.threads)
        found[contest] = {name: {} for name in fits}
        for seed in range(options.seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            test, train = np.split(order, [round(HELD_OUT * len(X))])
            for name, fit in fits.items():
                progress.tell(f"{contest}, {name}, seed {seed}")
                model = fit(X.iloc[train], target[train], seed)
                scores = score(model, X.iloc[test], target[test], int(target.max()) + 1, is_classes)
                for measure, value in scores.items():
                    found[contest][name].setdefault(measure, []).append(value)
    return found


def score(
    model: Any, X: pd.DataFrame, y: Any, n_classes: int, is_classes: bool
) -> dict[str, float]:
    """All measures of one model."""
    if not is_classes:
        return {"R²": float(r2_score(y, model.predict(X)))}
    share = np.zeros((len(y), n_classes))
    share[:, model.classes_.astype(int)] = model.predict_proba(X)
    bounded = np.clip(share, LEAST_SHARE, 1.0)
    bounded /= bounded.sum(axis=1, keepdims=True)
    return {
        "log loss": float(log_loss(y, bounded, labels=range(n_classes))),
        "Brier score": float(((share - np.eye(n_classes)[y]) ** 2).sum(axis=1).mean()),
        "accuracy": float(accuracy_score(y, share.argmax(axis=1))),
    }


if __name__ == "__main__":
    main()
