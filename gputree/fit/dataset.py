"""A table that has been cut and coded once, to fit many models on."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import _get_feature_names

from gputree.arrays import cuda_number
from gputree.backends import aside
from gputree.backends.aside import Job
from gputree.backends.registry import Choice, choose
from gputree.backends.timed import Timed
from gputree.comm import ALONE, Comm, total
from gputree.data.bins import Bins
from gputree.data.cuts import bin_table, checked_bins, code_table
from gputree.data.inputs import check_shape, read_table
from gputree.data.kinds import CategoricalFeatures
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.data.target import whole_weights
from gputree.data.weightless import Weightless
from gputree.data.weights import read_weights
from gputree.dtypes import HostArray
from gputree.fit.first_fit import job_of

# Files are read by modules that most processes do not need.
if TYPE_CHECKING:
    from gputree.data.stream import Stream
    from gputree.files.many import Paths
    from gputree.files.table_file import TableFile

CHUNK_BYTES = 2**25


class Dataset:
    """A table with its target, read and binned once.

    Estimators accept it in place of X and then skip reading and binning. Its bins and its backend
    override the estimator's `max_bins`, `categorical_features` and `device`.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        NumPy arrays, lists, pandas, polars and pyarrow tables, sparse matrices of SciPy, arrays of
        torch or CuPy.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
        The target; may also be given to `fit`.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of the rows, for binning and for fitting.
    categorical_features : 'from_dtype', None, or array-like of bool, int or str
        Which columns hold categories, as in scikit-learn's HistGradientBoosting.
    max_bins : int, default=255
        The maximum number of bins per feature. A feature with at most as many distinct values has
        one bin per value.
    device, backend, n_jobs
        Where to compute, as in the estimators.
    n_trees : int, default=1
        The number of trees that will be grown on it. With many trees, compiled kernels pay even for
        small tables. Never changes the model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import Dataset, DecisionTreeClassifier
    >>> data = Dataset(*load_iris(return_X_y=True))
    >>> [DecisionTreeClassifier(max_depth=d).fit(data).get_n_leaves() for d in (1, 2, 3)]
    [2, 3, 5]
    """

    sample_weight: HostArray | None
    schema: Schema
    bins: Bins
    data: Any
    n_everywhere: int  # rows of the table, whoever has them
    n_weighted: int  # of these, the ones that have a weight
    comm: Comm = ALONE  # those who have the other rows
    _model: Any = None  # the one that is fitted, where a table is for one fit

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
        n_trees: int = 1,
    ) -> None:
        table = read_table(X, categorical_features=categorical_features)
        data_on = cuda_number(table.columns[0].values)
        self._table: Table | None = table  # not copied; pruning asks where its rows end
        self._stream: Stream | None = None
        self.y = y
        self.feature_names = _get_feature_names(X)
        self.sample_weight = read_weights(sample_weight, table.n_rows)
        schema = Schema.of(table)
        n_categories = table.n_features - schema.categories.count(None)
        self._job = cache(lambda: job_of(self._model, X, y, sample_weight, table))
        choice = choose(
            device,
            backend,
            n_jobs=n_jobs,
            n_cells=table.n_rows * table.n_features,
            n_category_cells=table.n_rows * n_categories,
            n_trees=n_trees,
            data_on=data_on,
            job=None if self._model is None else self._job,
        )
        self._code(table, schema, choice, max_bins)

    def _code(self, table: Table, schema: Schema, choice: Choice, max_bins: int) -> None:
        """Cut and code the table."""
        whole, _ = whole_weights(self.sample_weight, self.comm)
        with self._timed(table.n_rows, choice) as timed:
            bins, self.data = bin_table(timed, table, whole, max_bins, self.comm)
        weightless = Weightless(schema.categories, whole, self.comm)
        weightless.look(table)
        self.bins = weightless.numbered(bins)
        has_missing = tuple(feature.has_missing for feature in self.bins.features)
        self.schema = replace(schema, has_missing=has_missing)
        counts = table.n_rows, table.n_rows if whole is None else int(np.count_nonzero(whole))
        self.n_everywhere, self.n_weighted = total(self.comm, counts).tolist()

    @contextmanager
    def _timed(self, n_rows: int, choice: Choice) -> Iterator[Any]:
        """The backend that is to cut and code so many rows, with a clock."""
        self.n_rows, self.backend, self.reason = n_rows, choice.backend, choice.reason
        timed = Timed(choice.backend)
        compiled_before = timed.compile_seconds
        yield timed
        self.seconds = dict(timed.seconds)
        self.compile_seconds = timed.compile_seconds - compiled_before

    @classmethod
    def from_file(
        cls,
        path: "Paths | TableFile",
        target: str | Sequence[str] | None = None,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        codes: str | PathLike[str] = "memory",
        max_bytes: int = CHUNK_BYTES,
        encoding: str = "utf-8",
        verbose: bool = False,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Read a file in chunks and keep only bins, target and weights in memory.

        Models are the same as from the whole table. The file is read several times: to count
        values, to find thresholds, and to bin the rows. It must not be moved while the Dataset is
        in use, since some fits read values again.

        Parameters
        ----------
        path : path, list of paths, folder, pattern, or what `gputree.files.open_files` gives
            CSV, TSV, Parquet, Arrow or ARFF. Several files have the same columns; a folder stands
            for its files, a pattern with * for those that match, in order of names.
        target : str or list of str, optional
            The column to predict; several for a regression with several outputs.
        weight : str, optional
            The column with the sample weights.
        columns : list of str, optional
            The features, in this order; by default all other columns. A column of dates stands for
            its parts: the year, the month, the weekday, the hour and the days since 1970-01-01.
        categorical_features : 'from_dtype', None, or array-like of bool, int or str
            Which features hold categories. By default those of text and those of a dictionary or
            category type; text has its distinct values as categories, in order.
        max_bins : int, default=255
            The maximum number of bins per feature.
        codes : 'memory' or folder, default='memory'
            Where the bins of the rows are stored. In a folder, they are in a memory-mapped file
            that is deleted with the Dataset; for the backends 'numba' and 'numpy'.
        max_bytes : int, default=33554432
            The approximate number of bytes that are read at once.
        encoding : str, default='utf-8'
            The encoding of text files.
        verbose : bool, default=False
            Whether to show the progress of reading.
        device, backend, n_jobs
            Where to compute, as in the estimators.

        Returns
        -------
        Dataset

        Examples
        --------
        >>> import os, tempfile
        >>> from gputree import Dataset, DecisionTreeClassifier
        >>> path = os.path.join(tempfile.mkdtemp(), "table.csv")
        >>> with open(path, "w") as file:
        ...     print("size,colour,kind", "1,red,a", "2,blue,b", sep=chr(10), file=file)
        >>> data = Dataset.from_file(path, target="kind")
        >>> DecisionTreeClassifier().fit(data).get_n_leaves()
        2
        """
        from gputree.data.stream_codes import StreamReader, code_stream
        from gputree.files.many import open_files

        max_bins = checked_bins(max_bins)
        if max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}: at least 1 is needed")
        folder = None if codes == "memory" else Path(codes)
        if folder is not None and not folder.is_dir():
            raise ValueError(f"codes={str(codes)!r} is not a folder; create it, or use 'memory'")
        file = open_files(path, encoding=encoding)
        stream = stream_of(file, target, weight, columns, max_bytes, categorical_features)
        n_rows, n_features = stream.file.count_rows(), len(stream.features)
        check_shape(n_rows, n_features, None)
        self = cls.__new__(cls)
        self._table, self._stream = None, stream
        self.feature_names = np.asarray(stream.features, dtype=object)
        self.sample_weight = stream.read_weights(n_rows)
        whole, _ = whole_weights(self.sample_weight)
        self.n_everywhere = n_rows
        self.n_weighted = n_rows if whole is None else int(np.count_nonzero(whole))
        choice = choose(device, backend, n_jobs=n_jobs, n_cells=n_rows * n_features)
        with self._timed(n_rows, choice) as timed:
            reader = StreamReader(stream, n_rows, verbose=verbose)
            coded = code_stream(timed, reader, categorical_features, whole, max_bins, folder)
        self.schema, self.bins, self.data = coded.schema, coded.bins, coded.data
        self.y = coded.y
        return self

    @classmethod
    def from_csv(cls, path: "Paths", target: Any = None, **options: Any) -> Self:
        """Read CSV or TSV in chunks; see `from_file`, which has the same parameters."""
        from gputree.files.many import check_formats

        check_formats(path, ("csv", "tsv"), "from_csv")
        return cls.from_file(path, target, **options)

    @classmethod
    def from_parquet(cls, path: "Paths", target: Any = None, **options: Any) -> Self:
        """Read Parquet in chunks; see `from_file`, which has the same parameters."""
        from gputree.files.many import check_formats

        check_formats(path, ("parquet",), "from_parquet")
        return cls.from_file(path, target, **options)

    @property
    def table(self) -> Table:
        """The values, where they are in memory."""
        if self._table is None:
            assert self._stream is not None
            raise ValueError(
                "error-based pruning moves rows from branch to branch by their values, and a "
                f"Dataset of {self._stream.file.path} holds bins only; set pruning=None, or prune "
                "in another way, or fit on the whole table that gputree.files.read_file gives"
            )
        return self._table

    def parts(self) -> Iterator[Table]:
        """The values in order: all at once, or from the file in chunks."""
        if self._table is not None:
            yield self._table
            return
        assert self._stream is not None
        for _, table in self._stream.tables(self.schema):
            yield table

    @property
    def n_features(self) -> int:
        return self.schema.n_features

    def take(self, columns: HostArray) -> Self:
        """The same rows with some of the columns, coded by the cuts that there are."""
        from gputree.data.stream_codes import encode

        other = copy.copy(self)
        chosen = columns.tolist()
        other.bins = Bins(tuple(self.bins.features[at] for at in chosen))
        other.schema = self.schema.take(columns)
        if self.feature_names is not None:
            other.feature_names = self.feature_names[columns]
        if self._table is not None:
            table = Table(tuple(self._table.columns[at] for at in chosen), self.n_rows)
            other._table, other.data = table, code_table(self.backend, table, other.bins)
            return other
        assert self._stream is not None
        other._stream = self._stream.take(columns)
        n_codes = int(other.bins.n_codes.max())
        other.data = self.backend.reserve(len(chosen), self.n_rows, n_codes)
        encode(self.backend, other._stream.tables(other.schema), other.bins, other.data)
        return other

    def is_compiling(self) -> bool:
        """Whether kernels of the one fit are being compiled, here or by another process."""
        if self.backend.is_starting:
            return True
        job = self._own_job()
        return job is not None and not aside.is_ready(job)

    def note_compiled(self) -> None:
        """Remember that a fit has compiled its kernels, where it has been made by them."""
        job = self._own_job()
        if job is not None:
            aside.note_compiled(job.kind)

    def _own_job(self) -> Job | None:
        """The kind of the one fit, where it is made by compiled kernels."""
        if self._model is None or self.backend.name != "numba" or not aside.is_possible():
            return None
        return self._job()

    def __repr__(self) -> str:
        return (
            f"Dataset({self.n_rows} rows, {self.n_features} features, "
            f"{self.bins.width} bins, backend={self.backend.name!r})"
        )


