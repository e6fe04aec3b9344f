"""Leaves of losses that look at the rank of residuals, not at their sum."""

from typing import Protocol

import numpy as np

from gputree.dtypes import HostArray
from gputree.growth.draft import Layout
from gputree.runs import begins


class Refine(Protocol):
    """Finds the value of each node of a tree from the residuals of its rows."""

    def __call__(
        self, layout: Layout, leaf: HostArray, residual: HostArray, weight: HostArray | None
    ) -> HostArray:
        """`leaf` is the node of the tree where each row is."""
        ...


class Quantile:
    """The weighted quantile of the residuals of a leaf."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(
        self, layout: Layout, leaf: HostArray, residual: HostArray, weight: HostArray | None
    ) -> HostArray:
        """Inner nodes have 0."""
        return leaf_quantiles(len(layout.node), leaf, residual, weight, self.share)


class Huber:
    """The median of the residuals, moved by the mean of what is left once it is clipped."""

    def __init__(self, most: float) -> None:
        self.most = most

    def __call__(
        self, layout: Layout, leaf: HostArray, residual: HostArray, weight: HostArray | None
    ) -> HostArray:
        """Inner nodes have 0."""
        n_nodes = len(layout.node)
        middle = leaf_quantiles(n_nodes, leaf, residual, weight, 0.5)
        apart = np.clip(residual - middle[leaf], -self.most, self.most)
        own = np.ones(len(leaf)) if weight is None else weight
        # Sums of floats depend on their order, which the rows must not set.
        order = np.lexsort((own, apart, leaf))
        leaf, own, apart = leaf[order], own[order], apart[order]
        total = np.bincount(leaf, own, minlength=n_nodes)
        moved = np.bincount(leaf, own * apart, minlength=n_nodes)
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


def weighted_quantile(value: HostArray, weight: HostArray, share: float) -> float:
    """The least value up to which there is at least a share of the weight."""
    order = np.lexsort((weight, value))
    return _reached(value[order], weight[order], share)


def _reached(value: HostArray, weight: HostArray, share: float) -> float:
    """The same of sorted values; a share that is missed by rounding only is reached."""
    running = np.cumsum(weight)
    at = int(np.searchsorted(running, share * running[-1] * (1.0 - 1e-12)))
    return float(value[min(at, len(value) - 1)])
