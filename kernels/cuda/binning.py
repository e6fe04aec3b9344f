"""From values to buckets and codes, for a block of columns that lie one after another."""

import numpy as np

from gputree.kernels import buckets
from gputree.kernels.cuda.gpu import cuda, function, kernel, short_bits_of

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
        bucket = bucket_of(values[at])
        amount = weight[row] if weight.shape[0] > 1 else weight[0]
        cell = np.int64(bucket)
        if is_fine[column]:
            cell = fine_cell(values[at], np.int64(page_of[column * (BUCKETS + 1) + bucket]))
        if bucket < BUCKETS and amount > 0 and is_wanted[column * n_cells + cell]:
            member = cuda.atomic.add(n_found, column, 1)
            if member < room:
                members[column * room + member] = values[at]
                if member_row.shape[0] > 1:
                    member_row[column * room + member] = row
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
