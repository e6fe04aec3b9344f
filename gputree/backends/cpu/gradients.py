"""Gradients of a loss, and the predictions of a boosted model, for the CPU backend."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gputree.backends.cpu.distinct import NO_CLASSES, NONE
from gputree.backends.cpu.rows import CHUNK_ROWS, CpuRows, RowLayout
from gputree.backends.cpu.workers import Workers
from gputree.comm import ALONE, Comm
from gputree.comm import largest as largest_of
from gputree.comm import total as total_of
from gputree.data.bins import Bins
from gputree.data.gradients import (
    Given,
    Gradients,
    gradient_channels,
    narrowing,
    outline,
    wide_shift,
)
from gputree.dtypes import SUM, HostArray
from gputree.kernels.cpu import gradients as kernels
from gputree.kernels.cpu.words import LOWER, UPPER
from gputree.kernels.losses import Loss

NO_FLOATS, NO_MARKS = np.empty(0), np.empty(0, np.bool_)


@dataclass(frozen=True)
class CpuRawScores:
    """Targets and predictions of all rows; predictions change as trees are added."""

    y: HostArray  # (rows,)
    weight: HostArray  # (rows,), or empty
    raw: HostArray  # (outputs, rows)
    layout: RowLayout  # of all trees
    is_weighted: bool  # whether rows have weights, also where there are no rows


@dataclass(frozen=True)
class CpuGradients:
    """The integers of one output."""

    is_inside: HostArray  # (rows,), or empty where all rows take part
    gradient: HostArray  # (rows,) whole numbers, wide
    hessian: HostArray  # (rows,) whole numbers, wide, or empty where each is 1
    word: HostArray  # (rows,) narrow gradient and hessian
    layout: RowLayout


def raw_scores(start: HostArray, y: HostArray, weight: HostArray | None) -> CpuRawScores:
    return CpuRawScores(
        np.ascontiguousarray(y, np.float64),
        NO_FLOATS if weight is None else np.ascontiguousarray(weight, np.float64),
        np.array(start, np.float64, order="C"),
        RowLayout(is_shared=True),
        weight is not None,
    )


def gradients(
    workers: Workers,
    raw_scores: CpuRawScores,
    loss: Loss | Given,
    takes_part: HostArray | None,
    *,
    counts_rows: bool,
    comm: Comm = ALONE,
) -> Iterator[Gradients]:
    is_inside = NO_MARKS if takes_part is None else takes_part
    if raw_scores.weight.size and not raw_scores.weight.all():
        is_inside = (
            raw_scores.weight > 0 if takes_part is None else takes_part & (raw_scores.weight > 0)
        )
    # Not by the hessians themselves: a rank without rows has none, and says what the others say.
    is_curved = isinstance(loss, Given) or not loss.is_flat or raw_scores.is_weighted
    for gradient, hessian in _floats(workers, raw_scores, loss):
        if raw_scores.is_weighted and not hessian.size:
            hessian = np.ones_like(gradient)
        floats = gradient, hessian, is_inside
        yield _as_integers(workers, raw_scores, *floats, is_curved, counts_rows, comm)


def _floats(
    workers: Workers, raw_scores: CpuRawScores, loss: Loss | Given
) -> Iterator[tuple[HostArray, HostArray]]:
    """Gradient and hessian of each output; no hessians where each is 1."""
    if isinstance(loss, Given):
        for pair in zip(loss.gradient, loss.hessian, strict=True):
            gradient, hessian = (np.array(part, np.float64) for part in pair)
            yield gradient, hessian
        return
    y, raw = raw_scores.y, raw_scores.raw
    # New memory for each tree would take longer than the gradients.
    room = raw_scores.layout.lane.room
    n_parts = -(-len(y) // CHUNK_ROWS)
    number = kernels.number_of(loss)
    if loss.is_of_shares:
        most, total = room("most", y.shape, np.float64), room("total", y.shape, np.float64)
        workers.run(kernels.volumes, n_parts, CHUNK_ROWS, raw, most, total)
        gradient, hessian = (
            room("gradient", y.shape, np.float64),
            room("curved", y.shape, np.float64),
        )
        for output in range(len(raw)):
            args = y, raw[output], most, total, gradient, hessian
            workers.run(kernels.class_gradients, n_parts, CHUNK_ROWS, number, float(output), *args)
            yield gradient, hessian
        return
    gradient = room("gradient", y.shape, np.float64)
    common = CHUNK_ROWS, number, float(loss.constant), y, raw[0], gradient
    if loss.is_flat:
        workers.run(kernels.flat_gradients, n_parts, *common)
        yield gradient, NO_FLOATS
        return
    hessian = room("curved", y.shape, np.float64)
    workers.run(kernels.curved_gradients, n_parts, *common, hessian)
    yield gradient, hessian


def _as_integers(
    workers: Workers,
    raw_scores: CpuRawScores,
    gradient: HostArray,
    hessian: HostArray,
    is_inside: HostArray,
    is_curved: bool,
    counts_rows: bool,
    comm: Comm,
) -> Gradients:
    n_all = len(gradient)
    n = int(total_of(comm, is_inside.sum() if is_inside.size else n_all))
    n_parts = -(-n_all // CHUNK_ROWS)
    largest = np.zeros((max(1, n_parts), 2))  # there may be no rows here
    given = raw_scores.weight, is_inside, gradient, hessian
    workers.run(kernels.weigh, n_parts, CHUNK_ROWS, *given, largest)
    steep, curved = largest_of(comm, largest.max(axis=0)).tolist()
    gradient_shift, less = _widen(workers, gradient, n, steep, comm)
    hessian_shift = less_curved = 0
    if is_curved:
        hessian_shift, less_curved = _widen(workers, hessian, n, curved, comm)
    word = raw_scores.layout.lane.room("word", (n_all,), np.int64)
    total = np.empty(n_parts, np.int64)
    wide = gradient, less, hessian, less_curved
    workers.run(kernels.pack, n_parts, CHUNK_ROWS, *wide, is_inside, word, total)
    channels = gradient_channels(
        gradient_shift - less,
        hessian_shift - less_curved,
        counts_rows=counts_rows,
        weighs=is_curved,
    )
    whole = int(total.sum())
    totals = total_of(comm, [whole & LOWER, whole >> UPPER]).tolist()
    if channels.counts_rows:
        totals.append(n)
    arrays = CpuGradients(is_inside, gradient, hessian, word, raw_scores.layout)
    return Gradients(channels, np.array(totals, SUM), n, gradient_shift, hessian_shift, arrays)


def _widen(
    workers: Workers, values: HostArray, n: int, largest: float, comm: Comm
) -> tuple[int, int]:
    """Make values whole numbers; their shift, and how many bits narrow ones have fewer."""
    shift = wide_shift(n, largest)
    n_parts = -(-len(values) // CHUNK_ROWS)
    total = np.empty(n_parts, np.int64)
    workers.run(kernels.widen, n_parts, CHUNK_ROWS, 2.0**shift, values, total)
    return shift, narrowing(int(total_of(comm, total.sum())), n)


def begin(data: HostArray, bins: Bins, gradients: Gradients) -> CpuRows:
    arrays: CpuGradients = gradients.arrays
    n_all = len(arrays.word)
    if arrays.is_inside.size:
        order = np.flatnonzero(arrays.is_inside).astype(np.int32)
    else:
        order = np.arange(n_all, dtype=np.int32)
    # Words have no room for a count of rows, so the general search takes them apart.
    is_packed = not gradients.channels.counts_rows
    nothing = np.empty((0, 0), np.int64)
    return CpuRows(
        code=data,
        layout=arrays.layout,
        bins=bins,
        target=outline(gradients.channels, n_all),
        label=NO_CLASSES,
        weight=NONE if is_packed else arrays.word & LOWER,
        value=nothing if is_packed else (arrays.word >> UPPER)[None, :],
        order=order,
        start=np.zeros(1, np.int64),
        n_rows=np.array([len(order)], np.int64),
        word=arrays.word if is_packed else NONE,
    )


def leaf_sums(
    workers: Workers, leaf: HostArray, gradients: Gradients, nodes: HostArray
) -> HostArray:
    arrays: CpuGradients = gradients.arrays
    n_parts = workers.n_threads
    step = -(-len(leaf) // n_parts)
    n_nodes = int(leaf.max(initial=-1)) + 1
    sums = np.zeros((n_parts, max(n_nodes, int(nodes.max()) + 1), 2), SUM)
    args = step, leaf, arrays.gradient, arrays.hessian, sums
    workers.run(kernels.leaf_sums, n_parts, *args, shares=1)
    return np.asarray(sums.sum(axis=0)[nodes])
