"""What a ridge, added to the weights of leaves, does to the gain of splits."""

import numpy as np

from gputree.dtypes import HostArray


def penalty(sums: HostArray, ridge: float) -> HostArray:
    """What a ridge takes from the gain of any split of nodes, given their slopes and weights.

    With a ridge r a child of slope g and weight h is worth g**2 / (h + r). The score of two is what
    they are worth less G**2 / (H + 2 r), as if the node had the ridge twice; it has it once.
    """
    weight, slope = sums[:, 0].astype(np.float64), sums[:, 1].astype(np.float64)
    return np.asarray(slope * slope * ridge / ((weight + 2.0 * ridge) * (weight + ridge)))
