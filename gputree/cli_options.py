"""The options of the command line, their checks and their help.

Knows what can be asked for; must not know how it is done.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from gputree import __version__
from gputree.growth.rules import CLASS_CRITERIA, VALUE_CRITERIA
from gputree.tables import BUNDLED

Command: TypeAlias = Callable[[argparse.Namespace], int]  # returns the exit status

LARGEST_SEED = 2**32 - 1  # what NumPy's generators take

EXAMPLES = """\
examples:
  gputree train iris
  gputree train diabetes --max-depth 3 --min-samples-leaf 10
  gputree train measurements.csv --target yield --task regression
  gputree train measurements.csv --test-share 0 --output model.gputree --quiet

A saved model is read in Python with gputree.load("model.gputree").
"""

BENCH_EXAMPLES = """\
examples:
  gputree bench breast_cancer
  gputree bench measurements.csv --target yield --max-depth none --backends numpy,numba
"""

DOCTOR_EXAMPLES = """\
examples:
  gputree doctor
  gputree doctor --device cuda:1 --json
"""


class Parser(argparse.ArgumentParser):
    """A parser that raises its errors, so that they are told like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise ValueError(f"{message}; see {self.prog} --help")


def make_parser(train: Command, bench: Command, doctor: Command) -> Parser:
    """The parser of the command line; each command's options come with what runs it."""
    parser = Parser(
        prog="gputree",
        description="Decision trees with histogram kernels.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gputree {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    training = _add_command(
        commands, "train", train, "fit a decision tree to a table, print it and save it", EXAMPLES
    )
    _add_table_options(training)
    _add_data_options(training)
    _add_tree_options(training)
    _add_file_options(training)
    timing = "time gputree's backends and scikit-learn's trees on a table, by turns"
    benching = _add_command(commands, "bench", bench, timing, BENCH_EXAMPLES)
    _add_table_options(benching)
    _add_bench_options(benching)
    looking = "show versions and GPUs, test a GPU and time its kernels"
    _add_doctor_options(_add_command(commands, "doctor", doctor, looking, DOCTOR_EXAMPLES))
    return parser


def _add_command(
    commands: Any,
    name: str,
    run: Command,
    what: str,
    examples: str,
) -> argparse.ArgumentParser:
    """A command without options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def _add_bench_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backends", metavar="NAMES", help="which backends, with commas between (default: all)"
    )
    parser.add_argument(
        "--max-depth",
        metavar="N",
        type=_depth,
        default=8,
        help="the most splits above a leaf; none for no limit (default: 8)",
    )
    parser.add_argument(
        "--repeats", metavar="N", type=int, default=3, help="warm rounds (default: 3)"
    )
    parser.add_argument("--no-peers", action="store_true", help="leave scikit-learn's trees out")


def _add_doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        type=_gpu,
        default="cuda",
        help="which GPU to test: cuda or cuda:N (default: cuda)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; null is not measured")


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table",
        metavar="TABLE",
        help=f"a bundled table ({', '.join(BUNDLED)}), or a file: CSV or TSV with a header "
        "(empty cells, NA, NaN and ? are missing), Parquet, Arrow or ARFF; ./iris is a file of "
        "that name",
    )
    parser.add_argument(
        "--target", metavar="NAME", help="the column of a file to predict (default: the last)"
    )


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="what kind of target it is (default: told from its values)",
    )
    parser.add_argument(
        "--test-share",
        metavar="SHARE",
        type=_share,
        default=0.25,
        help="the share of the rows to hold out; 0 for none (default: 0.25)",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="decides which rows are held out (default: 0)"
    )


def _add_tree_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--criterion",
        metavar="NAME",
        help=f"what splits are chosen by: {', '.join(CLASS_CRITERIA)} for classification, "
        f"{', '.join(VALUE_CRITERIA)} for regression (default: the first)",
    )
    parser.add_argument(
        "--max-depth",
        metavar="N",
        type=_depth,
        default=5,
        help="the most splits above a leaf; none for no limit (default: 5)",
    )
    parser.add_argument(
        "--min-samples-leaf",
        metavar="N",
        type=_count_or_share,
        default=1,
        help="the fewest rows in a leaf, or a share such as 0.01 (default: 1)",
    )
    parser.add_argument(
        "--max-bins",
        metavar="N",
        type=int,
        default=255,
        help="the most bins a feature is cut into (default: 255)",
    )
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)"
    )
    parser.add_argument(
        "--backend",
        help="what to compute with: numpy, numba, cuda, cupy or torch (default: as the device)",
    )


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="where to save the model (default: TABLE.gputree in the current folder)",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="where to save the printed text (default: beside the model, ending in .txt)",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def _gpu(text: str) -> str:
    if not re.fullmatch(r"cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not cuda or cuda:N")
    return text


def _share(text: str) -> float:
    share = _parsed(float, text, "a number from 0 to less than 1")
    if not 0.0 <= share < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is outside 0 <= SHARE < 1")
    return float(share)


def _seed(text: str) -> int:
    seed = _parsed(int, text, "an integer")
    if not 0 <= seed <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text} is outside 0..{LARGEST_SEED}")
    return int(seed)


def _depth(text: str) -> int | None:
    if text.lower() == "none":
        return None
    return int(_parsed(int, text, "an integer or none"))


def _count_or_share(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(_parsed(float, text, "an integer, or a share of the rows"))


def _parsed(convert: type[int] | type[float], text: str, needed: str) -> int | float:
    try:
        return convert(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {needed}") from None
