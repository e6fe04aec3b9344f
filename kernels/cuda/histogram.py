"""Sums over the rows of nodes, by feature, code and channel.

A block takes a tile of a node's rows and a group of neighbouring features. It sums in shared
memory, in 32 bits, and adds what is not zero to the histogram at the end. The codes of a row lie
side by side; a thread loads those of its row by one load of 128 bits, or of 32 bits for a group
that lies in one word. Tiles of few rows, and features whose sums do not fit into shared memory, are
added to the histogram directly.

Rows add 1 to a plane, that of their class or of the count, where there is one. Amounts (weights,
targets) are wider than 32 bits: they come in limbs of `LIMB_BITS` bits, each with a plane of its
own, so that a tile of up to `TILE_ROWS` rows cannot overflow; limbs are put together in the
histogram. Narrow gradients and hessians have one limb each: over all rows, their magnitudes add up
to less than 2**31.
"""

import numpy as np
from numba import int32, uint32, uint64

from gputree.kernels.cuda.gpu import cuda, function, kernel, load_words
from gputree.kernels.cuda.route import owner_of

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
    while i < n:
        rest = amount[i]
        for k in range(n_limbs - 1):
            limb[(begin + k) * n + i] = rest & LIMB_MASK
            rest >>= LIMB_BITS
        limb[(begin + n_limbs - 1) * n + i] = rest
        i += cuda.gridsize(1)


