"""What a ridge, added to the weights of leaves, does to the gain of splits."""

import numpy as np

from gputree.dtypes import HostArray
from gputree.formulas import HOST


def penalty(sums: HostArray, ridge: float) -> HostArray:
    """What a ridge takes from the gain of any split of nodes of such weights and gradients."""
    weight, gradient = sums[:, 0].astype(np.float64), sums[:, 1].astype(np.float64)
    return np.asarray(HOST.penalty(gradient, weight, ridge))
