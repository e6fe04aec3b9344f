"""A plugin of pytest: scikit-learn's test modules see our classes under scikit-learn's names.

    python -m pytest -p tests.peers.sklearn_names --pyargs sklearn.tree.tests.test_tree

Names are put into `sklearn.tree` and `sklearn.ensemble` before a test module is imported, after
scikit-learn's own modules have taken theirs. With GPUTREE_SUITE_REPORT set to a path, a line of
JSON a test is written there: what it is called, whether it has used one of our names, and how it
ended.
"""

import functools
import json
import os
import re
from types import SimpleNamespace

import pytest
import sklearn.ensemble
import sklearn.inspection  # it takes names from scikit-learn's ensembles, which must be theirs
import sklearn.tree

import gputree
from gputree.export import sklearn_model

OURS = {
    sklearn.tree: [
        *("DecisionTreeClassifier", "DecisionTreeRegressor"),
        *("export_graphviz", "export_text", "plot_tree"),
    ],
    sklearn.ensemble: [
        *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor"),
    ],
}

THEIRS = SimpleNamespace(**vars(sklearn.ensemble))  # what scikit-learn has under these names

used: set[str] = set()  # names of ours that the test at hand has used


def watched(function, name):
    """A function that tells when it is called."""

    @functools.wraps(function, updated=())
    def telling(*args, **kwargs):
        used.add(name)
        return function(*args, **kwargs)

    return telling


def put_in() -> None:
    """Set our names where scikit-learn has its own."""
    # What makes estimators of scikit-learn goes on making them.
    sklearn_model.tree = SimpleNamespace(**vars(sklearn.tree))
    sklearn_model.ensemble = SimpleNamespace(**vars(sklearn.ensemble))
    for module, names in OURS.items():
        for name in names:
            ours = getattr(gputree, name)
            if isinstance(ours, type):
                for method in ("__init__", "fit"):
                    setattr(ours, method, watched(getattr(ours, method), name))
            else:  # a text or a picture, which we have in two styles
                ours = watched(functools.partial(ours, style="sklearn"), name)
            setattr(module, name, ours)


put_in()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note whether a test has used one of our names."""
    used.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("ours", bool(used)))


def pytest_runtest_logreport(report):
    """Write a line a test."""
    path = os.environ.get("GPUTREE_SUITE_REPORT")
    if path is None or not (report.when == "call" or report.outcome == "failed"):
        return
    line = {
        "test": report.location[2],
        "ours": dict(report.user_properties).get("ours", False),
        "outcome": "xfailed" if hasattr(report, "wasxfail") else report.outcome,
        "seconds": round(report.duration, 2),
        "private": report.outcome == "failed" and asks_for_private(report),
        "why": "" if report.outcome != "failed" else reason(report),
    }
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")


def asks_for_private(report) -> bool:
    """Whether a line of a test itself ended in asking for a name that begins with "_".

    Such names are no part of what scikit-learn promises. An error of this kind that comes from
    anywhere else is none of the test's doing.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None or not crash.path.endswith(report.location[0].split("/")[-1]):
        return False
    return re.match(r"AttributeError: .* has no attribute '_[a-z]", crash.message) is not None


def reason(report) -> str:
    """What went wrong, in the words of the last exception."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr))[:10_000]
