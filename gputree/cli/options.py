"""The options that commands share, their types and the look of their help.

Knows what can be asked for; must not know how it is done.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from gputree.cli.output import Output
from gputree.cli.settings import near

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]  # it has a type argument from version 8.4 on
else:
    ParamType = click.ParamType

Function = TypeVar("Function", bound=Callable[..., Any])

# The tables of gputree.diagnostics.tables, whose import takes long; a test compares the two.
BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")
LARGEST_SEED = 2**32 - 1  # what NumPy's generators take
PATH = click.Path(path_type=Path)


def documented(examples: str) -> Callable[[Function], click.Command]:
    """A command with examples below its help, and with --quiet and --json."""

    def decorate(function: Function) -> click.Command:
        for option in (
            click.option("--json", "is_json", is_flag=True, help="Print one JSON object instead."),
            click.option("--quiet", "-q", "is_quiet", is_flag=True, help="Print no results."),
        ):
            function = option(function)
        epilog = f"\b\nExamples:\n{examples.rstrip()}"
        return click.command(epilog=epilog, short_help=_first_line(function))(function)

    return decorate


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def output_of(options: dict[str, Any]) -> Output:
    """How a command shows its results, taken out of its options."""
    return Output(options.pop("is_quiet"), options.pop("is_json"))


# Types


class OneOf(click.Choice):  # type: ignore[type-arg]
    """One of some words; a wrong one is told with those that look like it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word."""
        if value not in self.choices:
            known = [str(choice) for choice in self.choices]
            self.fail(f"{value!r} is unknown{near(str(value), known)}", param, ctx)
        return super().convert(value, param, ctx)


class TableName(ParamType):
    """A bundled table, or a file."""

    name = "table"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The bundled tables that begin so, and files."""
        found = [CompletionItem(name) for name in BUNDLED if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")]


class Depth(ParamType):
    """An integer, or none for no limit."""

    name = "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """The number; "none" stays a word, since None means that nothing was asked for."""
        if isinstance(value, int) or str(value).lower() == "none":
            return value if isinstance(value, int) else "none"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is not an integer or none", param, ctx)


class CountOrShare(ParamType):
    """An integer, or a share of the rows."""

    name = "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """The number, an integer where it is written as one."""
        try:
            return int(value)
        except ValueError:
            pass
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither an integer nor a share of the rows", param, ctx)


class Share(ParamType):
    """A share that leaves something."""

    name = "SHARE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, from 0 to less than 1."""
        try:
            share = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number from 0 to less than 1", param, ctx)
        if not 0.0 <= share < 1.0:
            self.fail(f"{value} is outside 0 <= SHARE < 1", param, ctx)
        return share


# Options of several commands


table_argument = click.argument("table", type=TableName())
model_argument = click.argument("model", type=PATH)
target_option = click.option(
    "--target", metavar="NAME", help="The column to predict (default: the last one)."
)
known_target_option = click.option(
    "--target",
    metavar="NAME",
    help="The target column (default: the last one, or the only one that the model does not use).",
)


def text_options(function: Function) -> Function:
    """How a text file is to be read; what is not said is found out."""
    for option in reversed(
        (
            click.option(
                "--encoding", default="utf-8", metavar="NAME", help="The encoding of a text file."
            ),
            click.option(
                "--separator",
                metavar="CHARACTER",
                help="The separator of a text file: comma, semicolon, tab, bar, space, ...",
            ),
            click.option(
                "--decimal", type=click.Choice([".", ","]), help="The decimal mark of a text file."
            ),
            click.option(
                "--header/--no-header",
                "has_header",
                default=None,
                help="Whether the first line has column names.",
            ),
            click.option(
                "--day-first/--month-first",
                "day_first",
                default=None,
                help="Which comes first in dates such as 03/04/2020.",
            ),
        )
    ):
        function = option(function)
    return function


seed_option = click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    default=0,
    metavar="N",
    help="The seed of everything random, such as the held-out rows (default: 0).",
)


def output_option(what: str, required: bool = False) -> Callable[[Function], Function]:
    """Where the result goes."""
    return click.option(
        "--output", "-o", type=PATH, metavar="FILE", required=required, help=f"{what}."
    )


def set_option(what: str) -> Callable[[Function], Function]:
    """Parameters by name, as often as needed."""
    return click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help=f"{what}; may be repeated."
    )
