"""The rows of each node, one node after another, for the CPU backend."""

from dataclasses import dataclass, field, replace

import numpy as np

from gputree.backends.cpu.distinct import NONE
from gputree.backends.cpu.lanes import Lane
from gputree.backends.cpu.workers import Workers
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.kernels.cpu import histogram
from gputree.runs import begins, owners, within

CHUNK_ROWS = 16_384  # rows that one thread routes at a time
LEAST_ROWS = 8_192  # fewer rows are not worth another thread


class RowLayout:
    """Codes by row, in the order the rows had when small nodes first asked for them.

    From then on the rows of a node lie near each other, however far apart they are in the table.
    Boosted trees, which are many and may each have other rows, share one in the order of the table.
    """

    def __init__(self, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self.by_row: HostArray | None = None
        self.spot: HostArray | None = None  # (rows,) where each row is in `by_row`
        self.lane = Lane()  # of whoever grows a tree

    def of(self, rows: "CpuRows", workers: Workers) -> tuple[HostArray, HostArray]:
        """Codes (rows, features) and spots, made at the first call."""
        if self.is_shared:
            self.in_order(rows.code, workers)
        if self.by_row is None or self.spot is None:
            n_features, n_rows = rows.code.shape
            self.by_row = np.empty((len(rows.order), n_features), rows.code.dtype)
            self.spot = np.empty(n_rows, np.int32)
            args = rows.order, rows.code, self.by_row, self.spot
            workers.run(histogram.lay_out, len(rows.order), *args, least=LEAST_ROWS)
        return self.by_row, self.spot

    def in_order(self, code: HostArray, workers: Workers) -> HostArray:
        """Codes (rows, features) in the order of the table, made at the first call."""
        if self.by_row is None:
            n_features, n_rows = code.shape
            self.by_row = np.empty((n_rows, n_features), code.dtype)
            self.spot = np.arange(n_rows, dtype=np.int32)
            workers.run(histogram.turn, n_rows, code, self.by_row, least=LEAST_ROWS)
        return self.by_row

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
    layout: RowLayout
    bins: Bins
    target: Target
    label: HostArray  # (rows,), or empty for a regression
    weight: HostArray  # (rows,), or empty where every row weighs 1
    value: HostArray  # (outputs, rows), or empty for classes
    order: HostArray  # (rows,) row numbers, node by node
    start: HostArray  # (nodes,) where a node's rows begin in `order`
    n_rows: HostArray  # (nodes,) how many it has; 0 for one whose rows all left it
    # (rows,) gradient and hessian of a boosted tree in one, or empty
    word: HostArray = field(default_factory=lambda: NONE)
    # (rows,) the node of each, where a tree is finished and its rows are not listed; or empty
    leaf: HostArray = field(default_factory=lambda: NONE)

    @property
    def is_packed(self) -> bool:
        """Whether sums have one word, not a number a channel."""
        return self.word is not NONE  # there may be no rows

    @property
    def n_stored(self) -> int:
        """Numbers that the sums of a code have."""
        return 1 if self.is_packed else self.target.channels.n


def laid_out(workers: Workers, rows: CpuRows, n_cells: int) -> tuple[HostArray, HostArray]:
    """Codes by row and spots for those who read so many codes; empty where they are not worth it.

    Laying out codes looks at every cell of the table.
    """
    if rows.layout.is_made or 8 * n_cells > rows.code.size:
        return rows.layout.of(rows, workers)
    return np.empty((0, 0), rows.code.dtype), np.empty(0, np.int32)


def chunks(start: HostArray, n_rows: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Cut the rows of nodes into chunks: whose they are, where they begin and end."""
    n_chunks = -(-n_rows // CHUNK_ROWS)
    owner = owners(n_chunks)
    first = start[owner] + within(n_chunks) * CHUNK_ROWS
    return owner, first, np.minimum(first + CHUNK_ROWS, (start + n_rows)[owner])


def running(count: HostArray, owner: HostArray) -> HostArray:
    """How many the chunks of the same owner before each chunk have."""
    before = begins(count)
    is_first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    return before - before[is_first][np.cumsum(is_first) - 1]


def with_lists(
    rows: CpuRows, order: HostArray, node: HostArray, start: HostArray, n_rows: HostArray
) -> CpuRows:
    """The rows with other lists at some nodes, perhaps new ones."""
    n_nodes = max(len(rows.start), int(node.max()) + 1)
    new_start = np.zeros(n_nodes, np.int64)
    new_n_rows = np.zeros(n_nodes, np.int64)
    new_start[: len(rows.start)] = rows.start
    new_n_rows[: len(rows.start)] = rows.n_rows
    new_start[node], new_n_rows[node] = start, n_rows
    return replace(rows, order=order, start=new_start, n_rows=new_n_rows)
