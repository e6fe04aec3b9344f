"""Gradients and hessians of a loss as integers, their sums by node, and predictions that move on.

Threads stride over rows. What is found over all rows are largest magnitudes and sums of integers,
which do not depend on order: a block puts together what its threads have, in registers of warps and
then in shared memory, and hands it on by one atomic of 64 bits in global memory. Those in shared
memory would be loops of compare and swap.
"""

import numpy as np
from numba import int64, uint32, uint64

from gputree.kernels.cuda.gpu import (
    MOST_WARPS,
    bits_of,
    block_largest,
    block_total,
    cuda,
    function,
    kernel,
    losses,
    multiply,
    nearest,
)
from gputree.kernels.cuda.route import FIRST, LAST, MOVE, TILE_COLUMNS

HESSIAN, GRADIENT = 0, 1  # where a pair has them, as channels do


@function
def add_pair(steep, curved, board, sums, at):
    """Add gradients and hessians of all threads of a block to the pair that begins there."""
    steep, curved = block_total(steep, board), block_total(curved, board)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, at + GRADIENT, steep)
        cuda.atomic.add(sums, at + HESSIAN, curved)


def make_at_row(formulas, is_of_shares):
    """The gradient and the hessian of a row by the formulas of a loss.

    Without formulas, they are there already.
    """
    if formulas is None:

        @function
        def at_row(i, n_rows, number, constant, y, raw, most, volume, gradient, hessian):
            return gradient[i], hessian[i]

        return at_row

    of_loss = formulas(losses()).gradient_hessian
    if is_of_shares:

        @function
        def at_row(i, n_rows, number, constant, y, raw, most, volume, gradient, hessian):
            own = raw[uint64(number) * uint64(n_rows) + uint64(i)]
            return of_loss(y[i], own, most[i], volume[i], np.float64(number))

    else:

        @function
        def at_row(i, n_rows, number, constant, y, raw, most, volume, gradient, hessian):
            return of_loss(y[i], raw[i], constant)

    return at_row


def make_gradients(formulas=None, is_of_shares=False):
    """Gradients and hessians of one loss."""
    at_row = make_at_row(formulas, is_of_shares)

    @kernel
    def take_gradients(
        n_rows, number, constant, y, raw, most, volume, weight, is_inside, is_curved, gradient,
        hessian, largest,
    ):  # fmt: skip
        """Gradients and hessians times weights, 0 outside, and bits of their largest magnitudes.

        One weight and one mark may stand for those of all rows.
        `number` is that of the class, `constant` that of the loss; `most` and `volume` are what
        shares of classes need of each row.
        """
        board = cuda.shared.array(MOST_WARPS, int64)
        last_weight, last_mark = uint32(weight.shape[0] - 1), uint32(is_inside.shape[0] - 1)
        steep, curved = np.int64(0), np.int64(0)
        i = uint32(cuda.grid(1))
        while i < n_rows:
            own_gradient, own_hessian = 0.0, 0.0
            if is_inside[min(i, last_mark)] != 0:
                own_gradient, own_hessian = at_row(
                    i, n_rows, number, constant, y, raw, most, volume, gradient, hessian
                )
                own_weight = weight[min(i, last_weight)]
                own_gradient = multiply(own_gradient, own_weight)
                own_hessian = multiply(own_hessian, own_weight)
            gradient[i] = own_gradient
            # Floats that are not negative have the order of their bits.
            steep = max(steep, bits_of(abs(own_gradient)))
            if is_curved:
                hessian[i] = own_hessian
                curved = max(curved, bits_of(abs(own_hessian)))
            i = uint32(i + cuda.gridsize(1))
        steep, curved = block_largest(steep, board), block_largest(curved, board)
        if cuda.threadIdx.x == 0:
            cuda.atomic.max(largest, GRADIENT, steep)
            cuda.atomic.max(largest, HESSIAN, curved)

    return take_gradients


def make_volumes():
    """What the shares of several classes need of each row."""
    forms = losses()
    highest, volume_of = forms.highest, forms.volume

    @kernel
    def volumes(n_rows, n_outputs, raw, most, volume):
        i = uint32(cuda.grid(1))
        while i < n_rows:
            own = raw[i::n_rows]
            most[i] = highest(own, n_outputs)
            volume[i] = volume_of(own, most[i], n_outputs)
            i = uint32(i + cuda.gridsize(1))

    return volumes


