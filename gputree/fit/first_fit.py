"""What is told of a fit to a process that compiles its kernels: the estimator, and some rows.

Kernels are compiled for types and ways to go, so a fit of a few trees on some of the rows needs
the same ones as the whole. Knows parameters by their kinds; must not know what they mean.
"""

import inspect
import pickle
from collections.abc import Callable
from functools import cache
from typing import IO, Any

import numpy as np
from sklearn.utils import _safe_indexing

from gputree.arrays import is_foreign
from gputree.backends.aside import Job
from gputree.backends.registry import thread_count
from gputree.data.table import Table
from gputree.dtypes import HostArray

# Rows that are told: enough for the ways of large tables, which part at some ten thousand.
MOST_ROWS, MOST_CELLS, LEAST_ROWS = 60_000, 6_000_000, 40_000
LOOKED_AT = 1_000  # rows of a target, to tell two classes from many
# Parameters that change no kernel.
FREE = {
    *("device", "backend", "n_jobs", "histogram_budget", "verbose", "warm_start", "random_state"),
    *("n_estimators", "learning_rate", "max_bins", "max_features", "max_samples", "tol"),
    *("min_samples_split", "min_weight_fraction_leaf", "min_impurity_decrease", "ccp_alpha"),
    *("l2_regularization", "min_child_weight", "min_split_gain", "validation_fraction"),
}
ROWS_OF_KINDS = 8_192, 16_384, 32_768  # bounds between which tables go the same ways


def job_of(model: Any, X: Any, y: Any, sample_weight: Any, table: Table) -> Job | None:
    """What another process is told of a fit; None where that cannot be told."""
    is_ours = type(model).__module__.partition(".")[0] == "gputree"
    if not is_ours or any(is_foreign(each) for each in (X, y, sample_weight)):
        return None

    def pack() -> bytes:
        return _packed(model, X, y, sample_weight, table)

    try:
        return Job(_kind_of(model, y, sample_weight, table), pack)
    except (TypeError, ValueError):  # a target that a fit will refuse in better words
        return None


def read_job(source: IO[bytes]) -> tuple[Any, Any, Any, Any]:
    """The estimator, not fitted, and the rows, as `job_of` has packed them."""
    kind, params, *rows = pickle.load(source)
    X, y, sample_weight = rows
    return kind(**params), X, y, sample_weight


def _packed(model: Any, X: Any, y: Any, sample_weight: Any, table: Table) -> bytes:
    params = model.get_params(deep=False)
    n_threads = thread_count(getattr(model, "n_jobs", None))
    params |= {"device": "cpu", "backend": "numba"}
    if "n_estimators" in params:
        # So many that each thread has a tree, as in the whole fit.
        params["n_estimators"] = min(params["n_estimators"], max(3, 2 * n_threads))
    params |= {name: 0 for name in ("verbose",) if name in params}
    n = min(table.n_rows, MOST_ROWS, max(LEAST_ROWS, MOST_CELLS // max(1, table.n_features)))
    # From all over the table, which may be sorted by its target.
    row = np.arange(n) * table.n_rows // max(1, n)
    rows = [None if each is None else _rows_of(each, row) for each in (X, y, sample_weight)]
    return pickle.dumps((type(model), params, *rows))


def _rows_of(values: Any, row: HostArray) -> Any:
    found = _safe_indexing(values, row)
    if isinstance(values, np.ndarray) and values.flags.f_contiguous and values.ndim == 2:
        return np.asfortranarray(found)  # kernels know how a matrix lies
    return found


def _kind_of(model: Any, y: Any, sample_weight: Any, table: Table) -> str:
    """What kernels depend on, in words."""
    kind: Any = type(model)
    told = [f"{name}={_told(getattr(model, name), usual)}" for name, usual in _usual(kind).items()]
    columns = {(str(getattr(each.values, "dtype", "")), each.kind) for each in table.columns}
    size = sum(table.n_rows > bound for bound in ROWS_OF_KINDS)
    is_single = thread_count(getattr(model, "n_jobs", None)) == 1
    some = np.asarray(y[:LOOKED_AT] if hasattr(y, "__getitem__") else ())
    n_labels = 0 if some.dtype.kind == "f" else min(len(set(some.ravel().tolist())), 3)
    return (
        f"{kind.__name__} {told} {sorted(map(str, columns))} {size} {is_single} "
        f"{sample_weight is None} {some.ndim} {n_labels}"
    )


@cache
def _usual(kind: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of an estimator that may change kernels, with their defaults."""
    parameters = inspect.signature(kind).parameters
    return {name: each.default for name, each in parameters.items() if name not in FREE}


def _told(value: Any, usual: Any) -> str:
    """A parameter; a number is as good as any other that is not the usual one."""
    if value is None or isinstance(value, str | bool):
        return repr(value)
    return type(value).__name__ + ("" if value is usual or repr(value) == repr(usual) else "!")
