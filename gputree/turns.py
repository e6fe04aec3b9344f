"""Whose turn it is where the best node is split next.

Knows numbers of nodes and what their splits are worth; must not know sums or rows.
"""

import heapq

import numpy as np

from gputree.dtypes import HostArray


class Turns:
    """The node of highest worth comes first, and of equal ones the first to arrive.

    Nodes may be divided before their turn. A node arrives when its parent's turn has come, and a
    turn counts only then: the outcome is that of dividing one node after another.
    """

    def __init__(self, n_turns: int) -> None:
        self._to_come = n_turns
        self._heap: list[tuple[float, int, int]] = []  # -worth, turn of arrival, node
        self._arrivals = 0
        self._worth: dict[int, float] = {}  # of nodes that were met and had no turn
        self._children: dict[int, list[int]] = {}  # divided node -> children that can be split
        self.settled: list[int] = []  # nodes that had their turn

    def meet(self, node: int, worth: float, parent: int) -> None:
        """A node that can be split; a root has a negative parent, others one that was divided."""
        self._worth[node] = worth
        if parent < 0:
            self._arrive(node)
        else:
            self._children[parent].append(node)

    def divide(self, node: int) -> None:
        """The node's children are about to be met."""
        self._children[node] = []

    def next(self) -> list[int]:
        """Nodes to divide, the most urgent first; none at the end."""
        while self._to_come and self._heap and self._heap[0][2] in self._children:
            self._settle(heapq.heappop(self._heap)[2])
        return self._ahead((self._to_come + 1) // 2)

    def _ahead(self, n_turns: int) -> list[int]:
        """The nodes to divide so that some turns can be taken, if no child to come overtakes them.

        Children may, so only half of the turns to come are prepared: few of those turn out to be in
        vain.
        """
        heap, found, arrivals = self._heap.copy(), [], self._arrivals
        for _ in range(n_turns):
            if not heap:
                break
            node = heapq.heappop(heap)[2]
            if node not in self._children:
                found.append(node)
                continue
            for child in self._children[node]:
                heapq.heappush(heap, (-self._worth[child], arrivals, child))
                arrivals += 1
        return found

    def had_turn(self, n_nodes: int) -> HostArray:
        """Which of so many nodes had their turn."""
        found = np.zeros(n_nodes, np.bool_)
        found[np.array(self.settled, np.int64)] = True
        return found

    @property
    def is_last(self) -> bool:
        """Whether one turn is left."""
        return self._to_come == 1

    def _settle(self, node: int) -> None:
        self._to_come -= 1
        self.settled.append(node)
        self._worth.pop(node)
        for child in self._children.pop(node):
            self._arrive(child)

    def _arrive(self, node: int) -> None:
        heapq.heappush(self._heap, (-self._worth[node], self._arrivals, node))
        self._arrivals += 1
