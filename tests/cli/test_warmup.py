"""`gputree warmup`: kernels are compiled ahead of time, and where they are is told."""

import json

import pytest

from gputree.backends import aside
from gputree.diagnostics import warm
from gputree.estimators.trees import DecisionTreeClassifier


@pytest.fixture
def one_model(monkeypatch, tmp_path):
    """A warm-up of one small model, which marks what it has done in a folder of its own."""

    def uses(plain, mixed):
        yield DecisionTreeClassifier(max_depth=2), plain[:50]

    monkeypatch.setattr(warm, "_uses", uses)
    monkeypatch.setattr(aside, "_folder", lambda: tmp_path)
    monkeypatch.setattr(aside, "_work", aside._Work())
    return tmp_path


def test_it_says_what_it_did_and_where_kernels_are(one_model, run):
    run("warmup")
    text = run("warmup")
    assert text == (
        "the kernels of 2 usual models have been compiled before; they are kept in "
        f"{warm.kept_in()}\n"
    )
    assert [path.name[:4] for path in one_model.iterdir()] == ["fit-"]
    found = json.loads(run("warmup", "--json"))
    assert (found["command"], found["device"], found["compile_seconds"]) == ("warmup", "cpu", 0.0)


def test_after_it_no_fit_begins_without_kernels(one_model, run):
    job = aside.Job("a kind of fit", bytes)
    assert not aside.is_ready(job)
    run("warmup", "-q")
    assert aside.is_ready(job)


def test_a_folder_that_keeps_nothing_is_told(one_model, run, monkeypatch):
    monkeypatch.setattr(warm, "kept_in", lambda device: None)
    assert "no folder can be written to keep them; NUMBA_CACHE_DIR can name one" in run("warmup")
