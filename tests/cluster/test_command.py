"""`gputree train` by processes of MPI, and by workers of Dask, which read files themselves."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import gputree
from gputree.cli.program import main
from tests.cluster.test_mpi import LAUNCHER

TRAIN = "import sys; from gputree.cli.program import main; sys.exit(main(sys.argv[1:]))"
ARGUMENTS = ["--target", "label", "--weight", "w", "--ignore", "number", "--category", "code"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "big").mkdir()
    for at in range(3):
        size, code = rng.normal(size=120).round(2), rng.integers(0, 4, 120)
        found = pd.DataFrame({"size": size, "code": code, "w": rng.integers(0, 3, 120)})
        found["colour"] = rng.choice(["red", "blue"], 120)
        found["number"] = size * 3 + rng.normal(size=120)
        found["label"] = np.where((found["number"] > 1) | (found["colour"] == "red"), "yes", "no")
        found.to_parquet(tmp_path / "big" / f"part-{at}.parquet", row_group_size=25)
    return tmp_path


def alone(capsys, *arguments):
    """What one process finds, and its model."""
    assert main(["train", "big", *arguments, "--stream", "--json", "-o", "one.gputree"]) == 0
    return json.loads(capsys.readouterr().out), gputree.load("one.gputree").to_bytes()


def check(found, expected):
    """Reports agree, but for who has read the rows."""
    for name in ("target", "task", "columns", "rows"):
        assert found[name] == expected[name]
    for name, value in expected["scores"]["training"].items():
        assert found["scores"]["training"][name] == pytest.approx(value)


def mpi(n, *arguments):
    command = [LAUNCHER, "-n", str(n), sys.executable, "-c", TRAIN, "train", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.skipif(LAUNCHER is None, reason="there is no mpiexec")
def test_processes_train_one_model_and_the_first_one_tells(folder, capsys):
    pytest.importorskip("mpi4py")
    for arguments in (ARGUMENTS, ["--target", "number", "--model", "adaboost"]):
        expected, model = alone(capsys, *arguments)
        done = mpi(3, "big/", *arguments, "--json", "-o", "many.gputree")
        assert (done.returncode, done.stderr) == (0, "")
        check(json.loads(done.stdout), expected)
        assert gputree.load("many.gputree").to_bytes() == model
    done = mpi(3, "big", *ARGUMENTS, "-o", "many.gputree")
    assert "360 to train on, read by 3 processes" in done.stdout
    assert done.stdout.count("accuracy") == 1


@pytest.mark.skipif(LAUNCHER is None, reason="there is no mpiexec")
def test_an_error_of_one_process_is_one_message(folder):
    pytest.importorskip("mpi4py")
    last = pd.read_parquet("big/part-2.parquet")
    last.loc[110, "label"] = None
    last.to_parquet("big/part-2.parquet", row_group_size=25)
    for arguments, problem in [
        (["big", "--target", "label"], "'label' is missing in row 11 of row group 5"),
        (["big", "--target", "lable"], "has no column 'lable'"),
        (["big", "--target", "number", "--folds", "3"], "a cluster trains on all rows"),
        (["iris"], "the table iris fits into memory"),
    ]:
        done = mpi(3, *arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("gputree: error: ")
        assert done.stderr.count("\n") == 1
        assert problem in done.stderr
    assert not list(folder.glob("*.gputree"))


def test_workers_train_one_model(folder, capsys):
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with distributed.LocalCluster(2, protocol="tcp://", **options) as workers:
        expected, model = alone(capsys, *ARGUMENTS)
        address = workers.scheduler_address
        given = ["train", "big", *ARGUMENTS, "--cluster", address, "--json", "-o", "many.gputree"]
        assert main(given) == 0
        check(json.loads(capsys.readouterr().out), expected)
        assert gputree.load("many.gputree").to_bytes() == model
        assert main(["train", "big", "--target", "nothing", "--cluster", address]) == 2
        assert "has no column 'nothing'" in capsys.readouterr().err
