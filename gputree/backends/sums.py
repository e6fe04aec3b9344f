"""Sums of nodes on the host, in an order that every backend agrees on, so that they add up."""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.contract import Siblings
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import SUM, HostArray
from gputree.runs import owners, spread_out


@dataclass(frozen=True)
class Sums:
    """The sums of some nodes: what the default search reads, and what parts of a table add up to.

    The codes of feature `f` are the bins from `bins.offset[f]` on.
    """

    bins: Bins
    channels: Channels
    array: HostArray  # (nodes, channels, bins) int64

    @classmethod
    def of_cells(cls, bins: Bins, channels: Channels, cells: HostArray) -> "Sums":
        """From the cells of all features of all nodes, (nodes * bins, channels)."""
        by_bin = cells.reshape(-1, bins.width, channels.n)
        return cls(bins, channels, np.ascontiguousarray(by_bin.transpose(0, 2, 1), SUM))

    def __add__(self, other: "Sums") -> "Sums":
        """The sums of two parts of the rows together."""
        return replace(self, array=self.array + other.array)

    def derived(self, siblings: Siblings, above: "Sums | None") -> "Sums":
        """The sums of a frontier: those tallied, and parents minus those of siblings."""
        array = self.array[siblings.built]
        is_derived = siblings.parent >= 0
        if is_derived.any():
            assert above is not None
            array[is_derived] = above.array[siblings.parent[is_derived]] - array[is_derived]
        return replace(self, array=array)

    def cells(self, place: HostArray, feature: HostArray) -> HostArray:
        """The sums of pairs of a node and a feature, (codes, channels)."""
        n_codes = self.bins.n_codes[feature]
        code = spread_out(self.bins.offset[feature], n_codes)
        return self.array[place[owners(n_codes)], :, code]
