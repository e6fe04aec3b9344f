"""Time against size: how steeply it grows, and where one curve falls below another."""

import math
from collections.abc import Sequence

import numpy as np

Curve = Sequence[tuple[float, float]]  # size and seconds, by size


def slope(curve: Curve) -> float | None:
    """The exponent of size in a power law fitted to the curve; None with fewer than 2 points."""
    if len(curve) < 2:
        return None
    size, seconds = np.log(np.array(curve, float)).T
    return float(np.polyfit(size, seconds, 1)[0])


def crossing(slow: Curve, fast: Curve) -> float | None:
    """The size from which `fast` takes less time, up to the largest that both were measured at.

    Between sizes both are power laws. The smallest size if it is always faster, None if it is not
    faster at the largest.
    """
    other = dict(fast)
    points = [(size, math.log(seconds / other[size])) for size, seconds in slow if size in other]
    if not points or points[-1][1] <= 0.0:
        return None
    size, ahead = points[-1]
    for smaller, gap in reversed(points[:-1]):
        if gap <= 0.0:
            share = -gap / (ahead - gap)
            return math.exp(math.log(smaller) + share * math.log(size / smaller))
        size, ahead = smaller, gap
    return float(points[0][0])
