"""`gputree explain`: why a model predicts what it predicts.

Knows what to show of explanations; must not know how they are computed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gputree.cli.options import (
    documented,
    model_argument,
    output_of,
    output_option,
    table_argument,
    text_options,
)
from gputree.cli.output import Output, count, write_text

if TYPE_CHECKING:
    from gputree.cli.attribution import Shapley

FEW_ROWS = 1000  # to be explained where only means are shown

EXAMPLES = """\
  gputree explain houses.gputree houses.csv
  gputree explain houses.gputree new.csv --row 1 --row 7 --top 5
  gputree explain houses.gputree new.csv --row 1 --path
  gputree explain iris.gputree iris --class virginica -o shap.csv
"""


@documented(EXAMPLES)
@model_argument
@table_argument
@click.option(
    "--row",
    "rows",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="Explain this row; 1 is the first. May be repeated.",
)
@click.option("--path", "is_path", is_flag=True, help="Print each --row's path as a sentence.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    metavar="K",
    help="How many features to show (default: 10).",
)
@click.option("--class", "label", metavar="NAME", help="The class to explain.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of rows to explain without --row (default: 1000; all with --output).",
)
@text_options
@output_option("Write all Shapley values to a CSV file")
def command(**options: Any) -> int:
    """Explain the predictions of a model by Shapley values.

    Without --row, features are ranked by their mean absolute contribution to the predictions. With
    it, each row is explained: the expected value, the contribution of each feature, and the
    prediction, which is their sum. --path prints the conditions that the row meets on its way
    through a single tree or rules.
    """
    output = output_of(options)

    from gputree.cli.rows import load_model, note_unused, read_known
    from gputree.cli.sources import check_result

    check_result(options["output"], options)

    model = load_model(options["model"], output)
    known = read_known(model, options, output)
    note_unused(known, output)
    chosen = _chosen(options, known.n_rows, output)
    X = known.X.take(chosen, axis=0) if hasattr(known.X, "ndim") else known.X.take(chosen)
    numbers = [row + 1 for row in chosen]
    if options["is_path"]:
        text, data = _paths(model, X, numbers, options)
    else:
        text, data = _shapley(model, X, numbers, options, output)
    output.show(text, {"command": "explain", **data})
    return 0


def _chosen(options: dict[str, Any], n_rows: int, output: Output) -> list[int]:
    """The rows to explain, from 0 on."""
    for row in options["rows"]:
        if row > n_rows:
            raise ValueError(f"--row {row}: the table has {count(n_rows, 'row')}")
    if options["rows"]:
        return [row - 1 for row in options["rows"]]
    if options["is_path"]:
        raise ValueError("--path prints the path of a row; choose it with --row")
    most = options["sample"] or (n_rows if options["output"] is not None else FEW_ROWS)
    if n_rows <= most:
        return list(range(n_rows))
    output.note(f"explaining {most:,} of {n_rows:,} rows, evenly spaced; --sample changes how many")
    return [at * n_rows // most for at in range(most)]


def _paths(
    model: Any, X: Any, numbers: list[int], options: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    from gputree.cli.path import sentences

    if options["output"] is not None:
        raise ValueError("--path is printed; leave --output out")
    lines = sentences(model, X, numbers)
    return "\n".join(lines), {"rows": numbers, "paths": lines}


def _shapley(
    model: Any, X: Any, numbers: list[int], options: dict[str, Any], output: Output
) -> tuple[str, dict[str, Any]]:
    from gputree.cli.attribution import shapley
    from gputree.cli.models import schema_of

    with output.waiting("explaining"):
        found = shapley(model, X)
    names = schema_of(model).names
    which = found.output(options["label"])
    if options["output"] is not None:
        _write(options["output"], found, names, numbers, which)
    if options["rows"]:
        return _by_row(model, X, numbers, found, names, which, options["top"])
    return _by_feature(found, names, which, len(numbers), options["top"])


def _by_feature(
    found: "Shapley", names: Any, which: int | None, n_rows: int, top: int
) -> tuple[str, dict[str, Any]]:
    """The features that contribute most to predictions."""
    values = abs(found.values) if which is None else abs(found.values[:, :, which : which + 1])
    size = values.mean(axis=(0, 2))
    order = _largest(size, top)
    width = max(len(names[at]) for at in order)
    of_class = f" of {found.outputs[which]}" if which is not None and found.outputs[which] else ""
    head = f"mean absolute contribution to the {found.unit}{of_class}, {count(n_rows, 'row')}"
    lines = [head, *(f"  {names[at]:<{width}}  {size[at]:.4g}" for at in order)]
    data = {
        "n_rows": n_rows,
        "unit": found.unit,
        "class": None if which is None else found.outputs[which],
        "features": [{"name": names[at], "mean_size": float(size[at])} for at in order],
    }
    return "\n".join(lines), data


def _by_row(
    model: Any,
    X: Any,
    numbers: list[int],
    found: "Shapley",
    names: Any,
    which: int | None,
    top: int,
) -> tuple[str, dict[str, Any]]:
    """The contributions that make up each prediction."""
    predicted = [str(label) for label in model.predict(X).tolist()]
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    for row, number in enumerate(numbers):
        own = (
            found.output(predicted[row] if found.has_classes else None) if which is None else which
        )
        if own is None:
            raise ValueError(f"--class is needed: one of {', '.join(found.outputs)}")
        values = found.values[row, :, own]
        order = _largest(abs(values), top)
        width = max(len(names[at]) for at in order)
        expected, total = float(found.expected[own]), float(found.expected[own] + values.sum())
        what = f"{found.unit} of {found.outputs[own]}" if found.outputs[own] else found.unit
        lines += [
            *([""] if lines else []),
            f"row {number}: predicted {predicted[row]}; "
            f"{what} {total:.4g}, expected value {expected:.4g}",
            *(f"  {names[at]:<{width}}  {values[at]:+.4g}" for at in order),
        ]
        others = float(values.sum() - values[order].sum())
        if abs(values).sum() > abs(values[order]).sum():
            lines.append(f"  {'others':<{width}}  {others:+.4g}")
        data.append(
            {
                "row": number,
                "prediction": predicted[row],
                "class": found.outputs[own] or None,
                "expected": expected,
                "total": total,
                "features": {names[at]: float(values[at]) for at in order},
            }
        )
    return "\n".join(lines), {"unit": found.unit, "rows": data}


def _largest(sizes: Any, top: int) -> list[int]:
    """The largest contributions; those of zero are left out, but for the first."""
    order = (-sizes).argsort(kind="stable")[:top].tolist()
    return [at for at in order if sizes[at] > 0] or order[:1]


def _write(path: Path, found: "Shapley", names: Any, numbers: list[int], which: int | None) -> None:
    """One line per row and one column per feature; classes are named where there are several."""
    import csv
    import io

    outputs = range(len(found.outputs)) if which is None else [which]
    heads = [
        name if len(outputs) == 1 else f"{name}: {found.outputs[at]}"
        for name in names
        for at in outputs
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", *heads])
    for number, values in zip(numbers, found.values[:, :, list(outputs)], strict=True):
        writer.writerow([number, *values.ravel().tolist()])
    write_text(path, text.getvalue())
