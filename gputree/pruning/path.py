"""The sequence of trees that weakest links give, and what each costs."""

from dataclasses import dataclass, replace

import numpy as np

from gputree.dtypes import HostArray
from gputree.pruning.errors import Account
from gputree.pruning.levels import least_above
from gputree.pruning.weakest_link import Links, weakest_links
from gputree.tree.tree import Tree

SAME = 1e-12  # alphas that differ by less of the largest are the same, but for rounding


@dataclass(frozen=True, eq=False)
class Path:
    """Alphas that ascend, and the tree of each: its leaves and its risk, as a mean over rows.

    The first is the whole tree. Where alpha was chosen, `error` and `deviation` are what was
    measured for it, `measured_by` tells how, and `chosen` is the place of the choice.
    """

    alpha: HostArray
    n_leaves: HostArray
    risk: HostArray
    error: HostArray | None = None
    deviation: HostArray | None = None
    chosen: int | None = None
    measured_by: str = ""  # cross-validation, or validation rows

    @property
    def limit(self) -> float:
        """The least error and one standard error more."""
        assert self.error is not None
        assert self.deviation is not None
        least = int(self.error.argmin())
        return float(self.error[least] + self.deviation[least])

    def without_ties(self) -> "Path":
        """The last of all trees that have the same alpha: no other is the answer to any cost."""
        apart = np.diff(self.alpha, append=np.inf) > SAME * self.alpha[-1]
        apart[-1] = True
        return replace(
            self, alpha=self.alpha[apart], n_leaves=self.n_leaves[apart], risk=self.risk[apart]
        )


def path_of(tree: Tree, account: Account, links: Links | None = None) -> Path:
    """The path of a tree; one step per node, as in scikit-learn."""
    links = weakest_links(tree, account) if links is None else links
    node = np.flatnonzero(np.isfinite(links.alpha))
    depth = tree.depth
    node = node[np.lexsort((-depth[node], links.alpha[node]))]
    rise = np.concatenate([[account.at_ends.sum()], links.rise[node]])
    return Path(
        alpha=np.concatenate([[0.0], links.alpha[node]]) / account.total,
        n_leaves=tree.n_leaves - np.concatenate([[0], np.cumsum(links.n_gone[node])]),
        risk=np.cumsum(rise) / account.total,
    )


def measured(tree: Tree, alpha: HostArray, account: Account, at: HostArray) -> HostArray:
    """What the trees at some alphas cost, (alphas,).

    A node is a leaf from its own alpha up to the first one of a node above it. Before that it
    answers for the rows which end there.
    """
    begin = np.searchsorted(at, alpha)
    end = np.searchsorted(at, least_above(tree, alpha))
    change = np.zeros(len(at) + 1)
    for first, last, cost in (
        (begin, end, account.as_leaf),
        (np.zeros_like(begin), np.minimum(begin, end), account.at_ends),
    ):
        lives = first < last
        change += np.bincount(first[lives], cost[lives], minlength=len(change))
        change -= np.bincount(last[lives], cost[lives], minlength=len(change))
    return np.asarray(np.cumsum(change)[:-1])
