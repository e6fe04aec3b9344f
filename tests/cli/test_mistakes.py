"""Every mistake is told in one line, with status 2, and leaves nothing behind."""

import os
import stat

import pyarrow
import pytest
from pyarrow import parquet


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "Missing argument 'TABLE'; see gputree train --help"),
        (["grow"], "No such command 'grow'"),
        (["train", "iris", "--depth", "3"], "No such option"),
        (["train", "irises"], "'irises' is neither a file nor a bundled table; did you mean iris?"),
        (["train", "nowhere/t.csv"], "'nowhere/t.csv' is neither a file"),
        (["train", "."], ". is a folder without files of CSV, Parquet, Arrow or ARFF"),
        (["train", "iris", "--task", "ranking"], "'ranking' is unknown; choose from"),
        (["train", "iris", "--model", "forst"], "'forst' is unknown; did you mean forest?"),
        (["train", "iris", "--criterion", "mse"], "criterion='mse' is unknown; choose from"),
        (["train", "diabetes", "--criterion", "gini"], "criterion='gini' is unknown"),
        (["train", "diabetes", "--model", "c45"], "--model c45 is a classifier only"),
        (["train", "iris", "--max-depth", "deep"], "'deep' is not an integer or none"),
        (["train", "iris", "--max-depth", "0"], "max_depth=0: an integer of at least 1"),
        (["train", "iris", "--min-samples-leaf", "few"], "'few' is neither an integer nor a share"),
        (["train", "iris", "--min-samples-leaf", "1.5"], "min_samples_leaf=1.5"),
        (["train", "iris", "--max-bins", "1"], "max_bins=1"),
        (["train", "iris", "--max-bins", "x"], "'x' is not a valid integer"),
        (["train", "iris", "--test-share", "1"], "1 is outside 0 <= SHARE < 1"),
        (["train", "iris", "--test-share", "nan"], "nan is outside 0 <= SHARE < 1"),
        (["train", "iris", "--test-share", "half"], "'half' is not a number from 0"),
        (["train", "iris", "--test-share", "0.999"], "leaves none to train on"),
        (["train", "iris", "--folds", "3", "--test-share", "0.5"], "give one of them"),
        (["train", "iris", "--folds", "151"], "--folds 151: there are 150 rows"),
        (["train", "iris", "--folds", "1"], "1 is not in the range x>=2"),
        (["train", "iris", "--seed", "-1"], "-1 is not in the range"),
        (["train", "iris", "--seed", "x"], "'x' is not a valid integer"),
        (["train", "iris", "--device", "gpu"], "device='gpu' is unknown"),
        (["train", "iris", "--device", "cuda:9999"], "device='cuda:9999'"),
        (["train", "iris", "--backend", "jax"], "backend='jax' is unknown"),
        (["train", "iris", "--output", "no/x"], "--output no/x: there is no folder no"),
        (["train", "iris", "--report", "no/x"], "--report no/x: there is no folder no"),
        (["train", "iris", "--output", "."], "--output . is a folder"),
        (["train", "iris", "--output", "x.html"], "model and report cannot both be x.html"),
        (["train", "iris", "--set", "depth=3"], "no parameter 'depth'; did you mean max_depth?"),
        (["train", "iris", "--set", "max_dpeth=3"], "did you mean max_depth?"),
        (["train", "iris", "--set", "max_depth"], "the form is NAME=VALUE"),
        (["train", "iris", "--set", "max_depth=x"], "max_depth='x': an integer of at least 1"),
        (
            ["train", "iris", "--set", "max_depth=3", "--max-depth", "3"],
            "set the same thing; give one",
        ),
        (["train", "iris", "--set", "ccp_alpha=1", "--set", "ccp_alpha=2"], "sets ccp_alpha twice"),
        (["train", "iris", "--set", "random_state=3"], "--seed sets it"),
        (["train", "iris", "--model", "forest", "--set", "verbose=1"], "shows progress without it"),
        (
            ["train", "iris", "--model", "boosting", "--set", "monotonic_cst=1"],
            "monotonic_cst has 1; give a way for each column, or a dict",
        ),
        (
            ["train", "iris", "--model", "boosting", "--set", "interaction_cst=[1]"],
            "interaction_cst has 1; give lists of columns",
        ),
        (["train", "iris", "--set", "categorical_features=[0]"], "--category, --number and"),
        (["train", "iris", "--set", "pruning={'method': 'x'}"], "pruning='x' is unknown"),
        (
            ["train", "iris", "--n-estimators", "3"],
            "no parameter 'n_estimators'; those that have it are --model forest, extra-trees, "
            "bagging, adaboost, boosting",
        ),
        (
            ["train", "iris", "--model", "id3"],
            "categories only; give --category 'sepal length (cm)',",
        ),
        (["train", "iris", "--learning-rate", "1"], "have it are --model adaboost, boosting"),
        (["train", "iris", "--model", "kmeans"], "'kmeans' is unknown; choose from tree, id3"),
        (
            ["train", "iris", "--device", "cuda:9999"],
            "leave --device out to run on the CPU",
        ),
        (["train", "iris", "--model", "bagging", "--set", "estimator=forest"], "name of a tree"),
        (
            ["train", "iris", "--model", "adaboost", "--set", "estimator__depth=1"],
            "the estimator of --model adaboost has no parameter 'depth'; did you mean max_depth?",
        ),
        (["train", "iris", "--stream"], "--stream"),
        (["predict", "no.gputree", "iris"], "there is no model file no.gputree"),
        (["predict", ".", "iris"], ". is a folder"),
        (["explain", "no.gputree", "irises"], "'irises' is neither a file"),
        (
            ["prune", "no.gputree", "--method", "best"],
            "'best' is unknown; choose from",
        ),
        (["prune", "no.gputree"], "Missing option '--method'"),
        (["info", "nowhere"], "'nowhere' is neither a file"),
        (["bench", "iris", "--backends", "abacus", "--repeats", "1"], "abacus"),
        (["bench", "iris", "--target", "y"], "--target: the bundled table iris has its own"),
        (["doctor", "--device", "cpu"], "'cpu' is not cuda or cuda:N"),
        (["doctor", "iris"], "Got unexpected extra argument (iris)"),
        (["completion", "tcsh"], "'tcsh' is unknown; choose from bash, zsh"),
    ],
)
def test_a_mistake_is_told_in_a_line_and_leaves_no_file(fail, files, arguments, message):
    assert message in fail(*arguments)
    assert files() == []


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"a,y\n1\n", [], "t.csv: line 2 has 1 cells, the header has 2"),
        (b"", [], "t.csv is empty"),
        (b"a,y\n", [], "t.csv has a header but no rows"),
        (b"a,a\n1,2\n", [], "several columns named 'a'"),
        (b"y\n1\n", [], "t.csv has no column left to learn from (there is none)"),
        (b"a,y\n1,2\n", ["--target", "z"], "t.csv has no column 'z'"),
        (b"a,y\n1,2\n2,3\n3,\n", [], "the target 'y' is missing on line 4, and in 1 row in all"),
        (b"a,y\n1,2\n2,inf\n3,1.5\n", [], "the target 'y' is inf on line 3"),
        (b"a,y\n1,1\n2,3\n", ["--test-share", "0.9"], "of 2 rows leaves none to train on"),
        (b"a,y\n1,x\n2,y\n", ["--task", "regression"], "regression needs numbers"),
        (b"a,y\n1,.5\n2,1\n3,1\n", ["--task", "classification"], "classification needs classes"),
        (
            b"a,y\n1,0\n2,1\nfour,0\n3,1\n",
            [],
            "column 'a' mixes numbers and text: 'four' on line 4, beside 3 numbers; correct it, or "
            "give --category a, --number a (text then counts as missing) or --ignore a",
        ),
        ("größe,y\n1,2\n".encode("latin-1"), [], "t.csv is not text in utf-8: byte 0xf6 on line 1"),
        (b"a;y\n1;2\n3\n4\n", [], "t.csv: the first line is one cell with semicolons in it; give"),
        (
            b"a,y\n" + b"".join(b"%d,%d.5\n" % (at, at) for at in range(30)) + b"3,n/k\n",
            [],
            "the target 'y' mixes numbers and text: 'n/k' on line 32, beside 30 numbers; correct "
            "it, or give --task classification",
        ),
        (b"a,y\n1,2\n", ["--encoding", "klingon"], "klingon"),
        (b"a,y\n1,2\n", ["--output", "t.csv"], "t.csv is an input of the command"),
        (b"a,y\n1,2\n", ["--report", "./t.csv"], "t.csv is an input of the command"),
    ],
)
def test_a_mistake_in_a_file_leaves_it_alone(fail, files, folder, content, arguments, message):
    path = folder / "t.csv"
    path.write_bytes(content)
    assert message in fail("train", "t.csv", *arguments)
    assert files() == ["t.csv"]
    assert path.read_bytes() == content


