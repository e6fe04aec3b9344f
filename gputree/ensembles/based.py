"""Ensembles that are told of their trees by an estimator."""

from typing import Any

from sklearn.base import clone

from gputree.estimators.base import TreeEstimator


def stem_of(ensemble: Any, estimator: Any, default: TreeEstimator) -> TreeEstimator:
    """A new estimator like the one given, that computes where the ensemble says."""
    if estimator is None:
        stem = default
    elif isinstance(estimator, TreeEstimator):
        stem = clone(estimator)
    else:
        raise TypeError(
            f"estimator={estimator!r:.60} is not a tree of gputree; give for example "
            f"{type(default).__name__}(), or use {type(ensemble).__name__} of scikit-learn"
        )
    if not type(stem).fit.__module__.startswith("gputree."):
        raise TypeError(
            f"estimator={estimator!r:.60} is a subclass of a tree of gputree with a `fit` "
            "of its own, which ensembles would not call"
        )
    if stem.combines_columns:
        raise TypeError(
            f"estimator={estimator!r:.60} splits on combinations of columns, which trees of "
            f"ensembles cannot do yet; give for example {type(default).__name__}()"
        )
    kind = "classifier" if hasattr(default, "predict_proba") else "regressor"
    if hasattr(stem, "predict_proba") != hasattr(default, "predict_proba"):
        raise TypeError(f"estimator={estimator!r:.60} is not a {kind}")
    where = {name: getattr(ensemble, name) for name in ("device", "backend", "n_jobs")}
    return stem.set_params(random_state=0, **where)
