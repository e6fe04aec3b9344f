"""A report of a fitted model: one HTML file with scores, curves and trees to walk through.

Data is built in Python (`build`), shown by what lies in `assets`. Estimators know the way here by
their method `report`; nothing here is known to how models are made.
"""

import os
from typing import Any

from gputree.estimators import parameters
from gputree.report.build import report_data
from gputree.report.page import Report

MAX_TREES = 10

__all__ = ["Report", "make_report", "write_report"]


def make_report(
    model: Any, X: Any, y: Any, *, title: str | None = None, max_trees: int = MAX_TREES
) -> Report:
    """A report that is not written to a file yet; `write_report` explains the parameters."""
    parameters.whole("max_trees", max_trees, 1)
    return Report(report_data(model, X, y, title=title, max_trees=max_trees))


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    max_trees: int = MAX_TREES,
) -> Report:
    """Write a report of a fitted model to an HTML file.

    The file needs nothing but a browser: no network, no other file.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of gputree.
    X : array-like or data frame
        Rows to evaluate the model on, preferably rows that were not in training.
    y : array-like
        Their targets.
    path : path
        Where to write the file. An existing file is replaced.
    title : str, optional
        The title of the page; the name of the estimator by default.
    max_trees : int, default=10
        How many trees of an ensemble the report contains.

    Returns
    -------
    Report
        The report, with `html`, `data` and `save`.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier
    >>> from gputree.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_report(tree, X[1::2], y[1::2], os.path.join(folder, "iris.html"))
    >>> report.data["scores"][0]["name"], report.data["scores"][0]["value"]
    ('Accuracy', 0.96)
    """
    report = make_report(model, X, y, title=title, max_trees=max_trees)
    report.save(path)
    return report
