"""Fitting an estimator on parts of a table that lie on several ranks."""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gputree.boosting.model import GradientBoosting
from gputree.cluster.able import check_able
from gputree.cluster.comm import LONGEST_WAIT, Ranks, run_rank
from gputree.cluster.files import Wanted, is_path, parts_on_workers
from gputree.cluster.rank import fit_rank, take_over
from gputree.cluster.threads import run_ranks
from gputree.estimators import parameters
from gputree.files.many import Paths


def fit(
    estimator: Any,
    parts: Sequence[Sequence[Any]] | Paths,
    target: str | Sequence[str] | None = None,
    *,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    validation: Sequence[Sequence[Any]] | None = None,
    client: Any = None,
    comm: Any = None,
    timeout: float = LONGEST_WAIT,
    max_restarts: int = 3,
) -> Any:
    """Fit an estimator on parts of a table, where they are; the model is that of the whole table.

    Parameters
    ----------
    estimator : estimator of gputree
        A tree, a forest, bagging, AdaBoost or gradient boosting. What looks at all rows at once is
        refused: pruning by rows, oblique trees, rule sets.
    parts : sequence of tuples, or path, list of paths, folder or pattern
        Table and target of each part, and the weights of its rows, if they have any. Parts may be
        empty, and rows may be spread over them in any way. `parts_of` makes them of collections of
        Dask.

        Or Parquet files, which the workers read themselves, each of them some of the row groups,
        in chunks; all workers must find them by the same names. A folder stands for its Parquet
        files.
    target : str or list of str, optional
        The column of files to predict; several for a regression with several outputs.
    weight : str, optional
        The column of files with the weights of the rows.
    columns : list of str, optional
        The columns of files that are features, in this order; by default all others.
    validation : sequence of tuples, optional
        Parts of other rows, by which boosting watches the loss: `X_val`, `y_val` and
        `sample_weight_val` of its `fit`.
    client : distributed.Client, optional
        Fit on the workers of its cluster: each worker that has parts gets one task. Tables that
        are not there yet are sent.
    comm : mpi4py.MPI.Comm, optional
        Fit with the other processes of MPI. `parts` are those of this process, and every process
        gets the model.
    timeout : float, default=600.0
        Seconds after which a rank gives up on another that does not answer.
    max_restarts : int, default=3
        How often a fit by a `client` starts again on the workers that are left, when one has left
        the cluster. An ensemble goes on from the trees that were done; the model is the same.

    Returns
    -------
    estimator
        The one that was given, fitted. Without `client` and `comm` each part is a rank of its own,
        in a thread of this process, which is good for tests.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier, cluster
    >>> X, y = load_iris(return_X_y=True)
    >>> parts = [(X[:20], y[:20]), (X[20:], y[20:])]
    >>> tree = cluster.fit(DecisionTreeClassifier(), parts)
    >>> tree.to_bytes() == DecisionTreeClassifier().fit(X, y).to_bytes()
    True
    """
    every: Any = parts
    if is_path(parts):
        every = _of_files(parts, target, client, comm, weight=weight, columns=columns)
    elif not (target is None and weight is None and columns is None):
        raise ValueError("target, weight and columns name columns of files; parts bring their own")
    if comm is not None:
        from gputree.cluster.mpi import MpiLink

        # A seed that nobody has chosen is that of the first process.
        task = partial(fit_rank, comm.bcast(prepared(estimator, validation)))
        every = [*every, *_watched(validation)]
        return take_over(estimator, run_rank(Ranks(MpiLink(comm), timeout), task, every))
    ready = prepared(estimator, validation)
    every = [*every, *_watched(validation)]
    if client is not None:
        from gputree.cluster.dask import run_on_workers

        given = client, every, fit_rank, ready, timeout, max_restarts
        return take_over(estimator, *run_on_workers(*given))
    tasks = [partial(fit_rank, ready, parts=[part]) for part in every]
    return take_over(estimator, run_ranks(tasks, timeout)[0])


def parts_of(X: Any, y: Any, sample_weight: Any = None) -> list[tuple[Any, ...]]:
    """The parts of collections of Dask, for `fit`: table, target and weights of each partition.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array
        The table; an array is cut between rows alone.
    y : dask.dataframe.Series or dask.array.Array
        The target, in as many partitions.
    sample_weight : dask.dataframe.Series or dask.array.Array, optional
        The weights of the rows, likewise.

    Returns
    -------
    list of tuples
        Of lazy parts, which the workers compute.
    """
    from gputree.cluster.dask import alike, partitions

    given = {"X": X, "y": y}
    if not np.isscalar(sample_weight) and sample_weight is not None:
        given["sample_weight"] = sample_weight
    found = {name: partitions(alike(each, X, name)) for name, each in given.items()}
    if np.isscalar(sample_weight):  # one for all rows
        found["sample_weight"] = [sample_weight] * len(found["X"])
    numbers = {name: len(each) for name, each in found.items()}
    if len(set(numbers.values())) > 1:
        raise ValueError(f"partitions differ in number: {numbers}; repartition or rechunk alike")
    return list(zip(*found.values(), strict=True))


def _of_files(
    path: Any, target: Any, client: Any, comm: Any, **options: Any
) -> list[tuple[Any, ...]]:
    """The parts of files that ranks read."""
    if target is None:
        raise ValueError("target: the name of the column to predict is needed with files")
    wanted = Wanted(path, target, **options)
    if client is not None:
        return parts_on_workers(client, wanted.with_whole_paths())
    if comm is None:
        raise ValueError(
            "files are read by the workers of a cluster: give client= or comm=; on one machine "
            "fit on gputree.Dataset.from_file(path, target), which reads in chunks, too"
        )
    return [(wanted, None)]


def _watched(validation: Sequence[Sequence[Any]] | None) -> list[tuple[Any, ...]]:
    """Parts that no tree sees, marked as such."""
    return [(X, y, rest[0] if rest else None, True) for X, y, *rest in validation or ()]


def prepared(estimator: Any, validation: Any = None) -> Any:
    """A copy that every rank fits alike."""
    check_able(estimator)
    if validation is not None and not isinstance(estimator, GradientBoosting):
        raise ValueError(
            f"{type(estimator).__name__}: validation rows are watched by gradient boosting; leave "
            "them out"
        )
    ready = copy.copy(estimator)
    random_state = getattr(estimator, "random_state", 0)
    if not parameters.is_whole(random_state):
        ready.random_state = parameters.seed(random_state)
    return ready
