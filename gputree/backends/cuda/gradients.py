"""Gradients of a loss, and the predictions of a boosted model, for the CUDA backend.

All that has one entry per row stays on the device. For each output the host sees three pairs of
numbers: the largest magnitudes, the totals of wide and those of narrow integers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from gputree.backends.cuda.draws import ROOT, CudaMarks, Every
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import plan_gradients
from gputree.backends.cuda.rows import CudaData, CudaRows, ends_of, put_together
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
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.cuda import gradients as kernels
from gputree.kernels.cuda.gradients import GRADIENT, HESSIAN
from gputree.kernels.losses import Loss

make_gradients = cache(kernels.make_gradients)
make_volumes = cache(kernels.make_volumes)


@dataclass(frozen=True)
class CudaRawScores:
    """Targets and predictions of all rows; predictions change as trees are added."""

    y: Array  # (rows,)
    weight: Array  # (rows,), or a 1 for all
    has_weight: Array  # (rows,) marks, or a 1 for all
    is_weighted: bool
    raw: Array  # (outputs * rows,)
    n_outputs: int
    n_rows: int
    every: Every
    everyone: CudaMarks  # all rows that have a weight


@dataclass(frozen=True)
class CudaGradients:
    """The integers of one output."""

    inside: CudaMarks
    is_curved: bool  # whether not every hessian is 1
    gradient: Array  # (rows,) whole numbers, wide
    hessian: Array  # (rows,) whole numbers, wide; one entry where each is 1
    limb: Array  # (limbs * rows,) narrow hessian, unless each is 1, and narrow gradient


def raw_scores(
    launches: Launches, start: HostArray, y: HostArray, weight: HostArray | None
) -> CudaRawScores:
    upload, n_rows = launches.device.upload, len(y)
    every = Every.of(launches, n_rows)
    assert every.tiles.n >= 0  # they are cut here, and not in the first round
    everyone = every.all(launches)
    is_positive = np.ones(n_rows, bool) if weight is None else weight > 0
    if not is_positive.all():
        mark = upload(is_positive.astype(np.uint8))
        n = int(np.count_nonzero(is_positive))
        everyone = every.some(launches, n, mark, everyone.taken)
    return CudaRawScores(
        y=upload(np.asarray(y, np.float64)),
        weight=upload(np.ones(1) if weight is None else weight.astype(np.float64)),
        has_weight=everyone.mark,
        is_weighted=weight is not None,
        raw=upload(np.asarray(start, np.float64)),
        n_outputs=len(start),
        n_rows=n_rows,
        every=every,
        everyone=everyone,
    )


def gradients(
    launches: Launches,
    raw_scores: CudaRawScores,
    loss: Loss | Given,
    takes_part: CudaMarks | None,
    *,
    counts_rows: bool,
    comm: Comm = ALONE,
) -> Iterator[Gradients]:
    inside = raw_scores.everyone if takes_part is None else takes_part
    for floats in _floats(launches, raw_scores, loss, inside):
        yield _as_integers(launches, floats, inside, counts_rows=counts_rows, comm=comm)


@dataclass(frozen=True)
class _Floats:
    """Gradients and hessians before they are integers, which take their place."""

    gradient: Array  # (rows,)
    hessian: Array  # (rows,), or one entry
    is_curved: bool
    largest: HostArray  # magnitudes of (hessian, gradient)


def _floats(
    launches: Launches, raw_scores: CudaRawScores, loss: Loss | Given, inside: CudaMarks
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
    inside: CudaMarks,
    loss: Loss | None,
    output: int,
    shares: tuple[Array, Array],
    is_curved: bool,
    gradient: Array,
    hessian: Array,
) -> _Floats:
    largest = launches.device.zeros(2, np.int64)
    formulas = () if loss is None else (loss.formulas, loss.is_of_shares)
    launches.over_rows(
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
    launches: Launches, floats: _Floats, inside: CudaMarks, *, counts_rows: bool, comm: Comm
) -> Gradients:
    dev, n_rows, is_curved = launches.device, len(floats.gradient), floats.is_curved
    pair, n = (floats.gradient, floats.hessian), int(total_of(comm, inside.n))
    most = largest_of(comm, floats.largest).tolist()
    gradient_shift, hessian_shift = (wide_shift(n, most[kind]) for kind in (GRADIENT, HESSIAN))
    magnitude = dev.zeros(2, np.int64)
    scales = 2.0**gradient_shift, 2.0**hessian_shift
    launches.over_rows(kernels.widen, n_rows, *scales, is_curved, *pair, magnitude)
    wide = total_of(comm, dev.download(magnitude)).tolist()
    less, less_curved = (narrowing(wide[kind], n) for kind in (GRADIENT, HESSIAN))
    limb, narrow = dev.empty((1 + is_curved) * n_rows, np.int32), dev.zeros(2, np.int64)
    found = inside.mark, limb, narrow
    launches.over_rows(kernels.narrow, n_rows, less, less_curved, is_curved, *pair, *found)
    curved, steep = total_of(comm, dev.download(narrow)).tolist()
    if not is_curved:
        curved, hessian_shift, less_curved = n, 0, 0
    channels = gradient_channels(
        gradient_shift - less,
        hessian_shift - less_curved,
        counts_rows=counts_rows,
        weighs=is_curved,
    )
    totals = np.array([curved, steep, n][: channels.n], SUM)
    arrays = CudaGradients(inside, is_curved, *pair, limb)
    return Gradients(channels, totals, n, gradient_shift, hessian_shift, arrays)


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
        n_rows=np.array([arrays.inside.n]),
    )


def sums(launches: Launches, rows: CudaRows, gradients: Gradients, nodes: HostArray) -> HostArray:
    arrays: CudaGradients = gradients.arrays
    found = launches.device.zeros(2 * len(rows.start), np.int64)
    args = rows.order, arrays.is_curved, arrays.gradient, arrays.hessian, found
    launches.over_tiles(kernels.sum_gradients, ends_of(launches, rows), *args)
    each = launches.device.download(found).reshape(-1, 2)[:, [GRADIENT, HESSIAN]]
    return each[nodes]


def renew(
    launches: Launches, raw_scores: CudaRawScores, output: int, rows: CudaRows, step: HostArray
) -> None:
    begin, own = output * raw_scores.n_rows, launches.device.upload(step.astype(np.float64))
    args = own, begin, rows.order, raw_scores.raw
    launches.over_tiles(kernels.renew, ends_of(launches, rows), *args)
