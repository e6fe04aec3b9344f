"""The formulas of `gputree.kernels` for NumPy arrays on the host."""

from collections.abc import Sequence

import numpy as np

from gputree.dtypes import HostArray
from gputree.kernels import array_code, criteria, losses
from gputree.kernels.criteria import Criterion

_OPERATIONS = array_code.operations(np, lambda array, dtype: array.view(dtype))
HOST = criteria.compile_for(array_code.as_it_is, _OPERATIONS)
LOSSES = losses.tools_for(array_code.as_it_is, _OPERATIONS)


def score(
    criterion: Criterion,
    left: Sequence[HostArray] | HostArray,
    total: Sequence[HostArray] | HostArray,
    left_weight: HostArray,
    weight: HostArray,
) -> HostArray:
    """What splits are worth, from the sums of left children and of nodes, each by channel."""
    if criterion.user is not None:
        return np.asarray(criterion.user.of_two(left, total, left_weight, weight))
    of_arrays = criteria.score_by_arrays(HOST, criterion)
    return np.asarray(of_arrays(left, total, left_weight, weight, len(total)))


def penalty(sums: HostArray, ridge: float) -> HostArray:
    """What a ridge takes from the gain of any split of nodes of such weights and gradients."""
    weight, gradient = sums[:, 0].astype(np.float64), sums[:, 1].astype(np.float64)
    return np.asarray(HOST.penalty(gradient, weight, ridge))


def branch_bits(weight: HostArray, whole: HostArray) -> HostArray:
    """Weight times the bits that tell of a row that it took this branch."""
    some = weight > 0.0
    ratio = np.where(some, whole, 1.0) / np.where(some, weight, 1.0)
    return np.where(some, weight, 0.0) * HOST.log2(ratio)
