"""Rows that are divided among all children where a tested value is missing (C4.5).

A part is the number of a row and the weight it has at a node. Parts live on the host, and only
those of nodes that wait to be split; for a search, the codes of some nodes' parts are taken side by
side, as a table of its own with a root a node. So no code is kept twice, and what was divided is
forgotten as soon as its node is.
"""

from dataclasses import replace

import numpy as np

from gputree.backends.contract import Backend, Data, Hist, Moves, Rows, Siblings
from gputree.comm import total
from gputree.data.bins import Bins
from gputree.data.target import Target, parts_of
from gputree.dtypes import STAY, SUM, HostArray
from gputree.growth.draft import Draft
from gputree.growth.queue import Batch, Parts
from gputree.runs import begins, owners
from gputree.shares import divided


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
        weight = self.target.weight
        assert weight is not None
        row = np.flatnonzero(weight).astype(np.int32)
        return Parts(row, weight[row], np.array([len(row)]))

    def with_parts(self, batch: Batch, parts: Parts) -> Batch:
        """A batch with the parts of its nodes, which are among those of the nodes searched."""
        own = parts.among(batch.place)
        n_bytes = batch.n_bytes + total(self.target.comm, own.n) * self.bytes_of_part
        return replace(batch, place=np.arange(len(own.n)), parts=own, n_bytes=n_bytes)

    def divide(self, parts: Parts, moves: Moves, draft: Draft) -> Parts:
        """Send the parts of the moving nodes on, and add those that are divided to the draft."""
        move = owners(parts.n)
        feature = moves.feature[move]
        code = self.backend.codes_of(self.rows, parts.row, feature)
        slot = moves.table[moves.start[move] + code].astype(np.int64)
        stays = slot == STAY
        goes = ~stays
        first = begins(moves.n_children)  # among all children
        # Of those that stay, which goes where with what weight.
        known = draft.channels.weight_of(draft.sums[moves.children])
        item, member, weight = divided(parts.weight[stays], move[stays], known, moves.n_children)
        row = parts.row[stays][item]
        self._note(draft, moves.children, member, row, weight)
        child = np.concatenate([first[move[goes]] + slot[goes], member])
        order = _by_child(child)
        return Parts(
            np.concatenate([parts.row[goes], row])[order],
            np.concatenate([parts.weight[goes], weight])[order],
            np.bincount(child, minlength=len(known)),
        )

    def tally(self, parts: Parts) -> Hist:
        """The sums of nodes, which are numbered from 0 on."""
        target = parts_of(self.target, parts.row, parts.weight)
        data = self.backend.take_rows(self.data, parts.row)
        node = np.arange(len(parts.n))
        rows = self.backend.begin(data, self.bins, target, parts.n)
        none = np.full(len(node), -1)
        return self.backend.derive(self.backend.tally(rows, node), Siblings(node, node, none), None)

    def _note(
        self, draft: Draft, nodes: HostArray, at: HostArray, row: HostArray, weight: HostArray
    ) -> None:
        """Add parts to the sums of the nodes, each to one of them."""
        assert self.target.label is not None
        sums = np.zeros((len(nodes), draft.channels.n), SUM)
        np.add.at(sums, (at, self.target.label[row]), weight)
        np.add.at(sums, (at, np.full(len(at), -1)), 1)
        draft.sums[nodes] += total(self.target.comm, sums)


def _by_child(child: HostArray) -> HostArray:
    """The order of parts by their child; small numbers are sorted much faster."""
    is_short = child.max(initial=0) <= np.iinfo(np.uint16).max
    return np.argsort(child.astype(np.uint16) if is_short else child, kind="stable")


def has_missing(bins: Bins) -> bool:
    """Whether a table has missing values at all."""
    return bool((bins.n_codes > bins.n_values).any())
