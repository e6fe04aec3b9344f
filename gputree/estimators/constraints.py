"""Reading the constraints that users give."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.fit.dataset import Dataset
from gputree.growth.constraints import Constraints

WAYS = (-1, 0, 1)
MOST_NAMES = 5  # that an error lists


def read_constraints(
    monotonic_cst: Any, interaction_cst: Any, dataset: Dataset, estimator: str
) -> Constraints | None:
    """The constraints of a fit; None where there are none."""
    monotone = read_ways(monotonic_cst, dataset, estimator, of_boosting=True)
    groups = _groups(interaction_cst, dataset)
    if groups is None and not monotone.any():
        return None
    return Constraints(monotone, groups)


def read_ways(
    given: Any, dataset: Dataset, estimator: str, *, of_boosting: bool = False
) -> HostArray:
    """Which way predictions may go with each column: 1, -1, or 0 for both.

    Errors name the estimator, in the words that scikit-learn has for trees or for boosting.
    """
    names, n = dataset.schema.names, dataset.n_features
    way = np.zeros(n, np.int64)
    if given is None:
        return way
    if isinstance(given, dict):
        _check_names(list(given), dataset, estimator)
        for name, value in given.items():
            if value not in WAYS:
                raise ValueError(
                    f"monotonic_cst[{name!r}] must be either -1, 0 or 1. Got {value!r}. 1 is "
                    "rising, -1 falling"
                )
            way[names.index(name)] = value
    else:
        listed = _list(given, "monotonic_cst", "a way for each column, or a dict")
        if len(listed) != n:
            shape = f"({len(listed)},)" if of_boosting else len(listed)
            raise ValueError(
                f"monotonic_cst has shape {shape} but the input data X has {n} features. Each "
                "column needs an entry"
            )
        plain = np.asarray(listed).tolist()
        if not all(value in WAYS for value in plain):
            needed = "an array-like" if of_boosting else "None or an array-like"
            raise ValueError(
                f"monotonic_cst must be {needed} of -1, 0 or 1. Observed values: {plain}. 1 is "
                "rising, -1 falling; a dict of names and such numbers will do, too"
            )
        way[:] = plain
    for at in np.flatnonzero(way).tolist():
        if dataset.bins.features[at].kind is Kind.NOMINAL:
            raise ValueError(
                "Categorical features cannot have monotonic constraints. monotonic_cst: column "
                f"{names[at]!r} has categories, which have no order; give 0"
            )
    return way


def _check_names(given: list[Any], dataset: Dataset, estimator: str) -> None:
    """Refuse names that no column has."""
    names = dataset.schema.names
    unknown = sorted(str(name) for name in given if name not in names)
    if unknown and names == tuple(f"x{at}" for at in range(len(names))):  # as arrays have them
        raise ValueError(
            f"{estimator} was not fitted on data with feature names. Pass monotonic_cst as an "
            f"integer array instead. Columns are called {names[0]!r} and so on, not {unknown[0]!r}"
        )
    if unknown:
        shown = [*unknown[:MOST_NAMES], "..."] if len(unknown) > MOST_NAMES else unknown
        raise ValueError(
            f"monotonic_cst contains {len(unknown)} unexpected feature names: {shown}. They are "
            "not columns of X"
        )


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
        what = "Interaction constraints must be a sequence of tuples or lists. "
        raise ValueError(
            f"{what if name == 'interaction_cst' else ''}{name} has {given!r}; give {needed}"
        )
    return list(given)


def _column(column: Any, dataset: Dataset) -> int:
    names = dataset.schema.names
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"interaction_cst has {column!r}, which is not a column of X")
        return names.index(column)
    if not isinstance(column, int | np.integer) or not 0 <= column < len(names):
        raise ValueError(
            "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
            f"[0, {len(names) - 1}], specifying the position of features, or of names. "
            f"interaction_cst has {column!r}"
        )
    return int(column)
