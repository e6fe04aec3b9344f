"""Rows that are divided among all children where a tested value is missing (C4.5).

A part is a row and the weight it has at a node. Parts lie where the backend computes, and only
those of nodes that wait to be split; for a search, the codes of some nodes' parts are taken side by
side, as a table of its own with a root a node. So no code is kept twice, and what was divided is
forgotten as soon as its node is.
"""

from dataclasses import replace

import numpy as np

from gputree.backends.contract import Backend, Data, Hist, Moves, Parts, Rows
from gputree.comm import total
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.growth.draft import Draft
from gputree.growth.queue import Batch


class Fractions:
    """Divides the rows of a table on their way down a growing tree."""

    def __init__(self, backend: Backend, data: Data, bins: Bins, target: Target, rows: Rows):
        self.backend, self.data, self.bins, self.target = backend, data, bins, target
        self.rows = rows  # all at the root, for as long as the tree grows

    @property
    def bytes_of_part(self) -> int:
        """What a part takes while its node is split: itself, its codes, and as much to sort it."""
        return 2 * (16 + len(self.bins.features) * self.bins.code_bytes)

    def at_root(self) -> Parts:
        """All rows that have a weight."""
        return self.backend.whole_parts(self.target)

    def with_parts(self, batch: Batch, parts: Parts) -> Batch:
        """A batch with the parts of its nodes, which are among those of the nodes searched."""
        own = parts.among(batch.place)
        n_bytes = batch.n_bytes + total(self.target.comm, own.n) * self.bytes_of_part
        return replace(batch, place=np.arange(len(own.n)), parts=own, n_bytes=n_bytes)

    def divide(self, parts: Parts, moves: Moves, draft: Draft) -> Parts:
        """Send the parts of the moving nodes on, and add those that are divided to the draft."""
        known = draft.channels.weight_of(draft.sums[moves.children])
        given = self.rows, self.target, parts, moves, known
        found, added = self.backend.divide_parts(*given)
        draft.sums[moves.children] += total(self.target.comm, added)
        return found

    def tally(self, parts: Parts) -> Hist:
        """The sums of nodes, which are numbered from 0 on."""
        return self.backend.tally_parts(self.data, self.bins, self.target, parts)


def has_missing(bins: Bins) -> bool:
    """Whether a table has missing values at all."""
    return bool((bins.n_codes > bins.n_values).any())