class OwnDataset(Dataset):
    """The table of one fit, whose kernels may be compiled while it goes on."""

    def __init__(
        self, params: Any, X: Any, y: Any, sample_weight: Any, n_trees: int, model: Any
    ) -> None:
        self._model = model
        super().__init__(
            X,
            y,
            sample_weight=sample_weight,
            categorical_features=params.categorical_features,
            max_bins=params.max_bins,
            device=params.device,
            backend=params.backend,
            n_jobs=params.n_jobs,
            n_trees=n_trees,
        )


def stream_of(
    file: Any,
    target: Any,
    weight: str | None,
    columns: Sequence[str] | None,
    max_bytes: int,
    categorical_features: CategoricalFeatures,
) -> "Stream":
    """The columns of a file as a Dataset takes them, its dates split."""
    from gputree.data.stream import Stream, names_in
    from gputree.files.parts import WithParts, is_date

    if any(is_date(field.type) for field in file.schema):
        named = categorical_features if isinstance(categorical_features, list | tuple) else ()
        file = WithParts(file, whole=[*names_in(target), *names_in(weight)], as_text=named)
        columns = None if columns is None else file.split(names_in(columns))
    return Stream.of(file, target, weight, columns, max_bytes)


def read_dataset(
    params: Any, X: Any, y: Any, sample_weight: Any, n_trees: int, model: Any
) -> tuple[Dataset, HostArray | None]:
    """The table of a fit and the weights of its rows, by the parameters of an estimator.

    The fit is that of a model, which may have many such estimators.
    """
    if isinstance(X, Dataset):
        given = read_weights(sample_weight, X.n_rows)
        return X, X.sample_weight if given is None else given
    dataset = OwnDataset(params, X, y, sample_weight, n_trees, model)
    return dataset, dataset.sample_weight
