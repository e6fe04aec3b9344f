"""From values to buckets and codes, for a block of columns that lie one after another."""

import numpy as np
from numba import float32, float64

from gputree.kernels import buckets
from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    cuda,
    function,
    kernel,
    load_now,
    mixed,
    short_bits_of,
)

BUCKETS, PAGE = buckets.BUCKETS, buckets.PAGE

ordered_bucket = function(buckets.ordered_bucket)
ordered_fine_bucket = function(buckets.ordered_fine_bucket)


@function
def bucket_of(value):
    """The bucket of a value, BUCKETS for a missing one. -0.0 equals 0.0."""
    if value != value:
        return BUCKETS
    return ordered_bucket(short_bits_of(np.float32(np.float32(value) + np.float32(0.0))))


@function
def fine_cell(value, page):
    """The cell of a value's fine bucket in a table where its page is the given one."""
    single = np.float32(np.float32(value) + np.float32(0.0))
    return page * PAGE + (ordered_fine_bucket(short_bits_of(single)) & (PAGE - 1))


def make_turn(is_double):
    """From rows to columns, in squares as wide as a warp, so that both are read and written."""
    dtype = float64 if is_double else float32
    n_cells = WARP * (WARP + 1)  # one more in a row: no two lanes share a bank

    @kernel
    def turn(n_columns, n_rows, first_row, n_turned, source, row_step, column_at, values):
        """values[column * n_rows + first_row + row] = source[row * row_step + column_at[column]].

        For the first `n_turned` rows of `source`; `values` has columns of `n_rows`.
        """
        square = cuda.shared.array(n_cells, dtype)
        lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
        n_warps = cuda.blockDim.x // WARP
        n_across = (n_columns + WARP - 1) // WARP
        n_squares = n_across * ((n_turned + WARP - 1) // WARP)
        number = np.int64(cuda.blockIdx.x)
        while number < n_squares:
            row, column = number // n_across * WARP, number % n_across * WARP
            for i in range(warp, WARP, n_warps):
                if row + i < n_turned and column + lane < n_columns:
                    at = (row + i) * row_step + column_at[column + lane]
                    square[i * (WARP + 1) + lane] = source[at]
            cuda.syncthreads()
            for i in range(warp, WARP, n_warps):
                if row + lane < n_turned and column + i < n_columns:
                    at = (column + i) * n_rows + first_row + row + lane
                    values[at] = square[lane * (WARP + 1) + i]
            cuda.syncthreads()
            number += cuda.gridDim.x

    return turn


@kernel
def count(n_columns, n_rows, values, weight, counts, n_missing):
    """Weight in each bucket of each column; `weight` has one entry where every row weighs 1."""
    at = np.int64(cuda.grid(1))
    while at < n_columns * n_rows:
        column, row = at // n_rows, at % n_rows
        bucket = bucket_of(values[at])
        if bucket == BUCKETS:
            cuda.atomic.add(n_missing, column, 1)
        else:
            amount = weight[row] if weight.shape[0] > 1 else weight[0]
            cuda.atomic.add(counts, column * BUCKETS + bucket, amount)
        at += cuda.gridsize(1)


@kernel
def count_fine(n_columns, n_rows, values, weight, page_of, n_cells, counts):
    """Weight in the fine buckets of the pages asked for; page 0 is for what nobody asks about."""
    at = np.int64(cuda.grid(1))
    while at < n_columns * n_rows:
        column, row = at // n_rows, at % n_rows
        page = np.int64(page_of[column * (BUCKETS + 1) + bucket_of(values[at])])
        if page > 0:
            amount = weight[row] if weight.shape[0] > 1 else weight[0]
            cuda.atomic.add(counts, column * n_cells + fine_cell(values[at], page), amount)
        at += cuda.gridsize(1)


@function
def has_say(column, value, amount, is_fine, page_of, n_cells, is_wanted):
    """Whether a value is in a wanted bucket of its column, and its row has weight."""
    bucket = bucket_of(value)
    cell = np.int64(bucket)
    if is_fine[column]:
        cell = fine_cell(value, np.int64(page_of[column * (BUCKETS + 1) + bucket]))
    return bucket < BUCKETS and amount > 0 and is_wanted[column * n_cells + cell] > 0


@kernel
def gather(
    n_columns, n_rows, values, weight, is_fine, page_of, n_cells, is_wanted, room, members,
    member_row, n_found,
):  # fmt: skip
    """Values in the wanted buckets of each column and their rows, in no order.

    What has no room is counted but not kept. Rows without weight have no say.
    `is_fine` and `page_of` say which buckets are fine and where, `is_wanted` which cells; a column
    has room for `room` members.
    """
    at = np.int64(cuda.grid(1))
    while at < n_columns * n_rows:
        column, row = at // n_rows, at % n_rows
        amount = weight[row] if weight.shape[0] > 1 else weight[0]
        if has_say(column, values[at], amount, is_fine, page_of, n_cells, is_wanted):
            member = cuda.atomic.add(n_found, column, 1)
            if member < room:
                members[column * room + member] = values[at]
                if member_row.shape[0] > 1:
                    member_row[column * room + member] = row
        at += cuda.gridsize(1)


@kernel
def list_distinct(
    n_columns, n_rows, values, weight, is_fine, page_of, n_cells, is_wanted, n_slots, seen, counts,
    n_found,
):  # fmt: skip
    """The distinct values in the wanted buckets of each column, and the weight of each.

    A column has a hash table of `n_slots` slots, a power of two: `seen` is 0 where a slot is empty,
    and else the bits of a value, turned over. A column with more than half as many distinct values
    is given up; `n_found` tells.
    """
    at, mask = np.int64(cuda.grid(1)), n_slots - 1
    while at < n_columns * n_rows:
        column, row = at // n_rows, at % n_rows
        amount = weight[row] if weight.shape[0] > 1 else weight[0]
        if has_say(column, values[at], amount, is_fine, page_of, n_cells, is_wanted):
            own = ~bits_of(np.float64(values[at]) + 0.0)  # -0.0 equals 0.0
            slot = np.int64(mixed(np.uint64(own), np.uint64(0)) & np.uint64(mask))
            is_open = load_now(n_found, column) <= n_slots // 2
            while is_open:
                place = column * n_slots + slot
                there = load_now(seen, place)
                if there == 0:
                    there = cuda.atomic.cas(seen, place, np.int64(0), own)
                    if there == 0:
                        cuda.atomic.add(n_found, column, 1)
                        there = own
                if there == own:
                    cuda.atomic.add(counts, place, amount)
                    is_open = False
                else:
                    slot = (slot + 1) & mask
                    is_open = load_now(n_found, column) <= n_slots // 2
        at += cuda.gridsize(1)


def make_encode(code_bits):
    """Codes of 8 or 16 bits: how many cuts lie below each value, or the code of missing values."""
    per_word = 32 // code_bits

    @kernel
    def encode(
        n_columns, n_rows, values, cut, cut_start, missing_code, first_feature, row_words, words,
        by_column,
    ):  # fmt: skip
        """Write into the words of every row and, where it is kept, into a copy by columns."""
        row = np.int64(cuda.grid(1))
        while row < n_rows:
            word, mask = np.uint32(0), np.uint32(0)
            for j in range(n_columns):
                value = values[j * n_rows + row]
                first, last = cut_start[j], cut_start[j + 1]
                low = first
                while low < last:
                    middle = (low + last) // 2
                    if value > cut[middle]:
                        low = middle + 1
                    else:
                        last = middle
                code = low - first if value == value else missing_code[j]
                feature = first_feature + j
                if by_column.shape[0] > 1:
                    by_column[feature * n_rows + row] = code
                shift = np.uint32((feature % per_word) * code_bits)
                word = np.uint32(word | np.uint32(np.uint32(code) << shift))
                mask = np.uint32(mask | np.uint32(np.uint32((1 << code_bits) - 1) << shift))
                if feature % per_word == per_word - 1 or j == n_columns - 1:
                    # The other codes of this word belong to neighbouring blocks of columns.
                    at = row * row_words + feature // per_word
                    words[at] = np.uint32(np.uint32(words[at] & np.uint32(~mask)) | word)
                    word, mask = np.uint32(0), np.uint32(0)
            row += cuda.gridsize(1)

    return encode
