"""Tables for the command line: scikit-learn's bundled ones, and files.

Knows targets and tasks; must not know trees, how files are read, nor how the command prints.
"""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn import datasets

from gputree.dtypes import HostArray
from gputree.files.cells import is_number
from gputree.files.names import no_column, shown
from gputree.files.opening import open_file
from gputree.files.parts import WithParts
from gputree.files.table_file import FileKind, TableFile, kind_of

Task: TypeAlias = Literal["classification", "regression"]

MAX_CLASSES = 20  # a target of whole numbers with more distinct values is taken for a quantity
LARGEST_WHOLE = 2.0**53  # beyond it, neighbouring whole numbers share a float


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table of numbers and categories with what is to be predicted."""

    name: str
    # (rows, features) float64, NaN missing; objects where columns hold text, None missing in those
    X: HostArray
    y: HostArray  # (rows,) numbers, or text
    feature_names: tuple[str, ...]
    task: Task
    target_names: tuple[str, ...] | None = None  # the class that each number in y stands for
    reason: str = "as the bundled table says"  # why it is this task
    text_columns: tuple[int, ...] = ()  # those that hold categories

    def target(self, task: Task) -> HostArray:
        """What to fit on: classes by their names where they have any, or numbers."""
        if task == "classification":
            return self.y if self.target_names is None else np.array(self.target_names)[self.y]
        if self.y.dtype.kind == "U":
            raise ValueError(
                f"regression needs numbers, but {self.reason}; use the task classification, or "
                "another target"
            )
        return self.y


# Bundled tables

BUNDLED: dict[str, tuple[Callable[[], Any], Task]] = {
    "iris": (datasets.load_iris, "classification"),
    "wine": (datasets.load_wine, "classification"),
    "breast_cancer": (datasets.load_breast_cancer, "classification"),
    "digits": (datasets.load_digits, "classification"),
    "diabetes": (datasets.load_diabetes, "regression"),
}


def load_bundled(name: str) -> LabelledTable:
    """One of the tables that come with scikit-learn."""
    if name not in BUNDLED:
        raise ValueError(f"{name!r} is not a bundled table; choose from {', '.join(BUNDLED)}")
    load, task = BUNDLED[name]
    bunch = load()
    names = np.asarray(bunch.get("target_names", ()))
    return LabelledTable(
        name=name,
        X=np.asarray(bunch.data, np.float64),
        y=np.asarray(bunch.target),
        feature_names=tuple(str(feature) for feature in bunch.feature_names),
        task=task,
        target_names=tuple(names.tolist()) if names.dtype.kind == "U" else None,
    )


# Files


def load_file(
    path: str | PathLike[str] | TableFile, target: str | None = None, *, encoding: str = "utf-8"
) -> LabelledTable:
    """A table in a file of any format; the target is its last column if none is named.

    Columns of text or of categories hold categories. Missing values are not allowed in the target.
    """
    opened = path if isinstance(path, TableFile) else open_file(path, encoding=encoding)
    path, names = opened.path, opened.names
    if target is None:
        target = names[-1]
    elif target not in names:
        raise no_column(path, target, names, " to be the target")
    if len(names) == 1:
        raise ValueError(
            f"{path} has one column, {shown(names[0])}; at least one feature and the target are "
            "needed, separated by commas"
        )
    file = WithParts(opened, whole=[target])
    names = file.names
    table = file.read()
    y, task, reason = _read_target(file, target, table.column(target))
    features = [name for name in names if name != target]
    kinds = dict(zip(names, file.kinds, strict=True))
    is_text = [kinds[name] in ("text", "nominal", "ordinal") for name in features]
    columns = [_column(file, name, table.column(name), kinds[name]) for name in features]
    if any(is_text):
        X = np.empty((table.num_rows, len(features)), object)
        for at, column in enumerate(columns):
            X[:, at] = column
    else:
        X = np.column_stack(columns)
    return LabelledTable(
        Path(path).name.removesuffix(".gz").rpartition(".")[0] or Path(path).name,
        X,
        y,
        tuple(features),
        task,
        reason=reason,
        text_columns=tuple(at for at, holds_text in enumerate(is_text) if holds_text),
    )


def _column(file: TableFile, name: str, column: Any, kind: FileKind) -> HostArray:
    """Numbers with NaN where missing; text and categories as objects, None where missing."""
    if kind == "other":
        raise ValueError(
            f"{file.path}: column {name!r} is of type {column.type}, which is neither numbers nor "
            "categories; derive numbers from it, or remove it"
        )
    if kind == "numeric":
        return column.cast("float64", safe=False).to_numpy()
    return np.array(column.to_pylist(), object)


# Targets


def _read_target(file: TableFile, name: str, column: Any) -> tuple[HostArray, Task, str]:
    """The target, the task it suggests, and why."""
    cells = column.to_numpy(zero_copy_only=False) if kind_of(column.type) == "numeric" else None
    missing = np.asarray(column.is_null(nan_is_null=True))
    if missing.any():
        raise ValueError(
            f"{file.path}: the target {name!r} is missing {file.place(int(missing.argmax()))}; "
            "remove the row, or fill the cell"
        )
    if cells is None:
        return _read_text(file, name, column)
    y = cells.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.isfinite(y).argmin())
        raise ValueError(
            f"{file.path}: the target {name!r} is {y[row]} {file.place(row)}; make it finite"
        )
    task, reason = _task_of_numbers(name, y)
    is_whole = bool((y == np.floor(y)).all() and np.abs(y).max() <= LARGEST_WHOLE)
    return y.astype(np.int64) if is_whole else y, task, reason


def _read_text(file: TableFile, name: str, column: Any) -> tuple[HostArray, Task, str]:
    if kind_of(column.type) == "other":
        raise ValueError(
            f"{file.path}: the target {name!r} is of type {column.type}, neither numbers nor "
            "categories; choose another target"
        )
    cells = [str(cell) for cell in column.to_pylist()]
    row = next((row for row, cell in enumerate(cells) if not is_number(cell)), 0)
    reason = f"the target {name!r} holds text: {shown(cells[row])} {file.place(row)}"
    return np.array(cells), "classification", reason


def _task_of_numbers(name: str, y: HostArray) -> tuple[Task, str]:
    is_part = y != np.floor(y)
    if is_part.any():
        return "regression", f"the target {name!r} holds fractions: {y[is_part][0]:g}"
    n_distinct = len(np.unique(y))
    whole = f"the target {name!r} holds whole numbers, {n_distinct} distinct"
    if n_distinct <= MAX_CLASSES:
        return "classification", f"{whole}, at most {MAX_CLASSES}"
    return "regression", f"{whole}, more than {MAX_CLASSES}"
