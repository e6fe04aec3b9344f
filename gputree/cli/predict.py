"""`gputree predict`: the predictions of a saved model for the rows of a table.

Knows where predictions go; must not know how they are made.
"""

import csv
import io
import sys
from pathlib import Path
from typing import Any

import click

from gputree.cli.options import (
    documented,
    model_argument,
    output_of,
    output_option,
    table_argument,
    text_options,
)
from gputree.cli.output import count, fact, say, write_text, writing

SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")

EXAMPLES = """\
  gputree predict houses.gputree new.csv
  gputree predict houses.gputree new.csv --proba --keep id -o predictions.parquet
  gputree predict iris.gputree iris --json
"""


@documented(EXAMPLES)
@model_argument
@table_argument
@output_option("Where to save them, as .csv, .tsv, .parquet or .arrow (default: print them)")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--keep", multiple=True, metavar="COLUMN", help="Copy a column of TABLE to the result."
)
@text_options
def command(**options: Any) -> int:
    """Predict the rows of a table with a saved model.

    Columns are matched by name, in any order; columns that the model does not know are not used.
    The result is a table with the column `prediction` and, with --proba, one column per class.
    """
    output = output_of(options)
    path: Path | None = options["output"]
    if path is not None:
        _check_format(path)

    from gputree.cli.models import task_of
    from gputree.cli.rows import load_model, note_unused, read_known
    from gputree.cli.sources import check_result

    check_result(path, options)

    model = load_model(options["model"], output)
    if options["proba"] and not hasattr(model, "predict_proba"):
        raise ValueError(f"--proba: a {task_of(model)} has no classes; leave it out")
    known = read_known(model, options, output)
    known.source.check(options["keep"], "--keep")
    _check_kept(model, options)
    note_unused(known, output, *options["keep"])
    with output.waiting("predicting"):
        columns = _columns(model, known, options)
    if path is not None:
        _write(path, columns)
    if output.is_json or path is not None:
        data = {
            "command": "predict",
            "model": str(options["model"]),
            "table": options["table"],
            "n_rows": known.n_rows,
            "file": None if path is None else str(path),
        }
        if path is None:
            data["columns"] = columns
        output.show(fact("written", f"{path}: {count(known.n_rows, 'row')}"), data)
    elif not output.is_quiet:
        say(_separated(columns, ",").rstrip("\n"), sys.stdout)
    return 0


def _check_format(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--output {path}: the name must end in {', '.join(SUFFIXES)}")


def _check_kept(model: Any, options: dict[str, Any]) -> None:
    """Refuse a column to be kept that has the name of a result."""
    results = {"prediction"}
    if options["proba"]:
        results |= {f"P({label})" for label in model.classes_.tolist()}
    for name in options["keep"]:
        if name in results:
            raise ValueError(
                f"--keep {name}: a column of the result has this name; rename it in the table"
            )


def _columns(model: Any, known: Any, options: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns of the result, by their names."""
    columns = {name: known.source.table[name].to_pylist() for name in options["keep"]}
    predicted = model.predict(known.X)
    if predicted.ndim == 1:
        columns["prediction"] = predicted.tolist()
    else:
        columns |= {f"prediction {at}": values.tolist() for at, values in enumerate(predicted.T)}
    if options["proba"]:
        shares = model.predict_proba(known.X)
        for at, label in enumerate(model.classes_.tolist()):
            columns[f"P({label})"] = shares[:, at].tolist()
    return columns


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write the result, all of it or nothing."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        write_text(path, _separated(columns, "," if suffix == ".csv" else "\t"))
        return
    import pyarrow

    from gputree.tree.store import write

    table, sink = pyarrow.table(columns), pyarrow.BufferOutputStream()
    if suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    with writing(path):
        write(path, sink.getvalue().to_pybytes())


def _separated(columns: dict[str, list[Any]], separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
