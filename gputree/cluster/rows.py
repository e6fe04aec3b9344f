"""The rows of one rank as a Dataset that knows of the others.

Names and kinds of columns, categories, classes and outputs are agreed on before anything is cut.
Categories are united by what they are: where all parts declare the same ones, in that order, and
otherwise sorted, so that it does not matter how rows are spread.
"""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _get_feature_names

from gputree.arrays import cuda_number, to_numpy
from gputree.backends.contract import Backend
from gputree.backends.registry import Choice, choose
from gputree.cluster.backend import ClusterBackend
from gputree.cluster.comm import Ranks
from gputree.comm import Comm, total
from gputree.data.inputs import check_shape, read_table
from gputree.data.labels import Labels
from gputree.data.united import Columns, Parts, joined_table
from gputree.data.weights import read_weights
from gputree.dtypes import CATEGORY_NUMBER, HostArray
from gputree.estimators.targets import read_labels
from gputree.fit.dataset import Dataset


class RankDataset(Dataset):
    """The rows of one rank, cut and coded with those of the others."""

    def __init__(self, comm: Ranks, estimator: Any, parts: Sequence[Sequence[Any]]) -> None:
        how = reader_of(estimator)
        parts = [part for part in parts if _n_rows(part[0])]
        tables = [read_table(X, categorical_features=how.categorical_features) for X, *_ in parts]
        names = [_get_feature_names(X) for X, *_ in parts]
        own = [Columns.of(*each) for each in zip(tables, names, strict=True)]
        columns = _agreed(comm, own)
        table = joined_table(tables, columns.schema)
        n_everywhere = int(total(comm, table.n_rows))
        check_shape(n_everywhere, table.n_features, None)
        self._table, self._stream, self.comm = table, None, comm
        self.feature_names = columns.feature_names
        self.sample_weight = _weights(comm, parts, table.n_rows)
        self.y = _answers(comm, estimator, parts)
        n_cells = table.n_rows * table.n_features
        choice = own_backend(comm, how, n_cells, cuda_number(table.columns[0].values))
        choice = of_all(choice, comm, n_everywhere, table.n_rows)
        self._code(table, columns.schema, choice, how.max_bins)


def reader_of(estimator: Any) -> Any:
    """Who has the parameters by which a table is read: a bagged tree says so itself."""
    return estimator if hasattr(estimator, "max_bins") else estimator._new_stem()


def of_all(choice: Choice, comm: Ranks, n_everywhere: int, n_here: int) -> Choice:
    """The same with the sums of the rows of all ranks."""
    reason = f"{choice.reason}; {comm.size} ranks have a part of the rows each"
    return Choice(_spread(choice.backend, comm, n_everywhere, n_here), reason)


def _spread(local: Backend, comm: Ranks, n_everywhere: int, n_here: int) -> ClusterBackend:
    """A backend for the rows here that knows of the others."""
    if local.device == "cpu":
        return ClusterBackend(local, comm, n_everywhere)
    if local.name != "cuda":
        raise ValueError(
            f"ranks compute on the CPU, or by backend='cuda', but this one has {local.name!r} on "
            f"{local.device}; set device='cpu' or backend='cuda'"
        )
    if not n_here:
        raise ValueError(
            f"rank {comm.rank} has a GPU and no rows; give each rank with a GPU some, or set "
            "device='cpu'"
        )
    from gputree.cluster.nccl import on_device

    return on_device(local, comm, n_everywhere)


def own_backend(comm: Comm, how: Any, n_cells: int, data_on: int | None = None) -> Choice:
    """What a rank computes with, as all do: sums of one kind are added up, whoever has no rows."""
    # A GPU is used where it is asked for: one that some ranks have would not do.
    device = "cpu" if how.device == "auto" and how.backend != "cuda" else how.device
    options = {"n_jobs": how.n_jobs, "n_cells": n_cells, "data_on": data_on}
    choice = choose(device, how.backend, **options)
    names = {each.decode() for each in comm.gather(choice.backend.name.encode())}
    if len(names) > 1:  # by the rows that each of them has
        choice = choose(device, "numba" if "numba" in names else min(names), **options)
    return choice


