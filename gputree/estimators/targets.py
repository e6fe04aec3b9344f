"""Reading y, and the weights that classes are given."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from gputree.arrays import to_numpy
from gputree.comm import ALONE, Comm, total
from gputree.data.cells import is_missing
from gputree.data.labels import Labels
from gputree.dtypes import CATEGORY_NUMBER, HostArray
from gputree.errors import SparseTargetError

MANY_LABELS = 2**16  # integer labels within a range so wide are looked up in a table
SOME_ROWS = 2**18  # are looked up at once


def read_target(y: Any, n_rows: int, estimator: str, *, numbers: bool = False) -> HostArray:
    """The target as a NumPy array of the table's length, without missing entries."""
    target = read_entries(y, estimator, numbers=numbers)
    if len(target) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y "
            f"has {len(target)}"
        )
    return target


def read_entries(y: Any, estimator: str, *, numbers: bool = False) -> HostArray:
    """The target as a NumPy array of any length, without missing entries."""
    if y is None:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None; give it to fit, or to "
            "the Dataset"
        )
    if issparse(y):
        raise SparseTargetError(
            "sparse multilabel-indicator for y is not supported. Pass y.toarray().ravel() if y has "
            "one output"
        )
    given = to_numpy(y)
    if given.ndim == 0:
        raise ValueError(f"y={y!r} is a single value; one value per row is needed")
    if given.dtype.kind in "mM":
        raise ValueError(
            f"y has dtype {given.dtype}; convert times to numbers, or to text for classes"
        )
    if given.dtype.kind == "O":
        missing = [i for i, value in enumerate(given.ravel().tolist()) if is_missing(value)]
        if missing:
            raise ValueError(
                f"y contains missing values (None or NaN), the first at row {missing[0]}"
            )
    target = check_array(
        given,
        ensure_2d=False,
        dtype=np.float64 if numbers else None,
        input_name="y",
        estimator=estimator,
        ensure_min_samples=0,
    )
    # 0.0 and -0.0 are one target, whichever row comes first.
    return np.asarray(target + 0.0 if target.dtype.kind == "f" else target)


def read_labels(y: Any, n_rows: int, estimator: str) -> tuple[HostArray, HostArray]:
    """The classes, sorted, and the number of each row's class."""
    if isinstance(y, Labels) and len(y) == n_rows:
        return y.classes, y.number
    label = column_or_1d(read_target(y, n_rows, estimator), warn=True)
    if label.dtype.kind in "iu" and label.size:
        low, high = int(label.min()), int(label.max())
        if high - low < MANY_LABELS:
            # Counting is faster than sorting, and integers cannot be a continuous target.
            return _counted(label, low, high)
    check_classification_targets(label)
    classes, number = np.unique(label, return_inverse=True)
    return classes, number


def _counted(label: HostArray, low: int, high: int) -> tuple[HostArray, HostArray]:
    """The classes among integers from `low` to `high`, in little memory: some rows at a time."""
    is_used = np.zeros(high - low + 1, bool)
    for rows in _some_rows(len(label)):
        is_used[_above(label[rows], low)] = True
    place = (np.cumsum(is_used) - 1).astype(CATEGORY_NUMBER)
    number = np.empty(len(label), CATEGORY_NUMBER)
    for rows in _some_rows(len(label)):
        number[rows] = place[_above(label[rows], low)]
    classes = [low + at for at in np.flatnonzero(is_used).tolist()]
    return np.array(classes, label.dtype), number


def _some_rows(n_rows: int) -> Iterator[slice]:
    return (slice(first, first + SOME_ROWS) for first in range(0, n_rows, SOME_ROWS))


def _above(label: HostArray, low: int) -> HostArray:
    """How far integers lie above the lowest, in a type that can hold it."""
    if label.dtype.kind == "i":
        return label.astype(np.int64) - low
    return (label - label.dtype.type(low)).astype(np.int64)


def declared_classes(y: Any) -> int | None:
    """How many classes a categorical target declares, whether they occur or not."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return None if categories is None else len(categories)


def class_factors(
    class_weight: Any,
    priors: Any,
    classes: HostArray,
    number: HostArray,
    weight: HostArray | None,
    comm: Comm = ALONE,
) -> HostArray | None:
    """What the weights of the rows of each class are multiplied by; None for nothing."""
    by_data = isinstance(priors, str) and priors == "data"
    if class_weight is not None:
        if not by_data:
            raise ValueError("class_weight and priors both weight the classes; give one of them")
        counts = total(comm, np.bincount(number, minlength=len(classes)))
        return _weight_factors(class_weight, classes, counts)
    if by_data:
        return None
    held = np.bincount(number, weight, minlength=len(classes))
    if comm.size > 1:
        held = _held_by_all(held, weight, comm)
    if not held.all():
        empty = classes[held == 0].tolist()[0]
        raise ValueError(f"priors: class {empty!r} has no row of positive weight")
    return np.asarray(_read_priors(priors, classes) * held.sum() / held)


def _held_by_all(held: HostArray, weight: HostArray | None, comm: Comm) -> HostArray:
    """The weight that all ranks have of each class."""
    if weight is not None and (weight != np.rint(weight)).any():
        raise ValueError(
            "priors need the total weight of each class, and sums of fractions depend on their "
            "order; with rows on several ranks give whole-numbered weights, or class_weight"
        )
    return total(comm, held)


def _weight_factors(class_weight: Any, classes: HostArray, counts: HostArray) -> HostArray:
    is_known = isinstance(class_weight, dict) or class_weight == "balanced"
    if not is_known:
        raise ValueError(
            f"class_weight={class_weight!r}: a dict of label and weight, 'balanced' or None is "
            "needed"
        )
    factors = np.zeros(len(classes))
    occurs = counts > 0
    if isinstance(class_weight, dict):
        factors[occurs] = compute_sample_weight(class_weight, classes[occurs])
    else:
        factors[occurs] = counts.sum() / (np.count_nonzero(occurs) * counts[occurs])
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError("class_weight has a weight that is negative, NaN or infinite")
    return factors


def _read_priors(priors: Any, classes: HostArray) -> HostArray:
    """The prior of each class."""
    n_classes = len(classes)
    if isinstance(priors, str):
        if priors != "uniform":
            raise ValueError(f"priors={priors!r} is unknown; choose 'data', 'uniform' or numbers")
        return np.full(n_classes, 1.0 / n_classes)
    if isinstance(priors, dict):
        labels = classes.tolist()
        if set(priors) != set(labels):
            raise ValueError(f"priors has labels {list(priors)}; the classes are {labels}")
        priors = [priors[label] for label in labels]
    try:
        prior = np.asarray(priors, np.float64)
    except (TypeError, ValueError):
        prior = np.empty(0)
    if prior.shape != (n_classes,) or not (prior > 0).all() or abs(prior.sum() - 1.0) > 1e-9:
        raise ValueError(
            f"priors={priors!r}: {n_classes} positive numbers that sum to 1 are needed"
        )
    return prior
