"""Whole rounds of boosting on a table of few rows, by one call: no other code runs between trees.

What comes out is what gradients, frontiers and steps make of the same rows one after another.
"""

import math

import numpy as np

from gputree.kernels.cpu import gradients
from gputree.kernels.cpu.formulas import SCALAR, WIDTHS
from gputree.kernels.cpu.grow import enlarged
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.node_search import (
    AT_CODE,
    BEGIN,
    DEPTH,
    FIRST_CHILD,
    GRADIENT,
    IS_LEFT,
    LEFT_GRADIENT,
    LEFT_WEIGHT,
    LISTED_AT,
    LOST,
    N_COLUMNS,
    N_LISTED,
    N_ROWS,
    PLACE,
    TESTED,
    WEIGHT,
    search,
    sort_out,
    sort_out_by_sides,
    take_away,
    tally,
)
from gputree.kernels.cpu.sampling import mix
from gputree.kernels.cpu.split import WORD_BITS
from gputree.kernels.cpu.steps import (
    N_TOLD,
    find_steps,
    shifted,
    step_on,
    sum_leaves,
    tell,
    tell_categories,
)
from gputree.kernels.cpu.turns import pop, push
from gputree.kernels.cpu.winner import N_ENTRIES, larger_child
from gputree.kernels.cpu.word_categories import make_groups_room
from gputree.kernels.cpu.words import LOWER, UPPER
from gputree.kernels.widths import MOST_RIDGE, MOST_WEIGHT

DIRECT_ROWS = 128  # up to here a node is searched straight from its rows
CELL_BYTES = 12  # of a code in the sums of a node: a word and a count
LEAST_GAIN = 5e-324  # a split gains something

trim = SCALAR.trim
wide_shift, narrowing = WIDTHS.wide_shift, WIDTHS.narrowing


@inner
def find_gradients(loss, output, y, raw, most, total, gradient, hessian):
    """Gradients and hessians of one output, as floats; where hessians are 1, they stay."""
    number, constant = loss
    n = y.shape[0]
    if number >= gradients.N_ALONE:
        if output == 0:
            gradients.volumes(0, 1, n, raw, most, total)
        own = float(output)
        given = y, raw[output], most, total
        gradients.class_gradients(0, 1, n, number, own, *given, gradient, hessian)
    elif number < gradients.N_FLAT:
        gradients.flat_gradients(0, 1, n, number, constant, y, raw[0], gradient)
    else:
        gradients.curved_gradients(0, 1, n, number, constant, y, raw[0], gradient, hessian)


@inner
def find_words(weight, is_inside, n_inside, gradient, hessian, word):
    """Gradients and hessians as wide integers, in place, and as words; shifts and the sum of words.

    Shifts are those of wide gradients, wide hessians, narrow gradients and narrow hessians.
    """
    n = gradient.shape[0]
    largest, total = np.empty((1, 2)), np.empty(1, np.int64)
    gradients.weigh(0, 1, n, weight, is_inside, gradient, hessian, largest)
    steep = wide_shift(n_inside, largest[0, 0])
    gradients.widen(0, 1, n, math.ldexp(1.0, steep), gradient, total)
    less = narrowing(total[0], n_inside)
    curved, less_curved = 0, 0
    if hessian.shape[0] > 0:
        curved = wide_shift(n_inside, largest[0, 1])
        gradients.widen(0, 1, n, math.ldexp(1.0, curved), hessian, total)
        less_curved = narrowing(total[0], n_inside)
    gradients.pack(0, 1, n, gradient, less, hessian, less_curved, is_inside, word, total)
    return (steep, curved, steep - less, curved - less_curved), total[0]


# Trees.


@inner
def most_leaves(n_rows, max_depth, max_leaves, min_rows):
    """More leaves than so many a tree cannot have; negative limits are none."""
    n = n_rows // max(1, min_rows) + 1
    if max_leaves >= 0:
        n = min(n, max_leaves)
    return min(n, 1 << max_depth) if 0 <= max_depth < 30 else n