def is_watched(part: Sequence[Any]) -> bool:
    """Whether no tree sees the rows of a part: table, target, weights, True."""
    return len(part) > 3


def other_rows(parts: Sequence[Sequence[Any]], comm: Comm) -> dict[str, Any]:
    """What `fit` takes of the rows here that no tree sees; in parts, as they may be empty."""
    parts = [part[:3] for part in parts if _n_rows(part[0])]
    target = [to_numpy(y) for _, y, *_ in parts]
    weight = _weights(comm, parts, sum(_n_rows(X) for X, *_ in parts), "sample_weight_val")
    return {
        "X_val": Parts(X for X, *_ in parts),
        "y_val": np.concatenate(target) if target else np.empty(0),
        "sample_weight_val": weight,
    }


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _agreed(comm: Comm, own: Sequence[Columns]) -> Columns:
    """The columns of all parts of all ranks."""
    every = [each for message in comm.gather(pickle.dumps(own)) for each in pickle.loads(message)]
    if not every:
        check_shape(0, 1, None)
    columns: Columns = every[0]
    for other in every[1:]:
        columns = columns.united(other)
    return columns


def _weights(
    comm: Comm, parts: Sequence[Sequence[Any]], n_rows: int, name: str = "sample_weight"
) -> HostArray | None:
    """The weights of the rows here; None where no rank has any."""
    given = [part[2] if len(part) > 2 else None for part in parts]
    n_without = sum(each is None for each in given)
    all_without, n_parts = total(comm, [n_without, len(parts)]).tolist()
    if all_without == n_parts:
        return None
    if all_without:
        raise ValueError(
            f"{all_without} of {n_parts} parts have no {name}; give it with all, or none"
        )
    some = [np.broadcast_to(to_numpy(w), (_n_rows(X),)) for X, _, w in parts]
    return read_weights(np.concatenate([np.empty(0), *some]), n_rows, name, comm)


def _answers(comm: Comm, estimator: Any, parts: Sequence[Sequence[Any]]) -> Any:
    """The target of the rows here, with the classes or the outputs that all ranks have."""
    name = type(estimator).__name__
    if any(part[1] is None for part in parts):
        raise ValueError(f"{name} requires y to be passed, but the target y is None in a part")
    given = [to_numpy(part[1]) for part in parts]
    for part, y in zip(parts, given, strict=True):
        if y.shape[:1] != (_n_rows(part[0]),):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: X of a part has "
                f"{_n_rows(part[0])} rows, y has shape {y.shape}"
            )
    return agreed_answers(comm, estimator, given)


def agreed_answers(comm: Comm, estimator: Any, given: Sequence[Any]) -> Any:
    """The targets of the parts here in one, with the classes or the outputs that all ranks have."""
    if not is_classifier(estimator):
        given = [to_numpy(y) for y in given]
        own = pickle.dumps([y.shape[1:] for y in given])
        shapes = map(pickle.loads, comm.gather(own))
        known = sorted({shape for own in shapes for shape in own})
        if len(known) > 1:
            raise ValueError(f"y has outputs of shapes {known} in different parts")
        return np.concatenate([np.empty((0, *known[0])), *given])
    found = [read_labels(y, len(y), type(estimator).__name__) for y in given]
    messages = comm.gather(pickle.dumps([classes for classes, _ in found]))
    every = [classes for message in messages for classes in pickle.loads(message)]
    classes = np.unique(np.concatenate(every))
    number = [
        at if np.array_equal(own, classes) else np.searchsorted(classes, own)[at]
        for own, at in found
    ]
    none = np.empty(0, CATEGORY_NUMBER)
    return Labels(classes, np.concatenate([none, *number]).astype(CATEGORY_NUMBER, copy=False))
