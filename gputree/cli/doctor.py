"""`gputree doctor`: what works on this machine."""

import re
from typing import Any

import click

from gputree.cli.options import documented, output_of

FAILED = 1  # the exit status where a device computes something else

EXAMPLES = """\
  gputree doctor
  gputree doctor --device cuda:1 --json
"""


def _gpu(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"cuda(:\d+)?", value):
        raise click.BadParameter(f"{value!r} is not cuda or cuda:N", ctx, param)
    return value


@documented(EXAMPLES)
@click.option(
    "--device", default="cuda", callback=_gpu, help="The GPU to test: cuda or cuda:N (cuda)."
)
def command(**options: Any) -> int:
    """Show versions and GPUs, test a GPU and time its kernels.

    A machine without a GPU is no failure; one that computes something else is, and the exit status
    is 1. In JSON, null is what was not measured.
    """
    output = output_of(options)

    from gputree.diagnostics.doctor import as_text, diagnose

    with output.waiting("looking around"):
        found = diagnose(options["device"])
    output.show(as_text(found), {"command": "doctor", **found})
    return FAILED if found["selftest"] and not found["selftest"]["passed"] else 0
