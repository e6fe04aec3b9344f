"""`gputree export`: a saved model in the format of another program or language."""

from typing import Any

import click

from gputree.cli.options import documented, model_argument, output_of, output_option
from gputree.cli.output import check_place, count, fact, writing
from gputree.cli.settings import near

# Those of gputree.export, whose import takes long, by their suffixes; a test compares the two.
FORMATS = {
    "json": ".json",
    "onnx": ".onnx",
    "sql": ".sql",
    "python": ".py",
    "c": ".c",
    "treelite": ".tl",
}

EXAMPLES = """\
  gputree export houses.gputree -o houses.json
  gputree export houses.gputree -o houses.onnx
  gputree export houses.gputree --format c -o predict_price.h
"""


@documented(EXAMPLES)
@model_argument
@output_option("Where to save the exported model", required=True)
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help=f"The format: {', '.join(FORMATS)} (default: by the suffix of FILE).",
)
def command(**options: Any) -> int:
    """Write a model in another format, chosen by the suffix of FILE or by --format.

    The exported model gives the same predictions; what a format cannot express is refused with the
    reason. ONNX and treelite need pip install 'gputree-ml[export]'; the other formats need nothing.
    """
    output = output_of(options)
    place, form = options["output"], options["form"]
    check_place(place, "--output", options["model"])

    from gputree.cli.rows import load_model
    from gputree.export import export

    if form is not None and form not in FORMATS:
        raise ValueError(f"--format {form} is unknown{near(form, list(FORMATS))}")
    if form is None and place.suffix.lower() not in FORMATS.values():
        known = ", ".join(f"{suffix} ({name})" for name, suffix in FORMATS.items())
        raise ValueError(f"--output {place}: the suffix names no format; use {known}, or --format")
    model = load_model(options["model"], output)
    if hasattr(model, "rules_"):
        raise ValueError(f"{options['model']} holds rules, which no format supports; export a tree")
    with output.waiting("exporting"), writing(place):
        export(model, place, format=form)
    n_bytes = place.stat().st_size
    suffixes = {suffix: name for name, suffix in FORMATS.items()}
    data = {
        "command": "export",
        "format": form or suffixes[place.suffix.lower()],
        "files": {"export": str(place)},
        "bytes": n_bytes,
    }
    output.show(fact("export", f"{place}: {count(n_bytes, 'byte')}"), data)
    return 0
