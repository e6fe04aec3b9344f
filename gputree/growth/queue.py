"""The order in which nodes are split.

A batch is a set of nodes searched together, with the sums they were searched in. Queues hand out
pieces of batches; what a node's split is never depends on the piece it was handed out in.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gputree.backends.contract import Hist, Parts
from gputree.dtypes import HostArray
from gputree.turns import Turns


@dataclass(frozen=True)
class Batch:
    """Nodes that will be split, unless the queue decides otherwise."""

    node: HostArray  # (nodes,)
    priority: HostArray  # (nodes,) comparable worth of each split
    place: HostArray  # (nodes,) where each one's sums are in `hist`
    hist: Hist | None  # None where the budget does not allow to keep it
    # (nodes,) what splitting each takes: its table, and the sums of a child or parts of rows
    n_bytes: HostArray
    hist_bytes: int  # what `hist` takes
    parts: Parts | None = None  # the parts of rows that the nodes of `hist` have, if any is divided

    def __getitem__(self, index: HostArray | slice) -> "Batch":
        """A piece of the batch; the sums stay together."""
        return replace(
            self,
            node=self.node[index],
            priority=self.priority[index],
            place=self.place[index],
            n_bytes=self.n_bytes[index],
        )


class Queue(Protocol):
    """What the builder asks of a queue."""

    def push(self, batch: Batch, parent: HostArray) -> None:
        """Take in nodes that can be split, with their parents."""
        ...

    def pop(self, limit: int) -> Batch | None:
        """The next nodes to divide, of one batch and within `limit` bytes; None at the end."""
        ...

    def split_nodes(self, n_nodes: int) -> HostArray:
        """Which nodes of the draft are inner nodes of the tree."""
        ...

    def bytes_kept(self, beside: Batch | None = None) -> int:
        """Bytes of sums kept for nodes to come, and by a batch that was handed out."""
        ...


class FirstInFirstOut:
    """Breadth-first: every node that can be split is, in the order in which they came."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()  # the next one first
        self._split: list[HostArray] = []

    def push(self, batch: Batch, parent: HostArray) -> None:
        if batch.node.size:
            self._batches.append(batch)

    def pop(self, limit: int) -> Batch | None:
        if not self._batches:
            return None
        batch = self._batches.popleft()
        n = n_within(batch.n_bytes, limit)
        if n < len(batch.node):
            self._batches.appendleft(batch[n:])
            batch = batch[:n]
        self._split.append(batch.node)
        return batch

    def split_nodes(self, n_nodes: int) -> HostArray:
        is_split = np.zeros(n_nodes, bool)
        if self._split:
            is_split[np.concatenate(self._split)] = True
        return is_split

    def bytes_kept(self, beside: Batch | None = None) -> int:
        return _sum_bytes([*self._batches, beside])


class LastInFirstOut(FirstInFirstOut):
    """Depth-first, some nodes at a time: few wait, with whatever they keep until their turn."""

    def push(self, batch: Batch, parent: HostArray) -> None:
        if batch.node.size:
            self._batches.appendleft(batch)


class BestFirst:
    """The node of highest priority is split next, until there are enough leaves.

    To search many nodes at once, nodes that may come next are divided ahead of time. Those whose
    turn never comes are left out of the tree.
    """

    def __init__(self, max_leaves: int) -> None:
        self._turns = Turns(max_leaves - 1)
        self._batch: dict[int, tuple[Batch, int]] = {}  # node -> its batch and place there
        self._n_dropped = 0  # of the settled ones, whose sums nobody asks for any more

    def push(self, batch: Batch, parent: HostArray) -> None:
        for i, (node, above) in enumerate(zip(batch.node.tolist(), parent.tolist(), strict=True)):
            self._batch[node] = batch, i
            self._turns.meet(node, float(batch.priority[i]), above)

    def pop(self, limit: int) -> Batch | None:
        ahead = self._turns.next()
        for node in self._turns.settled[self._n_dropped :]:
            self._batch.pop(node)
        self._n_dropped = len(self._turns.settled)
        if not ahead:
            return None
        batch, _ = self._batch[ahead[0]]
        own = [self._batch[node] for node in ahead]
        piece = batch[np.array([place for other, place in own if other is batch])]
        piece = piece[: n_within(piece.n_bytes, limit)]
        for node in piece.node.tolist():
            self._turns.divide(node)
        return piece

    def split_nodes(self, n_nodes: int) -> HostArray:
        return self._turns.had_turn(n_nodes)

    def bytes_kept(self, beside: Batch | None = None) -> int:
        return _sum_bytes([*(batch for batch, _ in self._batch.values()), beside])


def n_within(n_bytes: HostArray, limit: int) -> int:
    """How many nodes, from the first on, stay within the limit; always one."""
    return max(1, int(np.searchsorted(np.cumsum(n_bytes), limit, side="right")))


def _sum_bytes(batches: list[Batch | None]) -> int:
    """Pieces of one batch share their sums."""
    shared = {id(batch.hist): batch.hist_bytes for batch in batches if batch is not None}
    return sum(shared.values())
