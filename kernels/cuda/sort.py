"""A stable sort of rows by whole numbers: a pass for each digit of these, from the lowest up.

Rows and their keys lie side by side and are cut into tiles, of which each warp has a part. The
first kernel counts the digits of each tile, `route.add_up` adds these up over digits and tiles, and
the last one moves rows: to where those of their digit begin, behind those of the tiles, the warps
and the lanes before.
"""

import numpy as np
from numba import int32, uint32

from gputree.kernels.cuda.gpu import (
    WARP,
    ballot,
    cuda,
    function,
    kernel,
    lanes_below,
    sync_warp,
)

DIGIT_BITS = 8
N_DIGITS = 2**DIGIT_BITS


@function
def digit_of(key, shift, flip):
    """A digit of a key; `flip` turns round its bits, so that negative keys come first."""
    return uint32((np.int64(key) >> np.int64(shift)) & np.int64(N_DIGITS - 1)) ^ uint32(flip)


def make_count_digits(tile_rows):
    """Count the digits of each tile."""

    @kernel
    def count_digits(n_rows, shift, flip, key, n_found):
        """`n_found` has the counts of all tiles for the first digit, then for the next."""
        thread, block = np.int64(cuda.threadIdx.x), np.int64(cuda.blockIdx.x)
        found = cuda.shared.array(N_DIGITS, int32)
        digit = thread
        while digit < N_DIGITS:
            found[digit] = 0
            digit += np.int64(cuda.blockDim.x)
        cuda.syncthreads()
        i, last = block * tile_rows + thread, min((block + 1) * tile_rows, np.int64(n_rows))
        while i < last:
            cuda.atomic.add(found, digit_of(key[i], shift, flip), 1)
            i += np.int64(cuda.blockDim.x)
        cuda.syncthreads()
        digit = thread
        while digit < N_DIGITS:
            n_found[digit * np.int64(cuda.gridDim.x) + block] = found[digit]
            digit += np.int64(cuda.blockDim.x)

    return count_digits


def make_move_by_digit(tile_rows, threads):
    """Move rows and their keys; those of one digit keep their order."""
    n_warps = threads // WARP
    n_steps = tile_rows // threads  # of a warp, each of a row a lane
    n_places = n_warps * N_DIGITS

    @kernel
    def move_by_digit(n_rows, shift, flip, key, row, before, key_out, row_out):
        thread, block = np.int64(cuda.threadIdx.x), np.int64(cuda.blockIdx.x)
        warp, lane = thread // WARP, thread % WARP
        # How many rows of each digit a warp has, and then where the next one goes.
        place = cuda.shared.array(n_places, int32)
        at = thread
        while at < n_places:
            place[at] = 0
            at += np.int64(threads)
        cuda.syncthreads()
        first = block * tile_rows + warp * n_steps * WARP + lane
        for step in range(n_steps):
            i = first + step * WARP
            if i < n_rows:
                cuda.atomic.add(place, warp * N_DIGITS + digit_of(key[i], shift, flip), 1)
        cuda.syncthreads()
        digit = thread
        while digit < N_DIGITS:
            running = int32(before[digit * np.int64(cuda.gridDim.x) + block])
            for other in range(n_warps):
                n_own = place[other * N_DIGITS + digit]
                place[other * N_DIGITS + digit] = running
                running += n_own
            digit += np.int64(threads)
        cuda.syncthreads()
        for step in range(n_steps):
            i = first + step * WARP
            is_there = i < n_rows
            own_key, own_row, own = np.int64(0), np.int64(0), uint32(0)
            if is_there:
                own_key, own_row = np.int64(key[i]), np.int64(row[i])
                own = digit_of(own_key, shift, flip)
            alike = ballot(is_there)  # the lanes whose rows have the same digit
            for bit in range(DIGIT_BITS):
                has_bit = (own >> uint32(bit)) & uint32(1) != 0
                those = ballot(has_bit)
                alike = uint32(alike & (those if has_bit else ~those))
            n_before = cuda.popc(uint32(alike & lanes_below(lane)))
            counter = warp * N_DIGITS + np.int64(own)
            to = np.int64(place[counter]) + n_before
            sync_warp()
            if is_there:
                if n_before == 0:
                    place[counter] += int32(cuda.popc(alike))
                key_out[to], row_out[to] = own_key, own_row
            sync_warp()

    return move_by_digit
