"""What each feature has done to the prediction of a row: Shapley values of trees.

A leaf is reached with the features S known if the row takes its branches at the tests of S, by the
share `zero` of what is not known elsewhere. Each feature on the way has a factor: `one` if it is
known, `zero` if not. The mean over all orders in which features become known is an integral over t
of products of `zero + t (one - zero)`, and the quadrature of Gauss has no error for polynomials. A
tree is gone through once, with what lies below each edge summed at every point t. Rows go through
it in blocks: they share what is to be done, and have the same operations done to them.
"""

import numpy as np
from numba import njit

from gputree.kernels.cpu.jit import kernel
from gputree.kernels.cpu.predict import slot_of

BLOCK_ROWS = 32  # as many columns of 8 bytes, at 6 splits and 3 points, as stay in the first cache


@njit(nogil=True, inline="always")
def fraction(slot, child, n_children, share):
    """What goes to a child: all or nothing; its share where no child is told."""
    whole = 1.0 if slot == child else 0.0
    return share if slot >= n_children else whole


@kernel
def attribute(begin, end, matrix, others, nodes, trees, rules, room, result):
    """Add the attributions of rows of a matrix to result[row, feature, output].

    `others` are rows that stand for what is not known, one after another; if there are none, the
    shares of the training weight do. nodes: column[node] is the one tested, feature[node] the one
    that is credited. rules: line n has the points and the weights of the quadrature of n points.
    room: the most splits above a leaf, the most points, the number of features.
    """
    most_depth, most_points, n_features = room
    root, n_points, output, value = trees
    point, weight = rules
    n_others = others.shape[0]
    n_depths, width = most_depth + 1, value.shape[1]
    # What belongs to each depth of the path to the node that is gone through.
    node = np.zeros(n_depths, np.int64)
    child = np.zeros(n_depths, np.int64)
    before = np.zeros(n_depths, np.int64)
    other_slot = np.zeros(n_depths, np.int64)
    own_slot = np.zeros((n_depths, BLOCK_ROWS), np.int64)
    zero = np.ones(n_depths)
    one = np.ones((n_depths, BLOCK_ROWS))
    product = np.ones((n_depths, most_points, BLOCK_ROWS))
    inverse = np.ones((n_depths, most_points, BLOCK_ROWS))
    below = np.empty((n_depths, most_points, width, BLOCK_ROWS))
    last = np.zeros(n_features, np.int64)
    credit = np.zeros(BLOCK_ROWS)
    path = (
        node, child, before, other_slot, own_slot, zero, one, product, inverse, below, last, credit
    )  # fmt: skip
    sums = np.empty((n_features, width, BLOCK_ROWS))
    for first in range(begin, end, BLOCK_ROWS):
        block = matrix[first : min(first + BLOCK_ROWS, end)]
        for tree in range(root.shape[0]):
            n = n_points[tree]
            rule = point[n, :n], weight[n, :n]
            into = result[first : first + block.shape[0], :, output[tree] : output[tree] + width]
            copy_in(into, sums)
            for other in range(max(1, n_others)):
                unknown = others[other : other + 1]
                go_through(block, unknown, nodes, root[tree], rule, value, path, sums)
            copy_out(sums, into)


@njit(nogil=True)
def copy_in(result, sums):
    """Sums with the rows last."""
    for row in range(result.shape[0]):
        for feature in range(result.shape[1]):
            for i in range(result.shape[2]):
                sums[feature, i, row] = result[row, feature, i]


@njit(nogil=True)
def copy_out(sums, result):
    """Sums with the rows first."""
    for row in range(result.shape[0]):
        for feature in range(result.shape[1]):
            for i in range(result.shape[2]):
                result[row, feature, i] = sums[feature, i, row]


@njit(nogil=True)
def go_through(block, others, nodes, root, rule, value, path, sums):
    """Add the attributions of some rows in one tree to sums[feature, output, row].

    Depth 0 of the path is the root. Nothing has been tested above it: as if by a feature that lets
    everything pass.
    """
    column, feature, first_child, share = nodes[:4]
    threshold, missing_slot, n_children, category_start, category, category_slot = nodes[4:]
    node, child, before, other_slot, own_slot, zero, one, product, inverse, below, last, credit = (
        path
    )
    point, weight = rule
    n_points, width, n_rows = point.shape[0], value.shape[1], block.shape[0]
    depth, here = 0, root
    has_arrived = True
    while depth >= 0:
        if has_arrived:
            has_arrived = False
            node[depth] = here
            child[depth] = 0
            n = n_children[here]
            for q in range(n_points):
                for i in range(width):
                    added = value[here, i] if n == 0 else 0.0
                    reached, above = below[depth, q, i], product[depth, q]
                    for row in range(n_rows):
                        reached[row] = above[row] * added
            if n > 0:
                for row in range(n_rows):
                    own_slot[depth, row] = slot_of(
                        block[row, column[here]], threshold[here], category_start[here], category,
                        category_slot, n, missing_slot[here],
                    )  # fmt: skip
                other_slot[depth] = n
                if others.shape[0] > 0:
                    other_slot[depth] = slot_of(
                        others[0, column[here]], threshold[here], category_start[here], category,
                        category_slot, n, missing_slot[here],
                    )  # fmt: skip
        here = node[depth]
        n = np.int64(n_children[here])
        turn = child[depth]
        if turn < n:
            child[depth] += 1
            to = root + first_child[here] + turn
            own = feature[here]
            back = last[own]
            part = share[to]
            unknown = zero[back] * fraction(other_slot[depth], turn, n, part)
            total = 0.0
            for row in range(n_rows):
                goes = one[back, row] * fraction(own_slot[depth, row], turn, n, part)
                one[depth + 1, row] = goes
                total += goes
            if total == 0.0 and unknown == 0.0:
                continue
            known = one[depth + 1]
            for q in range(n_points):
                above, after = product[depth, q], product[depth + 1, q]
                earlier, later = inverse[back, q], inverse[depth + 1, q]
                for row in range(n_rows):
                    now = unknown + point[q] * (known[row] - unknown)
                    # A row that cannot get here has 0, and nothing to divide.
                    later[row] = 1.0 / (now if now > 0.0 else 1.0)
                    after[row] = above[row] * earlier[row] * now
            depth += 1
            zero[depth], before[depth], last[own] = unknown, back, depth
            here = to
            has_arrived = True
        else:
            if depth > 0:
                own = feature[node[depth - 1]]
                back = before[depth]
                last[own] = back
                known, was_known = one[depth], one[back]
                unknown, was_unknown = zero[depth], zero[back]
                for i in range(width):
                    credit[:] = 0.0
                    for q in range(n_points):
                        earlier, later = inverse[back, q], inverse[depth, q]
                        reached, total_below = below[depth, q, i], below[depth - 1, q, i]
                        for row in range(n_rows):
                            # A feature tested before has had its credit for all that is below.
                            gain = (known[row] - unknown) * later[row]
                            had = (was_known[row] - was_unknown) * earlier[row]
                            credit[row] += weight[q] * reached[row] * (gain - had)
                            total_below[row] += reached[row]
                    into = sums[own, i]
                    for row in range(n_rows):
                        into[row] += credit[row]
            depth -= 1
