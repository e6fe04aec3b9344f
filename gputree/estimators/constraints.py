"""Reading the constraints that users give."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from gputree.data.dataset import Dataset
from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.growth.constraints import Constraints

WAYS = (-1, 0, 1)


def read_constraints(
    monotonic_cst: Any, interaction_cst: Any, dataset: Dataset
) -> Constraints | None:
    """The constraints of a fit; None where there are none."""
    monotone = read_ways(monotonic_cst, dataset)
    groups = _groups(interaction_cst, dataset)
    if groups is None and not monotone.any():
        return None
    return Constraints(monotone, groups)


def read_ways(given: Any, dataset: Dataset) -> HostArray:
    """Which way predictions may go with each column: 1, -1, or 0 for both."""
    names, n = dataset.schema.names, dataset.n_features
    way = np.zeros(n, np.int64)
    if given is None:
        return way
    if isinstance(given, dict):
        for name, value in given.items():
            if name not in names:
                raise ValueError(f"monotonic_cst has {name!r}, which is no column of X")
            way[names.index(name)] = _way(value, given)
    else:
        listed = _list(given, "monotonic_cst", "a way for each column, or a dict")
        if len(listed) != n:
            raise ValueError(
                f"monotonic_cst has shape {len(listed)} but the input data X has {n} features. "
                "Each column needs an entry"
            )
        plain = np.asarray(listed).tolist()
        way[:] = [_way(value, plain) for value in plain]
    for at in np.flatnonzero(way).tolist():
        if dataset.bins.features[at].kind is Kind.NOMINAL:
            raise ValueError(
                f"monotonic_cst: column {names[at]!r} has categories, which have no order; give 0"
            )
    return way


def _way(value: Any, given: Any) -> int:
    if value not in WAYS:
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1. It may also be a dict of "
            f"names and such numbers: 1 is rising, -1 falling. It has {value} in {given}"
        )
    return int(value)


def _groups(given: Any, dataset: Dataset) -> HostArray | None:
    """Which features may be on one path; those that are in no group are alone."""
    n = dataset.n_features
    if given is None:
        return None
    if isinstance(given, str):
        if given == "no_interactions":
            return np.eye(n, dtype=bool)
        if given != "pairwise":
            raise ValueError(
                f"interaction_cst={given!r} is unknown; give lists of columns, 'pairwise' or "
                "'no_interactions'"
            )
        listed: list[Any] = list(combinations(range(n), 2))
    else:
        needed = "lists of columns, 'pairwise' or 'no_interactions'"
        listed = [
            _list(group, "interaction_cst", needed)
            for group in _list(given, "interaction_cst", needed)
        ]
    groups = np.zeros((len(listed), n), bool)
    for at, group in enumerate(listed):
        groups[at, [_column(column, dataset) for column in group]] = True
    alone = np.flatnonzero(~groups.any(axis=0))
    return np.concatenate([groups, np.eye(n, dtype=bool)[alone]])


def _list(given: Any, name: str, needed: str) -> list[Any]:
    if not isinstance(given, Iterable):
        raise ValueError(f"{name} has {given!r}; give {needed}")
    return list(given)


def _column(column: Any, dataset: Dataset) -> int:
    names = dataset.schema.names
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"interaction_cst has {column!r}, which is no column of X")
        return names.index(column)
    if not isinstance(column, int | np.integer) or not 0 <= column < len(names):
        raise ValueError(
            f"interaction_cst has {column!r}; names or numbers below {len(names)} are needed"
        )
    return int(column)
