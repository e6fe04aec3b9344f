"""Compiling kernels ahead of time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gputree.backends import registry
from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.boosting.gradient_regressor import GradientBoostingRegressor
from gputree.dtypes import HostArray
from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor
from gputree.estimators.classic import C45Classifier, CARTClassifier, CARTRegressor
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

FEW, SOME, MANY = 300, 4_000, 60_000  # rows: each is the way of other kernels
CATEGORIES = 4  # the column that has some

# Trees alone, forests, and boosting by small and by large trees have kernels of their own.
TREES = DecisionTreeClassifier, DecisionTreeRegressor
CLASSIC = C45Classifier, CARTClassifier, CARTRegressor
FORESTS = RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor
BOOSTED = GradientBoostingClassifier, GradientBoostingRegressor


def warmup(device: str = "cpu") -> float:
    """Compile the kernels of a device, or load them from disk, so that the first fit need not.

    Trees, forests, extra trees and gradient boosting are fitted to small tables, with weights,
    categories and missing values, and used for predictions and Shapley values. The machine code is
    kept on disk, next to the package or in numba's cache directory, so that a second process only
    loads it. That for GPUs is kept in $GPUTREE_CACHE_DIR, or in ~/.cache/gputree. Where nothing
    can be written, every process compiles kernels anew. Options that are asked for less often, such
    as constraints, may still compile a kernel when they are first used.

    Parameters
    ----------
    device : {'cpu', 'cuda', 'cuda:N'}, default='cpu'
        Whose kernels are compiled.

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
    name = "numba" if device == "cpu" else "cuda"
    backend = registry.choose(device, name).backend
    before = backend.compile_seconds
    for dtype in (np.float32, np.float64):
        plain, mixed = _tables(dtype)
        for model, X in _uses(plain, mixed):
            _use(model.set_params(device=device, backend=name), X)
    return registry.choose(device, name).backend.compile_seconds - before


def _tables(dtype: Any) -> tuple[HostArray, HostArray]:
    """A table of numbers, and one with categories and missing values."""
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((MANY, 5)).astype(dtype)
    mixed = plain[:SOME].copy()
    mixed[::5, 1], mixed[:, CATEGORIES] = np.nan, rng.integers(0, 4, SOME)
    return plain, mixed


def _uses(plain: HostArray, mixed: HostArray) -> Iterator[tuple[Any, HostArray]]:
    """Models, and what to fit them to; of many rows, radix cuts and sums of large nodes."""
    few = plain[:FEW]
    named: dict[str, Any] = {"categorical_features": [CATEGORIES]}
    for tree in TREES:
        yield tree(max_depth=12), plain
        yield tree(), few
        yield tree(max_depth=4, **named), mixed
    for classic in CLASSIC:
        yield classic(max_depth=4, pruning=None, **named), mixed
    for forest in FORESTS:
        yield forest(2, random_state=0), few
        yield forest(2, max_depth=4, random_state=0, **named), mixed
    for boosted in BOOSTED:
        yield boosted(2), few
        yield boosted(2, **named), mixed
        yield boosted(2), plain
        yield boosted(2, subsample=0.5, random_state=0), plain


def _use(model: Any, X: HostArray) -> None:
    """Fit with weights and without, to two classes and to three; predict, and explain."""
    known = np.nan_to_num(X)
    # A target that no few nodes explain, so that large tables have many smaller nodes, too.
    number = known[:, 0] * known[:, 1] + known[:, 2]
    targets = [number > 0, np.digitize(number, (-0.5, 0.5))] if is_classifier(model) else [number]
    for y in targets:
        for weight in (None, 1 + np.arange(len(X)) % 2):
            model.fit(X, y, sample_weight=weight).predict(X)
    if len(X) <= SOME:
        model.apply(X)
        model.shap_values(X[:20])
