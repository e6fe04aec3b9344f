"""Estimators that tell what each feature has done to a prediction."""

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from gputree.backends.contract import Backend
from gputree.data.inputs import read_table
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.dtypes import Array, HostArray
from gputree.tree.stack import Stack

if TYPE_CHECKING:
    from gputree.explain.shap import Attribution


class Explainable:
    """Shapley values of what the leaves add up to."""

    schema_: Schema
    missing_: str
    backend: str | None
    n_jobs: int | None

    @property
    def expected_value_(self) -> Any:
        """The prediction for a row of which nothing is known: all branches by training weight.

        A number for a regression with one output, (n_outputs,) or (n_classes,) otherwise. Goes
        with `shap_values(X)`; with a background it is the mean prediction of the background.
        """
        check_is_fitted(self)
        expected = self._expected()
        return expected if self._has_outputs() else float(expected[0])

    def shap_values(self, X: Any, method: str = "path", background: Any = None) -> Array:
        """The contribution of each feature to the prediction of each row, as Shapley values.

        They explain the probabilities of a classifier and the values of a regression; in boosting,
        they explain the decision function, or the logarithm of the prediction if the loss has a log
        link. Together with the expected value, they add up to it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        method : {'path', 'interventional'}, default='path'
            The treatment of an unknown feature. 'path' follows all branches, in proportion to their
            training weights; the expected value is `expected_value_`. 'interventional' takes its
            value from each row of `background`; the expected value is their mean prediction.
        background : array-like or data frame, optional
            Rows for 'interventional', such as 100 training rows.

        Returns
        -------
        array of shape (n_rows, n_features), or (n_rows, n_features, n_classes or n_outputs)
            The first for a regression with one output, and for the decision function of two
            classes.

        Examples
        --------
        >>> from gputree import DecisionTreeRegressor
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 4.0, 6.0]
        >>> tree = DecisionTreeRegressor().fit(X, y)
        >>> tree.expected_value_, tree.shap_values([[1, 1]]).tolist()
        (2.5, [[2.75, 0.75]])
        >>> tree.shap_values([[1, 1]], method="interventional", background=[[0, 0]]).tolist()
        [[5.0, 1.0]]
        """
        from gputree.explain.shap import background_table

        check_is_fitted(self)
        table = read_table(self._checked(X), like=self.schema_)
        if background is not None:
            background = self._checked(background)
        others = background_table(method, background, self.schema_)
        found = self._attributed(table, others).values
        return self._like(X, found if self._has_outputs() else found[:, :, 0])

    def _expected(self) -> HostArray:
        """What is expected while nothing is known, (outputs,)."""
        from gputree.explain.shap import expected_sum

        stack, start = self._added_up()
        return start + expected_sum(stack)

    def _attributed(self, table: Table, others: Table | None) -> "Attribution":
        """The Shapley values of the rows of a table, against those of others if there are any."""
        from gputree.explain.shap import attributed, for_many_nodes

        stack, start = self._added_up()
        where = self._backend_for(table)
        if self.backend is None:
            where = for_many_nodes(where, len(stack.value), self.n_jobs)
        return attributed(where, stack, table, others, start, self.missing_)

    # What estimators fill in.

    def _added_up(self) -> tuple[Stack, HostArray]:
        """The trees and values that are explained, and what predictions start from."""
        raise NotImplementedError

    def _has_outputs(self) -> bool:
        """Whether predictions have one column per output."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        """X, if a prediction can be made of it."""
        raise NotImplementedError

    def _backend_for(self, table: Table) -> Backend:
        """What predicts a table of this size."""
        raise NotImplementedError

    def _like(self, X: Any, result: HostArray) -> Array:
        """The result in the library of X."""
        raise NotImplementedError
