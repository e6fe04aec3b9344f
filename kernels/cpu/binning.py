"""From values to buckets and codes.

Values are read where they are, a chunk of rows at a time. All columns of a block are taken from a
chunk while it is in the cache: neighbouring columns of a matrix share its cache lines. First come
the buckets of all values, in loops without branches that the compiler turns into vector
instructions, then what is to be done with them.
"""

import numpy as np
from numba import njit

from gputree.kernels import buckets
from gputree.kernels.cpu.jit import inner, kernel

BUCKETS = buckets.BUCKETS
FINE_BUCKETS = buckets.FINE_BUCKETS
PAGE_BITS = np.uint32(buckets.PAGE_BITS)
IN_PAGE = np.uint32(buckets.PAGE - 1)
CHUNK_ROWS = 1024
INFINITY = np.int32(0x7F800000)  # the bits of a float32; those of NaN are higher
ONE = np.uint32(1)
CUT_BITS = np.uint32(16)
MANY_CUTS = ONE << CUT_BITS  # more than a feature can have

ordered_bucket = njit(buckets.ordered_bucket)
ordered_fine_bucket = njit(buckets.ordered_fine_bucket)


@inner
def round_values(values, single):
    """Some values as float32. -0.0 equals 0.0."""
    for i in range(values.shape[0]):
        single[i] = np.float32(values[i]) + np.float32(0.0)


@inner
def find_buckets(values, single, word, bucket):
    """The buckets of some values; BUCKETS for a missing one.

    `single` has room for them as float32, `word` is the same memory as int32.
    """
    round_values(values, single)
    for i in range(values.shape[0]):
        is_missing = (word[i] & np.int32(0x7FFFFFFF)) > INFINITY
        bucket[i] = np.uint32(BUCKETS) if is_missing else np.uint32(ordered_bucket(word[i]))


@inner
def find_fine_cells(values, page_of, single, word, cell):
    """The cells of some values in a table of fine buckets."""
    round_values(values, single)
    for i in range(values.shape[0]):
        is_missing = (word[i] & np.int32(0x7FFFFFFF)) > INFINITY
        fine = np.uint32(ordered_fine_bucket(word[i]))
        cell[i] = np.uint32(FINE_BUCKETS) if is_missing else fine
    for i in range(values.shape[0]):
        page = np.uint32(page_of[cell[i] >> PAGE_BITS])
        cell[i] = (page << PAGE_BITS) | (cell[i] & IN_PAGE)


@inner
def find_cells(values, is_fine, page_of, single, word, cell):
    """The cells of some values in a table of coarse buckets or of fine ones."""
    if is_fine:
        find_fine_cells(values, page_of, single, word, cell)
    else:
        find_buckets(values, single, word, cell)


@kernel
def count_missing(matrix, n_missing):
    """How many values of each column of a matrix (rows, columns) are missing."""
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            n_missing[column] += matrix[row, column] != matrix[row, column]


@inner
def add_weights(group, weights, sums):
    """Add the weight of each row, which is 1 if there are none, to the sum of its group."""
    if weights.shape[0] > 0:
        for i in range(group.shape[0]):
            sums[group[i]] += weights[i]
    else:
        for i in range(group.shape[0]):
            sums[group[i]] += 1


@kernel
def count(matrix, weight, counts, n_missing):
    """Weight in each bucket of each column, counts (columns, BUCKETS + 1), and missing values.

    `weight` has no entries where every row weighs 1.
    """
    bucket = np.empty(CHUNK_ROWS, np.uint32)
    single = np.empty(CHUNK_ROWS, np.float32)
    word = single.view(np.int32)
    for first in range(0, matrix.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, matrix.shape[0] - first)
        weights = weight[first : first + n]
        for column in range(matrix.shape[1]):
            find_buckets(matrix[first : first + n, column], single, word, bucket)
            add_weights(bucket[:n], weights, counts[column])
            lost = 0
            for i in range(n):
                lost += bucket[i] == BUCKETS
            n_missing[column] += lost


@kernel
def count_fine(matrix, weight, asked, page_of, counts):
    """Weight in each cell of fine buckets of the columns asked for, counts (columns, cells)."""
    cell = np.empty(CHUNK_ROWS, np.uint32)
    single = np.empty(CHUNK_ROWS, np.float32)
    word = single.view(np.int32)
    for first in range(0, matrix.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, matrix.shape[0] - first)
        weights = weight[first : first + n]
        for column in asked:
            line = matrix[first : first + n, column]
            find_fine_cells(line, page_of[column], single, word, cell)
            add_weights(cell[:n], weights, counts[column])


@kernel
def occupied(counts):
    """The buckets that hold weight, and how much."""
    n = 0
    for at in range(counts.shape[0]):
        n += counts[at] > 0
    bucket = np.empty(n + 1, np.int64)
    weight = np.empty(n + 1, np.int64)
    n = np.uint32(0)
    for at in range(counts.shape[0]):  # without a branch: what is empty is overwritten
        bucket[n] = at
        weight[n] = counts[at]
        n += np.uint32(counts[at] > 0)
    return bucket[:n], weight[:n]


