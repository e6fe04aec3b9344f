"""Compiling kernels ahead of time."""

import numpy as np

from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor


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
    # Large enough for every path: radix cuts, sums of large nodes, small nodes from their rows.
    for dtype in (np.float32, np.float64):
        X = rng.standard_normal((40_000, 5)).astype(dtype)
        label, weight = np.greater(X[:, 0], X[:, 1]), rng.integers(1, 3, len(X))
        for cls, y in ((DecisionTreeClassifier, label), (DecisionTreeRegressor, X[:, 0])):
            for sample_weight in (None, weight):
                model = cls(max_depth=12, backend="numba").fit(X, y, sample_weight)
                model.predict(X)
                spent += model.fit_report_.compile_seconds
    return spent
