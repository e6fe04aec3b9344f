"""Gradients of a loss, and the predictions of a boosted model, for the CUDA backend.

All that has an entry a row stays on the device. For each output the host sees three pairs of
numbers: the largest magnitudes, the totals of wide and those of narrow integers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gputree.backends.cuda.device import Device
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import plan_gradients, route_table
from gputree.backends.cuda.route import choose, move
from gputree.backends.cuda.rows import CudaData, CudaRows, put_together
from gputree.data.bins import Bins
from gputree.data.gradients import (
    Given,
    Gradients,
    gradient_channels,
    narrowing,
    outline,
    wide_shift,
)
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.cuda import gradients as kernels
from gputree.kernels.cuda.gradients import GRADIENT, HESSIAN
from gputree.kernels.losses import Loss

make_gradients = cache(kernels.make_gradients)
make_volumes = cache(kernels.make_volumes)

ROOT = np.zeros(1, np.int64)


@dataclass(frozen=True)
class CudaRawScores:
    """Targets and predictions of all rows; predictions change as trees are added."""

    y: Array  # (rows,)
    weight: Array  # (rows,), or a 1 for all
    has_weight: HostArray | None  # (rows,) on the host, None where all rows have
    is_weighted: bool
    raw: Array  # (outputs * rows,)
    n_outputs: int
    n_rows: int
    every: Array  # (rows,) the numbers of all rows


@dataclass(frozen=True)
class Inside:
    """The rows that take part."""

    n: int
    mark: Array  # (rows,) 1 for those, or a 1 for all
    order: Array  # (rows,) the numbers of those, in order; then others


@dataclass(frozen=True)
class CudaGradients:
    """The integers of one output."""

    inside: Inside
    is_curved: bool  # whether not every hessian is 1
    gradient: Array  # (rows,) whole numbers, wide
    hessian: Array  # (rows,) whole numbers, wide; one entry where each is 1
    limb: Array  # (limbs * rows,) narrow hessian, unless each is 1, and narrow gradient


def raw_scores(
    device: Device, start: HostArray, y: HostArray, weight: HostArray | None
) -> CudaRawScores:
    upload, n_rows = device.upload, len(y)
    is_positive = None if weight is None else weight > 0
    return CudaRawScores(
        y=upload(np.asarray(y, np.float64)),
        weight=upload(np.ones(1) if weight is None else weight.astype(np.float64)),
        has_weight=None if is_positive is None or is_positive.all() else is_positive,
        is_weighted=weight is not None,
        raw=upload(np.asarray(start, np.float64)),
        n_outputs=len(start),
        n_rows=n_rows,
        every=upload(np.arange(n_rows, dtype=np.int32)),
    )


def gradients(
    launches: Launches,
    raw_scores: CudaRawScores,
    loss: Loss | Given,
    takes_part: HostArray | None,
    *,
    counts_rows: bool,
) -> Iterator[Gradients]:
    inside = _inside(launches, raw_scores, takes_part)
    for float_gradients in _floats(launches, raw_scores, loss, inside):
        yield _as_integers(launches, float_gradients, inside, counts_rows=counts_rows)


@dataclass(frozen=True)
class _Floats:
    """Gradients and hessians before they are integers, which take their place."""

    gradient: Array  # (rows,)
    hessian: Array  # (rows,), or one entry
    is_curved: bool
    largest: HostArray  # magnitudes of (hessian, gradient)


def _floats(
    launches: Launches, raw_scores: CudaRawScores, loss: Loss | Given, inside: Inside
) -> Iterator[_Floats]:
    """Gradients and hessians of each output, times weights, 0 outside."""
    dev, n_rows = launches.device, raw_scores.n_rows
    none = dev.empty(1, np.float64)
    if isinstance(loss, Given):
        for given in zip(loss.gradient, loss.hessian, strict=True):
            pair = [dev.upload(np.asarray(part, np.float64)) for part in given]
            yield _taken(launches, raw_scores, inside, None, 0, (none, none), True, *pair)
        return
    n_outputs, shares = 1, (none, none)
    if loss.is_of_shares:
        n_outputs = raw_scores.n_outputs
        shares = dev.empty(n_rows, np.float64), dev.empty(n_rows, np.float64)
        launches.over(make_volumes(), n_rows, n_rows, n_outputs, raw_scores.raw, *shares)
    is_curved = raw_scores.is_weighted or not loss.is_flat
    for output in range(n_outputs):
        gradient = dev.empty(n_rows, np.float64)
        hessian = dev.empty(n_rows, np.float64) if is_curved else none
        yield _taken(
            launches, raw_scores, inside, loss, output, shares, is_curved, gradient, hessian
        )


def _taken(
    launches: Launches,
    raw_scores: CudaRawScores,
    inside: Inside,
    loss: Loss | None,
    output: int,
    shares: tuple[Array, Array],
    is_curved: bool,
    gradient: Array,
    hessian: Array,
) -> _Floats:
    largest = launches.device.zeros(2, np.int64)
    formulas = () if loss is None else (loss.formulas, loss.is_of_shares)
    _over_rows(
        launches,
        make_gradients(*formulas),
        raw_scores.n_rows,
        output,
        0.0 if loss is None else float(loss.constant),
        raw_scores.y,
        raw_scores.raw,
        *shares,
        raw_scores.weight,
        inside.mark,
        is_curved,
        gradient,
        hessian,
        largest,
    )
    magnitudes = launches.device.download(largest).view(np.float64)
    return _Floats(gradient, hessian, is_curved, magnitudes)


def _as_integers(
    launches: Launches, floats: _Floats, inside: Inside, *, counts_rows: bool
) -> Gradients:
    dev, n_rows, is_curved = launches.device, len(floats.gradient), floats.is_curved
    pair = floats.gradient, floats.hessian
    gradient_shift, hessian_shift = (
        wide_shift(inside.n, float(floats.largest[kind])) for kind in (GRADIENT, HESSIAN)
    )
    magnitude = dev.zeros(2, np.int64)
    scales = 2.0**gradient_shift, 2.0**hessian_shift
    _over_rows(launches, kernels.widen, n_rows, *scales, is_curved, *pair, magnitude)
    wide = dev.download(magnitude)
    less, less_curved = (narrowing(int(wide[kind]), inside.n) for kind in (GRADIENT, HESSIAN))
    limb, narrow = dev.empty((1 + is_curved) * n_rows, np.int32), dev.zeros(2, np.int64)
    found = inside.mark, limb, narrow
    _over_rows(launches, kernels.narrow, n_rows, less, less_curved, is_curved, *pair, *found)
    curved, steep = dev.download(narrow).tolist()
    if not is_curved:
        curved, hessian_shift, less_curved = inside.n, 0, 0
    channels = gradient_channels(
        gradient_shift - less,
        hessian_shift - less_curved,
        counts_rows=counts_rows,
        weighs=is_curved,
    )
    totals = np.array([curved, steep, inside.n][: channels.n], SUM)
    arrays = CudaGradients(inside, is_curved, *pair, limb)
    return Gradients(channels, totals, inside.n, gradient_shift, hessian_shift, arrays)


def begin(launches: Launches, data: CudaData, bins: Bins, gradients: Gradients) -> CudaRows:
    arrays: CudaGradients = gradients.arrays
    return put_together(
        launches,
        data,
        bins,
        outline(gradients.channels, data.n_rows),
        plan_gradients(gradients.channels, arrays.is_curved),
        label=launches.constants(np.zeros(1, np.uint8))[0],
        limb=arrays.limb,
        order=arrays.inside.order,
        start=ROOT,
        n_rows=np.array([gradients.n_rows]),
    )


def sums(launches: Launches, rows: CudaRows, gradients: Gradients, nodes: HostArray) -> HostArray:
    arrays: CudaGradients = gradients.arrays
    found = launches.device.zeros(2 * len(nodes), np.int64)
    table = route_table(rows.start[nodes], rows.n_rows[nodes], launches.tuning.route_rows)
    args = rows.order, arrays.is_curved, arrays.gradient, arrays.hessian, found
    launches.tiled(kernels.sum_gradients, table, [], *args)
    return launches.device.download(found).reshape(-1, 2)[:, [GRADIENT, HESSIAN]]


def renew(
    launches: Launches, raw_scores: CudaRawScores, output: int, rows: CudaRows, step: HostArray
) -> None:
    node = np.flatnonzero(rows.n_rows)
    table = route_table(rows.start[node], rows.n_rows[node], launches.tuning.route_rows)
    begin = output * raw_scores.n_rows
    told = [step[node].astype(np.float64)]
    launches.tiled(kernels.renew, table, told, begin, rows.order, raw_scores.raw)


def _over_rows(launches: Launches, kernel: Any, n_rows: int, *args: Any) -> None:
    """Launch a kernel whose blocks put together what they find in rows."""
    tuning = launches.tuning
    blocks = max(1, min(-(-n_rows // tuning.gradient_threads), tuning.gradient_blocks))
    launches.device.launch(kernel, blocks, tuning.gradient_threads, n_rows, *args)


def _inside(launches: Launches, raw_scores: CudaRawScores, takes_part: HostArray | None) -> Inside:
    """Those that are to take part and have weight."""
    dev, n_rows = launches.device, raw_scores.n_rows
    parts = [part for part in (takes_part, raw_scores.has_weight) if part is not None]
    if not parts:
        return Inside(n_rows, launches.constants(np.ones(1, np.uint8))[0], raw_scores.every)
    is_inside = np.logical_and.reduce(parts)
    n = int(np.count_nonzero(is_inside))
    mark = dev.upload(is_inside.astype(np.uint8))
    # A mark is a code of 0 or 1, and those with a 1 go left.
    table = route_table(ROOT, np.array([n_rows]), launches.tuning.route_rows)
    test, goes_right = np.zeros((1, 2), np.int64), np.array([1, 0], np.uint8)
    tile, tests, bits, bound = dev.pack(table, test, goes_right, np.array([[0, n]]))
    chosen = choose(launches, (mark, 1, n_rows), tests, bits, tile, raw_scores.every)
    order = dev.empty(n_rows, np.int32)
    move(launches, chosen, bound, raw_scores.every, order)
    return Inside(n, mark, order)
