"""`gputree warmup`: compile kernels ahead of time."""

import re
from typing import Any

import click

from gputree.cli.options import documented, output_of

EXAMPLES = """\
  gputree warmup
  gputree warmup --device cuda
"""


def _device(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", value):
        raise click.BadParameter(f"{value!r} is not cpu, cuda or cuda:N", ctx, param)
    return value


@documented(EXAMPLES)
@click.option(
    "--device", default="cpu", callback=_device, help="The device: cpu, cuda or cuda:N (cpu)."
)
def command(**options: Any) -> int:
    """Compile the kernels of common models before the first fit.

    They are stored on disk, where later processes find them.
    """
    output = output_of(options)

    from gputree.diagnostics import warm

    device = options["device"]
    before, n = warm.compile_seconds(device), warm.n_models()
    with output.waiting("compiling kernels (once)") as line:
        for done in warm.compiled(device):
            line.detail = f"{done}/{n} models"
    seconds = warm.compile_seconds(device) - before
    folder = warm.kept_in(device)
    text = f"compiled the kernels of {n} usual models in {seconds:.1f} s"
    if not seconds:
        text = f"the kernels of {n} usual models have been compiled before"
    where = f"they are kept in {folder}"
    if folder is None:
        where = "no folder can be written to keep them; NUMBA_CACHE_DIR can name one"
    data = {"command": "warmup", "device": device, "compile_seconds": seconds, "folder": folder}
    output.show(f"{text}; {where}", data)
    return 0
