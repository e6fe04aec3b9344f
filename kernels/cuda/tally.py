"""Sums over the rows of nodes, by feature, code and channel.

A block takes a tile of a node's rows and a group of neighbouring features. It sums in shared
memory, in 32 bits, and adds what is not zero to the histogram at the end. The codes of a row lie
side by side; a thread loads those of its row by one load of 128 bits, or of 32 bits for a group
that lies in one word. Tiles of few rows, and features whose sums do not fit into shared memory, are
added to the histogram directly.

Every row adds 1 to a plane, that of its class or of the count. Amounts (weights, targets) are
wider than 32 bits: they come in limbs of `LIMB_BITS` bits, each with a plane of its own, so that a
tile of up to `TILE_ROWS` rows cannot overflow; limbs are put together in the histogram.
"""

import numpy as np
from numba import int32

from gputree.kernels.cuda.gpu import cuda, function, kernel, load_words

LIMB_BITS = 17
LIMB_MASK = (1 << LIMB_BITS) - 1
TILE_ROWS = 8192  # 2**13 limbs of 17 bits stay below 2**30
SHARED_WORDS = 12_288  # 48 KB: what every kernel may use

# Columns of the table of groups: where its codes are, which features they are, how wide each is.
WORD, SKIPPED, SIZE, FEATURE, WIDTH, GROUP_COLUMNS = 0, 1, 2, 3, 4, 5
# Columns of the table of tiles: its rows in the order, its node's place in the histogram.
FIRST, LAST, PLACE, TILE_COLUMNS = 0, 1, 2, 3
# Columns of the table of limbs: its plane, its channel, which power of 2**LIMB_BITS it counts, and
# by how much the class of a row moves plane and channel.
PLANE, CHANNEL, POWER, PLANE_STEP, CHANNEL_STEP, LIMB_COLUMNS = 0, 1, 2, 3, 4, 5


@kernel
def divide(begin, n, n_limbs, amount, limb):
    """limb[begin + k] of an amount, each a row of `n`; the last one has the sign."""
    i = cuda.grid(1)
    if i < n:
        rest = amount[i]
        for k in range(n_limbs - 1):
            limb[(begin + k) * n + i] = rest & LIMB_MASK
            rest >>= LIMB_BITS
        limb[(begin + n_limbs - 1) * n + i] = rest


