"""The rows of a table as a fitted model needs them: columns by name, values of their kind.

Knows models and tables; must not know what is done with the rows.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gputree.cli import cells, sources
from gputree.cli.answers import read_answers
from gputree.cli.models import REGRESSION, schema_of, task_of
from gputree.cli.output import Output, count, listed
from gputree.cli.settings import near
from gputree.cli.sources import Source
from gputree.dtypes import HostArray
from gputree.errors import ModelFileError
from gputree.files import readings
from gputree.files.like import NotDatesError, column_like, not_dates, sources_of

NEW = {  # what becomes of categories that the training did not have
    "missing": "treated as missing",
    "majority": "sent to the largest branch",
}
WORDS = {"True": "true", "False": "false"}  # as text files have them


@dataclass(frozen=True, eq=False)
class Known:
    """A table beside a model."""

    source: Source
    model: Any
    X: Any  # pyarrow.Table, or a NumPy array for a model without names
    unused: list[str]  # columns that the model does not use

    @property
    def n_rows(self) -> int:
        return int(self.source.table.num_rows)

    def answers(self, target: str | None) -> HostArray:
        """The target of the rows."""
        name = self.target_name(target)
        y, _, _ = read_answers(self.source, name, None)
        task = task_of(self.model)
        if task == REGRESSION and y.dtype.kind not in "iuf":
            raise ValueError(
                f"the model predicts numbers, and the target {name!r} of {self.source.name} holds "
                "text; choose another with --target"
            )
        return y if task == REGRESSION else _like(y, self.model.classes_)

    def target_name(self, target: str | None) -> str:
        """The column with the answers: the one asked for, the last, or the only one left."""
        if target is not None:
            self.source.check([target], "--target")
            return target
        if self.source.names[-1] in self.unused:
            return self.source.names[-1]
        if len(self.unused) != 1:
            left = f": it may be {listed(self.unused)}" if self.unused else ""
            raise ValueError(
                f"--target is needed, the column of {self.source.name} to predict{left}"
            )
        return self.unused[0]


def load_model(path: Path, output: Output) -> Any:
    """A model of any kind."""
    from gputree.estimators.model_file import load

    if not path.exists():
        raise ValueError(f"there is no model file {path}; `gputree train` writes one")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a model file in it")
    with output.waiting(f"loading {path}"):
        try:
            return load(path)
        except ModelFileError as error:
            raise ValueError(f"{path}: {error}") from error


def read_known(model: Any, options: dict[str, Any], output: Output) -> Known:
    """A table with the columns that a model was fitted on, read as in its training."""
    source = sources.read(options, output, schema_of(model))
    return known_rows(model, source, output, options.get("target"))


def known_rows(model: Any, source: Source, output: Output, target: str | None = None) -> Known:
    """The columns that a model was fitted on, taken from a table."""
    schema = schema_of(model)
    names = _names(model, source, sources_of(schema), output, target)
    columns = [
        _column(source, schema, at, column_of(source, name, schema.origin(at)), output)
        for at, name in enumerate(names)
    ]
    unused = [name for name in source.names if name not in names]
    return Known(source, model, _input(model, schema.names, columns), unused)


def column_of(source: Source, name: str, origin: Any) -> Any:
    """What a column of a model is made of: a column of a table, or a part of its dates."""
    if origin is None:
        return source.table[name]
    try:
        return column_like(source.table, name, origin)
    except NotDatesError as error:
        column = error.column
        if cells.type_name(column) == "text":
            fits = readings.fits(cells.stripped(column), origin.reading)
            row = int(np.argmax(~fits & ~cells.missing(column)))
            raise _not_as_trained(source, name, column, row, origin.reading) from error
        raise ValueError(f"{source.name}: {not_dates(name, origin, column)}") from error


def _not_as_trained(
    source: Source, name: str, column: Any, row: int, reading: Any, cure: str = ""
) -> ValueError:
    """The error for a cell that cannot be read as its column was in training."""
    cell = str(cells.decoded(column)[row].as_py())
    return ValueError(
        f"{source.name}: column {name!r} held {reading.words()} in training, but holds "
        f"{cell!r:.40} {source.place(row)}; correct it, or leave the cell empty{cure}"
    )


def note_unused(known: Known, output: Output, *used: str | None) -> None:
    """Note which columns are not used."""
    left = [name for name in known.unused if name not in used]
    if left:
        verb = "is" if len(left) == 1 else "are"
        output.note(
            f"{count(len(left), 'column')} of {known.source.name} {verb} not used: {listed(left)}"
        )


def _names(
    model: Any, source: Source, wanted: list[str], output: Output, target: str | None
) -> list[str]:
    """The columns in the order of the model; by position where it knows no names."""
    lacking = [name for name in wanted if name not in source.names]
    if not lacking:
        return list(wanted)
    others = [name for name in source.names if name != target]
    if not hasattr(model, "feature_names_in_") and len(others) == len(wanted):
        output.note("the model was fitted without column names; columns are taken in order")
        return others
    hint = near(lacking[0], source.names) if len(lacking) == 1 else ""
    raise ValueError(
        f"{source.name} lacks {count(len(lacking), 'column')} that the model needs: "
        f"{listed(lacking)}{hint}"
    )


def _column(source: Source, schema: Any, at: int, column: Any, output: Output) -> Any:
    """A column in the type that it had in training."""
    name, categories = schema.names[at], schema.categories[at]
    if categories is None:
        return _numbers(source, name, column, schema.origin(at))
    column = _typed(column, categories)
    # Values that are new come after the categories: the model knows what to do with them.
    known = set(categories)
    new = [value for value in cells.distinct(column) if value not in known]
    if new:
        n_rows = int(cells.among(column, new).sum())
        output.note(
            f"column {name!r} of {source.name} has {count(len(new), 'category')} that did not "
            f"occur in training ({listed(new, most=3)}), in {count(n_rows, 'row')}; "
            f"{NEW.get(schema.unknown, 'refused')}"
        )
    is_ordered = schema.kinds[at].name == "ORDINAL"
    return cells.as_categories(column, [*categories, *new], ordered=is_ordered)


def _typed(column: Any, categories: tuple[Any, ...]) -> Any:
    """Cells that can be compared with the categories."""
    what = cells.type_name(cells.decoded(column))
    if all(isinstance(category, str) for category in categories):
        return cells.as_text(column)
    if all(isinstance(category, bool) for category in categories):
        return column if what == "truth" else cells.as_text(column).cast("bool")
    numbers = cells.as_numbers(column)
    return (
        numbers.cast("float64") if any(isinstance(each, float) for each in categories) else numbers
    )


def _numbers(source: Source, name: str, column: Any, origin: Any) -> Any:
    reading = readings.PLAIN
    if origin is not None and origin.reading.kind == "number":
        reading = origin.reading
    numbers = cells.as_numbers(column, reading)
    lost = cells.missing(numbers) & ~cells.missing(column)
    if lost.any() and reading.others != "missing":
        row = int(np.argmax(lost))
        cure = _other_decimal(cells.decoded(column)[row : row + 1], reading)
        raise _not_as_trained(source, name, column, row, reading, cure)
    return numbers


def _other_decimal(cell: Any, reading: Any) -> str:
    """The cure where a number only has another decimal mark than in training."""
    (other,) = (mark for mark in readings.DECIMALS if mark != reading.decimal)
    is_text = cells.type_name(cell) == "text"
    if not (is_text and readings.fits(cells.stripped(cell), replace(reading, decimal=other)).all()):
        return ""
    word = {readings.POINT: "points", readings.COMMA: "commas"}[other]
    return f"; if the numbers of this file have decimal {word}, give --decimal {other}"


def _input(model: Any, names: tuple[str, ...], columns: list[Any]) -> Any:
    import pyarrow

    if hasattr(model, "feature_names_in_"):
        return pyarrow.table(dict(zip(names, columns, strict=True)))
    # scikit-learn warns of names where there were none.
    arrays = [np.asarray(cells.decoded(column).to_numpy()) for column in columns]
    is_plain = all(array.dtype.kind in "biuf" for array in arrays)
    return np.column_stack([array if is_plain else array.astype(object) for array in arrays])


def _like(y: HostArray, classes: HostArray) -> HostArray:
    """Labels in the type of the classes, so that equal ones are equal."""
    if classes.dtype.kind == "U" and y.dtype.kind != "U":
        return np.array([WORDS.get(str(label), str(label)) for label in y.tolist()])
    if classes.dtype.kind == "b" and y.dtype.kind == "U" and set(y.tolist()) <= {"true", "false"}:
        return np.asarray(y == "true")
    return y
