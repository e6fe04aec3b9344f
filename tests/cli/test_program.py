"""The program: help, version, completion, start-up, and how it ends in a real process."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import gputree
from gputree.cli.completion import SHELLS
from gputree.cli.program import COMMANDS, main
from gputree.diagnostics.doctor import as_text, diagnose

COMMAND = (sys.executable, "-m", "gputree")
HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas", "torch")


def start(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*COMMAND, *arguments], **options)


# Help


def test_alone_it_prints_help_and_fails(capsys):
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("Usage: gputree ")
    assert printed.err == ""


def test_help_lists_every_command(run):
    text = run("--help")
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\w+", text, re.MULTILINE), name
    assert run("-h") == text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_examples_of_it(run, name):
    text = run(name, "--help")
    examples = re.findall(r"^ +(gputree .*)$", text.partition("Examples:")[2], re.MULTILINE)
    assert examples
    alone = name in ("doctor", "warmup")  # which need no argument
    assert all(example.startswith(f"gputree {name} ") or alone for example in examples)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_can_be_quiet_and_speak_json(run, name):
    text = run(name, "--help")
    assert "-q, --quiet" in text
    assert "--json" in text


def test_the_examples_on_bundled_tables_run(run):
    text = "".join(run(name, "--help") for name in ("train", "predict", "explain", "info", "bench"))
    examples = re.findall(
        r"^ +gputree (train (?:iris|diabetes).*|.* iris(?: .*)?)$", text, re.MULTILINE
    )
    assert len(examples) >= 5
    for example in dict.fromkeys(examples):
        if "iris.gputree" in example:
            run("train", "iris", "-q")
        run(*example.split(), "-q")


def test_version_is_the_packages(run):
    assert run("--version") == f"gputree {gputree.__version__}\n"


def test_a_near_command_is_not_run(fail):
    assert "No such command 'trian'" in fail("trian", "iris")


# Start-up


def test_help_and_version_load_nothing_heavy():
    """Seconds are not asserted: what costs them is."""
    code = (
        "import sys; from gputree.cli.program import main; main(['--help']); main(['--version']);"
        "[main([name, '--help']) for name in ('train', 'predict', 'explain', 'bench', 'doctor')];"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert "gputree.cli.train" in loaded
    assert not loaded.intersection(HEAVY)


def test_the_formats_of_export_are_those_of_the_library(run):
    from gputree.cli.export import FORMATS
    from gputree.export import FORMATS as known

    assert known == FORMATS
    assert all(name in run("export", "--help") for name in known)


# Completion


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell_is_printed(run, shell):
    text = run("completion", shell)
    assert f"_GPUTREE_COMPLETE={shell}_complete" in text


def test_the_script_is_what_bash_understands(run, folder):
    folder.joinpath("gputree.sh").write_text(run("completion", "bash"))
    try:
        done = subprocess.run(["bash", "-n", "gputree.sh"], capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("bash is not installed")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gputree pr", {"predict", "prune"}),
        ("gputree train ir", {"iris"}),
        ("gputree train iris --model b", {"bagging", "boosting"}),
        ("gputree prune m --method r", {"reduced_error"}),
        ("gputree completion z", {"zsh"}),
    ],
)
def test_commands_options_and_tables_are_completed(monkeypatch, capsys, words, expected):
    monkeypatch.setenv("_GPUTREE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert main([]) == 0
    found = [line.split(",", 1) for line in capsys.readouterr().out.splitlines()]
    assert {value for kind, value in found if kind == "plain"} == expected


def test_options_are_completed(monkeypatch, capsys):
    monkeypatch.setenv("_GPUTREE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "gputree train iris --max")
    monkeypatch.setenv("COMP_CWORD", "3")
    main([])
    assert capsys.readouterr().out.split() == ["plain,--max-depth", "plain,--max-bins"]


# Streams


def test_what_a_stream_cannot_encode_is_escaped(monkeypatch, folder):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["train", "diabetes", "--max-depth", "1", "--report", "diabetes.txt"]) == 0
    assert b"\nR\\xb2 " in raw.getvalue()
    assert "\nR² " in folder.joinpath("diabetes.txt").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is another error elsewhere")
@pytest.mark.parametrize(("arguments", "unbuffered"), [(["train", "iris"], "1"), (["--help"], "")])
def test_a_closed_pipe_ends_quietly_and_keeps_the_model(files, arguments, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = start(*arguments, stdout=writing, env=environment)
    os.close(writing)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (141, b"")
    assert files() == (["iris.gputree", "iris.html"] if "iris" in arguments else [])


@pytest.mark.skipif(os.name != "posix", reason="a signal is another thing elsewhere")
def test_an_interrupt_from_outside_ends_quietly_and_leaves_nothing(files):
    process = start("train", "digits", "--model", "boosting", "--set", "n_estimators=100000")
    time.sleep(3)  # in the imports or in the rounds: the end must be the same
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=300)
    assert (process.returncode, printed) == (130, b"")
    assert b"Traceback" not in said
    assert files() == []


# Commands about the machine


def test_bench_times_backends_and_peers_on_a_table(run):
    found = json.loads(run("bench", "iris", "--backends", "numpy,numba", "--repeats", 1, "--json"))
    names = {"gputree-numpy", "gputree-numba", "sklearn-exact", "sklearn-hist"}
    assert set(found["contestants"]) == names
    text = run("bench", "iris", "--backends", "numpy", "--repeats", 1, "--no-peers")
    assert re.search(r"^gputree-numpy +[\d.]+", text, re.MULTILINE)
    assert "sklearn" not in text


def test_the_doctor_says_what_is_there_and_what_is_missing(run, files):
    text = run("doctor")
    for name in ("gputree", "Python", "numpy", "numba", "numba-cuda", "CuPy", "torch", "driver"):
        assert re.search(rf"^{name} +\S", text, re.MULTILINE), name
    assert re.search(r"^auto +1,000 rows x 10 features: num(py|ba) on cpu \(", text, re.MULTILINE)
    assert re.search(r"^auto +10,000,000 rows x 28 features: ", text, re.MULTILINE)
    assert "\nself-test  not run\n" in text
    assert "\nkernels    not measured: CUDA is simulated" in text
    assert files() == []


def test_the_doctor_says_the_same_as_json(run):
    found = json.loads(run("doctor", "--json"))
    assert f"{as_text(found)}\n" == run("doctor")
    assert found["versions"]["gputree"] == gputree.__version__
    assert (found["selftest"], found["kernels"]) == (None, None)


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1)])
def test_the_doctor_fails_where_a_device_computes_something_else(
    monkeypatch, capsys, passed, status
):
    found = diagnose()
    check = {"name": "histogram", "passed": passed, "detail": "7 instead of 5"}
    found["selftest"] = {"device": "cuda:0", "passed": passed, "checks": [check]}
    monkeypatch.setattr("gputree.diagnostics.doctor.diagnose", lambda device: found)
    assert main(["doctor"]) == status
    assert ("FAILED, 1 of 1 checks" in capsys.readouterr().out) == (not passed)


def test_the_doctor_explains_a_machine_without_a_gpu():
    """In a process of its own, where nothing is simulated."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "CUDA_VISIBLE_DEVICES": ""}
    process = start("doctor", env=environment)
    printed, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (0, b"")
    assert b"\ncards      none: " in printed
    assert b"\nself-test  not run\nkernels    not measured: " in printed
