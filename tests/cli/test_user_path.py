"""What a new user does, with the program as it is installed: each step, and each mistake."""

import csv
import ctypes
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import gputree
from gputree.files import read_file

WATERMELONS = Path(__file__).parents[1] / "golden"
FRUIT = str(WATERMELONS / "watermelon3.csv")
PROGRAM = shutil.which("gputree", path=sysconfig.get_path("scripts"))
PR_CAPBSET_DROP = 24  # of prctl


def start(*arguments, **options):
    """The end of the program, with what it printed."""
    command = [PROGRAM] if PROGRAM else [sys.executable, "-m", "gputree"]
    settings = {"capture_output": True, "text": True, "timeout": 300, **options}
    return subprocess.run([*command, *map(str, arguments)], **settings)


def says(*arguments):
    """What the program prints, and says beside it."""
    done = start(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def refuses(*arguments, **options):
    """The only line that the program says."""
    done = start(*arguments, **options)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("gputree: error: ")
    return line


def predictions(text):
    return [row["prediction"] for row in csv.DictReader(io.StringIO(text))]


def column(path, name):
    with open(path, encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


@pytest.fixture
def other(folder):
    """The same fruit in another order of rows and columns, without the answers."""
    table = read_file(FRUIT)
    names = [name for name in reversed(table.column_names) if name != "ripe"]
    with open("other.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(reversed(table.select(names).to_pylist()))
    return "other.csv"


def test_a_new_user_trains_predicts_prunes_and_reports(files, folder, other):
    text, said = says("train", FRUIT, "--max-depth", "none", "--test-share", "0")
    assert said == ""
    kinds = "2 numbers, 6 categories (color, root, sound, texture, umbilicus, surface)"
    assert f"columns   {kinds}" in text
    assert "ignored   id (all its values differ, as in an id)" in text
    assert "accuracy  1.000 on training rows" in text
    assert files() == ["other.csv", "watermelon3.gputree", "watermelon3.html"]

    text, said = says("predict", "watermelon3.gputree", other)
    assert said == "gputree: note: 1 column of other.csv is not used: id\n"
    assert predictions(text) == column(FRUIT, "ripe")[::-1]

    says("predict", "watermelon3.gputree", other, "--keep", "id", "-o", "answers.csv")
    assert column("answers.csv", "id") == column(FRUIT, "id")[::-1]
    assert column("answers.csv", "prediction") == column(FRUIT, "ripe")[::-1]

    method = ["--method", "reduced_error"]
    text, _ = says("prune", "watermelon3.gputree", FRUIT, *method, "-o", "small.gputree")
    assert text.startswith("method   reduced_error\n")
    assert "\nmodel     small.gputree\n" in text
    small = gputree.load("small.gputree")
    assert small.get_n_leaves() <= gputree.load("watermelon3.gputree").get_n_leaves()

    says("report", "small.gputree", FRUIT, "-o", "report.html")
    page = folder.joinpath("report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "texture" in page


def test_a_new_user_exports_to_onnx_and_gets_the_same_predictions(folder, other):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    says("train", FRUIT, "--test-share", "0", "-q")
    says("predict", "watermelon3.gputree", other, "--proba", "-o", "answers.parquet", "-q")
    says("export", "watermelon3.gputree", "-o", "fruit.onnx", "-q")
    session = runtime.InferenceSession(folder.joinpath("fruit.onnx").read_bytes())
    table = read_file(other)
    cells = {
        each.name: np.array(table[each.name].to_pylist(), kind_of(each.type)).reshape(-1, 1)
        for each in session.get_inputs()
    }
    shares, label = session.run(["probabilities", "label"], cells)
    answers = parquet.read_table("answers.parquet").to_pydict()
    assert label.ravel().tolist() == answers["prediction"]
    classes = gputree.load("watermelon3.gputree").classes_
    assert shares.T.tolist() == [answers[f"P({name})"] for name in classes]


def kind_of(onnx_type):
    return object if "string" in onnx_type else np.float64


def test_an_exported_model_predicts_the_same(folder):
    says("train", FRUIT, "--test-share", "0", "-q")
    text, _ = says("export", "watermelon3.gputree", "-o", "fruit.json")
    n_bytes = folder.joinpath("fruit.json").stat().st_size
    assert text == f"export    fruit.json: {n_bytes:,} bytes\n"
    exported = gputree.from_json(folder.joinpath("fruit.json").read_text(encoding="utf-8"))
    assert exported.to_bytes() == gputree.load("watermelon3.gputree").to_bytes()
    found = json.loads(says("export", "watermelon3.gputree", "-o", "fruit.json", "--json")[0])
    assert (found["format"], found["bytes"]) == ("json", n_bytes)
    says("export", "watermelon3.gputree", "--format", "python", "-o", "fruit.txt", "-q")
    module = {}
    exec(folder.joinpath("fruit.txt").read_text(encoding="utf-8"), module)
    names = exported.schema_.names
    rows = read_file(FRUIT).select(names).to_pylist()
    assert [module["predict"](list(row.values())) for row in rows] == column(FRUIT, "ripe")


# Mistakes


def write_mixed(path):
    path.write_text("height,kind\n1,a\n2,b\ntall,a\n4,b\n")


def write_truncated(path):
    parquet.write_table(pyarrow.table({"a": range(100), "y": range(100)}), path)
    path.write_bytes(path.read_bytes()[:-100])


MISTAKES = {
    "empty.csv": (lambda path: path.write_bytes(b""), "is empty; a header and rows are needed"),
    "header.csv": (lambda path: path.write_text("a,y\n"), "has a header but no rows"),
    "mixed.csv": (write_mixed, "column 'height' mixes numbers and text: 'tall' on line 4"),
    "cut.parquet": (write_truncated, "is cut off: the end of a Parquet file is missing"),
    "latin.csv": (
        lambda path: path.write_bytes("größe,y\n1,2\n2,3\n".encode("latin-1")),
        "is not text in utf-8: byte 0xf6 on line 1",
    ),
    "folder.csv": (lambda path: path.mkdir(), "is a folder without files of CSV, Parquet"),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("more", [[], ["--stream"]], ids=["whole", "streamed"])
def test_a_file_that_cannot_be_used_takes_one_line_and_leaves_nothing(folder, files, name, more):
    write, message = MISTAKES[name]
    write(folder / name)
    if more:  # it has not looked at lines, and a folder may hold Parquet
        message = message.partition(" on line 4")[0].partition(";")[0]
    assert message in refuses("train", name, *more)
    assert files() == [name]


def test_a_wrong_target_takes_one_line_and_leaves_nothing(files):
    said = refuses("train", FRUIT, "--target", "rape")
    assert said.endswith("has no column 'rape'; did you mean ripe?")
    assert files() == []


def read_as_others_do():
    """Give up the right of root to read everything."""
    for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, right)


@pytest.mark.skipif(sys.platform != "linux", reason="rights are given up in another way elsewhere")
def test_a_file_without_permission_takes_one_line_and_leaves_nothing(files):
    shutil.copy(FRUIT, "t.csv")
    os.chmod("t.csv", 0)
    for arguments in (["train", "t.csv"], ["train", "t.csv", "--stream"], ["info", "t.csv"]):
        said = refuses(*arguments, preexec_fn=read_as_others_do)
        assert "t.csv may not be read; give yourself the permission" in said
    assert files() == ["t.csv"]


def test_another_table_that_does_not_fit_is_told(run, fail):
    run("train", FRUIT, "-q")
    said = fail("predict", "watermelon3.gputree", str(WATERMELONS / "watermelon2.csv"))
    assert "lacks 2 columns that the model needs: density, sugar" in said


def test_a_mistake_in_export_is_told(run, fail, files):
    run("train", "iris", "-q")
    run("train", "iris", "--model", "rules", "-q", "-o", "rules.gputree")
    before = files()
    for arguments, message in (
        (
            ["iris.gputree", "--format", "jsn", "-o", "x"],
            "--format jsn is unknown; did you mean json",
        ),
        (["iris.gputree", "-o", "x.xyz"], "--output x.xyz: the suffix names no format; use .json"),
        (["rules.gputree", "-o", "x.json"], "rules.gputree holds rules, which no format supports"),
    ):
        assert message in fail("export", *arguments)
    assert files() == before
