"""Estimators that can be looked at: a report in a file, and a short one in notebooks."""

import os
from typing import Any

from sklearn.base import BaseEstimator


class Reported(BaseEstimator):
    """What is the same for all estimators about reports."""

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        max_trees: int = 10,
    ) -> Any:
        """A report of the fitted model on some rows, as one HTML page that needs nothing else.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to evaluate the model on, preferably rows that were not in training.
        y : array-like
            Their targets.
        path : path, optional
            Where to write the page; by default it is only returned.
        title : str, optional
            The title of the page; the name of the estimator by default.
        max_trees : int, default=10
            How many trees of an ensemble the report contains.

        Returns
        -------
        gputree.report.Report
            Notebooks show it; it has `html`, `data` and `save(path)`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gputree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=3).fit(X[::2], y[::2])
        >>> report = tree.report(X[1::2], y[1::2], title="Irises")
        >>> report.data["title"], report.html[:15]
        ('Irises', '<!DOCTYPE html>')
        >>> report.save("irises.html")  # doctest: +SKIP
        """
        # Here, not above: reports are made of estimators.
        from gputree.report import make_report

        found = make_report(self, X, y, title=title, max_trees=max_trees)
        if path is not None:
            found.save(path)
        return found

    # What scikit-learn shows of an estimator stays, and a few facts of the fit follow it.

    def _repr_html_inner(self) -> str:
        from gputree.report.notebook import with_facts

        return with_facts(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        from gputree.report.notebook import with_facts

        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = with_facts(self, bundle["text/html"])
        return bundle
