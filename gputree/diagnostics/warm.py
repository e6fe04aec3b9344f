"""Compiling kernels ahead of time."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import is_classifier

from gputree.dtypes import HostArray
from gputree.estimators.base import TreeEstimator
from gputree.estimators.classic import C45Classifier, CARTClassifier, CARTRegressor
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

PLAIN = DecisionTreeClassifier, DecisionTreeRegressor
CLASSIC = C45Classifier, CARTClassifier, CARTRegressor


def warmup() -> float:
    """Compile the CPU kernels, or load them from disk, so that the first fit need not.

    The machine code is kept on disk, next to the package or in numba's cache directory, so a
    second process only loads it. Where neither can be written, kernels are compiled anew by every
    process.

    Returns
    -------
    float
        Seconds spent compiling.

    Examples
    --------
    >>> import gputree
    >>> gputree.warmup() >= 0.0
    True
    """
    rng = np.random.default_rng(0)
    spent = 0.0
    for dtype in (np.float32, np.float64):
        X = rng.standard_normal((40_000, 5)).astype(dtype)
        weight = rng.integers(1, 3, len(X))
        spent += _grown(_plain(), X, weight)
        few = X[:4_000].copy()
        few[::5, 1], few[:, 4] = np.nan, rng.integers(0, 4, len(few))
        spent += _grown(_classic(), few, weight[:4_000])
    return spent


def _plain() -> list[TreeEstimator]:
    """Of many rows, every path: radix cuts, sums of large nodes, small nodes from their rows."""
    return [cls(max_depth=12, backend="numba") for cls in PLAIN]


def _classic() -> list[TreeEstimator]:
    """Levels and missing values: many children, rows that stay, copies."""
    return [
        cls(max_depth=4, categorical_features=[4], pruning=None, backend="numba") for cls in CLASSIC
    ]


def _grown(models: Sequence[TreeEstimator], X: HostArray, weight: HostArray) -> float:
    """Seconds spent compiling while trees were grown and used, with weights and without."""
    label, spent = np.greater(X[:, 0], X[:, 2]), 0.0
    for model in models:
        y = label if is_classifier(model) else X[:, 0]
        for sample_weight in (None, weight):
            model.fit(X, y, sample_weight).predict(X)
            spent += model.fit_report_.compile_seconds
    return spent
