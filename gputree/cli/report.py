"""`gputree report`: a saved model and a table as one page of HTML."""

from typing import Any

import click

from gputree.cli.options import (
    documented,
    known_target_option,
    model_argument,
    output_of,
    output_option,
    table_argument,
    text_options,
)
from gputree.cli.output import fact, writing

EXAMPLES = """\
  gputree report houses.gputree houses.csv
  gputree report houses.gputree new.csv --target price --title "New houses" -o report.html
"""


@documented(EXAMPLES)
@model_argument
@table_argument
@known_target_option
@click.option("--title", help="The title of the page.")
@text_options
@output_option("Where to save the page (default: MODEL.html)")
def command(**options: Any) -> int:
    """Write a page about a model: the tree, its scores on a table, its features."""
    output = output_of(options)
    place = options["output"] or options["model"].with_suffix(".html")

    from gputree.cli.rows import load_model, note_unused, read_known
    from gputree.cli.sources import check_result

    check_result(place, options)
    model = load_model(options["model"], output)
    if hasattr(model, "rules_"):
        raise ValueError(f"{options['model']} holds rules; a report shows a tree or an ensemble")
    target = options["target"]
    known = read_known(model, options, output)
    y = known.answers(target)
    note_unused(known, output, known.target_name(target))

    from gputree.report import write_report

    with output.waiting("writing the report"), writing(place):
        write_report(model, known.X, y, place, title=options["title"])
    data = {"command": "report", "n_rows": known.n_rows, "files": {"report": str(place)}}
    output.show(fact("report", place), data)
    return 0
