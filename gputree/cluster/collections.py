"""Collections of Dask in the place of tables: fits on a cluster, and answers that are lazy."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import is_collection
from gputree.cluster.fitting import fit, parts_of

NO_CLIENT = (
    "X is a collection of Dask, and no client is known that could fit on its workers; make one "
    "first: client = distributed.Client(...), with the address of a scheduler or without, or give "
    "X.compute() and y.compute() to fit here"
)


def fit_collections(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    callbacks: Any = None,
) -> Any:
    """Fit on the workers of the client that is at hand, as `estimator.fit` does in memory."""
    if callbacks is not None:
        raise ValueError("callbacks: the trees grow on workers; leave callbacks out")
    if not is_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__} in memory, and y or sample_weight a collection of Dask; "
            "give all of them as collections, or compute() those that are"
        )
    validation = None
    if X_val is not None or y_val is not None:
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; give both, or none")
        is_spread = is_collection(X_val)
        whole = [(X_val, y_val, sample_weight_val)]
        validation = parts_of(X_val, y_val, sample_weight_val) if is_spread else whole
    parts = parts_of(X, y, sample_weight)
    return fit(estimator, parts, validation=validation, client=_client())


def _client() -> Any:
    """The client that Dask's own functions would use."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            "fits on collections of Dask run on the workers of distributed, which is not "
            "installed: pip install 'gputree-ml[dask]', or give X.compute() and y.compute()"
        ) from error
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(NO_CLIENT) from error


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "workers of Dask are asked by distributed, which is not installed: "
            "pip install 'gputree-ml[dask]'"
        ) from error
    with Client(address) as client:
        yield client


def answers(estimator: Any, method: str, X: Any, *args: Any, **kwargs: Any) -> Any:
    """What a fitted model says of each row, worked out partition by partition when it is asked for.

    Arrays give arrays. Frames give a Series with their index where there is one answer a row, a
    frame where there are several, and an array where each of several features has several.
    """
    check_is_fitted(estimator)
    model = copy.copy(estimator)  # as it is now, whatever becomes of it
    of_array = hasattr(X, "map_blocks")
    if of_array and X.ndim == 2:
        X = X.rechunk({1: -1})
    ask = partial(_ask, method=method, args=args, kwargs=kwargs)
    row = _unknown_row(X)
    example = ask(row, model)
    lazy = dask.delayed(model, pure=False)
    if of_array:
        return _of_array(X, partial(ask, none=example[:0]), lazy, example)
    if example.ndim > 2:
        return _of_partitions(X, partial(ask, none=example[:0]), lazy, example)
    tell = partial(_framed, ask=ask, columns=_columns(estimator, method, example))
    none = tell(row, model).iloc[:0]
    return X.map_partitions(partial(tell, none=none), lazy, meta=none.set_axis(X._meta.index))


def _ask(X: Any, model: Any, *, method: str, args: Any, kwargs: Any, none: Any = None) -> Any:
    """The answers for a part; `none` where it has no rows."""
    return getattr(model, method)(X, *args, **kwargs) if len(X) else none


def _framed(X: Any, model: Any, *, ask: Any, columns: Any, none: Any = None) -> Any:
    """The same for a part of a frame, with its index."""
    if not len(X):
        return none.set_axis(X.index)
    frames = import_module(type(X).__module__.partition(".")[0])  # pandas, or cuDF
    found = ask(X, model)
    if columns is None:
        return frames.Series(found, index=X.index)
    return frames.DataFrame(found, index=X.index, columns=list(columns))


def _unknown_row(X: Any) -> Any:
    """A row of which nothing is known: how its answer looks is how all do."""
    if hasattr(X, "map_blocks"):
        return np.full((1, *X.shape[1:]), np.nan)
    return X._meta.reindex([0])


def _columns(estimator: Any, method: str, example: Any) -> Sequence[Any] | None:
    """The names of several answers a row; None where there is one."""
    n = example.shape[1] if example.ndim == 2 else None
    if n is None:
        return None
    if method.endswith("proba") or (method == "decision_function" and n > 1):
        return list(estimator.classes_)
    if method == "shap_values" and hasattr(estimator, "feature_names_in_"):
        return list(estimator.feature_names_in_)
    return range(n)


def _of_array(X: Any, ask: Any, model: Any, example: Any) -> Any:
    meta = np.empty((0,) * example.ndim, example.dtype)
    chunks = (X.chunks[0], *((n,) for n in example.shape[1:]))
    drop, new = (1, None) if example.ndim == 1 else (None, range(2, example.ndim) or None)
    return X.map_blocks(
        ask, model, drop_axis=drop, new_axis=new, chunks=chunks, dtype=example.dtype, meta=meta
    )


def _of_partitions(X: Any, ask: Any, model: Any, example: Any) -> Any:
    """An array of unknown length, from a frame."""
    lazy = dask.delayed(ask)
    shape = (np.nan, *example.shape[1:])
    parts = [
        da.from_delayed(lazy(part, model), shape, dtype=example.dtype) for part in X.to_delayed()
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def score_of(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Accuracy, or R², of the predictions of a collection."""
    said = estimator.predict(X)
    true, found, weight = (
        None if each is None else np.asarray(each) for each in dask.compute(y, said, sample_weight)
    )
    score = accuracy_score if is_classifier(estimator) else r2_score
    return float(score(true, found, sample_weight=weight))
