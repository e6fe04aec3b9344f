"""Parts of rows on the device: divided there, and gathered for the sums of their nodes."""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.contract import Moves, Siblings
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda.draws import Every
from gputree.backends.cuda.histogram import CudaHist
from gputree.backends.cuda.launch import Launches, Tiles
from gputree.backends.cuda.route import codes_in, copied
from gputree.backends.cuda.rows import CudaData, CudaRows
from gputree.backends.cuda.targets import ONE, ONE_UNIT, Amount, CudaTarget, attached
from gputree.data.bins import Bins
from gputree.data.gradients import outline
from gputree.data.target import Channels, Target
from gputree.dtypes import STAY, Array, HostArray
from gputree.kernels.cuda import leaves, parts, route, samples
from gputree.runs import begins
from gputree.shares import shares_of


@dataclass(frozen=True)
class CudaParts:
    """Parts of rows, node by node."""

    launches: Launches
    row: Array  # (parts,)
    weight: Array  # (parts,)
    n: HostArray  # (nodes,) parts of each

    @property
    def start(self) -> HostArray:
        return begins(self.n)

    def tiles(self, *told: HostArray) -> tuple[Tiles, list[Array]]:
        """The parts of the nodes in tiles, and small arrays that travel with these."""
        return self.launches.cut(self.start, self.n, *told)

    def among(self, place: HostArray) -> "CudaParts":
        n, dev = self.n[place], self.launches.device
        if len(place) == len(self.n) and (place == np.arange(len(place))).all():
            return self
        start = self.start[place]
        tiles, (ahead,) = self.launches.cut(start, n, start - begins(n))
        row, weight = dev.empty(int(n.sum()), np.int32), dev.empty(int(n.sum()), np.int64)
        for source, taken in ((self.row, row), (self.weight, weight)):
            self.launches.over_tiles(route.collect, tiles, ahead, source, taken)
        return CudaParts(self.launches, row, weight, n)


def whole(launches: Launches, own: CudaTarget) -> CudaParts:
    """All rows that take part, at one node, with their weights."""
    weight, given = launches.device.empty(own.n, np.int64), own.amounts[0]
    args = True, own.row, own.counts, own.label, own.unit, given.each, given.begin, weight
    launches.over(samples.take_amounts, own.n, own.n, *args)
    return CudaParts(launches, own.row, weight, np.array([own.n]))


def divide(
    launches: Launches,
    rows: CudaRows,
    channels: Channels,
    own: CudaTarget,
    given: CudaParts,
    moves: Moves,
    known: HostArray,
) -> tuple[CudaParts, HostArray]:
    dev, n_children = launches.device, len(known)
    first = np.append(begins(moves.n_children), n_children)
    tests = np.stack([moves.feature, moves.start], axis=1).astype(np.int64)
    tiles, told = given.tiles(
        tests.reshape(-1), first.astype(np.int64), shares_of(known, moves.n_children), moves.table
    )
    how = *told, STAY, given.row, given.weight, *codes_in(rows.data)
    # How many parts each child has, and then the sums of what was divided.
    sums = dev.zeros(n_children * (1 + channels.n), np.int64)
    launches.over_tiles(parts.count_parts, tiles, *how, own.label, channels.n, n_children, sums)
    found = dev.download(sums)[: n_children * (1 + channels.n)]
    n, added = found[:n_children], found[n_children:].reshape(n_children, channels.n)
    row, weight = dev.empty(int(n.sum()), np.int32), dev.empty(int(n.sum()), np.int64)
    next_place = dev.upload(begins(n).astype(np.int64))
    launches.over_tiles(parts.move_parts, tiles, *how, next_place, row, weight)
    return CudaParts(launches, row, weight, n), added


def tally(
    launches: Launches,
    data: CudaData,
    bins: Bins,
    target: Target,
    own: CudaTarget,
    given: CudaParts,
) -> CudaHist:
    dev, n = launches.device, int(given.n.sum())
    label = dev.empty(n, own.label.dtype)
    launches.over(leaves.pick_each, n, n, given.row, own.label, label)
    one, unit = launches.constants(ONE, ONE_UNIT)
    listed = replace(
        own,
        n_rows=n,
        n=n,
        row=Every.of(launches, n).number,
        label=label,
        counts=one,
        unit=unit,
        amounts=(Amount(given.weight, 0, own.amounts[0].largest),),
    )
    taken = copied(launches, data, [(given.row, n)])
    rows = attached(launches, taken, bins, outline(target.channels, n), listed, given.n)
    node = np.arange(len(given.n))
    siblings = Siblings(node, node, np.full(len(node), -1))
    return cuda_histogram.derive(
        launches, cuda_histogram.tally(launches, rows, node), siblings, None
    )
