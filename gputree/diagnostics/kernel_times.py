"""What the kernels take on a device, beside what its hardware allows.

Knows the contract; must not know how kernels work. The bound counts what no kernel
can do without: bytes that memory has to move once, and additions in shared memory.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, TypeAlias, cast

import numpy as np

from gputree.backends.contract import Moves, Search, Siblings
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.cards import Card
from gputree.backends.cuda.device import Device, open_device
from gputree.backends.cuda.rows import CudaRows
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Column, Kind
from gputree.data.target import Target, class_target, value_target
from gputree.dtypes import SLOT
from gputree.kernels.criteria import GINI

Verb: TypeAlias = Callable[[], object]

N_FEATURES, N_CODES = 28, 255
COLUMNS_AT_ONCE = 7
ROUNDS = 5
ROOT = np.zeros(1, np.int64)
ROUTE_BYTES = 13  # a row: its number is read twice and written once, its code is read
ROW_NUMBER_BYTES = LIMB_BYTES = 4
LABEL_BYTES = CODE_BYTES = 1


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_rows: int = 2**22  # codes of 112 MiB, more than a cache holds
    n_nodes: int = 512  # that are searched for splits
    n_filler: int = 2**28  # bytes that are copied before every kernel
    n_copies: int = 4


REAL = Size()


@dataclass(frozen=True)
class Work:
    """What has to be done, whoever does it."""

    n_bytes: int  # from or to the device's memory
    n_adds: int = 0  # in shared memory

    def bound(self, card: Card) -> tuple[float | None, str]:
        """Milliseconds that a card needs at least, and for what; None where it does not say."""
        if not card.shared_adds or not card.bandwidth:
            return None, "the driver does not tell clock and bus width"
        adds, memory = self.n_adds / card.shared_adds, self.n_bytes / card.bandwidth
        return 1e3 * max(adds, memory), "shared memory" if adds > memory else "memory"


@dataclass(frozen=True)
class Timing:
    """One kind of work: what it took, and what it takes at least."""

    name: str
    milliseconds: float
    bound: float | None
    bound_by: str

    @property
    def ratio(self) -> float | None:
        """How many times the bound it took."""
        return self.milliseconds / self.bound if self.bound else None


def measure(device: str, card: Card, *, size: Size = REAL) -> tuple[Timing, ...]:
    """Time sums of classes and of a regression, routing and the search for splits."""
    watch = Stopwatch(open_device(device), size)
    # It has all that a Device has: what it does not bring itself is the device's.
    backend = CudaBackend(cast(Device, watch))
    return tuple(
        Timing(name, _milliseconds(watch, verb), *work.bound(card))
        for name, work, verb in _verbs(backend, size)
    )


def _milliseconds(watch: "Stopwatch", verb: Verb) -> float:
    """The median of some rounds; the first one compiles and is left out."""
    return median([watch.time(verb) for _ in range(ROUNDS + 1)][1:])


# What is timed


def _verbs(backend: CudaBackend, size: Size) -> Iterator[tuple[str, Work, Verb]]:
    """Name, work and call of everything that is timed, on a table of random codes."""
    rng = np.random.default_rng(0)
    bins, data = _coded(backend, rng, size.n_rows)
    classes = class_target(rng.integers(0, 2, size.n_rows), 2, None)
    values = value_target(rng.standard_normal((size.n_rows, 1)), None)
    counted, summed = (backend.begin(data, bins, target) for target in (classes, values))
    yield "sum of 2 classes", _sum_work(counted), lambda: backend.tally(counted, ROOT)
    yield "sum of a regression", _sum_work(summed), lambda: backend.tally(summed, ROOT)
    moved, moves = _halves(backend, counted)
    yield "route", Work(ROUTE_BYTES * size.n_rows), lambda: backend.route(moved, moves)
    node = np.arange(size.n_nodes)
    copies = Siblings(node, np.zeros_like(node), np.full_like(node, -1))
    hist = backend.derive(backend.tally(counted, ROOT), copies, None)
    n_bytes = int(backend.hist_bytes(bins, classes.channels, node).sum())
    search = Search(GINI, 1, 0, N_FEATURES, None)
    yield f"scan of {size.n_nodes} nodes", Work(n_bytes), lambda: backend.best_splits(hist, search)


def _coded(backend: CudaBackend, rng: np.random.Generator, n_rows: int) -> tuple[Bins, Any]:
    """Features with codes at random."""
    number = np.arange(N_CODES, dtype=np.float64)
    feature = FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], False)
    # Columns are windows of one long array: as good as random ones, and soon made.
    long = rng.integers(0, N_CODES, n_rows + N_FEATURES).astype(np.float32)
    columns = [Column("x", Kind.NUMERIC, long[at : at + n_rows]) for at in range(N_FEATURES)]
    data = backend.reserve(N_FEATURES, n_rows, N_CODES)
    for first in range(0, N_FEATURES, COLUMNS_AT_ONCE):
        some = columns[first : first + COLUMNS_AT_ONCE]
        backend.encode(data, first, backend.hold(some), [feature] * len(some))
    return Bins((feature,) * N_FEATURES), data


def _sum_work(rows: CudaRows) -> Work:
    """An addition a row, feature and limb; codes, row numbers, and classes or limbs are read."""
    target: Target = rows.target
    n_limbs = rows.planes.n_limbs
    n_adds = n_limbs + rows.planes.has_ones
    label_bytes = LABEL_BYTES if target.label is not None else 0
    row_bytes = N_FEATURES * CODE_BYTES + ROW_NUMBER_BYTES + label_bytes + LIMB_BYTES * n_limbs
    return Work(target.n_rows * row_bytes, target.n_rows * N_FEATURES * n_adds)


def _halves(backend: CudaBackend, rows: CudaRows) -> tuple[CudaRows, Moves]:
    """Rows of a root that moved before, and how they go to two children by their first feature."""
    one, root = np.ones(1, np.int64), np.zeros(1, np.int64)
    slot = (np.arange(N_CODES) > N_CODES // 2).astype(SLOT)
    moves = Moves(root, root, first_child=one, n_children=2 * one, start=root, table=slot)
    found = backend.route(rows, moves)
    # While a tree grows, there is room for rows to move, and those of children are known before.
    moved = replace(found, start=found.start[one], n_rows=rows.n_rows)
    return moved, replace(moves, n_rows=found.n_rows[moves.children])


# How it is timed


class Stopwatch:
    """A device that keeps the time of its kernels."""

    def __init__(self, device: Device, size: Size) -> None:
        self._device = device
        self._filler = device.zeros(size.n_filler, np.uint8)
        self._n_copies = size.n_copies
        self._spans: list[tuple[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def time(self, verb: Verb) -> float:
        """Milliseconds in the kernels that a verb starts."""
        self._spans.clear()
        verb()
        return sum(self._device.milliseconds(begin, end) for begin, end in self._spans)

    def launch(self, *args: Any, **options: Any) -> None:
        """Start a kernel between two events."""
        # Copies empty the caches, and the device is still busy with them when the kernel is there:
        # what the host needs to start it is not in its time.
        for _ in range(self._n_copies):
            self._device.copy(self._filler)
        begin = self._device.record()
        self._device.launch(*args, **options)
        self._spans.append((begin, self._device.record()))
