"""Forests and gradient boosting beside other libraries: seconds to fit and to predict, and losses.

python benchmarks/ensembles.py --suite forest,boosting --repeats 3

All models of a suite have the same budget: trees, depth or leaves, learning rate, bins, threads.
Contestants take turns in one process, on generated tables of float32; the first round is reported
apart, medians are of the later ones. Losses are those of rows that no model has seen.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import machine
from contestants import available_cores
from progress import Progress
from sklearn.metrics import log_loss, mean_squared_error
from tables import Table, generated

import gputree

PACKAGES = ("gputree-ml", "lightgbm", "xgboost-cpu", "scikit-learn", "snapml", "catboost", "ydf")
RATE = 0.1
LEAVES = 64


@dataclass(frozen=True)
class Contestant:
    """Someone who fits and predicts."""

    fit: Callable[[Any, Any], Any]
    predict: Callable[[Any, Any], Any]  # probabilities, or numbers


@dataclass(frozen=True)
class Suite:
    """One table and those who meet on it."""

    name: str
    table: Callable[[], Table]
    contestants: dict[str, Contestant]


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    suites = list(chosen(options))
    progress = Progress(len(suites))
    results: dict[str, Any] = {
        "machine": machine.describe(PACKAGES),
        "repeats": options.repeats,
        "threads": options.threads,
        "suites": {},
    }
    for suite in suites:
        progress.begin(suite.name)
        results["suites"][suite.name] = found = take_turns(suite, options.repeats, progress)
        progress.end()
        print(f"\n{suite.name}\n{as_table(found)}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nThe process held {peak:.2f} GiB at most.")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / "ensembles.json"
        path.write_text(json.dumps(results, indent=1), encoding="utf-8")


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", default="forest,boosting", help="forest, boosting or both")
    parser.add_argument("--rows", type=int, help="rows of all tables, instead of their own")
    parser.add_argument("--trees", type=int, help="trees or rounds, instead of their own")
    parser.add_argument("--only", help="names of contestants, comma-separated")
    parser.add_argument("--targets", default="2c,reg,10c", help="of boosting")
    parser.add_argument("--growth", default="depth,leaves", help="of boosting, or one of them")
    parser.add_argument("--test-rows", type=int, default=100_000, help="that forests predict")
    parser.add_argument("--repeats", type=int, default=3, help="warm rounds")
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--out", type=Path)
    return parser.parse_args(argv)


def take_turns(suite: Suite, repeats: int, progress: Progress) -> dict[str, Any]:
    """Seconds and losses of each contestant."""
    table = suite.table()
    found: dict[str, dict[str, Any]] = {
        name: {"fits": [], "predictions": []} for name in suite.contestants
    }
    for turn in range(repeats + 1):
        for name, contestant in suite.contestants.items():
            progress.tell(f"{name}, round {turn}")
            start = time.perf_counter()
            model = contestant.fit(table.X, table.y)
            fitted = time.perf_counter()
            answer = contestant.predict(model, table.X_test)
            found[name]["fits"].append(fitted - start)
            found[name]["predictions"].append(time.perf_counter() - fitted)
            found[name]["loss"] = loss(table, answer)
            if table.n_classes:
                found[name]["accuracy"] = float((answer.argmax(axis=1) == table.y_test).mean())
    for own in found.values():
        own["first"] = own["fits"][0]
        own["fit"] = statistics.median(own["fits"][1:] or own["fits"])
        own["predict"] = statistics.median(own["predictions"][1:] or own["predictions"])
    return found


def loss(table: Table, answer: Any) -> float:
    """Log loss of probabilities, or mean squared error."""
    if not table.n_classes:
        return float(mean_squared_error(table.y_test, answer))
    return float(log_loss(table.y_test, answer, labels=range(table.n_classes)))


def as_table(results: dict[str, Any]) -> str:
    ours = next(own for name, own in results.items() if name.startswith("gputree"))
    lines = [
        "| contestant | first s | fit s | times gputree | predict s | times gputree | loss "
        "| accuracy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {name} | {own['first']:.2f} | {own['fit']:.2f} | {own['fit'] / ours['fit']:.2f} "
        f"| {own['predict']:.3f} | {own['predict'] / ours['predict']:.2f} | {own['loss']:.5f} "
        f"| {own.get('accuracy', float('nan')):.4f} |"
        for name, own in results.items()
    ]
    return "\n".join(lines)


def chosen(options: argparse.Namespace) -> Iterator[Suite]:
    wanted = options.suite.split(",")
    if "forest" in wanted:
        yield only(forest(options), options)
    if "boosting" in wanted:
        for target in options.targets.split(","):
            for growth in options.growth.split(","):
                leaves = {"depth": None, "leaves": LEAVES}[growth]
                yield only(boosting(options, target, leaves), options)


def only(suite: Suite, options: argparse.Namespace) -> Suite:
    if options.only is None:
        return suite
    names = options.only.split(",")
    return Suite(
        suite.name,
        suite.table,
        {name: own for name, own in suite.contestants.items() if name in names},
    )


def shares(model: Any, X: Any) -> Any:
    return model.predict_proba(X)


def numbers(model: Any, X: Any) -> Any:
    return model.predict(X)


def forest(options: argparse.Namespace) -> Suite:
    """Random forests of unlimited depth, the square root of the features at each node."""
    n_rows, n_trees = options.rows or 200_000, options.trees or 20
    threads = options.threads
    contestants = {
        "gputree": Contestant(
            lambda X, y: gputree.RandomForestClassifier(
                n_trees, backend="numba", n_jobs=threads, random_state=0
            ).fit(X, y),
            shares,
        )
    }
    for name, open_it in (
        ("snapml", snapml_forest),
        ("scikit-learn", sklearn_forest),
        ("xgboost", xgboost_forest),
        ("lightgbm", lightgbm_forest),
    ):
        found = open_it(n_trees, threads)
        if found is not None:
            contestants[name] = Contestant(found, shares)
    return Suite(
        f"forest of {n_trees}, {n_rows:,} x 28, 2 classes",
        partial(generated, n_rows, 28, 2, options.test_rows),
        contestants,
    )


def snapml_forest(n_trees: int, threads: int) -> Callable[[Any, Any], Any] | None:
    try:
        from snapml import RandomForestClassifier
    except ImportError:
        return None
    return lambda X, y: RandomForestClassifier(
        n_estimators=n_trees, max_features="sqrt", n_jobs=threads, use_histograms=True
    ).fit(X, y)


def sklearn_forest(n_trees: int, threads: int) -> Callable[[Any, Any], Any]:
    from sklearn.ensemble import RandomForestClassifier

    return lambda X, y: RandomForestClassifier(n_trees, n_jobs=threads, random_state=0).fit(X, y)


def xgboost_forest(n_trees: int, threads: int) -> Callable[[Any, Any], Any] | None:
    try:
        import xgboost
    except ImportError:
        return None
    return lambda X, y: xgboost.XGBRFClassifier(
        n_trees, max_depth=16, colsample_bynode=0.19, subsample=0.632, n_jobs=threads, reg_lambda=0
    ).fit(X, y)


def lightgbm_forest(n_trees: int, threads: int) -> Callable[[Any, Any], Any] | None:
    try:
        import lightgbm
    except ImportError:
        return None
    return lambda X, y: lightgbm.LGBMClassifier(
        boosting_type="rf",
        n_estimators=n_trees,
        num_leaves=131_072,
        min_child_samples=1,
        subsample=0.632,
        subsample_freq=1,
        feature_fraction_bynode=0.19,
        n_jobs=threads,
        verbose=-1,
    ).fit(X, y)


def boosting(options: argparse.Namespace, target: str, leaves: int | None) -> Suite:
    """Gradient boosting by depth 6, or leaf by leaf."""
    n_rows, n_rounds = options.rows or 1_000_000, options.trees or 100
    n_classes = 0 if target == "reg" else int(target.removesuffix("c"))
    own = gputree.GradientBoostingClassifier if n_classes else gputree.GradientBoostingRegressor
    growth = {"max_depth": 6} if leaves is None else {"max_depth": None, "max_leaf_nodes": leaves}
    contestants = {
        "gputree": Contestant(
            lambda X, y: own(
                n_rounds, learning_rate=RATE, backend="numba", n_jobs=options.threads, **growth
            ).fit(X, y),
            shares if n_classes else numbers,
        )
    }
    for name, open_it in (
        ("lightgbm", lightgbm_boosting),
        ("xgboost", xgboost_boosting),
        ("sklearn-hist", sklearn_boosting),
        ("catboost", catboost_boosting),
    ):
        fit = open_it(n_rounds, n_classes, leaves, options.threads)
        if fit is not None:
            contestants[name] = Contestant(fit, shares if n_classes else numbers)
    what = "regression" if not n_classes else f"{n_classes} classes"
    how = "depth 6" if leaves is None else f"{leaves} leaves"
    return Suite(
        f"boosting, {n_rounds} rounds, {n_rows:,} x 28, {what}, {how}",
        partial(generated, n_rows, 28, n_classes, min(n_rows, 1_000_000)),
        contestants,
    )


def lightgbm_boosting(
    n_rounds: int, n_classes: int, leaves: int | None, threads: int
) -> Callable[[Any, Any], Any] | None:
    try:
        import lightgbm
    except ImportError:
        return None
    kind = lightgbm.LGBMClassifier if n_classes else lightgbm.LGBMRegressor
    return lambda X, y: kind(
        n_estimators=n_rounds,
        learning_rate=RATE,
        max_depth=6 if leaves is None else -1,
        num_leaves=leaves or 64,
        reg_lambda=1.0,
        n_jobs=threads,
        verbose=-1,
    ).fit(X, y)


def xgboost_boosting(
    n_rounds: int, n_classes: int, leaves: int | None, threads: int
) -> Callable[[Any, Any], Any] | None:
    try:
        import xgboost
    except ImportError:
        return None
    kind = xgboost.XGBClassifier if n_classes else xgboost.XGBRegressor
    by_leaf = {"max_depth": 0, "max_leaves": leaves, "grow_policy": "lossguide"}
    return lambda X, y: kind(
        n_estimators=n_rounds,
        learning_rate=RATE,
        tree_method="hist",
        n_jobs=threads,
        **({"max_depth": 6} if leaves is None else by_leaf),
    ).fit(X, y)


def sklearn_boosting(
    n_rounds: int, n_classes: int, leaves: int | None, threads: int
) -> Callable[[Any, Any], Any]:
    """It has no parameter for threads and takes as many as OpenMP gives it."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    return lambda X, y: kind(
        max_iter=n_rounds,
        learning_rate=RATE,
        max_depth=6 if leaves is None else None,
        max_leaf_nodes=leaves,
        l2_regularization=1.0,
        early_stopping=False,
    ).fit(X, y)


def catboost_boosting(
    n_rounds: int, n_classes: int, leaves: int | None, threads: int
) -> Callable[[Any, Any], Any] | None:
    try:
        import catboost
    except ImportError:
        return None
    kind = catboost.CatBoostClassifier if n_classes else catboost.CatBoostRegressor
    growth = {"depth": 6} if leaves is None else {"grow_policy": "Lossguide", "max_leaves": leaves}
    return lambda X, y: kind(
        iterations=n_rounds,
        learning_rate=RATE,
        thread_count=threads,
        verbose=False,
        allow_writing_files=False,
        **growth,
    ).fit(X, y)


if __name__ == "__main__":
    main()
