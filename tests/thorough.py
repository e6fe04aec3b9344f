"""Which cases of a test run by default, and which only with `--thorough`.

A test may have many cases, of which few tell most. Three marks say which are left for later:

- `thorough` on a case;
- `quick(*words)` on a test: cases whose name has none of these words are thorough;
- `cover(*whole)` on a test with crossed parameters: each backend runs each value of every other
  parameter once, and all other cases are thorough. Backends that are named run all cases. It is
  for parameters that do not interact, and for tests that skip none of their cases.

Every test has a case that runs by default: where none is left, all of them run.

Tests of properties try twice as many examples with `--thorough`, and run again with `only`.
"""

from collections import defaultdict
from pathlib import Path

import hypothesis
import pytest

TABLES = Path(__file__).parents[2] / "shared" / "data"

MARKERS = [
    "thorough: one more case of what is tested anyway; runs with --thorough",
    "quick(*words): the cases whose names have one of these words run by default",
    "cover(*whole): by default, each backend runs each value of other parameters once",
]


def add_option(parser):
    parser.addoption(
        "--thorough",
        choices=["also", "only"],
        help="run the cases that are left out by default, too, or them alone",
    )


def begin(config):
    """Load the profile of hypothesis, whose examples are the same in every run."""
    many = 50 if config.getoption("--thorough") else 25
    hypothesis.settings.register_profile(
        "gputree", deadline=None, derandomize=True, max_examples=many
    )
    hypothesis.settings.load_profile("gputree")


def examples(many):
    """How many examples a test tries that tries so many with `--thorough`."""
    return many * hypothesis.settings.default.max_examples // 50


def select(config, items):
    """The items that are asked for, and those that are not."""
    further = _further(items, is_whole=not any("::" in arg for arg in config.args))
    asked = config.getoption("--thorough") or ("also" if _names_a_case(config) else None)
    if asked == "also":
        return items, []
    if asked == "only":
        further |= {item for item in items if _is_of_examples(item)}
    chosen = [item for item in items if (item in further) == (asked == "only")]
    return chosen, [item for item in items if (item in further) != (asked == "only")]


def _is_of_examples(item):
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _names_a_case(config):
    return any("[" in arg.partition("::")[2] for arg in config.args)


def _further(items, is_whole):
    """The items that are thorough."""
    further, cases = set(), defaultdict(list)
    for item in items:
        if item.get_closest_marker("thorough"):
            further.add(item)
        cases[item.nodeid.partition("[")[0]].append(item)
    for test, of_test in cases.items():
        if words := of_test[0].get_closest_marker("quick"):
            further |= _without(words.args, of_test, test if is_whole else None)
        if whole := of_test[0].get_closest_marker("cover"):
            further |= _beyond_cover(whole.args, of_test)
        if further.issuperset(of_test):  # as where tables of the others are not at hand
            further.difference_update(of_test)
    return further


def _without(words, cases, test):
    """Cases that have none of the words; each word is in some case where there are any."""
    names = {case: case.nodeid.partition("[")[2] for case in cases}
    for word in words:
        is_found = any(word in name for name in names.values())
        if test and not is_found and TABLES.is_dir():  # without them, some cases are not there
            raise pytest.UsageError(f"no case of {test} is named {word!r}")
    return {case for case, name in names.items() if not any(word in name for word in words)}


def _beyond_cover(whole, cases):
    """Cases that bring no value of any parameter that their backend has not had yet."""
    beyond, by_backend = set(), defaultdict(list)
    for case in cases:
        by_backend[case.callspec.params.get("backend")].append(case)
    for backend, rest in by_backend.items():
        if backend in whole:
            continue
        values = {case: _values(case) for case in rest}
        missing = set().union(*values.values())
        while missing:
            best = max(rest, key=lambda case: len(values[case] & missing))
            missing -= values[best]
            rest.remove(best)
        beyond.update(rest)
    return beyond


def _values(case):
    """The values of parameters; cases share them, so each is told by its identity."""
    return {(name, id(value)) for name, value in case.callspec.params.items()}
