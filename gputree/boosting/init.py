"""Models that boosting begins with, in the place of the best constant."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from gputree.arrays import to_numpy
from gputree.boosting.losses import MOST_SHARE, logarithm
from gputree.data.target import LARGEST_TARGET
from gputree.dtypes import HostArray
from gputree.fit.dataset import Dataset
from gputree.formulas import LOSSES
from gputree.kernels.losses import Link

ZERO = "zero"


def check_init(init: Any, method: str, estimator: str) -> None:
    """Refuse what is neither a name nor a model."""
    is_named = init is None or (isinstance(init, str) and init == ZERO)
    if not is_named and not all(hasattr(init, name) for name in ("fit", method)):
        raise ValueError(
            f"The 'init' parameter of {estimator} must be a str among {{'zero'}}, None or an "
            f"object implementing 'fit' and '{method}'. Got {init!r:.60} instead."
        )


def is_model(init: Any) -> bool:
    """Whether boosting begins with a model."""
    return init is not None and not isinstance(init, str)


def fitted_init(
    init: Any, X: Any, y: Any, weight: HostArray | None, inside: HostArray | None
) -> Any:
    """The model, fitted to the rows that trees see."""
    if isinstance(X, Dataset):
        raise ValueError(
            "init is fitted on the rows of X, which a Dataset does not keep; give a table"
        )
    y = to_numpy(y)
    if inside is not None:
        rows = np.flatnonzero(inside)
        X, y = _safe_indexing(X, rows), y[rows]
        weight = None if weight is None else weight[rows]
    model = clone(init)
    if weight is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"The initial estimator {type(model).__name__} does not support sample weights."
        )
    return model.fit(X, y, sample_weight=weight)


def log_odds(model: Any, X: Any, n_classes: int) -> HostArray:
    """What the probabilities of a model are on the scale of the trees, (outputs, rows)."""
    share = np.asarray(model.predict_proba(X), np.float64)
    if share.ndim != 2 or share.shape[1] != n_classes or not np.isfinite(share).all():
        raise ValueError(
            f"init gave probabilities of shape {share.shape}, but y has {n_classes} classes; "
            "numbers for each of them are needed"
        )
    share = np.clip(share, 1.0 - MOST_SHARE, MOST_SHARE)
    if n_classes > 2:
        logs = logarithm(share)
        return np.ascontiguousarray((logs - logs.mean(axis=1, keepdims=True)).T)
    return logarithm(share[:, -1] / (1.0 - share[:, -1]))[None, :]


def amounts(model: Any, X: Any, link: Link) -> HostArray:
    """What the predictions of a model are on the scale of the trees, (1, rows)."""
    found = np.asarray(model.predict(X), np.float64).reshape(1, -1)
    if not (np.abs(found) <= LARGEST_TARGET).all():
        raise ValueError(
            f"init predicted numbers that are not finite, or beyond {LARGEST_TARGET:g}"
        )
    return np.asarray(link.raw(LOSSES, np.maximum(found, link.least)))
