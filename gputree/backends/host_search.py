"""The search for splits on the host, for a device whose kernels do not know the criterion."""

import numpy as np

from gputree.backends.contract import Rates, Search, Splits
from gputree.backends.libraries import NumpyLibrary
from gputree.backends.rating import Rating
from gputree.backends.scan import Scanner
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import HostArray
from gputree.formulas import HOST

_NUMPY = NumpyLibrary(np)


def best_splits(sums: HostArray, bins: Bins, channels: Channels, search: Search) -> Splits:
    """The best splits of nodes, from sums of (nodes, channels, places)."""
    return Scanner(_NUMPY, HOST).of_sums(sums, bins, channels, search)


def rate(sums: HostArray, bins: Bins, channels: Channels, search: Search) -> Rates:
    """The best threshold of every feature of every node, from the same."""
    return Rating(_NUMPY, HOST, bins, channels, search).of_sums(sums)