@kernel
def gather(matrix, weight, asked, tables, members, member_weight, n_found):
    """Values of the columns asked for in their wanted cells, with their weights, and how many.

    Values beyond the room in members[column] are counted but not kept.
    """
    is_fine, page_of, is_wanted = tables
    is_weighted = weight.shape[0] > 0
    cell = np.empty(CHUNK_ROWS, np.uint32)
    single = np.empty(CHUNK_ROWS, np.float32)
    word = single.view(np.int32)
    chosen = np.empty(CHUNK_ROWS + 1, np.uint32)
    for first in range(0, matrix.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, matrix.shape[0] - first)
        weights = weight[first : first + n]
        for column in asked:
            line = matrix[first : first + n, column]
            find_cells(line, is_fine[column], page_of[column], single, word, cell)
            wanted = is_wanted[column]
            # Without a branch, which could not be predicted: what is not wanted is overwritten.
            n_chosen = np.uint32(0)
            if is_weighted:
                for i in range(n):
                    chosen[n_chosen] = i
                    n_chosen += np.uint32(wanted[cell[i]] & (weights[i] > 0))
            else:
                for i in range(n):
                    chosen[n_chosen] = i
                    n_chosen += np.uint32(wanted[cell[i]])
            begin = n_found[column]
            kept = members[column, begin : begin + n_chosen]
            for i in range(kept.shape[0]):
                kept[i] = line[chosen[i]]
            if is_weighted:
                for i in range(kept.shape[0]):
                    member_weight[column, begin + i] = weights[chosen[i]]
            n_found[column] += n_chosen


@kernel
def span(matrix, weight, asked, tables, rank, seen):
    """Smallest and largest value and weight of the wanted cells of the columns asked for.

    rank[i] tells for each cell of column asked[i] where that is kept, 0 for all unwanted ones.
    """
    is_fine, page_of, _ = tables
    is_weighted = weight.shape[0] > 0
    cell = np.empty(CHUNK_ROWS, np.uint32)
    single = np.empty(CHUNK_ROWS, np.float32)
    word = single.view(np.int32)
    for first in range(0, matrix.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, matrix.shape[0] - first)
        for bucket, column in enumerate(asked):
            line = matrix[first : first + n, column]
            find_cells(line, is_fine[column], page_of[column], single, word, cell)
            for i in range(n):
                amount = weight[first + i] if is_weighted else 1
                at = rank[bucket, cell[i]] * (amount > 0)
                value, own = line[i], seen[at]
                own.low = value if value < own.low else own.low
                own.high = value if value > own.high else own.high
                own.weight += amount


@kernel
def tabulate(bucket_of_cut, missing_code, table):
    """How many cuts lie below each bucket and, in the bits from CUT_BITS on, how many in it.

    The last entry is the code of missing values.
    """
    begin = 0
    for n in range(bucket_of_cut.shape[0]):
        at = bucket_of_cut[n]
        if n == 0 or at > bucket_of_cut[n - 1]:
            table[begin:at] = n
            table[at] = n
            begin = at + 1
        table[at] += MANY_CUTS
    table[begin:BUCKETS] = bucket_of_cut.shape[0]
    table[BUCKETS] = missing_code


@inner
def count_below(value, cut, first, last):
    """How many cuts lie below a value: those before `first` do, those from `last` on do not."""
    while first < last:
        middle = (first + last) // 2
        if value > cut[middle]:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def encode(matrix, table, cut, code):
    """Codes (columns, rows): how many cuts lie below each value; most buckets hold none or one.

    cut[column] goes on with two entries at least that are never looked at for their value.
    """
    bucket = np.empty(CHUNK_ROWS, np.uint32)
    single = np.empty(CHUNK_ROWS, np.float32)
    word = single.view(np.int32)
    entry = np.empty(CHUNK_ROWS, np.uint32)
    for begin in range(0, matrix.shape[0], CHUNK_ROWS):
        n = min(CHUNK_ROWS, matrix.shape[0] - begin)
        for column in range(matrix.shape[1]):
            line, codes = matrix[begin : begin + n, column], code[column, begin : begin + n]
            find_buckets(line, single, word, bucket)
            entries, cuts = table[column], cut[column]
            for i in range(n):
                entry[i] = entries[bucket[i]]
            most = np.uint32(0)
            for i in range(n):
                most = max(most, entry[i])
            for i in range(n):  # without a branch, which could not be predicted
                at = entry[i] & (MANY_CUTS - ONE)
                codes[i] = at + ((entry[i] >> CUT_BITS) & np.uint32(line[i] > cuts[at]))
            if most < (MANY_CUTS << ONE):
                continue
            for i in range(n):
                if entry[i] >= (MANY_CUTS << ONE):
                    first = np.int64(entry[i] & (MANY_CUTS - ONE))
                    last = first + np.int64(entry[i] >> CUT_BITS)
                    codes[i] = count_below(line[i], cuts, first, last)


@kernel
def search_codes(block, cut, first_cut, missing_code, code):
    """The codes of short columns: how many cuts of its column lie below each value.

    The cuts of a column begin at `first_cut`, which has one entry more.
    """
    values, below = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS, np.int64)
    for column in range(block.shape[1]):
        cuts = cut[first_cut[column] : first_cut[column + 1]]
        for begin in range(0, block.shape[0], CHUNK_ROWS):
            n = min(CHUNK_ROWS, block.shape[0] - begin)
            for i in range(n):
                values[i], below[i] = block[begin + i, column], 0
            # Rows take each step together, without a branch, which could not be predicted.
            n_left = cuts.shape[0]
            while n_left > 0:
                half = (n_left + 1) // 2
                for i in range(n):
                    is_above = cuts[np.uint64(below[i] + half - 1)] < values[i]
                    below[i] += half if is_above else 0
                n_left -= half
            for i in range(n):
                is_known = values[i] == values[i]
                code[column, begin + i] = below[i] if is_known else missing_code[column]
