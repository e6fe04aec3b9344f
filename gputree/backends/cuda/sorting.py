"""Rows sorted by whole numbers on the device."""

from functools import cache

import numpy as np

from gputree.backends.cuda.launch import Launches
from gputree.dtypes import Array
from gputree.kernels.cuda import route, sort
from gputree.kernels.cuda.sort import DIGIT_BITS, N_DIGITS

make_count_digits = cache(sort.make_count_digits)
make_move_by_digit = cache(sort.make_move_by_digit)
make_add_up = cache(route.make_add_up)

KEY_BITS = 64
TURNED = N_DIGITS // 2  # the highest bit of a digit: that of the sign, in the last digit of a key


def sorted_by(
    launches: Launches,
    n_rows: int,
    key: Array,
    row: Array,
    n_bits: int = KEY_BITS,
    *,
    has_sign: bool = False,
) -> Array:
    """Some rows by their keys, int64, of which so many bits tell; equal ones keep their order.

    The keys are not there any more afterwards.
    """
    dev, tuning = launches.device, launches.tuning
    n_tiles = -(-n_rows // tuning.sort_rows)
    n_counts = n_tiles * N_DIGITS
    n_found, before = dev.empty(n_counts, np.int32), dev.empty(n_counts, np.int64)
    count = make_count_digits(tuning.sort_rows)
    add_up = make_add_up(tuning.add_up_threads)
    move = make_move_by_digit(tuning.sort_rows, tuning.sort_threads)
    spare = dev.empty(n_rows, np.int64)
    for shift in range(0, n_bits, DIGIT_BITS):
        digit = n_rows, shift, TURNED if has_sign and shift + DIGIT_BITS >= KEY_BITS else 0
        moved = dev.empty(n_rows, np.int32)
        dev.launch(count, n_tiles, tuning.sort_threads, *digit, key, n_found)
        dev.launch(add_up, 1, tuning.add_up_threads, n_counts, n_found, before)
        args = *digit, key, row, before, spare, moved
        dev.launch(move, n_tiles, tuning.sort_threads, *args)
        key, spare, row = spare, key, moved
    return row
