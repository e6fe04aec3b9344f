"""Which rows take part in a round of boosting, on the device."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gputree import sampling
from gputree.backends.contract import Moves
from gputree.backends.cuda.launch import Launches, Tiles
from gputree.backends.cuda.route import choose, codes_in, move
from gputree.backends.cuda.rows import CudaData
from gputree.backends.cuda.sorting import sorted_by
from gputree.backends.lots import Lots
from gputree.comm import Comm, total
from gputree.data.bins import Bins
from gputree.dtypes import SLOT, STAY, Array, HostArray
from gputree.kernels.cuda import draws as kernels
from gputree.kernels.cuda.samples import number_rows

ROOT = np.zeros(1, np.int64)
ONE_MARK, ONE_TEST = np.ones(1, np.uint8), np.zeros((1, 2), np.int64)
LEFT_IF_MARKED = np.array([1, 0], np.uint8)  # a mark is a code of 0 or 1


@dataclass(frozen=True)
class CudaMarks:
    """The rows that take part."""

    n: int  # that have a weight
    mark: Array  # (rows,) 1 for those, or a 1 for all
    order: Array  # (rows,) the numbers of those, in order; then others
    taken: Array  # (rows,) 1 for all that take part, with a weight or not; or a 1


@dataclass(frozen=True)
class Every:
    """All rows of a table, as lists of some are made of them."""

    launches: Launches
    n: int
    number: Array  # (rows,)

    @classmethod
    def of(cls, launches: Launches, n_rows: int) -> "Every":
        number = launches.device.empty(n_rows, np.int32)
        launches.over(number_rows, n_rows, n_rows, number)
        return cls(launches, n_rows, number)

    @cached_property
    def tiles(self) -> Tiles:
        return self.launches.cut(ROOT, np.array([self.n]))[0]

    def all(self, launches: Launches) -> CudaMarks:
        """All rows take part."""
        one = launches.constants(ONE_MARK)[0]
        return CudaMarks(self.n, one, self.number, one)

    def some(self, launches: Launches, n: int, mark: Array, taken: Array) -> CudaMarks:
        """Those take part that are taken; `n` of them have a weight, and a mark."""
        test, side = launches.constants(ONE_TEST, LEFT_IF_MARKED)
        table, codes = self.tiles.table, (mark, 1, self.n)
        chosen = choose(launches, codes, test, side, table, self.number)
        order = launches.device.empty(self.n, np.int32)
        bound = launches.device.upload(np.array([[0, n]]))
        move(launches, chosen, bound, self.number, order)
        return CudaMarks(n, mark, order, taken)


@dataclass(frozen=True)
class CudaUrn:
    """The rows that rounds are drawn from."""

    every: Every
    everyone: CudaMarks | None  # None: all rows of the table
    may_be: Array  # (rows,) 1 for those, or a 1
    has_weight: Array  # (rows,) or a 1
    rank: Array  # (rows,) by which each is drawn, or one entry where that is its number
    comm: Comm  # those who have other rows


def urn(launches: Launches, every: Every, has_weight: Array, lots: Lots) -> CudaUrn:
    upload, one = launches.device.upload, launches.constants(ONE_MARK)[0]
    no_rank = launches.constants(np.zeros(1, np.int32))[0]
    rank = no_rank if lots.rank is None else upload(lots.rank.astype(np.int32))
    if lots.inside is None:
        return CudaUrn(every, None, one, has_weight, rank, lots.comm)
    counts = lots.inside if lots.weight is None else lots.inside & (lots.weight > 0)
    may_be, mark = (upload(part.astype(np.uint8)) for part in (lots.inside, counts))
    everyone = every.some(launches, int(np.count_nonzero(counts)), mark, may_be)
    return CudaUrn(every, everyone, may_be, has_weight, rank, lots.comm)


def drawn(launches: Launches, urn: CudaUrn, seed: int, draw: int, share: float) -> CudaMarks | None:
    if share == 1.0:
        return urn.everyone
    dev, n_rows = launches.device, urn.every.n
    taken, mark = dev.empty(n_rows, np.uint8), dev.empty(n_rows, np.uint8)
    n_inside, key = dev.zeros(1, np.int64), dev.upload(sampling.lot(seed, draw, share))
    given = key, urn.rank, urn.may_be, urn.has_weight
    launches.over_rows(kernels.draw_rows, n_rows, *given, taken, mark, n_inside)
    n = int(dev.download(n_inside)[0])
    n_everywhere = int(total(urn.comm, n))
    return urn.every.some(launches, n, mark, taken) if n_everywhere else urn.everyone


def row_order(
    launches: Launches,
    data: CudaData,
    bins: Bins,
    is_in: HostArray,
    answers: HostArray,
    weight: HostArray | None,
) -> HostArray:
    dev, row = launches.device, np.flatnonzero(is_in)
    n, listed = len(row), launches.device.upload(row.astype(np.int32))
    if weight is not None:  # floats that are not negative have the order of their bits
        amount, key = dev.upload(weight.view(np.int64)), dev.empty(n, np.int64)
        launches.over(kernels.take_keys, n, n, listed, amount, key)
        listed = sorted_by(launches, n, key, listed)
    content = dev.empty(n, np.uint64)
    table = dev.pack(bins.offset, bins.number.astype(np.uint64))
    args = n, listed, len(bins.features), *codes_in(data), *table, content
    launches.over(kernels.mix_codes, n, *args)
    for bits in sampling.bits_of(answers):
        launches.over(kernels.mix_bits, n, n, listed, dev.upload(bits), content)
    found = dev.download(sorted_by(launches, n, content.view(np.int64), listed))
    return found[:n].astype(np.int64)


def pass_on(
    launches: Launches,
    raw: Array,
    output: int,
    data: CudaData,
    takes_part: CudaMarks,
    moves: Iterable[Moves],
    step: HostArray,
) -> None:
    tested, first_child = np.full(len(step), -1, np.int32), np.zeros(len(step), np.int32)
    slots, tables, n_slots = np.zeros(len(step), np.int64), [np.empty(0, SLOT)], 0
    for own in moves:
        tested[own.node], first_child[own.node] = own.feature, own.first_child
        slots[own.node] = n_slots + own.start
        tables.append(own.table)
        n_slots += len(own.table)
    tree = launches.device.pack(tested, first_child, slots, np.concatenate(tables))
    n_rows, codes = data.n_rows, codes_in(data)
    args = takes_part.taken, *codes, *tree, STAY, launches.device.upload(step.astype(np.float64))
    launches.over(kernels.pass_on, n_rows, n_rows, *args, output * n_rows, raw)
