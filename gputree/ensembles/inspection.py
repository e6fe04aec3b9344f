"""What a forest tells of columns and rows."""

from dataclasses import replace

import numpy as np
from sklearn.utils import Bunch

from gputree import sampling
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.ensembles.draws import Draws
from gputree.ensembles.members import Member, answers, rows_of
from gputree.estimators.base import TreeEstimator

MOST_ROWS = 5_000  # of a dense matrix of pairs: 200 MB


def permutation_importances(
    stem: TreeEstimator,
    members: list[Member],
    table: Table,
    target: HostArray,
    draws: Draws,
    n_repeats: int,
) -> Bunch:
    """See `Averaging.permutation_importances_oob`."""
    importances = np.zeros((table.n_features, len(members)))
    for tree, member in enumerate(members):
        row = np.flatnonzero(draws.counts(tree) == 0)
        if not row.size:
            continue
        own, true = rows_of(table, row), target[row]
        before = _error(stem, member, own, true)
        seed = sampling.tree_seed(draws.seed, tree)
        for feature in _used(member):
            errors = [
                _error(stem, member, _shuffled(own, feature, seed, repeat), true)
                for repeat in range(n_repeats)
            ]
            importances[feature, tree] = np.mean(errors) - before
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
    )


def _used(member: Member) -> list[int]:
    """The columns of the table that a tree tests; others cannot matter."""
    tree = member.tree
    own = np.union1d(tree.feature[~tree.is_leaf], tree.surrogate_feature)
    return np.unique(own if member.columns is None else member.columns[own]).tolist()


def _shuffled(table: Table, feature: int, seed: int, repeat: int) -> Table:
    column = table.columns[feature]
    order = sampling.permuted(seed, feature, repeat, table.n_rows)
    columns = list(table.columns)
    columns[feature] = replace(column, values=column.values[order])
    return Table(tuple(columns), table.n_rows)


def _error(stem: TreeEstimator, member: Member, table: Table, target: HostArray) -> float:
    """The error rate, or the mean squared error."""
    (found,) = answers(stem, [member], table)
    if hasattr(stem, "classes_"):
        return float(np.mean(found.argmax(axis=1) != target))
    return float(np.mean((found - target) ** 2))


def proximities(leaf: HostArray) -> HostArray:
    """The share of trees in which two rows share a leaf, from leaves of (rows, trees)."""
    n_rows, n_trees = leaf.shape
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"X has {n_rows:,} rows; the proximities of more than {MOST_ROWS:,} rows take too much "
            "memory; give a sample of the rows, or compare pairs of rows of apply(X)"
        )
    together = np.zeros((n_rows, n_rows), np.int32)
    for own in leaf.T:
        together += own[:, None] == own[None, :]
    return together / n_trees
