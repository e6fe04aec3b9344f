"""Slopes of a loss, and the predictions of a boosted model, in the arrays of any library."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gputree.backends.array.libraries import Library
from gputree.backends.array.rows import ArrayRows, Coded, rows_of
from gputree.data.bins import Bins
from gputree.data.gradients import Given, Slopes, narrowing, outline, slope_channels, wide_shift
from gputree.data.target import Target
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.losses import Loss


@dataclass
class ArrayMargins:
    """Targets and predictions of all rows; predictions are replaced as trees are added."""

    y: Array  # (rows,)
    weight: Array | None  # (rows,)
    raw: list[Array]  # an output: (rows,)


@dataclass(frozen=True)
class ArraySlopes:
    """The integers of one output; rows that do not take part have zeros."""

    inside: Array  # (rows that take part,) their numbers
    slope: Array  # (rows,) int64, wide
    curvature: Array | None  # (rows,) int64, wide; None where each is 1
    narrow_slope: Array  # (rows,) float64, whole numbers
    narrow_curvature: Array | None


def margins(lib: Library, start: HostArray, y: HostArray, weight: HostArray | None) -> ArrayMargins:
    put = lib.from_host
    raw = [put(np.ascontiguousarray(output, np.float64)) for output in start]
    given = None if weight is None else put(weight.astype(np.float64))
    return ArrayMargins(put(np.asarray(y, np.float64)), given, raw)


def slopes(
    lib: Library,
    tools: SimpleNamespace,
    margins: ArrayMargins,
    loss: Loss | Given,
    takes_part: HostArray | None,
    *,
    counts_rows: bool,
) -> Iterator[Slopes]:
    inside = np.ones(margins.y.shape[0], bool) if takes_part is None else takes_part
    if margins.weight is not None:
        inside = inside & (lib.to_host(margins.weight) > 0)
    for slope, curvature in _floats(lib, tools, margins, loss):
        if margins.weight is not None:
            slope = slope * margins.weight
            curvature = margins.weight if curvature is None else curvature * margins.weight
        yield _as_integers(lib, slope, curvature, inside, counts_rows=counts_rows)


def _floats(
    lib: Library, tools: SimpleNamespace, margins: ArrayMargins, loss: Loss | Given
) -> Iterator[tuple[Array, Array | None]]:
    """Slope and curvature of each output; None for a curvature that is 1 everywhere."""
    if isinstance(loss, Given):
        for slope, curvature in zip(loss.slope, loss.curvature, strict=True):
            yield lib.from_host(slope), lib.from_host(curvature)
        return
    raw, n = margins.raw, len(margins.raw)
    gradient_hessian = loss.formulas(tools).gradient_hessian
    if loss.is_of_shares:
        most = tools.highest(raw, n)
        total = tools.volume(raw, most, n)
        for c in range(n):
            yield gradient_hessian(margins.y, raw[c], most, total, float(c))
        return
    slope, curvature = gradient_hessian(margins.y, raw[0], loss.constant)
    yield slope, None if loss.is_flat else curvature


def _as_integers(
    lib: Library,
    slope: Array,
    curvature: Array | None,
    inside: HostArray,
    *,
    counts_rows: bool,
) -> Slopes:
    xp, n = lib.xp, int(inside.sum())
    part = lib.from_host(inside)
    slope, slope_shift, total = _wide(lib, slope, part, n)
    less = narrowing(total, n)
    narrow = _narrow(slope, less)
    wide_curvature = narrow_curvature = None
    curvature_shift = less_curved = 0
    if curvature is not None:
        wide_curvature, curvature_shift, total = _wide(lib, curvature, part, n)
        less_curved = narrowing(total, n)
        one = xp.astype(part, xp.int64)
        narrow_curvature = xp.maximum(_narrow(wide_curvature, less_curved), one)
    channels = slope_channels(
        slope_shift - less,
        curvature_shift - less_curved,
        counts_rows=counts_rows,
        weighs=curvature is not None,
    )
    weight = n if narrow_curvature is None else int(xp.sum(narrow_curvature))
    totals = [weight, int(xp.sum(narrow))]
    arrays = ArraySlopes(
        lib.from_host(np.flatnonzero(inside)),
        slope,
        wide_curvature,
        xp.astype(narrow, xp.float64),
        None if narrow_curvature is None else xp.astype(narrow_curvature, xp.float64),
    )
    if channels.counts_rows:
        totals.append(n)
    return Slopes(channels, np.array(totals, SUM), n, slope_shift, curvature_shift, arrays)


def _wide(lib: Library, values: Array, part: Array, n: int) -> tuple[Array, int, int]:
    """Values of the rows that take part as integers, their shift, and their total magnitude."""
    xp = lib.xp
    values = xp.where(part, values, 0.0)
    shift = wide_shift(n, float(xp.max(xp.abs(values))))
    wide = xp.astype(xp.round(values * 2.0**shift), xp.int64)
    return wide, shift, int(xp.sum(xp.abs(wide)))


def _narrow(wide: Array, less: int) -> Array:
    return wide if less == 0 else (wide + (1 << (less - 1))) >> less


def target_of(slopes: Slopes) -> Target:
    """Narrow slopes as a target, for backends whose rows know no others."""
    arrays: ArraySlopes = slopes.arrays
    weight = arrays.narrow_curvature
    if weight is None:  # each counts 1, and those outside nothing
        weight = np.zeros(len(arrays.narrow_slope))
        weight[arrays.inside] = 1
    value = arrays.narrow_slope[None, :].astype(SUM)
    return Target(slopes.channels, weight.astype(SUM), None, None, value)


def begin(lib: Library, data: Array, bins: Bins, slopes: Slopes) -> ArrayRows:
    arrays: ArraySlopes = slopes.arrays
    coded = Coded(
        data,
        bins,
        outline(slopes.channels, data.shape[1]),
        label=None,
        weight=arrays.narrow_curvature,
        value=arrays.narrow_slope[None, :],
        point=None,
    )
    return ArrayRows(coded, arrays.inside, np.zeros(1, np.int64), np.array([slopes.n_rows]))


def sums(lib: Library, rows: ArrayRows, slopes: Slopes, nodes: HostArray) -> HostArray:
    arrays: ArraySlopes = slopes.arrays
    row, place = rows_of(lib, rows, nodes)
    found = np.empty((len(nodes), 2), SUM)
    for column, wide in enumerate((arrays.slope, arrays.curvature)):
        weight = None if wide is None else lib.xp.astype(lib.xp.take(wide, row), lib.xp.float64)
        found[:, column] = lib.to_host(lib.count(place, len(nodes), weight))
    return found


def renew(
    lib: Library, margins: ArrayMargins, output: int, rows: ArrayRows, step: HostArray
) -> None:
    at = np.flatnonzero(rows.n_rows)
    row, place = rows_of(lib, rows, at)
    own = lib.xp.take(lib.from_host(step[at]), place)
    raw = margins.raw[output]
    margins.raw[output] = lib.replaced(raw, row, lib.xp.take(raw, row) + own)
