"""scikit-learn's own test modules, run from the installed scikit-learn with our classes put in.

What fails is listed here, a test function a line with its reason, and nothing else may fail. A
function that does not fail any more, or not for a reason of its own, must leave the list. Tests
that end in one of `REFUSALS`, an error by which an estimator says that it does not do something,
are excepted by that refusal. So are tests that end in asking for a private attribute of
scikit-learn, whose name begins with "_".

The suite `QUICK` takes seconds and always runs; GPUTREE_SKLEARN_SUITES=all runs all of them, and a
part of a name those that have it. With -s, each tells how its tests ended and what it cost.
"""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

from tests.peers.sklearn_exceptions import EXCEPTIONS, MADE_FOR, REFUSALS

ROOT = Path(__file__).parents[2]
QUICK = "sklearn.tree.tests.test_export"
MOST_SECONDS = 3600  # a suite that hangs must not hang the tests

pytestmark = pytest.mark.skipif(
    sklearn.__version__.split(".")[:2] != MADE_FOR.split("."),
    reason=f"the exceptions are those of scikit-learn {MADE_FOR}",
)


def run(suite, folder):
    """How each test of a suite ended."""
    report, settings = folder / "report.jsonl", folder / "empty.ini"
    settings.write_text("[pytest]\n")  # scikit-learn sets its own filters of warnings
    where = {"GPUTREE_SUITE_REPORT": str(report), "PYTHONPATH": str(ROOT)}
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "tests.peers.sklearn_names"]
    if "gradient_boosting" in suite:  # the package of two suites, or the module of one
        options += ["-p", "tests.peers.sklearn_boosting"]
    if "bagging" in suite:
        options += ["-p", "tests.peers.sklearn_bagging"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", str(settings), "--pyargs", suite],
        env={**os.environ, **where},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    return [json.loads(line) for line in report.read_text().splitlines()]


def cpu_seconds():
    """What processes that were started here have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_wanted(suite):
    """Whether a suite is to be run."""
    wanted = os.environ.get("GPUTREE_SKLEARN_SUITES", "")
    return suite == QUICK or wanted == "all" or (wanted != "" and wanted in suite)


def is_refused(test):
    """Whether a test ended in an error that says what is not done, or asked for private parts."""
    return test["private"] or any(re.search(refusal, test["why"]) for refusal in REFUSALS)


def tell(suite, tests, seconds):
    """How the tests of a suite ended, in a line."""
    failed = [test for test in tests if test["outcome"] == "failed"]
    private = [test for test in failed if test["private"]]
    refused = [test for test in failed if is_refused(test)]
    ways = {
        "tests": len(tests),
        "passed": sum(test["outcome"] == "passed" for test in tests),
        "private": len(private),
        "refused": len(refused) - len(private),
        "excepted": len(failed) - len(refused),
        "CPU seconds": round(seconds),
    }
    print(f"\n{suite}: " + ", ".join(f"{n} {way}" for way, n in ways.items()))


@pytest.mark.parametrize("suite", EXCEPTIONS)
def test_only_what_is_listed_fails(suite, tmp_path):
    if not is_wanted(suite):
        pytest.skip("set GPUTREE_SKLEARN_SUITES=all to run every suite")
    before = cpu_seconds()
    tests = run(suite, tmp_path)
    tell(suite, tests, cpu_seconds() - before)
    assert sum(test["ours"] for test in tests) > 3  # our classes are what is tested
    failed = {
        test["test"].split("[")[0]: test["why"]
        for test in tests
        if test["outcome"] == "failed" and not is_refused(test)
    }
    expected = EXCEPTIONS[suite]
    assert {name: why for name, why in failed.items() if name not in expected} == {}
    assert [name for name in expected if name not in failed] == []  # it passes, or is refused


def test_every_exception_has_a_reason_and_its_page_is_there():
    reasons = [
        *REFUSALS.values(),
        *(why for suite in EXCEPTIONS.values() for why in suite.values()),
    ]
    for reason in reasons:
        for page in re.findall(r"docs/[\w/]+\.md", reason):
            assert (ROOT / page).exists(), page
