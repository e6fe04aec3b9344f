"""Random fits of boosted models that are hard on their arithmetic, each told by its number.

Tables are small; weights span many decades, or are near the ends of what a float64 holds; hessians
may vanish, as nothing is added to them in most cases. `random_case` is for every search that wants
such fits.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from gputree import GradientBoostingClassifier, GradientBoostingRegressor, load

WEIGHTS = {  # kind of weights -> how many cases have them, of 100
    "none": 15,
    "four decades": 35,
    "many decades": 15,
    "tiny": 10,
    "huge": 10,
    "some without": 10,
    "counts": 5,
}


@dataclass(frozen=True)
class Case:
    """A model and what it is fitted to."""

    seed: int
    kind: type
    parameters: dict[str, Any]
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None

    def fitted(self, order=None, **where):
        """The model of the rows in an order."""
        X, y, weight = self.X, self.y, self.weight
        if order is not None:
            X, y = X.iloc[order], y[order]
            weight = None if weight is None else weight[order]
        return self.kind(**self.parameters, **where).fit(X, y, weight)


def reloaded(model):
    """The model from a file, which is refused where a number is not finite."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return load(path)


def random_case(seed: int) -> Case:
    """The fit of this number."""
    rng = np.random.default_rng(seed)
    X, signal = _table(rng)
    parameters = _parameters(rng)
    if rng.random() < 0.5:
        y = _classes(rng, signal)
        is_ordered = len(np.unique(y)) <= 2
        kind = GradientBoostingClassifier
    else:
        loss = rng.choice(["squared_error", "absolute_error", "huber", "quantile", "poisson"])
        parameters["loss"] = str(loss)
        scale = rng.choice([1.0, 1e-300, 1e-30, 1e100, 5e-324], p=[0.8, 0.05, 0.05, 0.05, 0.05])
        y = (np.floor(np.abs(signal)) + (np.arange(len(signal)) == 0)) * scale
        y = y if loss == "poisson" else signal * scale
        is_ordered = loss in ("squared_error", "poisson")
        kind = GradientBoostingRegressor
    if is_ordered and rng.random() < 0.15:
        parameters["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    if rng.random() < 0.1:
        parameters["interaction_cst"] = "no_interactions"
    return Case(seed, kind, parameters, X, y, _weights(rng, len(y)))


def _table(rng):
    """Few rows of few values, some of them missing, perhaps with a column of categories."""
    n_rows = int(rng.choice([1, 2, 3, 5, 10, 30, 80, 200]))
    names = [f"x{at}" for at in range(rng.integers(1, 5))]
    values = rng.normal(size=(n_rows, len(names))).round(int(rng.integers(0, 3)))
    signal = 2 * values[:, 0] + rng.normal(size=n_rows)
    X = pd.DataFrame(values, columns=names)
    if rng.random() < 0.3:
        X = X.mask(rng.random(X.shape) < 0.2)
    if rng.random() < 0.25:
        category = rng.integers(0, int(rng.integers(2, 9)), n_rows)
        X["category"] = pd.Categorical(np.array(list("abcdefgh"))[category])
        signal = signal + category % 3
    return X, signal


def _weights(rng, n_rows):
    name = str(rng.choice(list(WEIGHTS), p=np.array(list(WEIGHTS.values())) / 100))
    decades = {"many decades": (-12, 12), "tiny": (-306, -290), "huge": (290, 300)}
    if name == "none":
        return None
    if name == "counts":
        weight = rng.integers(0, 4, n_rows).astype(float)
    else:
        weight = 10 ** rng.uniform(*decades.get(name, (-2, 2)), n_rows)
    if name == "some without":
        weight[rng.random(n_rows) < 0.5] = 0.0
    if not weight.any():
        weight[rng.integers(n_rows)] = 1.0
    return weight


def _parameters(rng):
    """Mostly such that neither a ridge nor a rule keeps hessians from vanishing."""

    def one_of(values, chances):
        return values[rng.choice(len(values), p=chances)]

    found = {
        "n_estimators": int(rng.integers(1, 9)),
        "learning_rate": one_of([0.1, 0.5, 1.0, 10.0, 1e-6], [0.4, 0.3, 0.2, 0.05, 0.05]),
        "l2_regularization": one_of([0.0, 1.0, 1e-3], [0.6, 0.3, 0.1]),
        "min_child_weight": one_of([0.0, 1e-3, 1.0, 1e30], [0.55, 0.2, 0.22, 0.03]),
        "min_samples_leaf": one_of([1, 2, 5], [0.7, 0.2, 0.1]),
        "max_depth": one_of([None, 1, 3, 6], [0.25] * 4),
        "random_state": int(rng.integers(5)),
    }
    perhaps = {
        "max_leaf_nodes": (0.4, int(rng.integers(2, 9))),
        "subsample": (0.3, one_of([0.3, 0.6], [0.5, 0.5])),
        "colsample_bytree": (0.2, 0.5),
        "max_features": (0.2, 1),
        "early_stopping": (0.15, True),
        "min_split_gain": (0.15, float(10 ** rng.uniform(-3, 1))),
    }
    return found | {
        name: value for name, (chance, value) in perhaps.items() if rng.random() < chance
    }


def _classes(rng, signal):
    """One to five classes, or two of which one has a single row."""
    n_classes = int(rng.choice([1, 2, 2, 2, 3, 5]))
    if n_classes == 2 and rng.random() < 0.15:
        return (np.arange(len(signal)) == rng.integers(len(signal))).astype(int)
    return np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
