"""The target and the weights of a table, and the task that the target suggests.

Knows columns; must not know estimators.
"""

from typing import Any

import numpy as np

from gputree.cli import cells
from gputree.cli.columns import nearest
from gputree.cli.models import CLASSIFICATION, REGRESSION
from gputree.cli.output import count
from gputree.cli.sources import Source
from gputree.dtypes import HostArray

MAX_CLASSES = 20  # a target of whole numbers with more distinct values is taken for a quantity
LARGEST_WHOLE = 2.0**53  # beyond it, neighbouring whole numbers share a float


def target_name(source: Source, asked: str | None) -> str:
    """The column to predict: the one asked for, or the last."""
    if asked is None:
        return source.names[-1]
    source.check([asked], "--target")
    return asked


def with_answers(source: Source, name: str) -> tuple[Source, int]:
    """The rows of which the target is known, and how many others there are."""
    is_known = ~cells.missing(source.table[name])
    if not is_known.any():
        raise ValueError(f"{source.name}: the target {name!r} is missing in all rows; name another")
    rows = np.flatnonzero(is_known)
    n_left = len(is_known) - len(rows)
    return (source.take(rows) if n_left else source), n_left


def read_answers(
    source: Source, name: str, task: str | None, cure: str = ""
) -> tuple[HostArray, str, str]:
    """The target, the task and why it is this one; `cure` is what helps against missing ones."""
    column = source.table[name]
    _refuse_missing(source, name, column, cure)
    if task is None:
        _refuse_mixed(source, name, column)
    y, found, reason = _suggested(source, name, column)
    if task is None and source.task is not None and name == source.names[-1]:
        return y, source.task, "as the bundled table says"
    if task is None:
        return y, found, reason
    if task == REGRESSION and y.dtype.kind not in "iuf":
        raise ValueError(
            f"regression needs numbers, but {reason}; use --task classification, or another target"
        )
    if task == CLASSIFICATION and y.dtype.kind == "f" and (y != np.floor(y)).any():
        raise ValueError(
            f"classification needs classes, but {reason}; use --task regression, or another target"
        )
    return y, task, "as --task says"


def read_weights(source: Source, name: str | None) -> HostArray | None:
    """A weight a row; None where all are alike."""
    if name is None:
        return None
    source.check([name], "--weight")
    column = source.table[name]
    if cells.type_name(column) != "number":
        raise ValueError(f"--weight {name}: the column does not hold numbers; choose another")
    weight = np.asarray(column.to_numpy(), np.float64)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"--weight {name} is {weight[row]:g} {source.place(row)} of {source.name}; weights are "
            "finite and at least 0"
        )
    if not weight.any():
        raise ValueError(f"--weight {name} is 0 in all rows; at least one row needs a weight")
    return weight


def _refuse_missing(source: Source, name: str, column: Any, cure: str) -> None:
    is_missing = cells.missing(column)
    if is_missing.any():
        row = int(is_missing.argmax())
        raise ValueError(
            f"{source.name}: the target {name!r} is missing {source.place(row)}, and in "
            f"{count(int(is_missing.sum()), 'row')} in all; remove them, or fill the cells{cure}"
        )


def _refuse_mixed(source: Source, name: str, column: Any) -> None:
    """A few words among quantities are a mistake more often than not; among classes not."""
    if not source.is_inferred or cells.type_name(column) != "text":
        return
    reading, is_number = nearest(column)
    if reading.kind != "number":
        return
    numbers = np.asarray(cells.as_numbers(column.filter(is_number), reading))
    if not 0 < len(column) - len(numbers) <= len(numbers):
        return
    if task_of_numbers(name, numbers)[0] == REGRESSION:
        row = int(is_number.argmin())
        raise ValueError(
            f"{source.name}: the target {name!r} mixes numbers and text: "
            f"{column[row].as_py()!r:.40} {source.place(row)}, beside "
            f"{count(len(numbers), 'number')}; correct it, or give --task classification"
        )


def _suggested(source: Source, name: str, column: Any) -> tuple[HostArray, str, str]:
    what = cells.type_name(column)
    if what in ("time", "other", "nothing"):
        raise ValueError(
            f"{source.name}: the target {name!r} has type {column.type}, and a target is numbers "
            "or text; choose another with --target"
        )
    if what == "number":
        return _numbers(source, name, column)
    if what == "truth":
        return np.asarray(column), CLASSIFICATION, f"the target {name!r} holds true and false"
    y = np.asarray(cells.as_text(column).to_pylist())
    return y, CLASSIFICATION, f"the target {name!r} holds text, such as {str(y[0])!r:.40}"


def _numbers(source: Source, name: str, column: Any) -> tuple[HostArray, str, str]:
    y = np.asarray(column.to_numpy())
    if y.dtype.kind not in "iuf":  # decimals
        y = y.astype(np.float64)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.isfinite(y).argmin())
        raise ValueError(
            f"{source.name}: the target {name!r} is {y[row]:g} {source.place(row)}; make it finite"
        )
    task, reason = task_of_numbers(name, y)
    if y.dtype.kind == "f" and (y == np.floor(y)).all() and np.abs(y).max() <= LARGEST_WHOLE:
        y = y.astype(np.int64)
    return y, task, reason


def task_of_numbers(name: str, y: HostArray) -> tuple[str, str]:
    """The task that a target of numbers suggests, and why."""
    is_part = y != np.floor(y)
    if is_part.any():
        return REGRESSION, f"the target {name!r} holds fractions: {y[is_part][0]:g}"
    n_distinct = len(np.unique(y))
    whole = f"the target {name!r} holds whole numbers, {n_distinct} distinct"
    if n_distinct <= MAX_CLASSES:
        return CLASSIFICATION, f"{whole}, at most {MAX_CLASSES}"
    return REGRESSION, f"{whole}, more than {MAX_CLASSES}"
