"""Columns of values for the CPU backend."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gputree.data.table import Column
from gputree.dtypes import MISSING_LEVEL, HostArray
from gputree.kernels.buckets import BUCKETS
from gputree.kernels.cpu import coding

NONE = np.empty(0, np.int64)  # stands for weights or classes that are not there


def as_matrix(columns: Sequence[HostArray]) -> HostArray | None:
    """The (rows, columns) matrix whose neighbouring columns these are, if they are."""
    first = columns[0]
    address = [column.__array_interface__["data"][0] for column in columns]
    alike = all(c.dtype == first.dtype and c.strides == first.strides for c in columns)
    step = address[1] - address[0] if len(columns) > 1 else first.itemsize
    in_order = all(b - a == step for a, b in pairwise(address))
    if not alike or not in_order or any(column.base is not first.base for column in columns):
        return None
    if first.base is None and len(columns) > 1:
        return None
    return np.lib.stride_tricks.as_strided(
        first, (len(first), len(columns)), (first.strides[0], step), writeable=False
    )


def floats(column: Column) -> HostArray:
    """The values of a column as floats: numbers, or level numbers, NaN where missing."""
    values = np.asarray(column.values)
    if column.levels is None:
        return values
    return np.where(values == MISSING_LEVEL, np.nan, values).astype(np.float32)


def distinct(
    values: HostArray, weight: HostArray | None, wanted: HostArray | None
) -> tuple[HostArray, HostArray]:
    """Distinct known values of one column inside the wanted buckets, and their weights."""
    if wanted is not None and not wanted.size:
        return np.empty(0), NONE
    is_wanted = np.full(BUCKETS + 1, wanted is None)
    if wanted is not None:
        is_wanted[wanted] = True
    is_wanted[BUCKETS] = False
    given = NONE if weight is None else weight
    room = len(values) // 8  # few values are wanted, unless they crowd together
    while True:
        members = np.empty(room, values.dtype)
        weights = np.empty(0 if weight is None else room, np.int64)
        n = coding.gather(values, given, is_wanted, members, weights)
        if n <= room:
            break
        room = n
    members, weights = members[:n], weights[:n]
    if weight is None:
        members.sort()
    else:
        order = np.argsort(members)
        members, weights = members[order], weights[order]
    first = np.flatnonzero(np.append(True, members[1:] != members[:-1])[: len(members)])
    if weight is None:
        count = np.diff(np.append(first, len(members)))
    else:
        count = np.add.reduceat(weights, first) if len(first) else weights
    return members[first].astype(np.float64), count
