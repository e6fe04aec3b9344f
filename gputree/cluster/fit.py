"""Fitting an estimator on parts of a table that lie on several ranks."""

import copy
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

import gputree
from gputree.cluster.able import check_able
from gputree.cluster.comm import LONGEST_WAIT
from gputree.cluster.rows import RankDataset
from gputree.cluster.threads import run_ranks
from gputree.comm import Comm
from gputree.errors import ClusterError
from gputree.estimators import parameters


def fit(
    estimator: Any,
    parts: Sequence[Sequence[Any]],
    *,
    n_ranks: int | None = None,
    timeout: float = LONGEST_WAIT,
) -> Any:
    ready = prepared(estimator)
    n_ranks = n_ranks or len(parts)
    tasks = [
        partial(fit_rank, estimator=ready, parts=parts[rank::n_ranks]) for rank in range(n_ranks)
    ]
    return take_over(estimator, run_ranks(tasks, timeout)[0])


def prepared(estimator: Any) -> Any:
    """A copy that every rank fits alike."""
    check_able(estimator)
    ready = copy.copy(estimator)
    random_state = getattr(estimator, "random_state", 0)
    if not parameters.is_whole(random_state):
        ready.random_state = parameters.seed(random_state)
    return ready


def fit_rank(comm: Comm, estimator: Any, parts: Sequence[Sequence[Any]]) -> Any:
    """The estimator, fitted with the rows of all ranks; the same one on each of them."""
    versions = f"gputree {gputree.__version__} and numpy {np.__version__}"
    for rank, other in enumerate(comm.gather(versions.encode())):
        if other.decode() != versions:
            raise RuntimeError(
                f"rank {rank} has {other.decode()}, rank {comm.rank} has {versions}; install the "
                "same ones everywhere"
            )
    own = copy.copy(estimator)
    if hasattr(own, "verbose"):
        own.verbose = 0
    own.fit(RankDataset(comm, own, parts))
    if getattr(own, "_draws", None) is not None:
        del own._draws  # which rows of this rank the trees have seen: a part is of no use
    # Ranks that went separate ways are told of, whatever the reason.
    marks = set(comm.gather(sha256(own.to_bytes()).digest()))
    if len(marks) > 1:
        raise ClusterError(f"{comm.size} ranks have found {len(marks)} different models")
    return own


def take_over(estimator: Any, fitted: Any) -> Any:
    """The estimator of the user with what was learned, and with its own parameters."""
    own = estimator.get_params(deep=False)
    vars(estimator).clear()
    vars(estimator).update(vars(fitted) | own)
    return estimator
