"""The program `gputree`: its commands, and how each kind of ending is reported.

Knows which commands there are and how errors look; must not know what a command does.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from gputree import __version__
from gputree.cli.cures import of_command_line
from gputree.cli.output import in_a_line, say, warnings_in_a_line

# Exit statuses; those of signals are 128 and the signal's number, as in a shell.
FAILED = 1  # a device does not compute what it should, or memory is too small
MISTAKE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

# In the order in which a user meets them.
COMMANDS = (
    *("train", "predict", "prune", "explain", "report", "export"),
    *("info", "bench", "doctor", "warmup", "completion"),
)
COMPLETE = "_GPUTREE_COMPLETE"  # by which a shell asks for completions

EXAMPLES = """\
\b
Examples:
  gputree train iris
  gputree train measurements.csv --target yield --model forest
  gputree predict measurements.gputree new.csv -o predictions.csv

A saved model is read in Python with gputree.load("measurements.gputree").
Exit status: 0 success, 1 a device fails or memory runs out, 2 a mistake, named in one line.
"""


class Program(click.Group):
    """The commands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gputree.cli.{cmd_name}").command
        return command


@click.group(
    name="gputree",
    cls=Program,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="gputree %(version)s")
def program() -> None:
    """Decision trees from the command line: train, predict, prune, explain."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `argv` is without the program's name."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings_in_a_line():
            status = _run(arguments)
        sys.stdout.flush()  # a closed pipe must show here, where it is handled
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still in the buffer would raise again when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemoryError as error:
        say(f"gputree: error: {in_a_line(error) or 'not enough memory'}", sys.stderr)
        return FAILED
    except click.ClickException as error:
        say(f"gputree: error: {_usage(error)}", sys.stderr)
        return MISTAKE
    except (ValueError, OSError, ImportError) as error:
        if _is_bug(error):
            raise
        say(f"gputree: error: {of_command_line(in_a_line(error))}", sys.stderr)
        return MISTAKE
    return status


def _run(arguments: list[str]) -> int:
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "gputree", COMPLETE, instruction)
    if not arguments:
        _run(["--help"])
        return MISTAKE
    try:
        # Not `program.main`, which has ways of its own to end.
        with program.make_context("gputree", arguments) as context:
            status: Any = program.invoke(context)
    except click.exceptions.Exit as end:  # --help or --version, which have printed
        return end.exit_code
    return int(status or 0)


def _usage(error: click.ClickException) -> str:
    """The message, and where help is for a command that was called in a wrong way."""
    message = in_a_line(error.format_message()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return message if context is None else f"{message}; see {context.command_path} --help"


def _is_bug(error: Exception) -> bool:
    """Whether an import fails that is not about a package a user may install."""
    return isinstance(error, ImportError) and (error.name or "").startswith("gputree")
