"""From a small boosted tree to what it adds to predictions, and to what is told of it."""

import math

import numpy as np

from gputree.kernels.cpu.formulas import LOSSES
from gputree.kernels.cpu.groups import UNSEEN
from gputree.kernels.cpu.jit import inner
from gputree.kernels.cpu.node_search import (
    ABSENT,
    AT_CODE,
    BEGIN,
    FIRST_CHILD,
    IS_LEFT,
    LISTED_AT,
    N_LISTED,
    N_ROWS,
    TESTED,
    WEIGHT,
)

# Columns of what is told of finished nodes.
CHILD, FEATURE, CODE, SLOT, COUNT, AMOUNT, N_CODES, ELSEWHERE = range(8)
N_TOLD = 8

newton = LOSSES.newton


@inner
def shifted(value, shift, most):
    """A number of the units of the loss in those of integers, but not more than the most."""
    return min(math.ldexp(value, shift), most)


@inner
def sum_leaves(node, n_nodes, row, gradient, hessian, sums):
    """Exact sums of wide gradients and hessians in each node."""
    for own in range(n_nodes - 1, -1, -1):
        steep, curved = np.int64(0), np.int64(0)
        child = node[own, FIRST_CHILD]
        if child >= 0:  # children have higher numbers
            steep, curved = sums[child, 0] + sums[child + 1, 0], sums[child, 1] + sums[child + 1, 1]
        else:
            rows = row[node[own, BEGIN] : node[own, BEGIN] + node[own, N_ROWS]]
            for i in range(rows.shape[0]):
                steep += np.int64(gradient[rows[i]])
            curved = np.int64(rows.shape[0])
            if hessian.shape[0] > 0:
                curved = np.int64(0)
                for i in range(rows.shape[0]):
                    curved += np.int64(hessian[rows[i]])
        sums[own, 0], sums[own, 1] = steep, curved


@inner
def find_steps(sums, n_nodes, shifts, amounts, step):
    """What each node adds to a prediction."""
    rate, most_step, ridge = amounts[0], amounts[1], amounts[4]
    own_ridge = shifted(ridge, shifts[1], np.inf)
    for own in range(n_nodes):
        whole = newton(np.float64(sums[own, 0]), np.float64(sums[own, 1]), own_ridge)
        far = rate * math.ldexp(whole, shifts[1] - shifts[0])
        step[own] = min(max(far, -most_step), most_step)


@inner
def side_of_category(code, categories, absent):
    """The child of a category, which a node has listed in ascending order, or has not."""
    low, high = 0, categories.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if categories[middle, 0] < code:
            low = middle + 1
        else:
            high = middle
    is_listed = low < categories.shape[0] and categories[low, 0] == code
    return np.int64(categories[low, 1]) if is_listed else absent


@inner
def send_down(row, node, table, categories, listed):
    """Where a row ends that took no part in a tree.

    That is a leaf, or a node that does not know its category.
    """
    code, n_values = table[0], table[2]
    own = 0
    while node[own, FIRST_CHILD] >= 0:
        feature = node[own, TESTED]
        here = np.int64(code[feature, row])
        n_known, slot = n_values[feature], 0 if here <= node[own, AT_CODE] else 1
        if categories is not None and categories[0][feature]:
            n_known, first = categories[1][feature], node[own, LISTED_AT]
            own_list = listed[first : first + node[own, N_LISTED]]
            slot = side_of_category(here, own_list, node[own, ABSENT])
        if here == n_known:
            slot = 1 - node[own, IS_LEFT]
        if slot == UNSEEN:
            return own
        own = node[own, FIRST_CHILD] + slot
    return own


@inner
def step_on(node, n_nodes, row, n_inside, table, categories, listed, step, added):
    """Keep what each row's leaf adds to its prediction; row[n_inside:] took no part."""
    for own in range(n_nodes):
        if node[own, FIRST_CHILD] < 0:
            for i in range(node[own, BEGIN], node[own, BEGIN] + node[own, N_ROWS]):
                added[row[i]] = step[own]
    for i in range(n_inside, row.shape[0]):
        added[row[i]] = step[send_down(row[i], node, table, categories, listed)]


@inner
def tell(node, n_nodes, worth, step, order, told, amounts):
    """Write the nodes of a finished tree breadth-first: whole numbers, then worth and step."""
    order[0] = 0
    end = 1
    for at in range(n_nodes):
        own = order[at]
        child = node[own, FIRST_CHILD]
        told[at, CHILD], told[at, FEATURE], told[at, CODE], told[at, SLOT] = -1, -1, 0, 0
        told[at, COUNT], told[at, AMOUNT] = node[own, N_ROWS], node[own, WEIGHT]
        told[at, N_CODES], told[at, ELSEWHERE] = 0, 0
        amounts[at, 0], amounts[at, 1] = 0.0, step[own]
        if child >= 0:
            told[at, CHILD], told[at, FEATURE] = end, node[own, TESTED]
            told[at, CODE], told[at, SLOT] = node[own, AT_CODE], 1 - node[own, IS_LEFT]
            amounts[at, 0] = worth[own]
            order[end], order[end + 1] = child, child + 1
            end += 2


@inner
def tell_categories(node, n_nodes, order, table, categories, listed, told, codes, n_codes):
    """Add the codes that the nodes of a tree list, with their children; returns how many there are.

    That of missing values is one of them, if a feature has it.
    """
    for at in range(n_nodes):
        own, feature = order[at], told[at, FEATURE]
        if feature < 0 or not categories[0][feature]:
            continue
        n, first = node[own, N_LISTED], node[own, LISTED_AT]
        for i in range(n):
            for column in range(2):
                codes[n_codes + i, column] = listed[first + i, column]
        if table[1][feature] > categories[1][feature]:
            codes[n_codes + n, 0], codes[n_codes + n, 1] = categories[1][feature], told[at, SLOT]
            n += 1
        told[at, N_CODES], told[at, ELSEWHERE] = n, node[own, ABSENT]
        n_codes += n
    return n_codes
