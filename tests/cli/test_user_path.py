"""What a new user does, in real processes: train, look, predict, prune, report, export."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gputree

WATERMELONS = Path(__file__).parents[1] / "golden"


def gputree_says(*arguments):
    """What the program prints, and says beside it."""
    command = [sys.executable, "-m", "gputree", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "80"}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def is_there():
    def is_there(room):
        if not (Path(gputree.__file__).parent / room).is_dir():
            pytest.skip(f"gputree.{room} is not part of this version")

    return is_there


def predictions(text):
    return [row["prediction"] for row in csv.DictReader(io.StringIO(text))]


def test_a_new_user_trains_predicts_and_prunes(files):
    table = str(WATERMELONS / "watermelon3.csv")
    text, said = gputree_says("train", table, "--max-depth", "none", "--test-share", "0")
    assert said == ""
    assert (
        "columns   2 numbers, 6 categories (color, root, sound, texture, umbilicus, surface)"
        in text
    )
    assert "ignored   id (all its values differ, as those of an id do)" in text
    assert "accuracy  1.000 on training rows" in text
    assert files() == ["watermelon3.gputree", "watermelon3.txt"]

    text, said = gputree_says("predict", "watermelon3.gputree", table)
    assert said == f"gputree: note: 2 columns of {table} are not used: id, ripe\n"
    with open(table, encoding="utf-8") as file:
        truth = [row["ripe"] for row in csv.DictReader(file)]
    assert predictions(text) == truth

    text, _ = gputree_says(
        *("prune", "watermelon3.gputree", table, "--method", "reduced_error", "-o", "small.gputree")
    )
    assert text.startswith("method   reduced_error\n")
    assert "\nmodel     small.gputree\n" in text
    small = gputree.load("small.gputree")
    assert small.get_n_leaves() <= gputree.load("watermelon3.gputree").get_n_leaves()


def test_another_table_that_does_not_fit_is_told(run, fail):
    run("train", str(WATERMELONS / "watermelon3.csv"), "-q")
    said = fail("predict", "watermelon3.gputree", str(WATERMELONS / "watermelon2.csv"))
    assert "lacks 2 columns that the model needs: density, sugar" in said


def test_a_report_is_written(run, is_there, folder):
    is_there("report")
    table = str(WATERMELONS / "watermelon3.csv")
    run("train", table, "--test-share", "0", "-q")
    run("report", "watermelon3.gputree", table, "-o", "report.html", "-q")
    page = folder.joinpath("report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "texture" in page


def test_an_exported_model_predicts_the_same(run, is_there, folder, bundled):
    is_there("export")
    run("train", "iris", "--test-share", "0", "-q")
    text = run("export", "iris.gputree", "-o", "iris.json")
    n_bytes = folder.joinpath("iris.json").stat().st_size
    assert text == f"export    iris.json: {n_bytes:,} bytes\n"
    X, _ = bundled("iris")
    expected = gputree.load("iris.gputree").predict(X)
    exported = gputree.from_json(folder.joinpath("iris.json").read_text())
    assert exported.predict(X).tolist() == expected.tolist()
    run("export", "iris.gputree", "--format", "python", "-o", "iris.txt", "-q")
    compile(folder.joinpath("iris.txt").read_text(), "iris.txt", "exec")


def test_a_mistake_in_export_is_told(run, fail, is_there, files):
    is_there("export")
    run("train", "iris", "-q")
    run("train", "iris", "--model", "rules", "-q", "-o", "rules.gputree")
    before = files()
    for arguments, message in (
        (
            ["iris.gputree", "--format", "jsn", "-o", "x"],
            "--format jsn is unknown; did you mean json",
        ),
        (["iris.gputree", "-o", "x.xyz"], "--output x.xyz: its suffix tells no format; use .json"),
        (["rules.gputree", "-o", "x.json"], "rules.gputree holds rules, which no format has"),
    ):
        assert message in fail("export", *arguments)
    assert files() == before
