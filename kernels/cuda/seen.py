"""Which codes of features nodes have seen: a block takes a pair of a node and a feature."""

import numpy as np
from numba import int64

from gputree.kernels.cuda.categories import BOARD
from gputree.kernels.cuda.gpu import block_scan, cuda, function, kernel


@function
def occurs(hist, at, n_channels):
    """Whether a code has any sums."""
    found = False
    for c in range(n_channels):
        found = found or hist[at + c] != 0
    return found


@kernel
def count_seen(
    n_pairs, place, feature, hist, stride, offset, n_values, n_channels, n_known
):  # fmt: skip
    """How many values of the feature of each pair occur in its node, a block each."""
    board = cuda.shared.array(BOARD, int64)
    pair = np.int64(cuda.blockIdx.x)
    while pair < n_pairs:
        own = np.int64(feature[pair])
        base = np.int64(place[pair]) * stride + offset[own] * n_channels
        found, code = np.int64(0), np.int64(cuda.threadIdx.x)
        while code < n_values[own]:
            found += 1 if occurs(hist, base + code * n_channels, n_channels) else 0
            code += np.int64(cuda.blockDim.x)
        _, whole = block_scan(found, board)
        if cuda.threadIdx.x == 0:
            n_known[pair] = whole
        pair += np.int64(cuda.gridDim.x)


@kernel
def gather_seen(
    n_pairs, place, feature, hist, stride, offset, n_values, n_channels, first_entry, seen
):  # fmt: skip
    """The codes that occur in each pair, each with its sums; after them, the missing code.

    The entries of a pair begin at `first_entry`.
    """
    board = cuda.shared.array(BOARD, int64)
    thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
    width = np.int64(1 + n_channels)
    pair = np.int64(cuda.blockIdx.x)
    while pair < n_pairs:
        own = np.int64(feature[pair])
        base = np.int64(place[pair]) * stride + offset[own] * n_channels
        n_codes = np.int64(offset[own + 1] - offset[own])
        entry, chunk = np.int64(first_entry[pair]), np.int64(0)
        while chunk < n_codes:
            code = chunk + thread
            is_listed = np.int64(0)
            at = base + code * n_channels
            if code < n_codes and (code >= n_values[own] or occurs(hist, at, n_channels)):
                is_listed = np.int64(1)
            up_to, whole = block_scan(is_listed, board)
            if is_listed > 0:
                out = (entry + up_to - 1) * width
                seen[out] = code
                for c in range(n_channels):
                    seen[out + 1 + c] = hist[at + c]
            entry += whole
            chunk += n_threads
        pair += np.int64(cuda.gridDim.x)
