"""C4.5's guess at the errors that rows not seen will show: an upper confidence limit."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from gputree.dtypes import HostArray


def error_limit(total: npt.ArrayLike, wrong: npt.ArrayLike, confidence: float) -> HostArray:
    """The upper limit of the share of errors, `wrong` of `total` having been seen.

    Exact for no error, by the normal approximation with a correction for continuity from one error
    on, and on the line between them for less than one, which weights can give. 1 where nothing was
    seen.

    Parameters
    ----------
    total, wrong : array-like
        Weights of rows, and of those among them that are errors.
    confidence : float
        The chance that the limit is exceeded, in (0, 0.5].

    Examples
    --------
    >>> error_limit([6, 9, 1], 0, 0.25).round(3)
    array([0.206, 0.143, 0.75 ])
    """
    total, wrong = np.broadcast_arrays(np.asarray(total, float), np.asarray(wrong, float))
    some = np.where(total > 0, total, 1.0)
    none = 1.0 - np.exp(math.log(confidence) / some)
    one = _normal(some, np.maximum(wrong, 1.0), confidence)
    limit = np.where(wrong < 1.0, none + np.minimum(wrong, 1.0) * (one - none), one)
    return np.where(total > 0, np.minimum(limit, 1.0), 1.0)


def _normal(total: HostArray, wrong: HostArray, confidence: float) -> HostArray:
    z = NormalDist().inv_cdf(1.0 - confidence)
    share = np.minimum((wrong + 0.5) / total, 1.0)
    spread = np.sqrt(share * (1.0 - share) / total + z * z / (4.0 * total * total))
    limit = (share + z * z / (2.0 * total) + z * spread) / (1.0 + z * z / total)
    return np.asarray(np.where(wrong + 0.5 >= total, 1.0, limit))
