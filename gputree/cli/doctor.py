"""`gputree doctor`: what works on this machine."""

import re
from typing import Any

import click

from gputree.cli.options import PATH, documented, output_of
from gputree.cli.output import Output

FAILED = 1  # the exit status where a device computes different results

EXAMPLES = """\
  gputree doctor
  gputree doctor --device cuda:1 --json
  gputree doctor --kit measured.json
"""


def _gpu(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"cuda(:\d+)?", value):
        raise click.BadParameter(f"{value!r} is not cuda or cuda:N", ctx, param)
    return value


@documented(EXAMPLES)
@click.option(
    "--device", default="cuda", callback=_gpu, help="The GPU to test: cuda or cuda:N (cuda)."
)
@click.option(
    "--kit",
    type=PATH,
    metavar="FILE",
    help="Run every test and measurement of the GPU (up to some hours); write one file.",
)
def command(**options: Any) -> int:
    """Show versions and GPUs, test a GPU and time its kernels.

    A machine without a GPU is not a failure. A GPU that computes different results is one: the exit
    status is then 1. In JSON, null stands for what was not measured.
    """
    output = output_of(options)
    if options["kit"] is not None:
        return _kit(options, output)

    from gputree.diagnostics.doctor import as_text, diagnose

    with output.waiting("checking this machine"):
        found = diagnose(options["device"])
    output.show(as_text(found), {"command": "doctor", **found})
    return FAILED if found["selftest"] and not found["selftest"]["passed"] else 0


def _kit(options: dict[str, Any], output: Output) -> int:
    """Run every step, show the result of each, and fail where one failed."""
    from gputree.diagnostics import kit
    from gputree.diagnostics.doctor import missing

    device = options["device"] if ":" in options["device"] else f"{options['device']}:0"
    with output.waiting("running the kit"):
        found = kit.write(options["kit"], device, missing(device))
    text = "\n".join(f"{name:<12} {status}" for name, status in found.items())
    output.show(text, {"command": "doctor", "file": str(options["kit"]), "steps": found})
    return FAILED if any(status.startswith(("failed", "late")) for status in found.values()) else 0
