"""`gputree bench`: time the backends on a table."""

import io
from typing import Any

import click

from gputree.cli.options import (
    Depth,
    documented,
    output_of,
    table_argument,
    target_option,
    text_options,
)

EXAMPLES = """\
  gputree bench breast_cancer
  gputree bench houses.csv --target price --max-depth none --backends numpy,numba
"""


@documented(EXAMPLES)
@table_argument
@target_option
@click.option(
    "--backends", metavar="NAMES", help="Backends to time, separated by commas (default: all)."
)
@click.option("--max-depth", type=Depth(), default=8, help="Maximum depth, or none (default: 8).")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=3, help="Timed runs after the warm-up (3)."
)
@text_options
@click.option("--no-peers", is_flag=True, help="Do not time scikit-learn's trees.")
def command(**options: Any) -> int:
    """Time gputree's backends and scikit-learn's trees on a table, in alternation."""
    output = output_of(options)

    from gputree.cli.sources import opened, path_of
    from gputree.diagnostics.bench import as_text, bench
    from gputree.diagnostics.tables import load_bundled, load_file

    path = path_of(options["table"])
    if path is None and options["target"] is not None:
        raise ValueError(
            f"--target: the bundled table {options['table']} has its own target; leave it out"
        )
    with output.waiting(f"reading {options['table']}"):
        table = (
            load_bundled(options["table"])
            if path is None
            else load_file(opened(options), options["target"])
        )
    with output.waiting("timing"):
        found = bench(
            table,
            backends=options["backends"].split(",") if options["backends"] else None,
            peers=not options["no_peers"],
            repeats=options["repeats"],
            max_depth=None if options["max_depth"] == "none" else options["max_depth"],
            stream=io.StringIO(),
        )
    output.show(as_text(found), {"command": "bench", **found})
    return 0
