"""`gputree info`: what a model file or a table holds.

Knows what to show; must not know how files are read.
"""

import os
from pathlib import Path
from typing import Any

import click

from gputree.cli.options import TableName, documented, output_of, text_options
from gputree.cli.output import Output, count, fact, listed

FEW_CATEGORIES, MOST_CATEGORIES = 5, 20  # of a table's column: in text, and in JSON
MODEL_MAGIC = b"gputree\n"  # how model files begin; a test compares it with gputree.tree.store

EXAMPLES = """\
  gputree info houses.gputree
  gputree info houses.csv
  gputree info iris --json
"""


@documented(EXAMPLES)
@click.argument("file", type=TableName())
@text_options
def command(**options: Any) -> int:
    """Show what a model file or a table holds.

    For a model: its kind, size, classes, columns and parameters. For a table: the values of each
    column, and how `gputree train` would treat it.
    """
    output = output_of(options)
    name = options["file"]
    path = Path(name)
    if _is_model(path):
        text, data = _of_model(path, output)
    else:
        text, data = _of_table(options, output)
    output.show(text, {"command": "info", **data})
    return 0


def _is_model(path: Path) -> bool:
    if not (path.is_file() and os.access(path, os.R_OK)):
        return False  # the reader of tables says what is wrong
    with open(path, "rb") as file:
        return file.read(len(MODEL_MAGIC)) == MODEL_MAGIC


def _of_model(path: Path, output: Output) -> tuple[str, dict[str, Any]]:
    from gputree.cli.models import schema_of, shape_of, shape_text, task_of
    from gputree.cli.rows import load_model

    model = load_model(path, output)
    schema = schema_of(model)
    columns = [
        {
            "name": name,
            "kind": {0: "number", 1: "ordered", 2: "category"}[int(kind)],
            "levels": None if categories is None else list(categories),
            "has_missing": bool(has_missing),
            "origin": None if origin is None else origin.to_plain(),
        }
        for name, kind, categories, has_missing, origin in zip(
            schema.names,
            schema.kinds,
            schema.categories,
            schema.has_missing,
            map(schema.origin, range(len(schema.names))),
            strict=True,
        )
    ]
    read = [
        "" if origin is None else f" ({_origin_text(origin)})"
        for origin in map(schema.origin, range(len(columns)))
    ]
    parameters = model.get_params(deep=False)
    classes = model.classes_.tolist() if hasattr(model, "classes_") else None
    lines = [
        fact("model", f"{type(model).__name__}: {shape_text(model)}"),
        fact("task", task_of(model)),
        *([fact("classes", listed(classes))] if classes else []),
        fact("columns", count(len(columns), "feature")),
        *(
            f"  {each['name']}: {_kind_text(each)}{how}"
            for each, how in zip(columns, read, strict=True)
        ),
        fact(
            "set", listed((f"{k}={v!r}" for k, v in _changed(model).items()), most=99) or "defaults"
        ),
    ]
    data = {
        "kind": "model",
        "file": str(path),
        "estimator": type(model).__name__,
        "task": task_of(model),
        "shape": shape_of(model),
        "classes": classes,
        "columns": columns,
        "parameters": parameters,
    }
    return "\n".join(lines), data


def _origin_text(origin: Any) -> str:
    """How a column of a model is read from a file."""
    how = str(origin.reading.words())
    return f"the {origin.part} of {origin.column!r}, {how}" if origin.part else how


def _kind_text(column: dict[str, Any]) -> str:
    categories, kind = column["levels"], str(column["kind"])
    if categories is None:
        return kind
    between = " < " if kind == "ordered" else ", "
    shown = between.join(str(category) for category in categories[:8])
    more = f", ... {len(categories) - 8:,} more" if len(categories) > 8 else ""
    return f"{kind} of {count(len(categories), 'category')} ({shown}{more})"


def _changed(model: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    defaults = type(model)().get_params(deep=False)
    own = model.get_params(deep=False)
    return {name: value for name, value in own.items() if repr(value) != repr(defaults[name])}


def _of_table(options: dict[str, Any], output: Output) -> tuple[str, dict[str, Any]]:
    from gputree.cli import cells, sources

    source = sources.read({**options, "table": options["file"]}, output)
    output.look(source.notes)
    found = []
    for each in source.names:
        column = source.table[each]
        kind, why = _kind(source, each)
        found.append(
            {
                "name": each,
                "type": str(column.type),
                "kind": kind,
                "why": why,
                "n_missing": int(cells.missing(column).sum()),
                **_values(column),
            }
        )
    size = f"{count(source.table.num_rows, 'row')}, {count(len(found), 'column')}"
    lines = [fact("table", f"{source.name}: {size}")]
    width = max(len(each["name"]) for each in found)
    lines += [f"  {each['name']:<{width}}  {_told_text(each)}" for each in found]
    data = {
        "kind": "table",
        "file": source.name,
        "n_rows": source.table.num_rows,
        "columns": found,
    }
    return "\n".join(lines), data


def _kind(source: Any, name: str) -> tuple[str, str]:
    """How training would treat a column."""
    from gputree.cli import columns

    try:
        told = columns.told_of(source, name, columns.Wishes())
    except ValueError as error:
        return "refused", str(error)
    if len(told) > 1:
        parts = ", ".join(each.name for each in told if each.kind != columns.IGNORED)
        return "date", f"split into {parts}"
    return told[0].kind, told[0].why


def _values(column: Any) -> dict[str, Any]:
    """The range of numbers, or the categories of others."""
    from gputree.cli import cells

    what = cells.type_name(column)
    if what in ("other", "nothing"):
        return {}
    found: dict[str, Any] = {"n_distinct": cells.n_distinct(column)}
    if what in ("number", "time"):
        from pyarrow import compute

        both = compute.min_max(column).as_py()
        found |= {"min": both["min"], "max": both["max"]}
    else:
        found["levels"] = cells.distinct(column)[:MOST_CATEGORIES]
    return found


def _told_text(column: dict[str, Any]) -> str:
    parts = [f"{column['kind']} ({column['why']})"]
    if "min" in column:
        low, high = (
            f"{v:.6g}" if isinstance(v, float) else str(v) for v in (column["min"], column["max"])
        )
        parts.append(f"{low} to {high}")
    elif column.get("levels"):
        more = column["n_distinct"] - FEW_CATEGORIES
        shown = ", ".join(str(category) for category in column["levels"][:FEW_CATEGORIES])
        parts.append(shown + (f", ... {more:,} more" if more > 0 else ""))
    if column["n_missing"]:
        parts.append(f"{column['n_missing']:,} missing")
    return "; ".join(parts)
