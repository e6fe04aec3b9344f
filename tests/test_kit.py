"""The kit for a machine with a GPU: every step has an end, and tells what became of it."""

import json
import sys

import pytest

from gputree.cli.program import main
from gputree.diagnostics import fit_times, kit
from gputree.diagnostics.fit_times import FitTiming, crossovers


def python(code, seconds=60.0, obstacle=""):
    return kit.Step("step", (sys.executable, "-c", code), seconds, obstacle)


def test_each_outcome_has_its_reason():
    passed = kit.run(python("print('{\"a\": 1}'); print('{\"b\": 2}')"))
    assert (passed.status, passed.results) == ("passed", [{"a": 1}, {"b": 2}])
    failed = kit.run(python("print('before'); raise SystemExit(3)"))
    assert (failed.status, failed.reason) == ("failed", "exit status 3")
    assert "before" in failed.log
    late = kit.run(python("import time; print('begun', flush=True); time.sleep(600)", 3.0))
    assert (late.status, late.reason) == ("late", "not done after 3 seconds")
    assert kit.run(python("", obstacle="no card")).reason == "no card"
    missing = kit.run(kit.Step("step", ("/no/such/program",), 60.0))
    assert missing.status == "failed"


def test_steps_that_cannot_run_say_why(monkeypatch, tmp_path):
    monkeypatch.setattr(kit.shutil, "which", lambda name: None)
    found = {step.name: step.obstacle for step in kit.steps("cuda:0")}
    assert found["doctor"] == found["device tests"] == found["CPU and GPU"] == ""
    assert all("is not installed" in found[tool] for tool in kit.TOOLS)
    monkeypatch.chdir(tmp_path)
    assert (
        "run it in a checkout"
        in {each.name: each.obstacle for each in kit.steps("cuda:0")}["device tests"]
    )
    without = [step.obstacle for step in kit.steps("cuda:0", "no card")]
    assert without == ["", *["no card"] * 5]


def test_a_machine_without_a_card_writes_a_file_too(tmp_path, capsys, monkeypatch):
    path = tmp_path / "kit.json"
    doctor = kit.Step("doctor", (sys.executable, "-c", "print('{\"cards\": []}')"), 60.0)
    steps = kit.steps
    monkeypatch.setattr(kit, "steps", lambda *asked: [doctor, *steps(*asked)[1:]])
    assert main(["doctor", "--kit", str(path)]) == 0
    told = json.loads(path.read_text())
    assert [step["status"] for step in told["steps"]] == ["passed", *["skipped"] * 5]
    assert told["steps"][0]["results"] == [{"cards": []}]
    assert "device tests skipped: " in capsys.readouterr().out


def test_names_of_users_and_machines_are_taken_out():
    secrets = (("/home/ada", "~"), ("ada", "USER"), ("engine7", "HOST"), ("", "NOBODY"))
    text = kit.without_names("/home/ada/x of ada on engine7", secrets)
    assert text == "~/x of USER on HOST"


def test_a_gpu_is_faster_from_the_size_on_above_which_it_always_is():
    def pair(n_rows, cpu, gpu):
        return [FitTiming("tree", n_rows, 28, *own) for own in (("cpu", cpu), ("cuda:0", gpu))]

    slow, mixed = pair(10, 1.0, 2.0), pair(100, 3.0, 2.0)
    assert crossovers([*slow, *mixed, *pair(1000, 9.0, 3.0)]) == {"tree": 100}
    assert crossovers([*slow, *mixed, *pair(1000, 2.0, 3.0)]) == {"tree": None}
    unfinished = FitTiming("tree", 1000, 28, "cpu", 9.0)
    assert crossovers([*mixed, unfinished]) == {"tree": 100}


def test_whole_trees_and_rounds_are_timed(monkeypatch):
    ticks = iter(range(100))
    found = fit_times.fit_times("cpu", 60, n_features=3, repeats=1, now=lambda: next(ticks))
    assert [each.name for each in found] == list(fit_times.MODELS)
    assert {each.seconds for each in found} == {1}


@pytest.mark.parametrize("said", ["", "no JSON", '{"a": 1}\nnot this'])
def test_what_is_no_json_is_a_log(said):
    assert kit._results(said) == []
