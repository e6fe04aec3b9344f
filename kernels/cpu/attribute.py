"""What each feature has done to the prediction of a row: Shapley values of trees.

A leaf is reached with the features S known if the row takes its branches at the tests of S, by the
share `zero` of what is not known elsewhere. Each feature on the way has a factor: `one` if it is
known, `zero` if not. The mean over all orders in which features become known is an integral over t
of products of `zero + t (one - zero)`, and the quadrature of Gauss has no error for polynomials. A
tree is gone through once, with what lies below each edge summed at every point t.
"""

import numpy as np
from numba import njit

from gputree.kernels.cpu.jit import kernel
from gputree.kernels.cpu.predict import slot_of


@njit(nogil=True)
def fraction(slot, child, n_children, share):
    """What goes to a child: all or nothing; its share where no child is told."""
    if slot >= n_children:
        return share
    return 1.0 if slot == child else 0.0


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
    width = value.shape[1]
    node = np.empty(most_depth + 1, np.int64)
    child = np.empty(most_depth + 1, np.int64)
    slots = np.empty((2, most_depth + 1), np.int64)
    factor = np.empty((2, most_depth + 1))
    before = np.zeros(most_depth + 1, np.int64)
    last = np.zeros(n_features, np.int64)
    product = np.empty((most_depth + 1, most_points))
    below = np.empty((most_depth + 1, most_points, width))
    for row in range(begin, end):
        for tree in range(root.shape[0]):
            n = n_points[tree]
            rule = point[n, :n], weight[n, :n]
            path = node, child, slots, factor, before, last, product[:, :n], below[:, :n]
            sums = result[row, :, output[tree] : output[tree] + width]
            for other in range(max(1, n_others)):
                unknown = others[other : other + 1]
                go_through(matrix[row], unknown, nodes, root[tree], rule, value, path, sums)


@njit(nogil=True)
def go_through(values, others, nodes, root, rule, value, path, sums):
    """Add the attributions of one row in one tree to sums[feature, output]."""
    column, feature, first_child, share = nodes[:4]
    n_children = nodes[6]
    tests = nodes[4:]
    node, child, slots, factor, before, last, product, below = path
    point, weight = rule
    one, zero = factor
    depth = 0
    # Nothing has been tested above the root: as if by a feature that lets everything pass.
    one[0] = zero[0] = 1.0
    product[0, :] = 1.0
    node[0] = root
    arrive(0, values, others, column, tests, value, node, child, slots, product, below)
    while depth >= 0:
        here = node[depth]
        turn = child[depth]
        if turn < n_children[here]:
            child[depth] += 1
            to = root + first_child[here] + turn
            own = feature[here]
            back = last[own]
            n = n_children[here]
            known = one[back] * fraction(slots[0, depth], turn, n, share[to])
            unknown = zero[back] * fraction(slots[1, depth], turn, n, share[to])
            if known == 0.0 and unknown == 0.0:
                continue
            for q in range(point.shape[0]):
                earlier = zero[back] + point[q] * (one[back] - zero[back])
                now = unknown + point[q] * (known - unknown)
                product[depth + 1, q] = product[depth, q] / earlier * now
            depth += 1
            one[depth], zero[depth], before[depth], last[own] = known, unknown, back, depth
            node[depth] = to
            arrive(depth, values, others, column, tests, value, node, child, slots, product, below)
        else:
            if depth > 0:
                own = feature[node[depth - 1]]
                back = before[depth]
                last[own] = back
                # A feature that was tested before has had its credit for all that is below.
                gain, had = one[depth] - zero[depth], one[back] - zero[back]
                for i in range(value.shape[1]):
                    credit = 0.0
                    for q in range(point.shape[0]):
                        earlier = zero[back] + point[q] * had
                        now = zero[depth] + point[q] * gain
                        reached = below[depth, q, i]
                        credit += weight[q] * reached * (gain / now - had / earlier)
                        below[depth - 1, q, i] += reached
                    sums[own, i] += credit
            depth -= 1


@njit(nogil=True)
def arrive(depth, values, others, column, tests, value, node, child, slots, product, below):
    """Begin with a node: a leaf has its value below it, others nothing yet."""
    here = node[depth]
    child[depth] = 0
    threshold, missing_slot, n_children, level_start, level_slot = tests
    if n_children[here] == 0:
        for q in range(product.shape[1]):
            for i in range(value.shape[1]):
                below[depth, q, i] = product[depth, q] * value[here, i]
        return
    below[depth] = 0.0
    slots[0, depth] = slot_of(
        values[column[here]], here, threshold, missing_slot, n_children, level_start, level_slot
    )
    slots[1, depth] = n_children[here]
    if others.shape[0] > 0:
        slots[1, depth] = slot_of(
            others[0, column[here]], here, threshold, missing_slot, n_children, level_start,
            level_slot,
        )  # fmt: skip
