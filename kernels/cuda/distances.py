"""How far the targets of rows are from the means of their nodes: the largest, then all added up."""

import numpy as np
from numba import int64, uint32, uint64

from gputree.kernels.cuda.gpu import (
    MOST_WARPS,
    bits_of,
    block_largest,
    block_total,
    cuda,
    formulas,
    function,
    kernel,
    multiply,
    nearest,
)
from gputree.kernels.cuda.histogram import LIMB_BITS
from gputree.kernels.cuda.route import FIRST, LAST, MOVE, TILE_COLUMNS


def make_distances(is_counts):
    """Two kernels: what is the largest distance of all rows, and what do those of nodes add up to.

    Targets are counts or values.
    """
    of_one = formulas().apart_counts if is_counts else formulas().apart_values

    @function
    def distance_of(row, node, n_nodes, n_outputs, n_rows, point, scale, mean, n_limbs, limb):
        """The distance of a row, times its weight, which comes in limbs or is 1."""
        whole = 0.0
        for output in range(n_outputs):
            value = multiply(point[uint64(output) * uint64(n_rows) + row], scale[output])
            whole += of_one(value, mean[uint64(output) * uint64(n_nodes) + node])
        if n_limbs > 0:
            weight, at = np.int64(0), np.int64(n_limbs)
            while at > 0:
                at -= np.int64(1)
                weight = (weight << LIMB_BITS) + limb[uint64(at) * uint64(n_rows) + row]
            whole = multiply(whole, np.float64(weight))
        return whole

    @kernel
    def farthest(
        tile, order, n_nodes, n_outputs, n_rows, point, scale, mean, n_limbs, limb, largest
    ):  # fmt: skip
        """Bits of the largest distance."""
        board = cuda.shared.array(MOST_WARPS, int64)
        own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
        node, most = uint64(tile[own_tile + MOVE]), np.int64(0)
        i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
        while i < last:
            row = uint64(uint32(order[i]))
            own = distance_of(
                row, node, n_nodes, n_outputs, n_rows, point, scale, mean, n_limbs, limb
            )
            most = max(most, bits_of(own))  # floats that are not negative order as their bits
            i = uint32(i + cuda.blockDim.x)
        most = block_largest(most, board)
        if cuda.threadIdx.x == 0:
            cuda.atomic.max(largest, 0, most)

    @kernel
    def add_distances(
        tile, order, n_nodes, n_outputs, n_rows, point, scale, mean, n_limbs, limb, unit, sums
    ):  # fmt: skip
        """The distances of the rows of each node as whole numbers: times both of two units."""
        board = cuda.shared.array(MOST_WARPS, int64)
        own_tile = uint32(cuda.blockIdx.x) * TILE_COLUMNS
        node, whole = uint64(tile[own_tile + MOVE]), np.int64(0)
        i, last = uint32(tile[own_tile + FIRST] + cuda.threadIdx.x), uint32(tile[own_tile + LAST])
        while i < last:
            row = uint64(uint32(order[i]))
            own = distance_of(
                row, node, n_nodes, n_outputs, n_rows, point, scale, mean, n_limbs, limb
            )
            whole += np.int64(nearest(multiply(multiply(own, unit[0]), unit[1])))
            i = uint32(i + cuda.blockDim.x)
        whole = block_total(whole, board)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(sums, node, whole)

    return farthest, add_distances
