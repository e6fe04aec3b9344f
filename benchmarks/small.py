"""Small tables, wide tables and many trees, beside scikit-learn and LightGBM.

python benchmarks/small.py --rows 1k,3k,10k --rounds 7 --starts 3
python benchmarks/small.py --cases forest,boost-2c --rows 3k --starts 0
python benchmarks/small.py --cases wide,many-trees,many-rounds --rounds 3

All contestants take turns in one process, so that what else the machine does meets all alike; then
each fits and predicts in new processes, where imports and the loading of compiled kernels count.
Printed are the least seconds of a fit and of a prediction, and our time divided by each peer's:
below 1, we are quicker. `--clock cpu` compares processor time of all threads, not time that passed.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
OURS = "gputree"
VERBS = ("fit", "predict")
Seconds = dict[str, dict[str, float]]  # by contestant and verb


@dataclass(frozen=True)
class Model:
    """A class by its module and name, and its parameters."""

    module: str
    name: str
    params: dict[str, Any]

    def make(self, n_jobs: int | None) -> Any:
        cls = getattr(import_module(self.module), self.name)
        params = dict(self.params)
        if n_jobs is not None and "n_jobs" in cls().get_params():
            params["n_jobs"] = n_jobs
        return cls(**params)


@dataclass(frozen=True)
class Case:
    """A table of `n_classes`, or a regression for 0, and the models to race on it."""

    models: dict[str, Model]
    n_classes: int = 2
    n_features: int = 20
    missing: float = 0.0  # the share of values
    n_nominal: int = 0  # columns of categories, the last ones
    n_rows: int | None = None  # where --rows does not say it

    def table(self, n_rows: int) -> tuple[Any, Any, list[int]]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_rows, self.n_features))
        score = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * X[:, 3:10].sum(axis=1)
        score += 0.5 * rng.standard_normal(n_rows)
        nominal = list(range(self.n_features - self.n_nominal, self.n_features))
        for column in nominal:
            X[:, column] = rng.integers(0, 12, n_rows)
            score += np.sin(5 * X[:, column])
        if self.missing:
            X[rng.random(X.shape) < self.missing] = np.nan
        if not self.n_classes:
            return X, score, nominal
        bound = np.quantile(score, np.arange(1, self.n_classes) / self.n_classes)
        return X, np.digitize(score, bound), nominal


def race_of(kind: str, ending: str, **params: Any) -> dict[str, Model]:
    """An estimator of ours and scikit-learn's of the same name."""
    place = "sklearn.tree" if kind == "DecisionTree" else "sklearn.ensemble"
    own = {"random_state": 0} | params
    return {
        OURS: Model("gputree", kind + ending, own),
        "sklearn": Model(place, kind + ending, own),
    }


def boosters(ending: str, n_rounds: int = 100, nominal: Sequence[int] = ()) -> dict[str, Model]:
    """Trees of at most 31 leaves, with a rate of 0.1, by all four."""
    categories = {"categorical_features": list(nominal)} if nominal else {}
    ours = {"n_estimators": n_rounds, "max_leaf_nodes": 31, "max_depth": None} | categories
    hist = {"max_iter": n_rounds, "early_stopping": False} | categories
    return {
        OURS: Model("gputree", f"GradientBoosting{ending}", ours | {"min_samples_leaf": 20}),
        "HistGB": Model("sklearn.ensemble", f"HistGradientBoosting{ending}", hist),
        "LightGBM": Model("lightgbm", f"LGBM{ending}", {"n_estimators": n_rounds, "verbose": -1}),
    }


