"""Sums of pairs of a node and a feature by the codes that occur."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gputree.data.bins import Bins
from gputree.dtypes import SUM, HostArray
from gputree.runs import begins, owners, pieces, spread_out, within

OTHERS = -1  # stands for all values that a node has not, in the place of a code
CELLS_AT_ONCE = 2**20  # sums of all codes that are made together

Cells = Callable[[HostArray, HostArray], HostArray]  # those of all codes, of places and features


@dataclass(frozen=True)
class Seen:
    """The sums of pairs of a node and a feature, by the codes that the node has seen.

    The values that occur come in the order of their codes. After them one entry without sums stands
    for all others, if there are any. The last entry is that of missing values where the feature has
    a code for them, whether they occur or not. So a pair costs what its node has, whatever the
    feature has.
    """

    n: HostArray  # (pairs,) entries of each
    code: HostArray  # (entries,) OTHERS for values that do not occur
    cells: HostArray  # (entries, channels)

    def of_pairs(self, is_in: HostArray) -> "Seen":
        """What some of the pairs have seen."""
        if is_in.all():
            return self
        own = np.repeat(is_in, self.n)
        return Seen(self.n[is_in], self.code[own], self.cells[own])

    def in_order(self, pair: HostArray) -> "Seen":
        """The pairs in another order, given by their places now."""
        at = spread_out(begins(self.n)[pair], self.n[pair])
        return Seen(self.n[pair], self.code[at], self.cells[at])

    @classmethod
    def joined(cls, several: Sequence["Seen"]) -> "Seen":
        """Some pairs after others."""
        if len(several) == 1:
            return several[0]
        names = ("n", "code", "cells")
        return cls(*(np.concatenate([getattr(each, name) for each in several]) for name in names))


def blank(bins: Bins, feature: HostArray, n_known: HostArray, n_channels: int) -> Seen:
    """Entries of pairs in which so many values occur, without the codes and sums of these."""
    n_values, has_missing = bins.n_values[feature], has_code_for_missing(bins, feature)
    n = n_known + (n_known < n_values) + has_missing
    code = np.full(int(n.sum()), OTHERS, np.int32)
    code[(np.cumsum(n) - 1)[has_missing]] = n_values[has_missing]
    return Seen(n, code, np.zeros((len(code), n_channels), SUM))


def has_code_for_missing(bins: Bins, feature: HostArray) -> HostArray:
    """Whether the last code of each feature stands for missing values."""
    return np.asarray(bins.n_codes[feature] > bins.n_values[feature])


def seen_of_cells(cells: Cells, bins: Bins, place: HostArray, feature: HostArray) -> Seen:
    """What pairs have seen, from the sums of all codes of a few of them at a time."""
    own = pieces(bins.n_codes[feature], CELLS_AT_ONCE) or [slice(0)]
    return Seen.joined(
        [_without_gaps(bins, feature[some], cells(place[some], feature[some])) for some in own]
    )


def _without_gaps(bins: Bins, feature: HostArray, cells: HostArray) -> Seen:
    """The entries of sums of all codes that are not all 0."""
    n_codes, has_missing = bins.n_codes[feature], has_code_for_missing(bins, feature)
    owner, code = owners(n_codes), within(n_codes)
    occurs = np.zeros(len(cells), bool)
    for channel in cells.T:  # the channels of a code are few: many short sums would take longer
        occurs |= channel != 0
    at = np.flatnonzero(occurs & (code < bins.n_values[feature][owner]))
    n_known = np.bincount(owner[at], minlength=len(feature))
    seen = blank(bins, feature, n_known, cells.shape[1])
    to = spread_out(begins(seen.n), n_known)
    seen.code[to], seen.cells[to] = code[at], cells[at]
    last, last_code = (np.cumsum(n)[has_missing] - 1 for n in (seen.n, n_codes))
    seen.cells[last] = cells[last_code]
    return seen
