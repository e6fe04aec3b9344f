"""The formulas of `gputree.kernels.criteria` for NumPy arrays on the host."""

import numpy as np

from gputree.kernels import array_code, criteria

HOST = criteria.compile_for(
    array_code.as_it_is, array_code.operations(np, lambda array, dtype: array.view(dtype))
)