@inner
def direct_rows(offset):
    """Nodes of more rows have sums by code: those are more than the codes of a feature."""
    return max(DIRECT_ROWS, offset[-1] // (2 * (offset.shape[0] - 1)))


@inner
def make_desk(code, n_codes, n_direct, has_categories):
    """What the search of a node needs."""
    most, n_features = most_of(n_codes), n_codes.shape[0]
    wide = max(most, n_direct)
    room = (
        np.empty(wide, np.int64), np.empty(2 * wide, np.int64), np.empty(2 * wide, np.int64),
        np.empty((3, 2 * wide)),
    )  # fmt: skip
    return (
        room,
        np.empty(n_direct, code.dtype),
        np.zeros(most // WORD_BITS + 1, np.uint64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int32),
        np.empty(n_features, np.uint64),
        np.empty(n_features, np.int64),
        (
            np.empty(n_features, np.int64), np.empty(n_features),
            make_groups_room(most if has_categories else 0),
        ),
    )  # fmt: skip


@inner
def plant(root, n_rows, total):
    """A root of rows whose words sum to `total`."""
    root[FIRST_CHILD], root[PLACE], root[BEGIN], root[DEPTH] = -1, -1, 0, 0
    root[N_ROWS], root[WEIGHT], root[GRADIENT] = n_rows, total & LOWER, total >> UPPER


@inner
def sum_node(own, place, row, word, table, is_counted, hist, numbers):
    """Sum the rows of a node by code."""
    rows = row[own[BEGIN] : own[BEGIN] + own[N_ROWS]]
    counts = numbers[place if is_counted else 0]
    tally(rows, word[own[BEGIN] :], table[0], table[3], is_counted, hist[place], counts)


@inner
def sum_up(node, here, row, word, table, is_counted, needs, hist, numbers, free, n_free):
    """Give the children of a node places for their sums, where they need some.

    The smaller one is summed, and the larger one has what is left of its parent's sums. Returns how
    many places are free.
    `here` is the node; needs[side] says which children are searched. `numbers` has rows by code
    where those are counted, and `free` the places of `hist` without sums.
    """
    above, left = node[here, PLACE], node[here, FIRST_CHILD]
    if above < 0:
        return n_free
    small = left + 1 if node[left + 1, N_ROWS] < node[left, N_ROWS] else left
    large = 2 * left + 1 - small
    needs_large, needs_small = needs[large - left], needs[small - left]
    place = above
    if needs_large:
        n_free -= 1
        place = free[n_free]
        node[large, PLACE] = above
    if needs_large or needs_small:
        sum_node(node[small], place, row, word, table, is_counted, hist, numbers)
    if needs_large:
        other = above if is_counted else 0
        counts = numbers[place if is_counted else 0]
        take_away(hist[above], numbers[other], is_counted, hist[place], counts)
    if needs_small:
        node[small, PLACE] = place
    else:
        free[n_free] = place
        n_free += 1
    return n_free


@inner
def set_sides(own, is_left, n_known, categories_of, side_of):
    """The children of the codes that a node has."""
    for i in range(own[N_LISTED]):
        side_of[categories_of[i, 0]] = categories_of[i, 1]
    side_of[n_known] = 0 if is_left else 1


@inner
def divide(
    node, here, n_nodes, row, word, table, categories, listed, side_of, by_rows, other_row,
    other_word
):  # fmt: skip
    """Send the rows of a node to two children, which are numbered from `n_nodes` on.

    `here` is the node. `listed` has the codes that nodes list with their slots, `side_of` is room
    for those of all codes, `other_row` and `other_word` for rows that go right. `by_rows` says that
    the larger child has more rows, not more weight.
    """
    code, n_codes, n_values, _ = table
    own = node[here]
    begin, n, feature = own[BEGIN], own[N_ROWS], own[TESTED]
    rows, words = row[begin : begin + n], word[begin : begin + n]
    is_nominal, n_left = False, 0
    if categories is not None and categories[0][feature]:
        is_nominal = True
        set_sides(own, own[IS_LEFT] == 1, categories[1][feature], listed[own[LISTED_AT] :], side_of)
        n_left = sort_out_by_sides(n, code[feature], side_of, rows, words, other_row, other_word)
    if not is_nominal:
        missing_code = n_values[feature] if n_codes[feature] > n_values[feature] else -1
        n_left = sort_out(
            n, code[feature], own[AT_CODE], missing_code, own[IS_LEFT] == 1, rows, words, other_row,
            other_word,
        )  # fmt: skip
    if own[LOST] == 0:
        right = larger_child(n_left, n) if by_rows else larger_child(own[LEFT_WEIGHT], own[WEIGHT])
        own[IS_LEFT] = 1 - right
    own[FIRST_CHILD] = n_nodes
    for side in range(2):
        child = node[n_nodes + side]
        child[FIRST_CHILD], child[PLACE] = -1, -1
        child[BEGIN] = begin if side == 0 else begin + n_left
        child[N_ROWS] = n_left if side == 0 else n - n_left
        child[DEPTH] = own[DEPTH] + 1
        child[WEIGHT] = own[LEFT_WEIGHT] if side == 0 else own[WEIGHT] - own[LEFT_WEIGHT]
        child[GRADIENT] = own[LEFT_GRADIENT] if side == 0 else own[GRADIENT] - own[LEFT_GRADIENT]


@kernel
def grow(
    row, word, total, table, columns, categories, key, limits, rules, n_direct, desk, store, node,
    worth, keys, listed,
):  # fmt: skip
    """Grow a tree on `row`, which is sorted out on the way.

    Returns how many nodes it has, the categories that they list, and how many these are.

    `rules`: the ridge, the least weight of a child, its least rows and whether those are counted,
    the least weight and the least rows of a node that is split, and the least gain.
    `key` is that of the root's draws; `limits` are those of `run`; nodes of up to `n_direct` rows
    have no sums. `desk` and `store` are scratch memory; `node`, `worth`, `keys` and `listed` are
    filled.
    """
    max_depth, max_leaves, n_drawn, by_rows = limits
    is_counted, least_weight, least_rows, least_gain = rules[3], rules[4], rules[5], rules[6]
    hist, numbers, free, heap_worth, heap_node, other_row, other_word, side_of = store
    best, left = np.empty(N_ENTRIES), np.empty(2, np.int64)
    may, needs = np.zeros(2, np.bool_), np.zeros(2, np.bool_)
    n_free = hist.shape[0]
    for place in range(n_free):
        free[place] = place
    plant(node[0], row.shape[0], total)
    keys[0] = key
    n_listed = 0
    here, first, n_nodes, n_heap, n_leaves = -1, 0, 1, 0, 1
    while True:
        is_full = n_leaves >= max_leaves >= 0
        for own in range(first, n_nodes):
            may[own - first] = (
                node[own, N_ROWS] >= least_rows and node[own, WEIGHT] >= least_weight
                and (max_depth < 0 or node[own, DEPTH] < max_depth) and not is_full
            )  # fmt: skip
            needs[own - first] = may[own - first] and node[own, N_ROWS] > n_direct
        if here >= 0:
            n_free = sum_up(
                node, here, row, word, table, is_counted, needs, hist, numbers, free, n_free
            )
        elif needs[0]:
            n_free -= 1
            node[0, PLACE] = free[n_free]
            sum_node(node[0], free[n_free], row, word, table, is_counted, hist, numbers)
        for own in range(first, n_nodes):
            if not may[own - first]:
                continue
            if n_listed + side_of.shape[0] > listed.shape[0]:
                listed = enlarged(listed, 2 * listed.shape[0] + side_of.shape[0])
            gain = search(
                node[own], keys[own], row, word, table, columns, categories, n_drawn, rules, hist,
                numbers, desk, best, left, listed[n_listed:],
            )  # fmt: skip
            if gain > -np.inf and gain >= least_gain:
                worth[own] = gain
                if categories is not None and categories[0][node[own, TESTED]]:
                    node[own, LISTED_AT] = n_listed
                    n_listed += node[own, N_LISTED]
                # Without a limit of leaves any order will do, and the latest node's is sparing.
                turn = trim(gain) if max_leaves >= 0 else np.float64(own)
                push(heap_worth, heap_node, n_heap, turn, own)
                n_heap += 1
            elif node[own, PLACE] >= 0:
                free[n_free] = node[own, PLACE]
                n_free += 1
        if n_heap == 0 or is_full:
            return n_nodes, listed, n_listed
        here = pop(heap_worth, heap_node, n_heap)
        n_heap -= 1
        n_leaves += 1
        first = n_nodes
        divide(
            node, here, first, row, word, table, categories, listed, side_of, by_rows, other_row,
            other_word,
        )  # fmt: skip
        for side in range(2):
            keys[first + side] = mix(keys[here], np.uint64(side))
        n_nodes += 2


@inner
def list_rows(is_inside, row):
    """Rows that take part, then the others; returns how many take part."""
    n, n_inside = row.shape[0], 0
    if is_inside.shape[0] == 0:
        for i in range(n):
            row[i] = i
        return n
    for i in range(n):
        if is_inside[i]:
            row[n_inside] = i
            n_inside += 1
    n_listed = n_inside
    for i in range(n):
        if not is_inside[i]:
            row[n_listed] = i
            n_listed += 1
    return n_inside


@inner
def set_categories(categories, shift, weight, n_rows, is_counted, sizes, ridges):
    """Least sizes and ridges of categories in the units of a tree whose rows weigh so much."""
    least_rows, ridge = categories[2], categories[3]
    for feature in range(sizes.shape[0]):
        ridges[feature] = shifted(ridge[feature], shift, MOST_RIDGE)
        sizes[feature] = least_rows[feature]
        if least_rows[feature] > 1 and not is_counted:  # the weight that so many rows have
            mean = np.float64(weight) / np.float64(max(1, n_rows))
            sizes[feature] = max(1, np.int64(np.ceil(np.float64(least_rows[feature]) * mean)))


@kernel
def run(y, weight, raw, is_inside, table, columns, categories, keys, loss, limits, amounts):
    """Some rounds of boosting; `raw` moves on, (outputs, rows).

    `is_inside` says which rows take part, (rounds, rows), or has no rounds where all do; `columns`
    which ones each tree may test, (trees, features), or has no trees. `categories` is None where no
    feature is nominal, or which ones are, how many categories they have, the least rows of a
    category and its ridge. `limits`: rounds, the largest depth, the most leaves (negative: none),
    the least rows of a leaf, how many features are drawn. `amounts`: the learning rate, the longest
    step, the least weight of a leaf, the least gain, the ridge. Returns nodes, their worth and
    steps, of each tree its nodes and the shifts of narrow gradients and weights, and the codes that
    nodes list with their children.
    `keys` are those of the roots, `loss` is its number and its constant.
    """
    n_rounds, max_depth, max_leaves, min_rows, n_drawn = limits
    code, n_codes, n_values, offset = table
    n_outputs, n_all = raw.shape
    n_features = n_values.shape[0]
    weighs = weight.shape[0] > 0 or loss[0] >= gradients.N_FLAT
    is_counted = weighs and min_rows > 1
    most, total = np.empty(n_all), np.empty(n_all)
    gradient, hessian = np.empty(n_all), np.empty(n_all if weighs else 0)
    word, own_word = np.empty(n_all, np.int64), np.empty(n_all, np.int64)
    row, added = np.empty(n_all, np.uint32), np.empty(raw.shape)
    no_marks, all_columns = np.empty(0, np.bool_), np.ones(n_features, np.bool_)

    n_direct = direct_rows(offset)
    n_leaves = most_leaves(n_all, max_depth, max_leaves, min_rows)
    n_places = min(n_leaves + 1, n_all // (n_direct + 1) + 2)
    desk = make_desk(code, n_codes, n_direct, categories is not None)
    store = (
        np.empty((n_places, offset[-1]), np.int64),
        np.empty((n_places, offset[-1]) if is_counted else (1, 1), np.int32),
        np.empty(n_places, np.int64),
        np.empty(n_leaves + 1),
        np.empty(n_leaves + 1, np.int64),
        np.empty(n_all, np.uint32),
        np.empty(n_all, np.int64),
        np.empty(0 if categories is None else most_of(n_codes) + 1, np.uint8),
    )
    n_room = 2 * n_leaves + 1
    node, sums = np.empty((n_room, N_COLUMNS), np.int64), np.empty((n_room, 2), np.int64)
    worth, step, order = np.empty(n_room), np.empty(n_room), np.empty(n_room, np.int64)
    node_keys = np.empty(n_room, np.uint64)
    told, measures = np.zeros((n_room, N_TOLD), np.int64), np.zeros((n_room, 2))
    trees = np.empty((n_rounds * n_outputs, 3), np.int64)
    listed, codes = np.empty((0, 2), np.int32), np.empty((0, 2), np.int32)
    n_told, n_listed = 0, 0
    for number in range(n_rounds):
        marks = no_marks if is_inside.shape[0] == 0 else is_inside[number]
        for output in range(n_outputs):
            tree = number * n_outputs + output
            n_inside = list_rows(marks, row)
            if weighs and loss[0] < gradients.N_FLAT:
                hessian[:] = 1.0
            find_gradients(loss, output, y, raw, most, total, gradient, hessian)
            shifts, whole = find_words(weight, marks, n_inside, gradient, hessian, word)
            for i in range(n_inside):
                own_word[i] = word[row[i]]
            ridge = shifted(amounts[4], shifts[3], MOST_RIDGE)
            least = max(1, np.int64(np.ceil(shifted(amounts[2], shifts[3], MOST_WEIGHT))))
            least_gain = max(shifted(amounts[3], 2 * shifts[2] - shifts[3], np.inf), LEAST_GAIN)
            lightest = max(least, min_rows) if not is_counted else least
            rules = (
                ridge, lightest, min_rows, is_counted, 2 * least, max(2, 2 * min_rows), least_gain,
            )  # fmt: skip
            if categories is not None:
                sizes, ridges = desk[7][0], desk[7][1]
                set_categories(
                    categories, shifts[3], whole & LOWER, n_inside, is_counted, sizes, ridges
                )
            n_nodes, listed, n_noted = grow(
                row[:n_inside], own_word[:n_inside], whole, table,
                columns[tree] if columns.shape[0] > 0 else all_columns, categories, keys[tree],
                (max_depth, max_leaves, n_drawn, not weighs or is_counted), rules, n_direct, desk,
                store, node, worth, node_keys, listed,
            )  # fmt: skip
            sum_leaves(node, n_nodes, row, gradient, hessian, sums)
            find_steps(sums, n_nodes, shifts, amounts, step)
            step_on(node, n_nodes, row, n_inside, table, categories, listed, step, added[output])
            if n_told + n_nodes > told.shape[0]:
                n_more = 2 * told.shape[0] + n_nodes
                told, measures = enlarged(told, n_more), enlarged(measures, n_more)
            tell(node, n_nodes, worth, step, order, told[n_told:], measures[n_told:])
            if categories is not None:
                n_more = n_listed + n_noted + n_nodes
                if n_more > codes.shape[0]:
                    codes = enlarged(codes, 2 * n_more)
                n_listed = tell_categories(
                    node, n_nodes, order, table, categories, listed, told[n_told:], codes, n_listed
                )
            n_told += n_nodes
            trees[tree, 0], trees[tree, 1], trees[tree, 2] = n_nodes, shifts[2], shifts[3]
        # A loss of several outputs looks at all predictions, so none moves before the last tree.
        for output in range(n_outputs):
            for i in range(n_all):
                raw[output, i] += added[output, i]
    return told[:n_told], measures[:n_told], trees, codes[:n_listed]
