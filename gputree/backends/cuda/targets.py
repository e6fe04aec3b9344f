"""What rows add to sums, on the device: those of a target, or of several side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gputree.backends.cuda.draws import ONE_MARK, Every
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import Planes, limb_count, magnitude, plan_planes
from gputree.backends.cuda.route import copied
from gputree.backends.cuda.rows import CudaData, CudaRows, put_together
from gputree.data.bins import Bins
from gputree.data.gradients import outline
from gputree.data.target import Channels, Target
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.cuda import histogram, leaves, samples
from gputree.runs import begins

ONE = np.ones(1, np.int32)
ONE_UNIT = np.ones(1, SUM)


@dataclass(frozen=True)
class Amount:
    """Whole numbers of all rows, some place in an array; one entry may stand for all."""

    each: Array
    begin: int
    largest: int  # magnitude of what a row adds, or more


@dataclass(frozen=True)
class CudaTarget:
    """The statistics of the rows that take part."""

    n_rows: int  # of the table
    n: int  # that take part
    row: Array  # (n,) their numbers
    label: Array  # (rows,), one entry for a regression
    point: Array  # (outputs * rows,), one entry for classes
    counts: Array  # (rows,) how often each counts, or a 1
    unit: Array  # (classes,) what each counts, or a 1
    amounts: tuple[Amount, ...]  # weights, if there are any, and targets times weights
    is_weighted: bool


def uploaded(launches: Launches, target: Target, n_each: HostArray | None) -> CudaTarget:
    """The statistics of a target of the host; all rows take part where roots have `n_each`."""
    dev, weight = launches.device, target.weight
    every = Every.of(launches, target.n_rows)
    n, row = target.n_rows, every.number
    if weight is not None and n_each is None and not weight.all():
        n = int(np.count_nonzero(weight))
        row = some(launches, every, n, dev.upload((weight > 0).astype(np.uint8)))
    given = [] if weight is None else [amount_of(launches, weight[None])]
    if target.value is not None:
        given.append(amount_of(launches, target.value))
    one, unit = launches.constants(ONE, ONE_UNIT)
    return CudaTarget(
        target.n_rows,
        n,
        row,
        label_of(launches, target),
        point_of(launches, target),
        one,
        unit,
        tuple(amount for amounts in given for amount in amounts),
        weight is not None,
    )


def some(launches: Launches, every: Every, n: int, mark: Array) -> Array:
    """The numbers of the rows that are marked, `n` of them."""
    (one,) = launches.constants(ONE_MARK)
    return every.some(launches, n, mark, one).order[:n]


def label_of(launches: Launches, target: Target) -> Array:
    if target.label is None:
        return launches.constants(np.zeros(1, np.uint8))[0]
    kind = np.uint8 if target.channels.n_scored <= 256 else np.int32
    return launches.device.upload(target.label.astype(kind))


def point_of(launches: Launches, target: Target) -> Array:
    if target.point is None:
        return launches.constants(np.zeros(1))[0]
    return launches.device.upload(target.point)


def amount_of(launches: Launches, amounts: HostArray) -> list[Amount]:
    """Integers of the rows, (amounts, rows)."""
    each, n_rows = launches.device.upload(amounts), amounts.shape[1]
    return [Amount(each, at * n_rows, magnitude(own)) for at, own in enumerate(amounts)]


def attached(
    launches: Launches,
    data: CudaData,
    bins: Bins,
    target: Target,
    own: CudaTarget,
    n_each: HostArray | None,
) -> CudaRows:
    """Codes and statistics of the rows that take part, at one root or at several."""
    n_rows = np.array([own.n]) if n_each is None else n_each.astype(np.int64)
    planes = planned(target.channels, [own], n_rows)
    limb = _limbs(launches, [own], planes, [own.n_rows], is_listed=False)
    return put_together(
        launches,
        data,
        bins,
        target,
        planes,
        own.label,
        limb,
        own.row,
        begins(n_rows),
        n_rows,
        own.point,
    )


def joined(
    launches: Launches,
    data: CudaData,
    bins: Bins,
    channels: Channels,
    parts: Sequence[CudaTarget],
) -> CudaRows:
    """The rows of several targets at a root each, their codes and statistics side by side."""
    n_each = [own.n for own in parts]
    n_rows = np.array(n_each)
    planes = planned(channels, parts, n_rows)
    label = parts[0].label
    if channels.is_classes:
        label = _listed(launches, parts, [own.label for own in parts], label.dtype)
    return put_together(
        launches,
        copied(launches, data, [(own.row, own.n) for own in parts]),
        bins,
        outline(channels, int(n_rows.sum())),
        planes,
        label,
        _limbs(launches, parts, planes, n_each, is_listed=True),
        Every.of(launches, int(n_rows.sum())).number,
        begins(n_rows),
        n_rows,
        _points(launches, parts, 0 if channels.is_classes else channels.n_scored),
    )


def planned(channels: Channels, parts: Sequence[CudaTarget], n_rows: HostArray) -> Planes:
    """The planes for what any of some targets adds."""
    amounts = zip(*(own.amounts for own in parts), strict=True)
    largest = [max(amount.largest for amount in each) for each in amounts]
    planes = plan_planes(channels, parts[0].is_weighted, [limb_count(most) for most in largest])
    # A node has some rows of its root, so that its sums fit into 32 bits where those of that do.
    if max([1, *largest]) * int(n_rows.max(initial=0)) < 2**31:
        planes = replace(planes, sum_dtype=np.int32)
    return planes


def _limbs(
    launches: Launches,
    parts: Sequence[CudaTarget],
    planes: Planes,
    n_each: Sequence[int],
    *,
    is_listed: bool,
) -> Array:
    """Amounts of all rows in limbs, one plane after another."""
    n, dev = sum(n_each), launches.device
    limb = dev.empty(planes.n_limbs * n, np.int32)
    begin = 0
    for at, n_limbs in enumerate(planes.limb_counts):
        amount, first = dev.empty(n, np.int64), 0
        for own, n_own in zip(parts, n_each, strict=True):
            given = own.amounts[at]
            args = is_listed, own.row, own.counts, own.label, own.unit, given.each, given.begin
            launches.over(samples.take_amounts, n_own, n_own, *args, amount[first : first + n_own])
            first += n_own
        launches.over(histogram.divide, n, begin, n, n_limbs, amount, limb)
        begin += n_limbs
    return limb


def _points(launches: Launches, parts: Sequence[CudaTarget], n_outputs: int) -> Array:
    """The targets of the rows of all parts, output by output."""
    if not n_outputs:
        return parts[0].point
    n = sum(own.n for own in parts)
    point = launches.device.empty(n_outputs * n, np.float64)
    for output in range(n_outputs):
        sources = [own.point[output * own.n_rows : (output + 1) * own.n_rows] for own in parts]
        _listed(launches, parts, sources, np.float64, point[output * n : (output + 1) * n])
    return point


def _listed(
    launches: Launches,
    parts: Sequence[CudaTarget],
    sources: Sequence[Array],
    dtype: npt.DTypeLike,
    out: Array | None = None,
) -> Array:
    """What the rows of each part have, part after part."""
    if out is None:
        out = launches.device.empty(sum(own.n for own in parts), dtype)
    first = 0
    for own, source in zip(parts, sources, strict=True):
        args = own.row, source, out[first : first + own.n]
        launches.over(leaves.pick_each, own.n, own.n, *args)
        first += own.n
    return out
