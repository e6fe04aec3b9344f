"""Predict and explain with 100 trees, beside LightGBM, XGBoost, scikit-learn and shap.

python benchmarks/predict_many.py --rows 1000000 --explain-rows 2000 --rounds 5 --jobs 2

Peers are fitted on a small sample and predict a large table. Our trees have the peers' depth and
leaves, and are added up by the numba backend. Rounds go through all of them in turn, so that what
else the machine does meets all alike; printed are medians and ratios to ours.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from gputree import DecisionTreeRegressor
from gputree.backends.registry import choose
from gputree.data.inputs import read_table
from gputree.explain import shap_values
from gputree.prediction import sum_leaves
from gputree.tree.stack import Stack

N_FEATURES, N_TREES = 28, 100
SAMPLE = {"boosting": 20_000, "forest": 5_000}


def sample(n_rows: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, N_FEATURES), np.float32)
    noise = rng.standard_normal(n_rows)
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3:10].sum(axis=1) + noise


def peers(kind: str, n_jobs: int) -> dict[str, Any]:
    """Unfitted models, by name."""
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from xgboost import XGBRegressor

    if kind == "forest":
        rf = {"boosting_type": "rf", "bagging_fraction": 0.63, "bagging_freq": 1}
        return {
            "scikit-learn": RandomForestRegressor(N_TREES, n_jobs=n_jobs),
            "LightGBM": LGBMRegressor(
                n_estimators=N_TREES, num_leaves=3_000, min_child_samples=1, n_jobs=n_jobs,
                verbose=-1, **rf,
            ),
        }  # fmt: skip
    return {
        "scikit-learn": HistGradientBoostingRegressor(
            max_iter=N_TREES, max_leaf_nodes=64, max_depth=6, early_stopping=False
        ),
        "LightGBM": LGBMRegressor(
            n_estimators=N_TREES, num_leaves=64, max_depth=6, n_jobs=n_jobs, verbose=-1
        ),
        "XGBoost": XGBRegressor(
            n_estimators=N_TREES, max_depth=6, tree_method="hist", n_jobs=n_jobs
        ),
    }


def our_stack(kind: str) -> Stack:
    """Trees of the same size, by rows drawn with replacement and half of the features a node."""
    trees = []
    n_rows = SAMPLE[kind]
    for seed in range(N_TREES):
        X, y = sample(n_rows, seed)
        weight = np.random.default_rng(seed).multinomial(n_rows, np.full(n_rows, 1 / n_rows))
        shape = {"max_depth": 6} if kind == "boosting" else {}
        model = DecisionTreeRegressor(max_features=0.5, random_state=seed, **shape)
        trees.append(model.fit(X, y, weight).nodes_)
    return Stack.of(trees)


def contestants(kind: str, X: Any, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """What each of them does to predict a table."""
    stack, backend = our_stack(kind), choose(backend="numba", n_jobs=n_jobs).backend
    n_nodes = [tree.n_nodes for tree in stack.trees]
    depth = [int(tree.depth.max()) for tree in stack.trees]
    print(f"{kind}: ours have {median(n_nodes):.0f} nodes and depth {median(depth):.0f}")
    runs: dict[str, Callable[[], Any]] = {
        "gputree": lambda: sum_leaves(backend, stack, read_table(X))
    }
    for name, model in peers(kind, n_jobs).items():
        runs[name] = partial(model.fit(*sample(SAMPLE[kind], 0)).predict, X)
    return runs


def explainers(X: Any, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """What each of them does to explain the predictions of boosting."""
    from xgboost import DMatrix

    stack, fitted = our_stack("boosting"), peers("boosting", n_jobs)
    fitted = {name: model.fit(*sample(SAMPLE["boosting"], 0)) for name, model in fitted.items()}
    booster = fitted["XGBoost"].get_booster()
    runs: dict[str, Callable[[], Any]] = {
        "gputree": lambda: shap_values(stack, X, backend="numba", n_jobs=n_jobs),
        "LightGBM": lambda: fitted["LightGBM"].predict(X, pred_contrib=True),
        "XGBoost": lambda: booster.predict(DMatrix(X), pred_contribs=True),
    }
    if find_spec("shap"):
        import shap

        explainer = shap.TreeExplainer(fitted["scikit-learn"])
        runs["shap"] = lambda: explainer.shap_values(X)
    return runs


def race(runs: dict[str, Callable[[], Any]], n_rounds: int) -> None:
    """Take turns, and print the medians."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(n_rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:  # the first warms up
                seconds[name].append(time.perf_counter() - start)
    ours = median(seconds["gputree"])
    for name, own in seconds.items():
        spread = f"{min(own):.3f}..{max(own):.3f}"
        print(f"  {name:13} {median(own):7.3f} s ({spread})  {median(own) / ours:5.2f} x ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000, help="to predict; 0 for none")
    parser.add_argument("--explain-rows", type=int, default=2_000, help="0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for kind in ("boosting", "forest") if options.rows else ():
        race(contestants(kind, sample(options.rows, 1_000)[0], options.jobs), options.rounds)
    if options.explain_rows:
        print(f"Shapley values of {options.explain_rows} rows, boosting")
        X = sample(options.explain_rows, 1_000)[0]
        race(explainers(X, options.jobs), options.rounds)


if __name__ == "__main__":
    main()
