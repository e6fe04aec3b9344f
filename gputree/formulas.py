"""The formulas of `gputree.kernels` for NumPy arrays on the host."""

import numpy as np

from gputree.dtypes import HostArray
from gputree.kernels import array_code, criteria, losses

_OPERATIONS = array_code.operations(np, lambda array, dtype: array.view(dtype))
HOST = criteria.compile_for(array_code.as_it_is, _OPERATIONS)
LOSSES = losses.compile_for(array_code.as_it_is, _OPERATIONS)


def branch_bits(weight: HostArray, whole: HostArray) -> HostArray:
    """Weight times the bits that tell of a row that it took this branch."""
    some = weight > 0.0
    ratio = np.where(some, whole, 1.0) / np.where(some, weight, 1.0)
    return np.where(some, weight, 0.0) * HOST.log2(ratio)
