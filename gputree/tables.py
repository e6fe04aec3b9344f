"""Tables for the command line: scikit-learn's bundled ones, and CSV files.

Knows files and targets; must not know trees, nor how the command prints.
"""

import csv
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn import datasets

from gputree.dtypes import HostArray

Task: TypeAlias = Literal["classification", "regression"]
Rows: TypeAlias = Iterator[tuple[int, list[str]]]  # line number and cells

MAX_CLASSES = 20  # a target of whole numbers with more distinct values is taken for a quantity
MISSING = ("", "NA", "?")  # besides NaN, in any case
LARGEST_WHOLE = 2.0**53  # beyond it, neighbouring whole numbers share a float
SHOWN_CHARACTERS = 40  # of a cell, in a message
SHOWN_COLUMNS = 20


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


# CSV files


def read_csv(path: Path, target: str | None = None) -> LabelledTable:
    """A CSV file with a header; the target is its last column if none is named.

    A feature with a cell that is no number holds categories. Empty cells, NA, NaN and ? are missing
    values, and not allowed in the target. Blank lines are skipped.
    """
    rows = _rows(path)
    names = _header(path, rows)
    at = _place(path, names, target)
    target = names.pop(at)
    columns = [array("d") for _ in names]
    is_text = [False for _ in names]
    cells_of_target: list[tuple[int, str]] = []
    for line, cells in rows:
        if len(cells) != len(names) + 1:
            raise ValueError(
                f"{path}: line {line} has {len(cells)} cells, the header has {len(names) + 1}; "
                "give every row as many"
            )
        cells_of_target.append((line, cells.pop(at).strip()))
        for feature, cell in enumerate(cells):
            number = _feature(cell)
            is_text[feature] |= number is None
            columns[feature].append(math.nan if number is None else number)
    if not cells_of_target:
        raise ValueError(f"{path} has a header but no rows; add rows below it")
    y, task, reason = _read_target(path, target, cells_of_target)
    X = np.column_stack([np.frombuffer(column) for column in columns])
    text_columns = tuple(feature for feature, holds_text in enumerate(is_text) if holds_text)
    if text_columns:
        X = _with_text(path, X, at, text_columns)
    return LabelledTable(
        path.stem, X, y, tuple(names), task, reason=reason, text_columns=text_columns
    )


def _with_text(path: Path, X: HostArray, target: int, text_columns: Sequence[int]) -> HostArray:
    """The table with some columns as they are written, which takes a second look at the file."""
    mixed = X.astype(object)
    rows = _rows(path)
    next(rows)
    for row, (_, cells) in enumerate(rows):
        cells.pop(target)
        for feature in text_columns:
            cell = cells[feature].strip()
            mixed[row, feature] = None if _is_missing(cell) else cell
    return mixed


def _rows(path: Path) -> Rows:
    """The rows that are not blank, each with the number of its last line."""
    # The signature that spreadsheets put at the start of UTF-8 files is no part of the first name.
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not text in UTF-8; save it as CSV in UTF-8") from error
        except csv.Error as error:
            raise ValueError(
                f"{path}: line {reader.line_num} is not CSV: {error}; check its quotes"
            ) from error


def _header(path: Path, rows: Rows) -> list[str]:
    """The names of the columns, checked."""
    _, cells = next(rows, (0, []))
    if not cells:
        raise ValueError(f"{path} is empty; a header and rows are needed")
    names = [cell.strip() for cell in cells]
    if "" in names:
        raise ValueError(
            f"{path}: column {names.index('') + 1} has no name in the header; name it, or remove "
            "the column if it only numbers the rows"
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(
            f"{path}: the header has several columns named {_shown(repeated[0])}; give each a name "
            "of its own"
        )
    if len(names) == 1:
        raise ValueError(
            f"{path} has one column, {_shown(names[0])}; at least a feature and the target are "
            "needed, separated by commas"
        )
    return names


def _place(path: Path, names: Sequence[str], target: str | None) -> int:
    if target is None:
        return len(names) - 1
    if target not in names:
        more = ", ..." if len(names) > SHOWN_COLUMNS else ""
        raise ValueError(
            f"{path} has no column {target!r} to be the target; its columns are "
            f"{', '.join(names[:SHOWN_COLUMNS])}{more}"
        )
    return names.index(target)


def _feature(cell: str) -> float | None:
    """The number in a cell, None if it holds something else."""
    try:
        return _number(cell)
    except ValueError:
        return math.nan if _is_missing(cell.strip()) else None


def _is_missing(cell: str) -> bool:
    return cell in MISSING or cell.lower() == "nan"


def _number(cell: str) -> float:
    if "_" in cell:  # Python reads 1_2 as twelve; in a table it is a code
        raise ValueError(cell)
    return float(cell)


def _shown(cell: str) -> str:
    if len(cell) > SHOWN_CHARACTERS:
        cell = cell[: SHOWN_CHARACTERS - 3] + "..."
    return repr(cell)


# Targets


def _read_target(
    path: Path, name: str, cells: Sequence[tuple[int, str]]
) -> tuple[HostArray, Task, str]:
    """The target, the task it suggests, and why."""
    numbers = array("d")
    text: tuple[int, str] | None = None  # the first that is no number
    for line, cell in cells:
        if _is_missing(cell):
            raise ValueError(
                f"{path}: the target {name!r} is missing on line {line}; remove the row, or fill "
                "the cell"
            )
        try:
            numbers.append(_number(cell))
        except ValueError:
            text = text or (line, cell)
    if text is not None:
        reason = f"the target {name!r} holds text: {_shown(text[1])} on line {text[0]}"
        return np.array([cell for _, cell in cells]), "classification", reason
    y = np.frombuffer(numbers)
    if not np.isfinite(y).all():
        line, cell = cells[int(np.isfinite(y).argmin())]
        raise ValueError(f"{path}: the target {name!r} is {cell} on line {line}; make it finite")
    task, reason = _task_of_numbers(name, y)
    is_whole = bool((y == np.floor(y)).all() and np.abs(y).max() <= LARGEST_WHOLE)
    return y.astype(np.int64) if is_whole else y, task, reason


def _task_of_numbers(name: str, y: HostArray) -> tuple[Task, str]:
    is_part = y != np.floor(y)
    if is_part.any():
        return "regression", f"the target {name!r} holds fractions: {y[is_part][0]:g}"
    n_distinct = len(np.unique(y))
    whole = f"the target {name!r} holds whole numbers, {n_distinct} distinct"
    if n_distinct <= MAX_CLASSES:
        return "classification", f"{whole}, at most {MAX_CLASSES}"
    return "regression", f"{whole}, more than {MAX_CLASSES}"