def test_a_truncated_parquet_file_is_told(fail, files, folder):
    parquet.write_table(pyarrow.table({"a": range(100), "y": range(100)}), "t.parquet")
    whole = folder.joinpath("t.parquet").read_bytes()
    folder.joinpath("t.parquet").write_bytes(whole[: len(whole) // 2])
    assert "t.parquet is cut off" in fail("train", "t.parquet")
    assert files() == ["t.parquet"]


def test_a_file_without_permission_is_told(fail, files, csv_file, monkeypatch):
    """Root may read everything, so the question whether one may is answered here."""
    csv_file("t.csv", "a,y", [(1, 2), (2, 3)])
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK and may(path, mode))
    assert "t.csv may not be read" in fail("train", "t.csv")
    assert files() == ["t.csv"]


def test_a_folder_that_may_not_be_written_is_told_before_the_work(fail, folder, monkeypatch):
    folder.joinpath("sealed").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    message = fail("train", "iris", "-o", "sealed/m.gputree")
    assert "--output sealed/m.gputree cannot be written; choose another place" in message
    assert os.listdir("sealed") == []


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there are no such devices")
@pytest.mark.parametrize("option", ["--output", "--report"])
def test_a_device_is_no_place_for_a_result(fail, files, option):
    said = fail("train", "iris", option, "/dev/null")
    assert f"{option} /dev/null is not a regular file; choose another place" in said
    assert files() == []


def test_no_report_replaces_the_table(fail, folder, files):
    folder.joinpath("t.txt").write_text("a,y\n1,2\n3,4\n")
    message = "t.txt is an input of the command; choose another with --report"
    assert message in fail("train", "t.txt", "--report", "t.txt")
    folder.joinpath("link.csv").symlink_to("t.txt")
    assert "t.txt is an input" in fail("train", "link.csv", "--output", "t.txt")
    assert files() == ["link.csv", "t.txt"]


def test_no_result_replaces_an_input(fail, run, folder, files):
    run("train", "iris", "-q")
    folder.joinpath("t.csv").write_text("a,y\n1,2\n3,4\n")
    model = folder.joinpath("iris.gputree").read_bytes()
    for arguments in (
        ["predict", "iris.gputree", "t.csv", "-o", "t.csv"],
        ["explain", "iris.gputree", "t.csv", "-o", "t.csv"],
        ["prune", "iris.gputree", "--method", "pessimistic", "-o", "iris.gputree"],
        ["report", "iris.gputree", "t.csv", "-o", "iris.gputree"],
        ["export", "iris.gputree", "-o", "iris.gputree"],
    ):
        assert "is an input of the command; choose another with --output" in fail(*arguments)
    assert files() == ["iris.gputree", "iris.html", "t.csv"]
    assert folder.joinpath("iris.gputree").read_bytes() == model


@pytest.mark.parametrize("content", [b"", b"gputree\n", b"gputree\n" + bytes(100), b"not a model"])
def test_a_damaged_model_is_refused_by_its_name(fail, folder, files, content):
    folder.joinpath("m.gputree").write_bytes(content)
    assert fail("predict", "m.gputree", "iris").startswith("gputree: error: m.gputree: ")
    assert files() == ["m.gputree"]
