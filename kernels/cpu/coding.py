"""From values to buckets and codes.

Rows are taken a chunk at a time: first the buckets of all its values, in a loop without branches
that the compiler turns into vector instructions, then what is to be done with them.
"""

import numpy as np
from numba import njit

from gputree.kernels import buckets
from gputree.kernels.cpu.jit import kernel

BUCKETS = buckets.BUCKETS
CHUNK_ROWS = 1024
MANY_CUTS = 65_536  # more than a feature can have

ordered_bucket = njit(buckets.ordered_bucket)


@kernel
def find_buckets(values, first, n, bucket):
    """The buckets of `n` values from `first` on; BUCKETS for a missing one. -0.0 equals 0.0."""
    for i in range(n):
        value = values[first + i]
        single = np.float32(np.float32(value) + np.float32(0.0))
        at = ordered_bucket(single.view(np.int32))
        bucket[i] = at if value == value else BUCKETS


@kernel
def transpose(begin, end, matrix, values):
    """Rows of the matrix (rows, columns) into columns of values (columns, rows)."""
    for row in range(begin, end):
        for column in range(values.shape[0]):
            values[column, row] = matrix[row, column]


@kernel
def count_missing(begin, end, values, n_missing):
    """How many values of each column are missing."""
    for column in range(begin, end):
        line = values[column]
        n = 0
        for row in range(line.shape[0]):
            n += line[row] != line[row]
        n_missing[column] = n


@kernel
def count(begin, end, values, weight, counts):
    """Weight in each bucket of the columns; a last entry takes that of missing values.

    `weight` has no entries where every row weighs 1.
    """
    bucket = np.empty(CHUNK_ROWS, np.uint32)
    for column in range(begin, end):
        cells = counts[column]
        line = values[column]
        for first in range(0, line.shape[0], CHUNK_ROWS):
            n = min(CHUNK_ROWS, line.shape[0] - first)
            find_buckets(line, first, n, bucket)
            if weight.shape[0] > 0:
                for i in range(n):
                    cells[bucket[i]] += weight[first + i]
            else:
                for i in range(n):
                    cells[bucket[i]] += 1


@kernel
def occupied(counts):
    """The buckets that hold weight, and how much."""
    n = 0
    for at in range(BUCKETS):
        n += counts[at] > 0
    bucket = np.empty(n, np.int64)
    weight = np.empty(n, np.int64)
    n = 0
    for at in range(BUCKETS):
        if counts[at] > 0:
            bucket[n] = at
            weight[n] = counts[at]
            n += 1
    return bucket, weight


@kernel
def gather(values, weight, is_wanted, members, member_weight):
    """Values of one column in wanted buckets, with their weights; returns how many there are.

    `is_wanted` has an entry for missing values, too. Values beyond the room in `members` are
    counted but not kept.
    """
    is_weighted = weight.shape[0] > 0
    bucket = np.empty(CHUNK_ROWS, np.uint32)
    found = 0
    for first in range(0, values.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, values.shape[0] - first)
        find_buckets(values, first, n, bucket)
        for i in range(n):
            if is_wanted[bucket[i]]:
                if is_weighted and weight[first + i] == 0:
                    continue
                if found < members.shape[0]:
                    members[found] = values[first + i]
                    if is_weighted:
                        member_weight[found] = weight[first + i]
                found += 1
    return found


@kernel
def tabulate(bucket_of_cut, missing_code, table):
    """How many cuts lie below each bucket and, times MANY_CUTS, how many in it.

    The last entry is the code of missing values.
    """
    n = 0
    for at in range(BUCKETS):
        start = n
        while n < bucket_of_cut.shape[0] and bucket_of_cut[n] == at:
            n += 1
        table[at] = start + (n - start) * MANY_CUTS
    table[BUCKETS] = missing_code


@kernel
def encode(values, table, cut, code):
    """Codes of one column: how many cuts lie below each value; most buckets hold none."""
    bucket = np.empty(CHUNK_ROWS, np.uint32)
    entry = np.empty(CHUNK_ROWS, np.uint32)
    for begin in range(0, values.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, values.shape[0] - begin)
        find_buckets(values, begin, n, bucket)
        for i in range(n):
            entry[i] = table[bucket[i]]
            code[begin + i] = entry[i]
        for i in range(n):
            if entry[i] >= MANY_CUTS:
                first = entry[i] % MANY_CUTS
                below = first
                for k in range(first, first + entry[i] // MANY_CUTS):
                    below += values[begin + i] > cut[k]
                code[begin + i] = below
