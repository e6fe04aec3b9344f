"""What leaves of losses are that look at the rank of residuals, not at their sum: on the host."""

import numpy as np

from gputree.backends.agreed_quantiles import (
    ALMOST,
    agreed_quantiles,
    counted_weights,
    rows_of_all,
)
from gputree.comm import ALONE, Comm
from gputree.dtypes import HostArray
from gputree.runs import begins


class HostResiduals:
    """What rows are off by, leaf by leaf: `leaf` is the node of the tree where each row is."""

    def __init__(
        self,
        n_nodes: int,
        leaf: HostArray,
        residual: HostArray,
        weight: HostArray | None,
        comm: Comm = ALONE,
    ) -> None:
        self._n_nodes, self._leaf, self._residual, self._weight = n_nodes, leaf, residual, weight
        self._comm = comm  # those who have other rows

    def with_those_of(self, comm: Comm) -> "HostResiduals":
        """The same for the rows of all ranks."""
        return HostResiduals(self._n_nodes, self._leaf, self._residual, self._weight, comm)

    def _of_all(self) -> "HostResiduals":
        """The rows of all ranks on each of them."""
        leaf, residual, weight = rows_of_all(self._comm, self._leaf, self._residual, self._weight)
        assert leaf is not None
        assert residual is not None
        return HostResiduals(self._n_nodes, leaf, residual, weight)

    def quantile(self, share: float) -> HostArray:
        """The weighted quantile of each leaf; inner nodes have 0."""
        own = self._n_nodes, self._leaf, self._residual
        if self._comm.size == 1:
            return leaf_quantiles(*own, self._weight, share)
        whole, can_count = counted_weights(len(self._leaf), self._weight, self._comm)
        if not can_count:
            return self._of_all().quantile(share)
        return agreed_quantiles(*own, whole, share, self._comm)

    def clipped_mean(self, most: float) -> HostArray:
        """The median, moved by the mean of what is left once it is clipped; inner nodes have 0."""
        if self._comm.size > 1:  # sums of floats ask for all of them, in order
            return self._of_all().clipped_mean(most)
        leaf, middle = self._leaf, self.quantile(0.5)
        apart = np.clip(self._residual - middle[leaf], -most, most)
        own = np.ones(len(leaf)) if self._weight is None else self._weight
        # Sums of floats depend on their order, which the rows must not set.
        order = np.lexsort((own, apart, leaf))
        leaf, own, apart = leaf[order], own[order], apart[order]
        total = np.bincount(leaf, own, minlength=self._n_nodes)
        moved = np.bincount(leaf, own * apart, minlength=self._n_nodes)
        return np.asarray(middle + moved / np.where(total > 0.0, total, 1.0))


def leaf_quantiles(
    n_nodes: int, leaf: HostArray, value: HostArray, weight: HostArray | None, share: float
) -> HostArray:
    """The quantile of the values of each leaf; 0 for nodes without rows."""
    # Sums of floats depend on their order, which the rows must not set.
    order = np.lexsort((value, leaf) if weight is None else (weight, value, leaf))
    value = value[order]
    own = np.ones(len(leaf)) if weight is None else weight[order]
    n = np.bincount(leaf, minlength=n_nodes)
    quantile = np.zeros(n_nodes)
    first = begins(n)
    for node in np.flatnonzero(n).tolist():
        part = slice(int(first[node]), int(first[node] + n[node]))
        quantile[node] = _reached(value[part], own[part], share)
    return quantile


def weighted_quantile(
    value: HostArray, weight: HostArray, share: float, comm: Comm = ALONE
) -> float:
    """The least value up to which there is at least a share of the weight."""
    if comm.size > 1:
        one = np.zeros(len(value), np.int64)
        return float(HostResiduals(1, one, value + 0.0, weight, comm).quantile(share)[0])
    order = np.lexsort((weight, value))
    return _reached(value[order], weight[order], share)


def _reached(value: HostArray, weight: HostArray, share: float) -> float:
    """The same of sorted values; a share that is missed by rounding only is reached."""
    running = np.cumsum(weight)
    at = int(np.searchsorted(running, share * running[-1] * ALMOST))
    return float(value[min(at, len(value) - 1)])
