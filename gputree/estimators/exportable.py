"""Estimators that can be taken to other places: other libraries, data bases, programs."""

from typing import Any

from gputree.estimators.stored import Stored
from gputree.export.plan import Plan


class Exportable(Stored):
    """A fitted model in other formats; `docs/formats.md` explains what each of them supports."""

    def to_json(self, *, indent: int | None = None) -> str:
        """The model and its parameters as JSON, read by `gputree.from_json`.

        Parameters
        ----------
        indent : int, optional
            The number of spaces per level of nesting; by default everything is on one line.
        """
        from gputree.export import json_text

        return json_text.to_json(*self._file_parts(), indent=indent)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator of the same kind.

        scikit-learn rounds X to float32 before it compares. For float32 values the predictions are
        the same; a float64 value that is very close to a threshold may go the other way. Ordered
        categories are given as their numbers. Unordered categories, surrogates, divided rows and
        gradient boosting are refused.
        """
        from gputree.export import sklearn_model

        return sklearn_model.to_sklearn(self._plan(), self)

    def to_onnx(self, *, missing_text: str = "") -> Any:
        """An ONNX model in double precision, for onnxruntime and others.

        If all columns are numeric, it has one input 'X' of shape (n_rows, n_features). Otherwise
        each column is an input of shape (n_rows, 1) with the column's name; text categories are
        strings. The outputs are 'probabilities' and 'label', or 'prediction'.

        Parameters
        ----------
        missing_text : str, default=''
            The text that marks a missing value in text columns.

        Returns
        -------
        onnx.ModelProto
        """
        from gputree.export import onnx_model

        return onnx_model.to_onnx(self._plan(), missing_text)

    def to_treelite(self) -> Any:
        """A treelite model in double precision.

        Its table has category numbers in columns of categories, and NaN for what is missing.

        Returns
        -------
        treelite.Model
        """
        from gputree.export import treelite_model

        return treelite_model.to_treelite(self._plan())

    def to_sql(self, *, table: str = "data", dialect: str = "ansi", keep: Any = ()) -> str:
        """A SELECT of the predictions for each row of a table.

        Parameters
        ----------
        table : str, default='data'
            The table; its columns have the names of those of the fit.
        dialect : {'ansi', 'sqlite', 'duckdb'}, default='ansi'
            The dialect. In 'ansi' there is no NaN: missing values are NULL.
        keep : list of str, default=()
            Columns of the table to copy into the result, such as a key.
        """
        from gputree.export import sql

        return sql.to_sql(self._plan(), table, dialect, keep)

    def to_python(self) -> str:
        """The source of a Python module without dependencies.

        It has `predict(row)` and, for classes, `predict_proba(row)`.
        """
        from gputree.export import python_source

        return python_source.to_python(self._plan())

    def to_c(self, *, name: str = "model") -> str:
        """The source of a C99 function without dependencies.

        Parameters
        ----------
        name : str, default='model'
            The prefix of the function names.
        """
        from gputree.export import c_source

        return c_source.to_c(self._plan(), name)

    # What estimators fill in.

    def _plan(self) -> Plan:
        """What the model computes."""
        raise NotImplementedError
