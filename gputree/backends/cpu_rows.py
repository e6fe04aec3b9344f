"""The rows of each node, one node after another, for the CPU backend."""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.contract import Moves
from gputree.backends.workers import Workers
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.kernels.cpu import histogram

CHUNK_ROWS = 16_384  # rows that one thread routes at a time
LEAST_ROWS = 8_192  # fewer rows are not worth another thread


class Layout:
    """Codes by row, in the order the rows had when small nodes first asked for them.

    From then on the rows of a node lie near each other, however far apart they are in the table.
    """

    def __init__(self) -> None:
        self.by_row: HostArray | None = None
        self.spot: HostArray | None = None  # (rows,) where each row is in `by_row`

    def of(self, rows: "CpuRows", workers: Workers) -> tuple[HostArray, HostArray]:
        """Codes (rows, features) and spots, made at the first call."""
        if self.by_row is None or self.spot is None:
            n_features, n_rows = rows.code.shape
            self.by_row = np.empty((len(rows.order), n_features), rows.code.dtype)
            self.spot = np.empty(n_rows, np.int32)
            args = rows.order, rows.code, self.by_row, self.spot
            workers.run(histogram.lay_out, len(rows.order), *args, least=LEAST_ROWS)
        return self.by_row, self.spot

    @property
    def is_made(self) -> bool:
        return self.by_row is not None

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.by_row, self.spot) if array is not None)


@dataclass(frozen=True)
class CpuRows:
    """The rows of each node, one node after another."""

    code: HostArray  # (features, rows)
    layout: Layout
    bins: Bins
    target: Target
    label: HostArray  # (rows,), or empty for a regression
    weight: HostArray  # (rows,), or empty where every row weighs 1
    value: HostArray  # (outputs, rows), or empty for classes
    order: HostArray  # (rows,) row numbers, node by node
    start: HostArray  # (nodes,) where a node's rows begin in `order`
    n_rows: HostArray  # (nodes,) how many it has; 0 for one that was divided


def chunks(start: HostArray, n_rows: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Cut the rows of nodes into chunks: whose they are, where they begin and end."""
    n_chunks = -(-n_rows // CHUNK_ROWS)
    owner = np.repeat(np.arange(len(start)), n_chunks)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
    first = start[owner] + number * CHUNK_ROWS
    return owner, first, np.minimum(first + CHUNK_ROWS, (start + n_rows)[owner])


def running(count: HostArray, owner: HostArray) -> HostArray:
    """How many the chunks of the same owner before each chunk have."""
    before = np.cumsum(count) - count
    is_first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    return before - before[is_first][np.cumsum(is_first) - 1]


def with_children(rows: CpuRows, moves: Moves, order: HostArray, n_left: HostArray) -> CpuRows:
    """The rows with a list for each child in place of its parent's."""
    n_nodes = max(len(rows.start), int(moves.first_child.max()) + 2)
    start = np.zeros(n_nodes, np.int64)
    n_rows = np.zeros(n_nodes, np.int64)
    start[: len(rows.start)] = rows.start
    n_rows[: len(rows.start)] = rows.n_rows
    left, right = moves.first_child, moves.first_child + 1
    start[left], start[right] = start[moves.node], start[moves.node] + n_left
    n_rows[left], n_rows[right] = n_left, n_rows[moves.node] - n_left
    n_rows[moves.node] = 0
    return replace(rows, order=order, start=start, n_rows=n_rows)