def make_sum(code_bits, is_wide, has_limbs):
    """Sum tiles in shared memory; a wide group has the codes of four words, another of one."""
    per_word = 32 // code_bits
    mask = np.uint32((1 << code_bits) - 1)
    bits = np.uint32(code_bits)

    @function
    def add_word(word, at, last, width, amount, cells):
        for _ in range(per_word):
            if at < last:
                cuda.atomic.add(cells, np.uint32(at + (word & mask)), amount)
            word = np.uint32(word >> bits)
            at = np.uint32(at + width)
        return at

    @function
    def count_word(word, at, last, width, cells):
        # A constant 1 is an instruction of its own that lanes with the same cell share.
        for _ in range(per_word):
            if at < last:
                cuda.atomic.add(cells, np.uint32(at + (word & mask)), 1)
            word = np.uint32(word >> bits)
            at = np.uint32(at + width)
        return at

    @kernel
    def sum_tiles(
        tile, n_groups, group, words, row_words, order, label, limb, limbs, n_rows, one_plane,
        one_step, n_planes, channel_plane, channel_limbs, n_channels, offset, stride, hist,
    ):  # fmt: skip
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        own_tile = (cuda.blockIdx.x // n_groups) * TILE_COLUMNS
        own_group = (cuda.blockIdx.x % n_groups) * GROUP_COLUMNS
        size, width = group[own_group + SIZE], np.uint32(group[own_group + WIDTH])
        first_word, skipped = group[own_group + WORD], group[own_group + SKIPPED]
        span = np.uint32(size * width)
        cells = cuda.shared.array(0, int32)
        i = thread
        while i < span * n_planes:
            cells[i] = 0
            i += n_threads
        cuda.syncthreads()
        at_row = tile[own_tile + FIRST] + thread
        last_row = tile[own_tile + LAST]
        while at_row < last_row:
            row = np.int64(order[at_row])
            own_label = np.uint32(label[row]) if label.shape[0] > 1 else np.uint32(0)
            at_word = row * row_words + first_word
            if is_wide:
                word0, word1, word2, word3 = load_words(words, at_word)
            else:
                word0 = np.uint32(words[at_word] >> np.uint32(skipped * code_bits))
            if has_limbs:
                for k in range(limbs.shape[0] // LIMB_COLUMNS):
                    plane = limbs[k * LIMB_COLUMNS + PLANE]
                    plane += limbs[k * LIMB_COLUMNS + PLANE_STEP] * own_label
                    amount = limb[k * n_rows + row]
                    at = np.uint32(plane * span)
                    last = np.uint32(at + span)
                    at = add_word(word0, at, last, width, amount, cells)
                    if is_wide:
                        at = add_word(word1, at, last, width, amount, cells)
                        at = add_word(word2, at, last, width, amount, cells)
                        at = add_word(word3, at, last, width, amount, cells)
            at = np.uint32((one_plane + one_step * own_label) * span)
            last = np.uint32(at + span)
            at = count_word(word0, at, last, width, cells)
            if is_wide:
                at = count_word(word1, at, last, width, cells)
                at = count_word(word2, at, last, width, cells)
                at = count_word(word3, at, last, width, cells)
            at_row += n_threads
        cuda.syncthreads()
        base = tile[own_tile + PLACE] * stride
        first_feature = group[own_group + FEATURE]
        for channel in range(n_channels):
            i = thread
            while i < span:
                feature = first_feature + i // width
                code = i % width
                begin = offset[feature]
                if code < offset[feature + 1] - begin:
                    plane = channel_plane[channel]
                    found = np.int64(cells[plane * span + i])
                    if has_limbs:
                        for power in range(1, channel_limbs[channel]):
                            part = np.int64(cells[(plane + power) * span + i])
                            found += part << (power * LIMB_BITS)
                    if found != 0:
                        cuda.atomic.add(hist, base + (begin + code) * n_channels + channel, found)
                i += n_threads

    return sum_tiles


def make_scatter(code_bits, has_limbs):
    """Add the rows of small tiles to the histogram directly; groups are narrow."""
    mask = np.uint32((1 << code_bits) - 1)

    @kernel
    def scatter_tiles(
        item_tile, item_group, tile, group, words, row_words, order, label, limb, limbs, n_rows,
        one_channel, one_step, n_channels, offset, stride, hist,
    ):  # fmt: skip
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        own_tile = item_tile[cuda.blockIdx.x] * TILE_COLUMNS
        own_group = item_group[cuda.blockIdx.x] * GROUP_COLUMNS
        size, first_word = group[own_group + SIZE], group[own_group + WORD]
        skipped, first_feature = group[own_group + SKIPPED], group[own_group + FEATURE]
        base = tile[own_tile + PLACE] * stride
        at_row = tile[own_tile + FIRST] + thread
        last_row = tile[own_tile + LAST]
        while at_row < last_row:
            row = np.int64(order[at_row])
            own_label = np.int64(label[row]) if label.shape[0] > 1 else np.int64(0)
            word = np.uint32(words[row * row_words + first_word] >> np.uint32(skipped * code_bits))
            for j in range(size):
                code = word & mask
                word = np.uint32(word >> np.uint32(code_bits))
                cell = base + (offset[first_feature + j] + code) * n_channels
                if has_limbs:
                    for k in range(limbs.shape[0] // LIMB_COLUMNS):
                        channel = limbs[k * LIMB_COLUMNS + CHANNEL]
                        channel += limbs[k * LIMB_COLUMNS + CHANNEL_STEP] * own_label
                        amount = np.int64(limb[k * n_rows + row])
                        amount <<= limbs[k * LIMB_COLUMNS + POWER] * LIMB_BITS
                        cuda.atomic.add(hist, cell + channel, amount)
                cuda.atomic.add(hist, cell + one_channel + one_step * own_label, 1)
            at_row += n_threads

    return scatter_tiles


@kernel
def derive(n_nodes, stride, own, own_place, above, above_place, hist):
    """hist[node] is a tallied one, or, where there is a parent, the parent's less that."""
    step = cuda.gridsize(1)
    at = np.int64(cuda.grid(1))
    while at < n_nodes * stride:
        node, cell = at // stride, at % stride
        found = own[own_place[node] * stride + cell]
        if above_place[node] >= 0:
            found = above[above_place[node] * stride + cell] - found
        hist[at] = found
        at += step
