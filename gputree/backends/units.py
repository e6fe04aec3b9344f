"""Bringing the channels of several outputs to one scale."""

import numpy as np

from gputree.data.target import Channels


def relative_units(channels: Channels) -> list[float]:
    """What 1 in each scored channel is worth against the channel of the coarsest unit.

    Powers of two, so that bringing outputs of a regression to one scale rounds nothing.
    """
    shift = np.array(channels.output_shift or [0] * channels.n_scored)
    return [float(unit) for unit in np.ldexp(1.0, shift.min() - shift)]
