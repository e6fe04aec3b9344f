"""Tables whose rows lie on several ranks, in any order and with any number of them on each."""

import numpy as np

from gputree import cluster
from gputree.cluster.able import check_able
from tests.corpus import digests, models

DEADLINE = 60.0  # seconds: a test of a fit that hangs fails


def is_able(estimator):
    """Whether a model can be fitted on rows that are spread."""
    try:
        check_able(estimator)
    except ValueError:
        return False
    return True


def corpus_table(name):
    """Rows and target of a case of the corpus."""
    X = models.table(90, 1, has_missing=name != "id3")
    y = models.targets(X)[digests.cases()[name][1]]
    return (X[["colour", "size", "code"]] if name == "id3" else X), np.asarray(y)


def parts_of(owner, n_parts, *arrays):
    """Shuffled rows, each in the part that owns it; parts may be empty."""
    order = np.random.default_rng(0).permutation(len(owner))
    return [
        tuple(rows(each, order[owner[order] == part]) for each in arrays) for part in range(n_parts)
    ]


def rows(table, at):
    return table.iloc[at] if hasattr(table, "iloc") else table[at]


def spread_fit(estimator, n_ranks, *arrays, seed=0):
    """The model of rows that are spread at random, unevenly, over so many ranks."""
    n = len(arrays[0])
    share = np.random.default_rng(seed).dirichlet(np.full(n_ranks, 0.5))
    owner = np.random.default_rng(seed + 1).choice(n_ranks, n, p=share)
    parts = parts_of(owner, n_ranks, *arrays)
    return cluster.fit(estimator, parts, timeout=DEADLINE)
