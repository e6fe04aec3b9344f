"""scikit-learn's own test modules, run from the installed scikit-learn with our classes put in.

What fails is listed here, a test function a line with its reason, and nothing else may fail. A
function that does not fail any more must leave the list. Tests that end in one of `REFUSALS`, an
error by which an estimator says that it does not do something, are excepted by that refusal.

The suites in `QUICK` take seconds and always run; GPUTREE_SKLEARN_SUITES=all runs all of them.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

from tests.peers.sklearn_exceptions import EXCEPTIONS, MADE_FOR, REFUSALS

ROOT = Path(__file__).parents[2]
QUICK = ("sklearn.tree.tests.test_export", "sklearn.ensemble.tests.test_weight_boosting")
MOST_SECONDS = 1800  # a suite that hangs must not hang the tests

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


def is_refused(test):
    """Whether a test ended in an error that says what is not done."""
    return any(re.search(refusal, test["why"]) for refusal in REFUSALS)


@pytest.mark.parametrize("suite", EXCEPTIONS)
def test_only_what_is_listed_fails(suite, tmp_path):
    if suite not in QUICK and os.environ.get("GPUTREE_SKLEARN_SUITES") != "all":
        pytest.skip("set GPUTREE_SKLEARN_SUITES=all to run every suite")
    tests = run(suite, tmp_path)
    assert sum(test["ours"] for test in tests) > 5  # our classes are what is tested
    failed = {
        test["test"].split("[")[0]: test["why"]
        for test in tests
        if test["outcome"] == "failed" and not is_refused(test)
    }
    expected = EXCEPTIONS[suite]
    assert {name: why for name, why in failed.items() if name not in expected} == {}
    assert [name for name in expected if name not in failed] == []  # it passes now


def test_every_exception_has_a_reason_and_its_page_is_there():
    reasons = [
        *REFUSALS.values(),
        *(why for suite in EXCEPTIONS.values() for why in suite.values()),
    ]
    for reason in reasons:
        for page in re.findall(r"docs/[\w/]+\.md", reason):
            assert (ROOT / page).exists(), page