def all_cases() -> dict[str, Case]:
    """Every race, by name."""
    C, R = "Classifier", "Regressor"
    tree = "DecisionTree"
    depth6 = {"max_depth": 6, "max_leaf_nodes": None, "min_samples_leaf": 1}
    deep = boosters(C)
    deep[OURS] = Model("gputree", f"GradientBoosting{C}", {"n_estimators": 100} | depth6)
    nominal = {"n_features": 20, "n_nominal": 4}
    columns = list(range(16, 20))
    codes = race_of(tree, C)
    codes[OURS] = Model("gputree", tree + C, {"categorical_features": columns})
    forest_codes = race_of("RandomForest", C)
    forest_codes[OURS] = Model("gputree", f"RandomForest{C}", {"categorical_features": columns})
    sk_tree = Model("sklearn.tree", tree + C, {})
    cart = {OURS: Model("gputree", f"CART{C}", {}), "sklearn": sk_tree}
    c45 = {OURS: Model("gputree", "C45Classifier", {}), "sklearn": sk_tree}
    return {
        "tree": Case(race_of(tree, C)),
        "tree-10c": Case(race_of(tree, C), 10),
        "tree-r": Case(race_of(tree, R), 0),
        "tree-d4": Case(race_of(tree, C, max_depth=4)),
        "tree-missing": Case(race_of(tree, C), missing=0.1),
        "tree-nominal": Case(codes, **nominal),
        "forest": Case(race_of("RandomForest", C)),
        "forest-10c": Case(race_of("RandomForest", C), 10),
        "forest-r": Case(race_of("RandomForest", R), 0),
        "forest-missing": Case(race_of("RandomForest", C), missing=0.1),
        "forest-nominal": Case(forest_codes, **nominal),
        "extra": Case(race_of("ExtraTrees", C)),
        "extra-r": Case(race_of("ExtraTrees", R), 0),
        "bagging": Case(race_of("Bagging", C)),
        "ada": Case(race_of("AdaBoost", C)),
        "ada-r": Case(race_of("AdaBoost", R), 0),
        "boost-2c": Case(boosters(C)),
        "boost-d6": Case(deep),
        "boost-10c": Case(boosters(C), 10),
        "boost-r": Case(boosters(R), 0),
        "boost-missing": Case(boosters(C), missing=0.1),
        "boost-nominal": Case(boosters(C, nominal=columns), **nominal),
        "cart": Case(cart),
        "c45": Case(c45),
        "wide": Case(race_of(tree, C), n_features=100_000, n_rows=200),
        "many-trees": Case(race_of("RandomForest", C, n_estimators=2_000), n_rows=2_000),
        "many-rounds": Case(boosters(C, 5_000), n_rows=1_000),
    }


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    if options.child:
        run_child(*options.child, options.jobs, options.clock)
        return
    for name, case in chosen(options.cases).items():
        for n_rows in [case.n_rows] if case.n_rows else [count(text) for text in options.rows]:
            X, y, _ = case.table(n_rows + n_rows // 5)
            table = X[:n_rows], y[:n_rows], X[n_rows:]
            models = {own: model for own, model in case.models.items() if is_there(model)}
            if options.rounds:
                warm = race(models, table, options)
                print(line(f"{name} {n_rows:,} warm", warm), flush=True)
            if options.starts:
                cold = start_anew(name, models, table, options)
                print(line(f"{name} {n_rows:,} new", cold), flush=True)


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default="", help=f"some of {', '.join(all_cases())}")
    parser.add_argument("--rows", default=["3k"], type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=5, help="of fits in one process")
    parser.add_argument("--starts", type=int, default=3, help="new processes")
    parser.add_argument("--jobs", type=int, help="threads of all; each one's default without it")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def count(text: str) -> int:
    """3k are 3,000."""
    return int(text[:-1]) * 1_000 if text.endswith("k") else int(text)


def chosen(names: str) -> dict[str, Case]:
    known = all_cases()
    unknown = [name for name in names.split(",") if name and name not in known]
    if unknown:
        raise SystemExit(f"--cases {unknown[0]}: choose from {', '.join(known)}")
    return {name: known[name] for name in names.split(",")} if names else known


def is_there(model: Model) -> bool:
    try:
        import_module(model.module)
    except ImportError:
        return False
    return True


def race(models: dict[str, Model], table: tuple[Any, Any, Any], options: Any) -> Seconds:
    """The least seconds of each model by each verb; one round more warms up."""
    best: Seconds = {name: dict.fromkeys(VERBS, float("inf")) for name in models}
    for turn in range(options.rounds + 1):
        for name, model in models.items():
            found = timed(lambda model=model: model.make(options.jobs), table, options.clock)
            for verb, seconds in found.items():
                best[name][verb] = min(best[name][verb], seconds if turn else float("inf"))
    return best


def timed(make: Callable[[], Any], table: tuple[Any, Any, Any], clock: str) -> dict[str, float]:
    """Seconds of a fit, and of a prediction by the model that has predicted once."""
    X, y, new = table
    now = CLOCKS[clock]
    gc.collect()
    begin = now()
    model = make().fit(X, y)
    fit = now() - begin
    begin = now()
    model.predict(new)
    first = now() - begin
    begin = now()
    model.predict(new)
    return {"fit": fit, "predict": min(first, now() - begin)}


def start_anew(
    case: str, models: dict[str, Model], table: tuple[Any, Any, Any], options: Any
) -> Seconds:
    """Seconds of new processes, from the first import to the end of each verb."""
    best: Seconds = {name: dict.fromkeys(VERBS, float("inf")) for name in models}
    # Peers are installed with their bytecode, so ours has to be kept as well.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, X=table[0], y=table[1], new=table[2])
        for turn in range(options.starts + 1):
            for name in models:
                command = [sys.executable, __file__, "--child", case, name, str(path)]
                command += ["--clock", options.clock]
                command += [] if options.jobs is None else ["--jobs", str(options.jobs)]
                ran = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
                said = ran.stdout
                for verb, seconds in json.loads(said.splitlines()[-1]).items():
                    best[name][verb] = min(best[name][verb], seconds if turn else float("inf"))
    return best


def run_child(case: str, name: str, path: str, n_jobs: int | None, clock: str) -> None:
    """Import, fit and predict, once."""
    with np.load(path) as held:
        X, y, new = held["X"], held["y"], held["new"]
    now = CLOCKS[clock]
    begin = now()
    model = all_cases()[case].models[name].make(n_jobs).fit(X, y)
    fit = now() - begin
    model.predict(new)
    print(json.dumps({"fit": fit, "predict": now() - begin - fit}))


def line(title: str, best: Seconds) -> str:
    """Seconds of all and our ratio to each, for both verbs."""
    parts = []
    for verb in VERBS:
        ours = best[OURS][verb]
        others = [
            f"{name} {own[verb]:.4f} (x{ours / own[verb]:.2f})"
            for name, own in best.items()
            if name != OURS
        ]
        parts.append(f"{verb} {ours:.4f} {' '.join(others)}")
    return f"{title:<24} | {' | '.join(parts)}"


if __name__ == "__main__":
    main()
