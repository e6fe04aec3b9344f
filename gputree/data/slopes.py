"""Slopes and curvatures of a loss as integers, in two widths.

Wide ones have all the bits that exact totals leave; leaves get their values from them. Narrow ones
are for the search of splits: their magnitudes add up to less than 2**31, so that one machine word
holds the sums of both, and 32-bit counters of a GPU never overflow. What narrowing takes away is
far below the noise of the rows: the average row keeps 11 bits in a million of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.data.target import Channels, Target
from gputree.dtypes import SUM, TOTAL_BITS, HostArray
from gputree.shares import exponent_of

NARROW_BITS = 31
LARGEST_SHIFT = 1022  # a larger power of two is infinite; slopes below its inverse vanish


@dataclass(frozen=True)
class Loss:
    """What a boosted model is to make small: a formula of `gputree.kernels.losses`."""

    formula: str
    constant: float = 0.0


@dataclass(frozen=True)
class Given:
    """Slopes and curvatures that someone else has worked out, (outputs, rows) each."""

    slope: HostArray
    curvature: HostArray


@dataclass(frozen=True)
class Slopes:
    """The statistics of one output of every row, where the backend computes."""

    channels: Channels  # of the narrow ones: curvature, slope and perhaps rows
    totals: HostArray  # (channels,)
    n_rows: int  # that take part
    slope_shift: int  # a wide slope is stored times 2**slope_shift
    curvature_shift: int
    arrays: Any  # the backend's own


def wide_shift(n_rows: int, largest: float) -> int:
    """The exponent that brings up to `n_rows` numbers of such a magnitude to a total of 53 bits."""
    shift = TOTAL_BITS - 2 - exponent_of(n_rows) - exponent_of(largest)
    return min(shift, LARGEST_SHIFT)


def narrowing(total: int, n_rows: int) -> int:
    """How many bits to take off wide numbers whose magnitudes sum to `total`.

    Rounding adds at most half a unit a row, and a curvature has at least one.
    """
    return (total // (2**NARROW_BITS - 1 - n_rows)).bit_length()


def slope_channels(
    slope_shift: int, curvature_shift: int, *, counts_rows: bool, weighs: bool
) -> Channels:
    """The channels of narrow slopes, which are stored times 2**slope_shift."""
    return Channels(
        n_scored=1,
        is_classes=False,
        counts_rows=counts_rows and weighs,
        weight_shift=curvature_shift,
        output_shift=(slope_shift - curvature_shift,),
        point_shift=(slope_shift,),
        origin=(0.0,),
        hides_rows=weighs and not counts_rows,
    )


def outline(channels: Channels, n_rows: int) -> Target:
    """A target of which only a backend has the statistics."""
    return Target(channels, None, None, None, np.broadcast_to(SUM(0), (1, n_rows)))
