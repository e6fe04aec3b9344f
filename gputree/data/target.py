"""Targets and weights as integers, so that sums do not depend on their order.

A real number x becomes round(x * 2**s). The exponent s is taken from the largest magnitude and
the total weight, so that no total reaches 2**53: every sum is exact, and exact as a float64.
Scaling by a power of two loses nothing, and whole-numbered weights stay what they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gputree.comm import ALONE, Comm, largest, smallest, total
from gputree.dtypes import SUM, TOTAL_BITS, HostArray
from gputree.shares import exponent_of, fine_weights

SOME_ROWS = 2**18  # are counted at once
LARGEST_TARGET = 1e150  # squares of larger targets overflow
LARGEST_COUNT = 2**24  # whole weights with a total up to here are taken for counts of rows


@dataclass(frozen=True)
class Channels:
    """What is summed in each cell of a histogram, and in which units."""

    n_scored: int  # classes, or outputs of a regression
    is_classes: bool
    counts_rows: bool  # a last channel counts rows; otherwise the weight does
    weight_shift: int = 0  # a weight channel holds the weight times 2**weight_shift
    output_shift: tuple[int, ...] = ()  # sum / weight is the mean output times 2**output_shift
    point_shift: tuple[int, ...] = ()  # a target is stored times 2**point_shift
    origin: tuple[float, ...] = ()  # what was subtracted from each output
    hides_rows: bool = False  # rows have weights, and nothing tells how many there are
    is_counts: bool = False  # scores are deviances of counts, in bits, instead of squares

    @property
    def n(self) -> int:
        return self.n_scored + (not self.is_classes) + self.counts_rows

    @property
    def scored(self) -> slice:
        """The channels that a criterion looks at."""
        return slice(0, self.n_scored) if self.is_classes else slice(1, 1 + self.n_scored)

    @cached_property
    def units(self) -> list[float]:
        """What 1 in each scored channel is worth against the channel of the coarsest unit.

        Powers of two, so that bringing outputs of a regression to one scale rounds nothing.
        """
        shift = np.array(self.output_shift or [0] * self.n_scored)
        return [float(unit) for unit in np.ldexp(1.0, shift.min() - shift)]

    def weight_of(self, sums: HostArray) -> HostArray:
        """Weights, in integer units, of sums with channels on the last axis."""
        return sums[..., self.scored].sum(axis=-1) if self.is_classes else sums[..., 0]

    def rows_of(self, sums: HostArray) -> HostArray:
        """Row counts of sums with channels on the last axis; weights where rows are hidden."""
        return sums[..., -1] if self.counts_rows else self.weight_of(sums)


@dataclass(frozen=True, eq=False)
class Target:
    """The statistics of every row."""

    channels: Channels
    weight: HostArray | None  # (rows,) integers, 0 keeps a row out of the tree; None: all 1
    label: HostArray | None  # (rows,) the class, None for a regression
    point: HostArray | None  # (outputs, rows) targets in their units, whole-numbered floats
    value: HostArray | None  # (outputs, rows) integers: weight times point
    comm: Comm = ALONE  # those who have the other rows of the table

    @property
    def n_rows(self) -> int:
        """The rows that are here."""
        names = ("label", "point", "value")
        rows = next(part for name in names if (part := getattr(self, name)) is not None)
        return int(rows.shape[-1])

    @property
    def totals(self) -> HostArray:
        """The sums of all rows of the table, (channels,)."""
        # Until Python 3.12 a `cached_property` has one lock for all targets, and ranks that are
        # threads wait for one another here.
        known = vars(self)
        if "_totals" not in known:
            known["_totals"] = total(self.comm, self._totals_here())
        return np.asarray(known["_totals"])

    def _totals_here(self) -> HostArray:
        if self.label is not None:
            sums = self._class_totals()
        else:
            assert self.value is not None
            weight = self.n_rows if self.weight is None else self.weight.sum()
            sums = np.append(weight, self.value.sum(axis=1))
        if self.channels.counts_rows:
            n_rows = self.n_rows if self.weight is None else np.count_nonzero(self.weight)
            sums = np.append(sums, n_rows)
        return sums.astype(SUM)

    def _class_totals(self) -> HostArray:
        """Some rows at a time: counting makes labels and weights twice as wide."""
        assert self.label is not None
        sums = np.zeros(self.channels.n_scored, SUM)
        for first in range(0, self.n_rows, SOME_ROWS):
            rows = slice(first, first + SOME_ROWS)
            weight = None if self.weight is None else self.weight[rows]
            found = np.bincount(self.label[rows], weights=weight, minlength=len(sums))
            sums += found.astype(SUM)
        return sums


def class_target(
    label: HostArray,
    n_classes: int,
    weight: HostArray | None,
    *,
    divides_rows: bool = False,
    comm: Comm = ALONE,
) -> Target:
    """The statistics of a classification: a channel a class.

    Where rows will be divided, weights get all the bits there are.
    """
    whole: HostArray | None
    if divides_rows:
        whole, shift = fine_weights(np.ones(len(label)) if weight is None else weight, comm)
    else:
        whole, shift = whole_weights(weight, comm)
    channels = Channels(n_classes, True, whole is not None, shift)
    return Target(channels, whole, label.astype(np.int32, copy=False), None, None, comm)


def value_target(
    y: HostArray, weight: HostArray | None, *, is_counts: bool = False, comm: Comm = ALONE
) -> Target:
    """The statistics of a regression on (rows, outputs): the weight, and a channel an output.

    Targets are taken from the middle of their range; counts, whose ratios matter, from 0.
    """
    whole, weight_shift = whole_weights(weight, comm)
    inside = y if whole is None else y[whole > 0]
    low = smallest(comm, inside.min(axis=0, initial=np.inf))
    origin = low * 0.5 + largest(comm, inside.max(axis=0, initial=-np.inf)) * 0.5
    if is_counts:
        origin = np.zeros_like(origin)
    shifted = y - origin
    if whole is not None:
        shifted[whole == 0] = 0.0  # outside the tree, and perhaps too far away for the scale
    most = largest(comm, np.abs(shifted).max(axis=0, initial=0.0))
    # Counts of rows multiply as they are, so that a weight of 2 is exactly the row twice; other
    # weights are brought below 2, so that they leave the bits of a sum to the targets.
    held = int(total(comm, len(y) if whole is None else whole.sum()))
    down = 0
    if whole is not None and held > LARGEST_COUNT:
        down = exponent_of(float(largest(comm, whole.max(initial=0)))) - 1
    used = exponent_of(held) - down
    coarsest = max((each for each in most if each), default=1.0)  # a constant has no scale
    # |sum| <= total * largest * 2**shift plus half a unit a row, which stays below 2**53.
    shift = [TOTAL_BITS - 2 - used - exponent_of(each or coarsest) for each in most]
    point = np.rint(np.ldexp(shifted.T, np.array(shift)[:, None]))
    value = point if whole is None else np.rint(point * np.ldexp(whole, -down))
    channels = Channels(
        n_scored=y.shape[1],
        is_classes=False,
        counts_rows=whole is not None,
        weight_shift=weight_shift,
        output_shift=tuple(s - down for s in shift),
        point_shift=tuple(shift),
        origin=tuple(origin.tolist()),
        is_counts=is_counts,
    )
    point, value = np.ascontiguousarray(point), value.astype(SUM, order="C")
    return Target(channels, whole, None, point, value, comm)


def whole_weights(weight: HostArray | None, comm: Comm = ALONE) -> tuple[HostArray | None, int]:
    """Weights times 2**shift as integers, and the shift; None where every weight is 1."""
    if weight is None or not total(comm, np.count_nonzero(weight != 1.0)):
        return None, 0
    n, most = total(comm, np.count_nonzero(weight)), largest(comm, weight.max(initial=0.0))
    shift = TOTAL_BITS - 2 - exponent_of(int(n)) - exponent_of(float(most))
    whole = np.rint(np.ldexp(weight, shift)).astype(SUM)
    # Powers of two that all weights share are not needed; whole-numbered weights come out as they
    # were.
    common = int(np.bitwise_or.reduce(whole))
    has_bits = total(comm, [common >> bit & 1 for bit in range(TOTAL_BITS + 1)])
    zeros = int(np.flatnonzero(has_bits)[0])
    if shift >= 0:
        zeros = min(zeros, shift)
    return whole >> zeros, shift - zeros


def channels_of(target: Target, row: HostArray) -> HostArray:
    """What each of some rows adds to the channels, (rows, channels)."""
    channels = target.channels
    sums = np.zeros((len(row), channels.n), SUM)
    weight = 1 if target.weight is None else target.weight[row]
    if target.label is not None:
        sums[np.arange(len(row)), target.label[row]] = weight
    else:
        assert target.value is not None
        sums[:, 0] = weight
        sums[:, channels.scored] = target.value[:, row].T
    if channels.counts_rows:
        sums[:, -1] = 1
    return sums


def parts_of(target: Target, row: HostArray, weight: HostArray) -> Target:
    """The statistics of parts of rows, each with its own whole weight."""
    assert target.label is not None
    return Target(target.channels, weight, target.label[row], None, None, target.comm)


def without_rows(target: Target, is_out: HostArray) -> Target:
    """The target with some rows out of the tree, in the same units."""
    weight = np.ones(target.n_rows, SUM) if target.weight is None else target.weight
    return replace(
        without_weights(target),
        weight=np.where(is_out, 0, weight),
        value=None if target.value is None else np.where(is_out, 0, target.value),
    )


def without_weights(target: Target) -> Target:
    """The target of rows of which some may be out of the tree, but for its weights and sums."""
    channels = replace(target.channels, counts_rows=True)
    return replace(target, channels=channels, weight=None, value=None)


def drawn_target(
    target: Target, counts: HostArray, n_drawn: int, factor: HostArray | None = None
) -> Target:
    """The target with each row as often as it was drawn, instead of its weight.

    Units depend on `n_drawn` alone, so all samples of a table have the same. With a `factor` a
    class, rows weigh that times their count; together not more than `n_drawn`.
    """
    units, whole = drawn_units(target, n_drawn), counts.astype(SUM)
    if units.label is not None:
        if factor is not None:
            unit, units = factor_units(units, factor, n_drawn)
            whole = whole * unit[units.label]
        return replace(units, weight=whole)
    assert units.point is not None
    return replace(units, weight=whole, value=units.point.astype(SUM) * whole)


def drawn_units(target: Target, n_drawn: int) -> Target:
    """The target in the units of samples of so many rows, without weights."""
    channels = replace(target.channels, counts_rows=True, weight_shift=0)
    if target.label is not None:
        return replace(target, channels=channels, weight=None)
    assert target.point is not None
    # The points were scaled for another total; with a larger one they lose their last bits.
    most = largest(target.comm, np.abs(target.point).max(initial=0.0))
    bits = exponent_of(float(most)) + exponent_of(n_drawn)
    down = max(0, bits - (TOTAL_BITS - 1))
    point = np.rint(np.ldexp(target.point, -down)) if down else target.point
    shifts = tuple(each - down for each in channels.point_shift)
    channels = replace(channels, output_shift=shifts, point_shift=shifts)
    return replace(target, channels=channels, weight=None, point=point, value=None)


def factor_units(target: Target, factor: HostArray, n_drawn: int) -> tuple[HostArray, Target]:
    """What a row of each class weighs in whole units, and the target with these units."""
    shift = TOTAL_BITS - 2 - exponent_of(n_drawn)
    channels = replace(target.channels, weight_shift=shift)
    unit = np.rint(np.ldexp(factor, shift)).astype(SUM)
    return unit, replace(target, channels=channels)


def joined_target(targets: Sequence[Target], rows: Sequence[HostArray]) -> Target:
    """Some rows of each of several targets of the same channels, one target after another."""
    first = targets[0]

    def joined(name: str) -> HostArray | None:
        parts = [getattr(target, name) for target in targets]
        if all(part is None for part in parts):
            return None
        some = zip(parts, rows, strict=True)
        return np.concatenate([part.take(own, axis=-1) for part, own in some], axis=-1)

    weight, label, point, value = map(joined, ("weight", "label", "point", "value"))
    return Target(first.channels, weight, label, point, value, first.comm)


def weight_target(weight: HostArray) -> Target:
    """Rows of such whole weights, of which nothing else is known."""
    channels = Channels(n_scored=1, is_classes=False, counts_rows=True)
    return Target(channels, weight, None, None, np.zeros((1, len(weight)), SUM))


def has_weight(target: Target) -> HostArray:
    """Which rows are in the tree."""
    if target.weight is None:
        return np.ones(target.n_rows, bool)
    return np.asarray(target.weight > 0)  # the weights as they were given may be too small to tell


def weights_of(target: Target) -> HostArray:
    """The weights of the rows as they were given, but for rounding."""
    if target.weight is None:
        return np.ones(target.n_rows)
    return np.ldexp(target.weight.astype(np.float64), -target.channels.weight_shift)
