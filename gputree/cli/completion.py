"""`gputree completion`: the script by which a shell completes commands, options and files."""

import sys

import click

from gputree.cli.options import OneOf
from gputree.cli.output import say

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """\
\b
Examples:
  gputree completion bash >> ~/.bashrc
  gputree completion zsh >> ~/.zshrc
  gputree completion fish > ~/.config/fish/completions/gputree.fish
"""


@click.command(epilog=EXAMPLES, short_help="Print a script for completion in a shell")
@click.argument("shell", type=OneOf(SHELLS))
def command(shell: str) -> int:
    """Print the script that makes a shell complete commands, options and files."""
    from click.shell_completion import get_completion_class

    from gputree.cli.program import COMPLETE, program

    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(program, {}, "gputree", COMPLETE)
    say((made.source_template % made.source_vars()).strip(), sys.stdout)
    return 0
