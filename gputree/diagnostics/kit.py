"""All that is to be run on a machine with a GPU, written to one file that can be sent.

Each step is a process of its own with a deadline. One that fails, or cannot run, is recorded with
its reason, and the next one follows. The file has no name of a user or of a machine.
"""

import getpass
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MOST_LOG = 200_000  # characters of what a step printed: its end
DEVICE_TESTS = Path("tests/gpu/test_on_device.py")
NEEDS_CHECKOUT = f"there is no {DEVICE_TESTS} here: run it in a checkout of gputree"
SANITIZER = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "initcheck")
MINUTE = 60.0


@dataclass(frozen=True)
class Step:
    """A command with a deadline, or why it cannot run."""

    name: str
    command: tuple[str, ...]
    seconds: float
    obstacle: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a step."""

    name: str
    command: tuple[str, ...]
    status: str  # passed, failed, late or skipped
    reason: str = ""
    seconds: float = 0.0
    log: str = ""
    results: list[Any] = field(default_factory=list)  # lines that are JSON


def steps(device: str, obstacle: str = "") -> list[Step]:
    """What is run on a device; the doctor also where an obstacle keeps all others from it."""
    python = sys.executable
    tests = (python, "-m", "pytest", "-m", "gpu", "-p", "no:cacheprovider")
    no_tests = obstacle or ("" if DEVICE_TESTS.exists() else NEEDS_CHECKOUT)
    tool = shutil.which(SANITIZER)
    no_tool = "" if tool else f"{SANITIZER} is not installed: it is in the CUDA toolkit"
    watched = (tool or SANITIZER, "--target-processes", "all", "--error-exitcode", "1", "--tool")
    some = (*tests, "-k", "self_test or sizes")
    doctor = (python, "-m", "gputree", "doctor", "--device", device, "--json")
    times = (python, "-m", "gputree.diagnostics.fit_times", device)
    return [
        Step("doctor", doctor, 30 * MINUTE),
        Step("device tests", tests, 60 * MINUTE, no_tests),
        Step("CPU and GPU", times, 60 * MINUTE, obstacle),
        *(Step(name, (*watched, name, *some), 60 * MINUTE, no_tests or no_tool) for name in TOOLS),
    ]


def run(step: Step) -> Outcome:
    """Run a step; whatever happens is an outcome."""
    if step.obstacle:
        return Outcome(step.name, step.command, "skipped", step.obstacle)
    begin, environment = time.monotonic(), os.environ | {"NUMBA_ENABLE_CUDASIM": "0"}
    try:
        process = subprocess.Popen(
            step.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Outcome(step.name, step.command, "failed", str(error))
    status, reason = "passed", ""
    try:
        said, noted = process.communicate(timeout=step.seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        said, noted = process.communicate()
        status, reason = "late", f"not done after {step.seconds:.0f} seconds"
    if not reason and process.returncode:
        status, reason = "failed", f"exit status {process.returncode}"
    seconds, results = time.monotonic() - begin, _results(said)
    log = (noted if results else f"{said}\n{noted}")[-MOST_LOG:]
    return Outcome(step.name, step.command, status, reason, seconds, log, results)


def _end(process: "subprocess.Popen[str]") -> None:
    """End a process and those that it has started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _results(said: str) -> list[Any]:
    """What a step told in JSON: one object, or one a line."""
    for parts in ([said], said.splitlines()):
        try:
            return [json.loads(part) for part in parts if part.strip()]
        except ValueError:
            continue
    return []


def write(path: Path, device: str, obstacle: str) -> dict[str, str]:
    """Run all steps and write what became of them; the status of each."""
    outcomes: list[Outcome] = []
    for step in steps(device, obstacle):
        outcomes.append(run(step))
        # Written after every step: a machine that goes down leaves what was there.
        told = {"machine": machine(), "device": device, "steps": [asdict(own) for own in outcomes]}
        beside = path.with_name(f"{path.name}.part")
        beside.write_text(without_names(json.dumps(told, indent=1)), encoding="utf-8")
        os.replace(beside, path)
    return {own.name: ": ".join(filter(None, (own.status, own.reason))) for own in outcomes}


def machine() -> dict[str, Any]:
    """What the machine is; the doctor tells of cards and versions."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "n_cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def without_names(text: str, secrets: Sequence[tuple[str, str]] | None = None) -> str:
    """A text without the folder and the name of the user, and the name of the machine."""
    if secrets is None:
        secrets = ((str(Path.home()), "~"), (getpass.getuser(), "USER"), (platform.node(), "HOST"))
    for secret, word in secrets:
        if len(secret) > 1:
            # In a text of JSON, as it is written there.
            text = text.replace(json.dumps(secret)[1:-1], word)
    return text
