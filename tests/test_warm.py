"""After a warm-up, fits and predictions find their kernels compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys, warnings
import numpy as np
import gputree
from numba.core.registry import CPUDispatcher

warnings.simplefilter("ignore")


def compiled():
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}{signature}"
        for module in list(sys.modules.values())
        if module.__name__.startswith("gputree.kernels.cpu")
        for kernel in vars(module).values()
        if isinstance(kernel, CPUDispatcher)
        for signature in kernel.signatures
    }


def use(model, X, y, weight=None):
    model.set_params(backend="numba").fit(X, y, sample_weight=weight).predict(X)


gputree.warmup()
before = compiled()
rng = np.random.default_rng(1)
for dtype, n in ((np.float32, 900), (np.float64, 2500), (np.float64, 70_000)):
    X = rng.normal(size=(n, 6)).astype(dtype)
    weight = rng.integers(1, 4, n)
    two, three, number = X[:, 0] > 0, np.digitize(X[:, 1], [-1, 1]), X[:, 0] + X[:, 2]
    use(gputree.DecisionTreeClassifier(max_depth=9), X, three, weight)
    use(gputree.DecisionTreeRegressor(max_depth=9), X, number)
    use(gputree.GradientBoostingClassifier(3), X, two, weight)
    use(gputree.GradientBoostingClassifier(2, max_leaf_nodes=9, max_depth=None), X, three)
    use(gputree.GradientBoostingRegressor(3, subsample=0.5, random_state=0), X, number)
    if n > 10_000:
        continue
    mixed = X.copy()
    mixed[::3, 2], mixed[:, 5] = np.nan, rng.integers(0, 5, n)
    named = {"categorical_features": [5]}
    use(gputree.C45Classifier(pruning=None, **named), mixed, three)
    use(gputree.DecisionTreeClassifier(**named), mixed, two)
    for forest in (gputree.RandomForestClassifier, gputree.ExtraTreesClassifier):
        use(forest(3, random_state=0), X, three)
        use(forest(3, random_state=0, **named), mixed, two, weight)
    use(gputree.RandomForestRegressor(3, random_state=0), X, number)
    boosted = gputree.GradientBoostingRegressor(3, backend="numba", **named)
    boosted.fit(mixed, number).shap_values(mixed[:9])
print(json.dumps([len(before), sorted(compiled() - before)]))
"""


def test_a_fit_after_it_compiles_nothing():
    """In a process of its own; kernels that are on the disk are loaded, and count as well."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    n_before, new = json.loads(done.stdout)
    assert n_before > 50
    assert new == []
