"""C4.5's guess at the errors that rows not seen will show: an upper confidence limit."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gputree.dtypes import HostArray

SLACK = 1e-6  # numbers that are not further apart count as equal


def added_errors(weight: HostArray, errors: HostArray, confidence: float) -> HostArray:
    """What the upper confidence limit of the errors in so much weight has above them.

    Exact for no error, by the normal approximation with a correction for continuity from one error
    on, and on the line between them for less than one, which weights can give.
    """
    # C4.5 keeps the confidence in single precision, which shows in the last digits.
    level = np.float32(confidence)
    z = ndtri(float(np.float32(1.0) - level))
    n = np.where(weight > SLACK, weight, 1.0)
    none = n * (1.0 - float(level) ** (1.0 / n))
    some = none + errors * (_limit(n, np.ones_like(n), z) - none)
    added = np.where(errors < 1.0, np.where(errors > 0.0, some, none), _limit(n, errors, z))
    return np.where(weight > SLACK, added, 0.0)


def error_limit(total: npt.ArrayLike, wrong: npt.ArrayLike, confidence: float) -> HostArray:
    """The upper limit of the share of errors, `wrong` of `total` having been seen.

    1 where nothing was seen.

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
    is_seen = total > SLACK
    limit = (wrong + added_errors(total, wrong, confidence)) / np.where(is_seen, total, 1.0)
    return np.where(is_seen, np.minimum(limit, 1.0), 1.0)


def _limit(n: HostArray, errors: HostArray, z: float) -> HostArray:
    """Wilson's limit for half an error more, for at least one error."""
    share = np.minimum((errors + 0.5) / n, 1.0)
    with np.errstate(over="ignore"):  # what is divided by so much weight is 0
        spread = np.sqrt(share / n - share * share / n + z * z / (4 * n * n))
    limit = (share + z * z / (2 * n) + z * spread) / (1 + z * z / n)
    return np.where(errors + 0.5 >= n, np.maximum(n - errors, 0.0), limit * n - errors)
