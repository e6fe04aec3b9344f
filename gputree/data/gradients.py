"""Gradients and hessians of a loss as integers, in two widths.

Wide ones have all the bits that exact totals leave; leaves get their values from them. Narrow ones
are for the search of splits: their magnitudes add up to less than 2**31, so that one machine word
holds the sums of both, and 32-bit counters of a GPU never overflow. What narrowing takes away is
far below the noise of the rows: the average row keeps 11 bits in a million of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.data.target import Channels, Target
from gputree.dtypes import SUM, HostArray
from gputree.kernels import widths

wide_shift, narrowing = widths.wide_shift, widths.narrowing
MOST_RIDGE, MOST_WEIGHT = widths.MOST_RIDGE, widths.MOST_WEIGHT


@dataclass(frozen=True)
class Given:
    """Gradients and hessians that someone else has worked out, (outputs, rows) each."""

    gradient: HostArray
    hessian: HostArray


@dataclass(frozen=True)
class Gradients:
    """The statistics of one output of every row, where the backend computes."""

    channels: Channels  # of the narrow ones: hessian, gradient and perhaps rows
    totals: HostArray  # (channels,)
    n_rows: int  # that take part
    gradient_shift: int  # a wide gradient is stored times 2**gradient_shift
    hessian_shift: int
    arrays: Any  # the backend's own


def gradient_channels(
    gradient_shift: int, hessian_shift: int, *, counts_rows: bool, weighs: bool
) -> Channels:
    """The channels of narrow gradients, which are stored times 2**gradient_shift."""
    return Channels(
        n_scored=1,
        is_classes=False,
        counts_rows=counts_rows and weighs,
        weight_shift=hessian_shift,
        output_shift=(gradient_shift - hessian_shift,),
        point_shift=(gradient_shift,),
        origin=(0.0,),
        hides_rows=weighs and not counts_rows,
    )


def outline(channels: Channels, n_rows: int) -> Target:
    """A target of which only a backend has the statistics."""
    return Target(channels, None, None, None, np.broadcast_to(SUM(0), (1, n_rows)))
