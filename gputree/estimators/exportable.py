"""Estimators that can be taken to other places: other libraries, data bases, programs."""

from typing import Any

from gputree.estimators.stored import Stored
from gputree.export.plan import Plan


class Exportable(Stored):
    """A fitted model in other formats; `docs/formats.md` tells what each of them can hold."""

    def to_json(self, *, indent: int | None = None) -> str:
        """The model and its parameters as JSON, read by `gputree.from_json`.

        Parameters
        ----------
        indent : int, optional
            Spaces for each step of nesting; everything in one line by default.
        """
        from gputree.export import json_text

        return json_text.to_json(*self._file_parts(), indent=indent)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator of the same kind.

        scikit-learn rounds X to float32 before it compares. For float32 values the answers are
        ours; a float64 value that lies closer to a threshold than float32 can tell may go the
        other way. Ordered categories are given as their numbers. Refused are unordered categories,
        surrogates, divided rows and gradient boosting.
        """
        from gputree.export import sklearn_model

        return sklearn_model.to_sklearn(self._plan(), self)

    def to_onnx(self, *, missing_text: str = "") -> Any:
        """An ONNX model in double precision, for onnxruntime and others.

        It has one input 'X' of shape (n_rows, n_features) where all columns are numeric, and an
        input of shape (n_rows, 1) for each column by its name otherwise; text categories are
        strings. It answers with 'probabilities' and 'label', or with 'prediction'.

        Parameters
        ----------
        missing_text : str, default=''
            What stands for a missing value in columns of text.

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
        """A SELECT of the answers for each row of a table.

        Parameters
        ----------
        table : str, default='data'
            The table; its columns have the names of those of the fit.
        dialect : {'ansi', 'sqlite', 'duckdb'}, default='ansi'
            Whose SQL it is. 'ansi' knows no NaN: missing values are NULL.
        keep : list of str, default=()
            Columns of the table that the answer has as well, such as a key.
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
            What the names of its functions begin with.
        """
        from gputree.export import c_source

        return c_source.to_c(self._plan(), name)

    # What estimators fill in.

    def _plan(self) -> Plan:
        """What the model computes."""
        raise NotImplementedError