def make_sum(code_bits, is_wide, has_limbs, has_ones):
    """Sum tiles in shared memory; a wide group has the codes of four words, another of one."""
    per_word = 32 // code_bits
    full_size = 4 * per_word if is_wide else per_word
    in_pairs = has_limbs and not has_ones  # a hessian and a gradient, in planes 0 and 1
    mask = uint32((1 << code_bits) - 1)

    @function
    def add_code(word, j, at, n, width, amount, apart, second, cells):
        """Add to the cell of code `j` if a word has `n`; returns where the next code's begin."""
        if j < n:
            code = uint32(uint32(word >> uint32(j * code_bits)) & mask)
            cuda.atomic.add(cells, uint32(at + code), amount)
            if in_pairs:
                cuda.atomic.add(cells, uint32(uint32(at + code) + apart), second)
        return uint32(at + width)

    @function
    def add_word(word, at, n, width, amount, apart, second, cells):
        # Written out: not every version of the compiler unrolls a loop.
        at = add_code(word, 0, at, n, width, amount, apart, second, cells)
        at = add_code(word, 1, at, n, width, amount, apart, second, cells)
        if per_word == 4:
            at = add_code(word, 2, at, n, width, amount, apart, second, cells)
            at = add_code(word, 3, at, n, width, amount, apart, second, cells)
        return at

    @function
    def add_words(word0, word1, word2, word3, at, n, width, amount, apart, second, cells):
        """Add an amount for each code of four words, the first `n` of features from `at` on."""
        at = add_word(word0, at, n, width, amount, apart, second, cells)
        if is_wide:
            at = add_word(word1, at, n - per_word, width, amount, apart, second, cells)
            at = add_word(word2, at, n - 2 * per_word, width, amount, apart, second, cells)
            at = add_word(word3, at, n - 3 * per_word, width, amount, apart, second, cells)

    @function
    def add_row(word0, word1, word2, word3, at, n, width, amount, apart, second, cells):
        """Add an amount for each code of a row; in pairs, a second one to cells so far apart.

        The codes of features `at`, `at` + 1, ... are in four words; a feature has `width` cells.
        """
        if n == full_size:  # no code is asked whether it is there
            add_words(
                word0, word1, word2, word3, at, full_size, width, amount, apart, second, cells
            )
        else:
            add_words(word0, word1, word2, word3, at, n, width, amount, apart, second, cells)

    @function
    def add_tile(
        first_row, last_row, own_group, group, words, row_words, order, label, limb, limbs, n_rows,
        one_plane, one_step, cells,
    ):  # fmt: skip
        """Add the rows of a tile to the cells of a group.

        Rows are order[first_row:last_row].
        """
        n, width = np.int32(group[own_group + SIZE]), uint32(group[own_group + WIDTH])
        span = uint32(uint32(n) * width)
        first_word = uint64(group[own_group + WORD])
        skipped_bits = uint32(group[own_group + SKIPPED] * code_bits)
        one_at, one_span = uint32(uint32(one_plane) * span), uint32(uint32(one_step) * span)
        last_label = uint32(label.shape[0] - 1)  # 0 where there are no classes
        n_limbs = uint32(limbs.shape[0] // LIMB_COLUMNS)
        at_row = uint32(first_row + cuda.threadIdx.x)
        while at_row < last_row:
            row = uint32(order[at_row])
            own_label = uint32(label[min(row, last_label)])
            at_word = uint64(row) * uint64(row_words) + first_word
            if is_wide:
                word0, word1, word2, word3 = load_words(words, at_word)
            else:
                word0 = uint32(words[at_word] >> skipped_bits)
                word1 = word2 = word3 = word0
            if in_pairs:
                hessian, gradient = limb[row], limb[uint64(n_rows) + uint64(row)]
                add_row(
                    word0, word1, word2, word3, uint32(0), n, width, hessian, span, gradient, cells
                )
            elif has_limbs:
                k = uint32(0)
                while k < n_limbs:
                    plane = uint32(limbs[k * LIMB_COLUMNS + PLANE])
                    step = uint32(limbs[k * LIMB_COLUMNS + PLANE_STEP])
                    at = uint32(uint32(plane + uint32(step * own_label)) * span)
                    amount = limb[uint64(k) * uint64(n_rows) + uint64(row)]
                    add_row(word0, word1, word2, word3, at, n, width, amount, span, 0, cells)
                    k = uint32(k + 1)
            if has_ones:
                at = uint32(one_at + uint32(one_span * own_label))
                # A constant 1 is an instruction of its own that lanes with the same cell share.
                add_row(word0, word1, word2, word3, at, n, width, 1, span, 0, cells)
            at_row = uint32(at_row + cuda.blockDim.x)

    @function
    def sum_of(channel, i, span, channel_plane, channel_limbs, cells):
        """The sum of a channel in cell `i` of every plane, from its highest limb down."""
        n = uint32(channel_limbs[channel]) if has_limbs else uint32(1)
        at = uint32(uint32(uint32(channel_plane[channel] + n) * span) + i)
        found = np.int64(0)
        while n > 0:
            at = uint32(at - span)
            found = (found << LIMB_BITS) + cells[at]
            n = uint32(n - 1)
        return found

    @function
    def add_to_hist(
        base, own_group, group, channel_plane, channel_limbs, n_channels, offset, cells, hist
    ):  # fmt: skip
        """Add what is not zero to a node's histogram."""
        width = uint32(group[own_group + WIDTH])
        span = uint32(group[own_group + SIZE] * width)
        step = uint32(cuda.blockDim.x)
        i = uint32(cuda.threadIdx.x)
        # The feature and the code of a cell go along with it: divisions are slow.
        feature, code = uint32(group[own_group + FEATURE] + i // width), uint32(i % width)
        feature_step, code_step = uint32(step // width), uint32(step % width)
        while i < span:
            first, last = uint64(offset[feature]), uint64(offset[feature + 1])
            if first + code < last:
                out = base + (first + code) * uint64(n_channels)
                channel = uint32(0)
                while channel < n_channels:
                    found = sum_of(channel, i, span, channel_plane, channel_limbs, cells)
                    if found != 0:
                        cuda.atomic.add(hist, out + channel, found)
                    channel = uint32(channel + 1)
            i = uint32(i + step)
            feature, code = uint32(feature + feature_step), uint32(code + code_step)
            if code >= width:
                feature, code = uint32(feature + 1), uint32(code - width)

    @kernel
    def sum_tiles(
        tile, n_groups, group, words, row_words, order, label, limb, limbs, n_rows, one_plane,
        one_step, n_planes, channel_plane, channel_limbs, n_channels, offset, stride, hist,
    ):  # fmt: skip
        """Add the rows of a tile to the sums of a group of features, a block each.

        A channel consists of channel_limbs[channel] of the `n_planes` planes, from
        channel_plane[channel] on.
        """
        block, n_groups = uint32(cuda.blockIdx.x), uint32(n_groups)
        own_tile = uint32(block // n_groups) * TILE_COLUMNS
        own_group = uint32(block % n_groups) * GROUP_COLUMNS
        cells = cuda.shared.array(0, int32)
        n_cells = uint32(group[own_group + SIZE] * group[own_group + WIDTH] * n_planes)
        i = uint32(cuda.threadIdx.x)
        while i < n_cells:
            cells[i] = 0
            i = uint32(i + cuda.blockDim.x)
        cuda.syncthreads()
        add_tile(
            uint32(tile[own_tile + FIRST]), uint32(tile[own_tile + LAST]), own_group, group, words,
            row_words, order, label, limb, limbs, n_rows, one_plane, one_step, cells,
        )  # fmt: skip
        cuda.syncthreads()
        base = uint64(tile[own_tile + PLACE]) * uint64(stride)
        add_to_hist(
            base, own_group, group, channel_plane, channel_limbs, n_channels, offset, cells, hist
        )

    return sum_tiles


def make_scatter(code_bits, has_limbs, has_ones):
    """Add the rows of tiles to the histogram directly; groups are narrow."""
    mask = uint32((1 << code_bits) - 1)

    @kernel
    def scatter_tiles(
        tile, first_group, n_groups, group, words, row_words, order, label, limb, limbs, n_rows,
        one_channel, one_step, n_channels, offset, stride, hist,
    ):  # fmt: skip
        """Add the rows of a tile to the sums of a group: a block has one of each."""
        block, n_groups = uint32(cuda.blockIdx.x), uint32(n_groups)
        own_tile = uint32(block // n_groups) * TILE_COLUMNS
        own_group = uint32(uint32(first_group) + block % n_groups) * GROUP_COLUMNS
        size, first_feature = uint32(group[own_group + SIZE]), uint32(group[own_group + FEATURE])
        first_word = uint64(group[own_group + WORD])
        skipped_bits = uint32(group[own_group + SKIPPED] * code_bits)
        base = uint64(tile[own_tile + PLACE]) * uint64(stride)
        last_label = uint32(label.shape[0] - 1)  # 0 where there are no classes
        n_limbs = uint32(limbs.shape[0] // LIMB_COLUMNS)
        at_row = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x)
        last_row = uint32(tile[own_tile + LAST])
        while at_row < last_row:
            row = uint32(order[at_row])
            own_label = uint64(label[min(row, last_label)])
            one_at = base + uint64(one_channel) + uint64(one_step) * own_label
            word = uint32(words[uint64(row) * uint64(row_words) + first_word] >> skipped_bits)
            j = uint32(0)
            while j < size:
                own = uint64(offset[first_feature + j]) + uint64(word & mask)
                cell = own * uint64(n_channels)
                if has_limbs:
                    k = uint32(0)
                    while k < n_limbs:
                        own_limb = k * LIMB_COLUMNS
                        channel = uint64(limbs[own_limb + CHANNEL])
                        channel += uint64(limbs[own_limb + CHANNEL_STEP]) * own_label
                        amount = np.int64(limb[uint64(k) * uint64(n_rows) + uint64(row)])
                        amount <<= limbs[own_limb + POWER] * LIMB_BITS
                        cuda.atomic.add(hist, base + cell + channel, amount)
                        k = uint32(k + 1)
                if has_ones:
                    cuda.atomic.add(hist, one_at + cell, 1)
                word = uint32(word >> uint32(code_bits))
                j = uint32(j + 1)
            at_row = uint32(at_row + cuda.blockDim.x)

    return scatter_tiles


@kernel
def list_sum_tiles(n_owners, n_tiles, tile_rows, start, n_rows, first_tile, place, tile):
    """Write the table of tiles of `tile_rows` rows into which the rows of some nodes are cut."""
    number = np.int64(cuda.grid(1))
    while number < n_tiles:
        own = owner_of(number, first_tile, n_owners)
        begin = start[own] + (number - first_tile[own]) * tile_rows
        out = number * TILE_COLUMNS
        tile[out + FIRST] = begin
        tile[out + LAST] = min(begin + tile_rows, start[own] + n_rows[own])
        tile[out + PLACE] = place[own]
        number += np.int64(cuda.gridsize(1))


@kernel
def derive(n_nodes, stride, own, own_place, above, above_place, hist):
    """hist[node] is a tallied one, or, where there is a parent, the parent's less that."""
    at = uint64(cuda.grid(1))
    stride = uint64(stride)
    n = uint64(n_nodes) * stride
    while at < n:
        node = at // stride
        cell = at - node * stride
        found = own[uint64(own_place[node]) * stride + cell]
        if above_place[node] >= 0:
            found = above[uint64(above_place[node]) * stride + cell] - found
        hist[at] = found
        at += uint64(cuda.gridsize(1))
