"""`gputree train --stream`: the same model from a file that is read in chunks."""

import json

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import gputree
from gputree import Dataset

pytestmark = pytest.mark.skipif(
    not hasattr(Dataset, "from_file"), reason="this version has no Dataset.from_file"
)


@pytest.fixture
def table(csv_file):
    random = np.random.default_rng(2)
    n = 300
    columns = {
        "size": random.normal(size=n).round(2),
        "colour": random.choice(["red", "blue", "green"], n),
        "code": random.integers(0, 5, n),
        "w": random.integers(1, 4, n),
        "number": random.normal(size=n).round(3),
        "label": random.choice(["yes", "no"], n),
    }
    columns["number"] = (columns["size"] * 3 + columns["code"]).round(3)
    columns["label"] = np.where((columns["number"] > 4) | (columns["colour"] == "red"), "yes", "no")
    csv_file("t.csv", ",".join(columns), np.column_stack(list(columns.values())))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--target", "label"],
        ["--target", "number", "--model", "cart", "--set", "pruning=None"],
        ["--target", "label", "--weight", "w", "--ignore", "number", "--category", "code"],
        ["--target", "label", "--model", "forest", "--n-estimators", "5", "--max-bins", "16"],
        ["--target", "number", "--model", "boosting", "--n-estimators", "5"],
    ],
)
def test_a_stream_gives_the_model_and_the_scores_of_the_whole_table(run, table, arguments):
    whole = json.loads(run("train", "t.csv", *arguments, "--json", "--test-share", 0))
    expected = gputree.load("t.gputree").to_bytes()
    found = json.loads(run("train", "t.csv", *arguments, "--json", "--stream"))
    assert gputree.load("t.gputree").to_bytes() == expected
    assert set(found) == set(whole)
    own = whole["scores"]["training"]
    own.pop("auc", None)  # which needs all rows at once
    assert found["scores"]["training"] == pytest.approx(own)
    assert found["scores"]["baseline"] == pytest.approx(whole["scores"]["baseline"])
    assert found.get("confusion") == whole.get("confusion")
    kinds = [(each["name"], each["kind"]) for each in whole["columns"]]
    assert [(each["name"], each["kind"]) for each in found["columns"]] == kinds


def test_scores_of_chunks_add_up(run, table, monkeypatch):
    """Many chunks, as a large file has them."""
    arguments = ["train", "t.csv", "--target", "number", "--json", "--stream", "--weight", "w"]
    expected = json.loads(run(*arguments))["scores"]
    monkeypatch.setattr("gputree.cli.streamed.CHUNK_BYTES", 1000)
    assert json.loads(run(*arguments))["scores"]["training"] == pytest.approx(expected["training"])


def test_a_folder_of_parquet_files_is_one_table(run, table, folder, bundled):
    X, y = bundled("wine")
    whole = X.append_column("y", pyarrow.array(y))
    folder.joinpath("parts").mkdir()
    for at in range(3):
        parquet.write_table(whole.slice(60 * at, 60), f"parts/{at}.parquet")
    run("train", "parts", "--stream", "-q")
    expected = gputree.DecisionTreeClassifier(max_depth=5).fit(X, y)
    assert gputree.load("parts.gputree").to_bytes() == expected.to_bytes()


def test_a_few_words_among_numbers_are_refused_here_too(run, fail, csv_file, files):
    csv_file("t.csv", "a,y", [(1, 0), (2, 1), ("four", 0), (3, 1)])
    said = fail("train", "t.csv", "--stream")
    assert "column 'a' mixes numbers and text: 'four', beside 3 numbers; correct it, or" in said
    assert files() == ["t.csv"]
    run("train", "t.csv", "--stream", "--category", "a", "-q")
    assert gputree.load("t.gputree").schema_.categories == (("1", "2", "3", "four"),)


def test_the_text_says_that_it_was_read_in_chunks(run, table):
    text = run("train", "t.csv", "--target", "label", "--stream")
    assert "\nrows      300 to train on, read in chunks\n" in text
    assert "\ncolumns   4 numbers, 1 category (colour)\n" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "3"], "--stream trains on all rows"),
        (["--test-share", "0.5"], "--stream trains on all rows"),
        (["--model", "rules"], "rules are learnt from all values at once"),
        (["--ordered", "colour=red,blue"], "--stream cannot order categories"),
        (["--number", "colour"], "with --stream, a text column cannot be read as numbers"),
        (["--task", "regression"], "regression needs numbers"),
        (["--target", "label", "--ignore", "w", "--weight", "w"], "--weight names the same"),
        (["--target", "labl"], "did you mean label?"),
    ],
)
def test_what_a_stream_cannot_do_is_told(fail, files, table, arguments, message):
    assert message in fail("train", "t.csv", "--stream", *arguments)
    assert files() == ["t.csv"]
