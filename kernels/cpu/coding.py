"""From values to buckets and codes."""

import numpy as np

from gputree.kernels.cpu.jit import kernel

BUCKETS = 65_536


@kernel
def bucket(value):
    """The leading 16 bits of the value as a float32, put in order; -0.0 equals 0.0."""
    bits = np.float32(np.float32(value) + np.float32(0.0)).view(np.int32)
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> 16) + BUCKETS // 2


@kernel
def transpose(begin, end, matrix, values):
    """Rows of the matrix (rows, columns) into columns of values (columns, rows)."""
    for row in range(begin, end):
        for column in range(values.shape[0]):
            values[column, row] = matrix[row, column]


@kernel
def count(begin, end, values, weight, counts):
    """Weight in each bucket of the columns, and at last that of missing values.

    `weight` has no entries where every row weighs 1.
    """
    is_weighted = weight.shape[0] > 0
    for column in range(begin, end):
        for row in range(values.shape[1]):
            value = values[column, row]
            at = BUCKETS if np.isnan(value) else bucket(value)
            counts[column, at] += weight[row] if is_weighted else 1


@kernel
def gather(values, weight, is_wanted, members, member_weight):
    """Known values of one column in wanted buckets, with their weights; returns how many."""
    is_weighted = weight.shape[0] > 0
    n = 0
    for row in range(values.shape[0]):
        value = values[row]
        if not np.isnan(value) and is_wanted[bucket(value)]:
            if is_weighted:
                if weight[row] == 0:
                    continue
                member_weight[n] = weight[row]
            members[n] = value
            n += 1
    return n


@kernel
def encode(values, first, inside, cut, missing_code, code):
    """Codes of one column: how many cuts lie below each value.

    `first[b]` cuts lie below bucket b, `inside[b]` in it; `cut` ends with an infinity. Most buckets
    have one cut at most, so the first comparison is made always and the others by a loop.
    """
    for row in range(values.shape[0]):
        value = values[row]
        if np.isnan(value):
            code[row] = missing_code
            continue
        at = bucket(value)
        start = first[at]
        n = inside[at]
        below = start + ((n > 0) & (value > cut[start]))
        for i in range(1, n):
            below += value > cut[start + i]
        code[row] = below
