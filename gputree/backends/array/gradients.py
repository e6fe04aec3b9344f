"""Gradients of a loss, and the predictions of a boosted model, in the arrays of any library."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.array.rows import ArrayRows, CodedRows, rows_of
from gputree.comm import ALONE, Comm, largest
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
from gputree.data.target import Target
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.losses import Loss


@dataclass
class ArrayRawScores:
    """Targets and predictions of all rows; predictions are replaced as trees are added."""

    y: Array  # (rows,)
    weight: Array | None  # (rows,)
    raw: list[Array]  # an output: (rows,)


@dataclass(frozen=True)
class ArrayGradients:
    """The integers of one output; rows that do not take part have zeros."""

    inside: Array  # (rows that take part,) their numbers
    gradient: Array  # (rows,) int64, wide
    hessian: Array | None  # (rows,) int64, wide; None where each is 1
    narrow_gradient: Array  # (rows,) float64, whole numbers
    narrow_hessian: Array | None


def raw_scores(
    lib: Library, start: HostArray, y: HostArray, weight: HostArray | None
) -> ArrayRawScores:
    put = lib.from_host
    raw = [put(np.ascontiguousarray(output, np.float64)) for output in start]
    given = None if weight is None else put(weight.astype(np.float64))
    return ArrayRawScores(put(np.asarray(y, np.float64)), given, raw)


def gradients(
    lib: Library,
    tools: SimpleNamespace,
    raw_scores: ArrayRawScores,
    loss: Loss | Given,
    takes_part: HostArray | None,
    *,
    counts_rows: bool,
    comm: Comm = ALONE,
) -> Iterator[Gradients]:
    inside = np.ones(raw_scores.y.shape[0], bool) if takes_part is None else takes_part
    if raw_scores.weight is not None:
        inside = inside & (lib.to_host(raw_scores.weight) > 0)
    for gradient, hessian in _floats(lib, tools, raw_scores, loss):
        if raw_scores.weight is not None:
            gradient = gradient * raw_scores.weight
            hessian = raw_scores.weight if hessian is None else hessian * raw_scores.weight
        yield _as_integers(lib, gradient, hessian, inside, comm, counts_rows=counts_rows)


def _floats(
    lib: Library, tools: SimpleNamespace, raw_scores: ArrayRawScores, loss: Loss | Given
) -> Iterator[tuple[Array, Array | None]]:
    """Gradient and hessian of each output; None for a hessian that is 1 everywhere."""
    if isinstance(loss, Given):
        for gradient, hessian in zip(loss.gradient, loss.hessian, strict=True):
            yield lib.from_host(gradient), lib.from_host(hessian)
        return
    raw, n = raw_scores.raw, len(raw_scores.raw)
    gradient_hessian = loss.formulas(tools).gradient_hessian
    if loss.is_of_shares:
        most = tools.highest(raw, n)
        total = tools.volume(raw, most, n)
        for c in range(n):
            yield gradient_hessian(raw_scores.y, raw[c], most, total, float(c))
        return
    gradient, hessian = gradient_hessian(raw_scores.y, raw[0], loss.constant)
    yield gradient, None if loss.is_flat else hessian


def _as_integers(
    lib: Library,
    gradient: Array,
    hessian: Array | None,
    inside: HostArray,
    comm: Comm,
    *,
    counts_rows: bool,
) -> Gradients:
    xp, part, n_here = lib.xp, lib.from_host(inside), int(inside.sum())
    n = int(total_of(comm, n_here))
    gradient = xp.where(part, gradient, 0.0)
    hessian = None if hessian is None else xp.where(part, hessian, 0.0)
    # Ranks say the same, one after another, whichever backend each of them has.
    most = np.array([_most(lib, gradient), 0.0 if hessian is None else _most(lib, hessian)])
    steep, curved = largest(comm, most).tolist()
    gradient, gradient_shift, total = _wide(lib, gradient, steep, n, comm)
    less = narrowing(total, n)
    narrow = _narrow(gradient, less)
    wide_hessian = narrow_hessian = None
    hessian_shift = less_curved = 0
    if hessian is not None:
        wide_hessian, hessian_shift, total = _wide(lib, hessian, curved, n, comm)
        less_curved = narrowing(total, n)
        one = xp.astype(part, xp.int64)
        narrow_hessian = xp.maximum(_narrow(wide_hessian, less_curved), one)
    channels = gradient_channels(
        gradient_shift - less,
        hessian_shift - less_curved,
        counts_rows=counts_rows,
        weighs=hessian is not None,
    )
    weight = n_here if narrow_hessian is None else int(xp.sum(narrow_hessian))
    totals = total_of(comm, [weight, int(xp.sum(narrow))]).tolist()
    arrays = ArrayGradients(
        lib.from_host(np.flatnonzero(inside)),
        gradient,
        wide_hessian,
        xp.astype(narrow, xp.float64),
        None if narrow_hessian is None else xp.astype(narrow_hessian, xp.float64),
    )
    if channels.counts_rows:
        totals.append(n)
    return Gradients(channels, np.array(totals, SUM), n, gradient_shift, hessian_shift, arrays)


def _most(lib: Library, values: Array) -> float:
    """The largest magnitude."""
    return float(lib.xp.max(lib.xp.abs(values))) if values.shape[0] else 0.0


def _wide(lib: Library, values: Array, most: float, n: int, comm: Comm) -> tuple[Array, int, int]:
    """Values of up to such a magnitude as integers, their shift, and their total magnitude."""
    xp, shift = lib.xp, wide_shift(n, most)
    wide = xp.astype(xp.round(values * 2.0**shift), xp.int64)
    return wide, shift, int(total_of(comm, int(xp.sum(xp.abs(wide)))))


def _narrow(wide: Array, less: int) -> Array:
    return wide if less == 0 else (wide + (1 << (less - 1))) >> less


def target_of(gradients: Gradients) -> Target:
    """Narrow gradients as a target, for backends whose rows know no others."""
    arrays: ArrayGradients = gradients.arrays
    weight = arrays.narrow_hessian
    if weight is None:  # each counts 1, and those outside nothing
        weight = np.zeros(len(arrays.narrow_gradient))
        weight[arrays.inside] = 1
    value = arrays.narrow_gradient[None, :].astype(SUM)
    return Target(gradients.channels, weight.astype(SUM), None, None, value)


def begin(lib: Library, data: Array, bins: Bins, gradients: Gradients) -> ArrayRows:
    arrays: ArrayGradients = gradients.arrays
    coded = CodedRows(
        data,
        bins,
        outline(gradients.channels, data.shape[1]),
        label=None,
        weight=arrays.narrow_hessian,
        value=arrays.narrow_gradient[None, :],
        point=None,
    )
    n_here = arrays.inside.shape[0]
    return ArrayRows(coded, arrays.inside, np.zeros(1, np.int64), np.array([n_here]))


def sums(lib: Library, rows: ArrayRows, gradients: Gradients, nodes: HostArray) -> HostArray:
    arrays: ArrayGradients = gradients.arrays
    row, place = rows_of(lib, rows, nodes)
    found = np.empty((len(nodes), 2), SUM)
    for column, wide in enumerate((arrays.gradient, arrays.hessian)):
        weight = None if wide is None else lib.xp.astype(lib.xp.take(wide, row), lib.xp.float64)
        found[:, column] = lib.to_host(lib.count(place, len(nodes), weight))
    return found


def renew(
    lib: Library, raw_scores: ArrayRawScores, output: int, rows: ArrayRows, step: HostArray
) -> None:
    at = np.flatnonzero(rows.n_rows)
    row, place = rows_of(lib, rows, at)
    own = lib.xp.take(lib.from_host(step[at]), place)
    raw = raw_scores.raw[output]
    raw_scores.raw[output] = lib.replaced(raw, row, lib.xp.take(raw, row) + own)