@kernel
def widen(n_rows, gradient_scale, hessian_scale, is_curved, gradient, hessian, sums):
    """Make gradients and hessians whole numbers, in place, and sum their magnitudes."""
    board = cuda.shared.array(MOST_WARPS, int64)
    steep, curved = np.int64(0), np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = nearest(multiply(gradient[i], gradient_scale))
        gradient[i] = own
        steep += np.int64(abs(own))
        if is_curved:
            own = nearest(multiply(hessian[i], hessian_scale))
            hessian[i] = own
            curved += np.int64(abs(own))
        i = uint32(i + cuda.gridsize(1))
    add_pair(steep, curved, board, sums, uint64(0))


@function
def narrowed(wide, less):
    """A whole number with some bits fewer."""
    whole = np.int64(wide)
    if less > 0:
        whole = (whole + (np.int64(1) << np.int64(less - 1))) >> np.int64(less)
    return whole


@kernel
def narrow(
    n_rows, gradient_less, hessian_less, is_curved, gradient, hessian, is_inside, limb, sums
):  # fmt: skip
    """Narrow hessians, where there are any, and after them narrow gradients; and their sums.

    A row that takes part has a hessian of at least 1.
    """
    board = cuda.shared.array(MOST_WARPS, int64)
    last_mark = uint32(is_inside.shape[0] - 1)
    first_gradient = uint64(n_rows) if is_curved else uint64(0)
    steep, curved = np.int64(0), np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n_rows:
        own = narrowed(gradient[i], gradient_less)
        limb[first_gradient + uint64(i)] = own
        steep += own
        if is_curved:
            own = narrowed(hessian[i], hessian_less)
            if is_inside[min(i, last_mark)] != 0:
                own = max(own, np.int64(1))
            limb[i] = own
            curved += own
        i = uint32(i + cuda.gridsize(1))
    add_pair(steep, curved, board, sums, uint64(0))


@kernel
def sum_gradients(tile, order, is_curved, gradient, hessian, sums):
    """Add the wide gradients and hessians of each tile's rows to the pair of its node."""
    board = cuda.shared.array(MOST_WARPS, int64)
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    steep, curved = np.int64(0), np.int64(0)
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        row = uint32(order[i])
        steep += np.int64(gradient[row])
        curved += np.int64(hessian[row]) if is_curved else np.int64(1)
        i = uint32(i + cuda.blockDim.x)
    add_pair(steep, curved, board, sums, uint64(tile[own_tile + MOVE]) * uint64(2))


@kernel
def renew(tile, step, begin, order, raw):
    """Add the step of its node to each row's prediction, one of those from `begin` on."""
    own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
    own_step = step[uint32(tile[own_tile + MOVE])]
    i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
    while i < last:
        raw[uint64(begin) + uint64(order[i])] += own_step
        i = uint32(i + cuda.blockDim.x)


def make_losses(formulas, is_of_shares):
    """The losses of some rows by the formulas of a loss."""
    forms = losses()
    of_value, highest, volume_of = formulas(forms).value, forms.highest, forms.volume

    @function
    def of_row(row, n_rows, n_outputs, constant, y, raw):
        if is_of_shares:
            own = raw[row::n_rows]
            most = highest(own, n_outputs)
            return of_value(y[row], own, most, volume_of(own, most, n_outputs), n_outputs)
        return of_value(y[row], raw[row], constant)

    @kernel
    def take_losses(n, n_rows, n_outputs, constant, row, y, raw, weight, loss, largest):
        """Losses times weights, and the bits of the largest magnitude, which tell of one that is
        not finite; one weight stands for all.
        """
        board = cuda.shared.array(MOST_WARPS, int64)
        last_weight = uint32(weight.shape[0] - 1)
        most = np.int64(0)
        i = uint32(cuda.grid(1))
        while i < n:
            own = of_row(uint32(row[i]), n_rows, n_outputs, constant, y, raw)
            own = multiply(own, weight[min(i, last_weight)])
            loss[i] = own
            most = max(most, bits_of(abs(own)))
            i = uint32(i + cuda.gridsize(1))
        most = block_largest(most, board)
        if cuda.threadIdx.x == 0:
            cuda.atomic.max(largest, 0, most)

    return take_losses


@kernel
def add_steps(n_rows, leaf, step, begin, raw):
    """Add the step of its leaf to each row's prediction, one of those from `begin` on."""
    i = uint32(cuda.grid(1))
    while i < n_rows:
        raw[uint64(begin) + uint64(i)] += step[leaf[i]]
        i = uint32(i + cuda.gridsize(1))


@kernel
def add_losses(n, scale, loss, sums):
    """The sum of losses as whole numbers."""
    board = cuda.shared.array(MOST_WARPS, int64)
    whole = np.int64(0)
    i = uint32(cuda.grid(1))
    while i < n:
        whole += np.int64(nearest(multiply(loss[i], scale)))
        i = uint32(i + cuda.gridsize(1))
    whole = block_total(whole, board)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, 0, whole)
