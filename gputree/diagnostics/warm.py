"""Compiling kernels ahead of time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gputree.backends import aside, registry
from gputree.backends.user_folder import user_folder
from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.boosting.gradient_regressor import GradientBoostingRegressor
from gputree.dtypes import HostArray
from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor
from gputree.estimators.classic import C45Classifier, CARTClassifier, CARTRegressor
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.progress import Progress

FEW, SOME, MANY = 300, 4_000, 60_000  # rows: each is the way of other kernels
CATEGORIES = 4  # the column that has some

# Trees alone, forests, and boosting by small and by large trees have kernels of their own.
TREES = DecisionTreeClassifier, DecisionTreeRegressor
CLASSIC = C45Classifier, CARTClassifier, CARTRegressor
FORESTS = RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor
BOOSTED = GradientBoostingClassifier, GradientBoostingRegressor


def warmup(device: str = "cpu", *, verbose: bool = False) -> float:
    """Compile the kernels of a device, or load them from disk, before the first fit.

    Trees, forests, extra trees and gradient boosting are fitted to small tables, with weights,
    categories and missing values, and used for predictions and Shapley values. The machine code is
    stored on disk, next to the package or in numba's cache directory, so a second process only
    loads it; code for GPUs is stored in $GPUTREE_CACHE_DIR, or in ~/.cache/gputree. Where nothing
    can be written, every process compiles the kernels again. Rarely used options, such as
    constraints, may still compile a kernel on their first use.

    Parameters
    ----------
    device : {'cpu', 'cuda', 'cuda:N'}, default='cpu'
        The device of the kernels.
    verbose : bool, default=False
        Whether to show progress on standard error.

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
    before = compile_seconds(device)
    n = n_models()
    progress = Progress(aside.COMPILING, n, is_shown=verbose, unit="models")
    try:
        for _ in compiled(device):
            progress.step()
    finally:
        progress.end()
    return compile_seconds(device) - before


def compiled(device: str) -> Iterator[int]:
    """Fit one usual model after another, and tell how many are done."""
    for done, (model, X) in enumerate(_all_uses(), 1):
        _use(model.set_params(device=device, backend=_name(device)), X)
        yield done
    if device == "cpu":
        aside.note_compiled(aside.USUAL)


def n_models() -> int:
    """How many models are fitted."""
    return sum(1 for _ in _all_uses())


def compile_seconds(device: str) -> float:
    """What this process has compiled for a device."""
    return registry.choose(device, _name(device)).backend.compile_seconds


def _name(device: str) -> str:
    return "numba" if device == "cpu" else "cuda"


def _all_uses() -> Iterator[tuple[Any, HostArray]]:
    for dtype in (np.float32, np.float64):
        yield from _uses(*_tables(dtype))


def kept_in(device: str = "cpu") -> str | None:
    """The folder in which compiled kernels of a device are kept; None where none can be."""
    if device != "cpu":
        return str(user_folder())
    from gputree.kernels.cpu.grow import grow  # with the compiler, which takes long to import

    folder: str | None = grow._cache.cache_path
    return folder


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
