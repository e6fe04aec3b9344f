"""Every command in docs/cli.md runs as it is written, and its tables are complete."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import gputree
from gputree import Dataset
from gputree.cli.models import MODELS
from gputree.cli.program import COMMANDS, main

GUIDE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
    if "~" not in line  # files of the user are left alone
]


@pytest.fixture
def houses(csv_file):
    random = np.random.default_rng(1)
    n = 90
    state = random.choice(["poor", "fair", "good"], n)
    size = random.normal(100, 30, n).round(1)
    price = (size * (1 + (state == "good")) + random.normal(0, 5, n)).round(1)
    columns = {
        "id": np.arange(n),
        "size": size,
        "state": state,
        "postcode": random.integers(1000, 1008, n),
        "street": random.choice(["A", "B"], n),
        "price": price,
        "sold": np.where(price > 130, "yes", "no"),
    }
    rows = np.column_stack(list(columns.values()))
    csv_file("houses.csv", ",".join(columns), rows)
    csv_file("new.csv", ",".join(columns), rows[:5])


def is_possible(line):
    """Whether all that a line needs is there."""
    room = re.match(r"gputree (report|export)", line)
    if room and not (Path(gputree.__file__).parent / room.group(1)).is_dir():
        return False
    return "--stream" not in line or hasattr(Dataset, "from_file")


def test_the_guide_runs_from_its_first_line_to_its_last(houses, capsys):
    assert len(LINES) > 20
    for line in filter(is_possible, LINES):
        status = main(shlex.split(line)[1:])
        printed = capsys.readouterr()
        assert status == 0, f"{line}: {printed.err}"
        if line.startswith("gputree train") and "houses.csv" in line:
            # What follows in the guide is about a model of classes.
            assert main(["train", "houses.csv", "--target", "sold", "-q"]) == 0


def test_the_guide_names_every_command_and_model():
    for name in COMMANDS:
        assert f"gputree {name} " in GUIDE or f"gputree {name}\n" in GUIDE
        assert f"| [`{name}`]" in GUIDE
    for name in MODELS:
        assert f"`{name}`" in GUIDE


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("train", ["train", "houses.csv"]),
        ("predict", ["predict", "houses.gputree", "new.csv"]),
        ("prune", ["prune", "houses.gputree", "--method", "pessimistic"]),
        ("explain", ["explain", "houses.gputree", "new.csv"]),
        ("info", ["info", "houses.csv"]),
        ("bench", ["bench", "iris", "--backends", "numpy", "--repeats", "1"]),
        ("doctor", ["doctor"]),
    ],
)
def test_the_guide_names_the_keys_of_json(houses, run, name, arguments):
    run("train", "houses.csv", "-q")
    found = json.loads(run(*arguments, "--json"))
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", GUIDE, re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", row))
    assert found["command"] == name
    if name in ("train", "predict", "prune", "explain"):
        assert set(found) - {"command", "notes"} <= told
    else:
        assert told & set(found)
