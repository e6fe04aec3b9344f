"""Weights of rows, checked."""

import math
import numbers
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.comm import ALONE, Comm, largest, total
from gputree.dtypes import HostArray


def read_weights(
    sample_weight: Any, n_rows: int, name: str = "sample_weight", comm: Comm = ALONE
) -> HostArray | None:
    """Weights as float64, checked; None where all rows weigh the same by default."""
    if sample_weight is None:
        return None
    weight = to_numpy(sample_weight)
    try:
        if weight.dtype.kind not in "biufO":
            raise TypeError(f"dtype {weight.dtype} is not real")
        weight = weight.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} has dtype {weight.dtype}; pass numbers") from error
    if weight.ndim == 0:
        if not isinstance(sample_weight, numbers.Number):
            raise TypeError(
                "Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got "
                f"scalar `{weight!r}` instead. Give {name} as one number for all rows, or as one "
                "per row"
            )
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"{name}.shape == {weight.shape}, expected ({n_rows},): one weight per row is needed"
        )
    for is_bad, kind, what in [
        (~np.isfinite(weight), "NaN or infinite", "NaN or infinite"),
        (weight < 0, "Negative", "negative"),
    ]:
        if is_bad.any():
            row = int(is_bad.argmax())
            raise ValueError(
                f"{kind} values in data passed to `{name}`: {name}[{row}] is {what}; weights are "
                "finite and at least 0"
            )
    if not total(comm, np.count_nonzero(weight)):
        raise ValueError(f"{name} is zero everywhere; at least one row needs a weight")
    with np.errstate(over="ignore"):
        held = float(weight.sum())
    if not math.isfinite(held):
        raise ValueError(f"the sum of {name} overflows; divide the weights by their maximum")
    return weight + 0.0  # 0.0 and -0.0 are one weight


def brought_near_one(weight: HostArray | None, comm: Comm = ALONE) -> tuple[HostArray | None, int]:
    """Weights divided by a power of two, which rounds nothing, and its exponent.

    The largest is below 1 then, and at least a half: products with targets do not overflow, and
    do not vanish but for weights that are nothing beside the largest.
    """
    if weight is None:
        return None, 0
    exponent = int(np.frexp(largest(comm, weight.max(initial=0.0)))[1])
    return np.ldexp(weight, -exponent), exponent
