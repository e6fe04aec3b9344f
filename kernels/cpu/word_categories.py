"""The best two groups of categories by gradients and hessians, both in one word.

The same as the `ordered` search of `gputree.backends.categories`, one pair of a node and a feature
after another: categories are put in order by their means, and no division is better than the best
cut of that order. What is divided are items: the categories that have rows enough, and the pool of
the others after them.
"""

import numpy as np

from gputree.kernels.cpu.groups import UNSEEN, put_in_order
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.split import feature_at, settle
from gputree.kernels.cpu.winner import N_ENTRIES, SCORE, TRIMMED, crown_groups, forget
from gputree.kernels.cpu.words import LOWER, UPPER, choose, list_words, try_ordered

NO_CHILD = 255  # in the place of a slot: no row of the node has this category


def no_sides():
    """What `search_hist` is given for the sides of categories, where there are none."""
    return np.empty((0, 0), np.uint8), np.empty(0, np.int64)


@inner
def make_groups_room(most):
    """Scratch memory for features of up to `most` codes."""
    n = most + 1
    return (
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(2 * n, np.int64),
        np.empty(2 * n, np.int64), np.empty((3, 2 * n)), np.empty(N_ENTRIES),
    )  # fmt: skip


@inner
def gather_items(cells, counts, seen, n_seen, least_size, is_counted, room):
    """The categories that have rows enough, and the pool of the others after them.

    Rows are counted, or the weight stands for them. Returns how many categories are items of their
    own, and how many items there are.
    """
    word, number, item_of = room[0], room[1], room[2]
    n_own, pool, n_pooled = 0, np.int64(0), np.int64(0)
    for i in range(n_seen):
        amount = cells[seen[i]]
        size = np.int64(counts[seen[i]]) if is_counted else amount & LOWER
        if size < least_size:
            pool += amount
            n_pooled += size
            item_of[i] = -1
        else:
            word[n_own], number[n_own], item_of[i] = amount, size, n_own
            n_own += 1
    if pool == 0:
        return n_own, n_own
    word[n_own], number[n_own] = pool, n_pooled
    return n_own, n_own + 1


@inner
def list_cuts(n_items, lost, n_lost, n_rows, min_rows, is_counted, room):
    """The words of left children, for all cuts of the items in order; returns how many there are.

    First all cuts with missing values right, then, where there are some, all with those left.
    """
    word, number, order, prefix, which = room[0], room[1], room[5], room[7], room[8]
    n_cuts = 0
    for side in range(1 if lost == 0 else 2):
        running, n = (lost, n_lost) if side == 1 else (np.int64(0), np.int64(0))
        for i in range(n_items):
            running += word[order[i]]
            n += number[order[i]]
            if is_counted and (n < min_rows or n_rows - n < min_rows):
                continue
            prefix[n_cuts], which[n_cuts] = running, 2 * i + side
            n_cuts += 1
    return n_cuts


@inner
def divide_categories(
    cells, counts, seen, n_seen, lost, n_lost, least_size, total, n_rows, rules, room
):  # fmt: skip
    """The best two groups of the categories seen[:n_seen]; `lost` is the word of missing values.

    `rules`: the ridge, the least weight of a child, its least rows and whether those are counted.
    Returns the score, the slots of missing values and of categories that the node has not, and the
    word of child 0. Array 3 of the room has the slots of the categories then. Child 0 has the first
    item: a group and its complement are one split.
    `counts` has the rows by code, `n_lost` and `n_rows` are those of missing values and of the
    node, where rows are counted.
    """
    word, _, item_of, slot, key, order, goes_right, prefix, which, scratch, best = room
    ridge, least, min_rows, is_counted = rules
    n_own, n_items = gather_items(cells, counts, seen, n_seen, least_size, is_counted, room)
    if n_items + (1 if lost != 0 else 0) < 2:
        return -np.inf, 1, UNSEEN, np.int64(0)
    whole = lost
    for i in range(n_items):
        whole += word[i]
        key[i] = np.float64(word[i] >> UPPER) / (np.float64(word[i] & LOWER) + ridge)
    put_in_order(key, n_items, order)
    n_cuts = list_cuts(n_items, lost, n_lost, n_rows, min_rows, is_counted, room)
    best[TRIMMED] = best[SCORE] = -np.inf
    found = choose(0, n_cuts, prefix, total, ridge, least, scratch, best)
    if found < 0:
        return -np.inf, 1, UNSEEN, np.int64(0)
    last, missing_slot, left = which[found] >> 1, 1 - (which[found] & 1), prefix[found]
    for i in range(n_items):
        goes_right[order[i]] = 1 if i > last else 0
    if goes_right[0] == 1:
        for i in range(n_items):
            goes_right[i] = 1 - goes_right[i]
        missing_slot, left = 1 - missing_slot, whole - left
    absent = goes_right[n_own] if n_items > n_own else UNSEEN
    for i in range(n_seen):
        slot[i] = goes_right[item_of[i]] if item_of[i] >= 0 else absent
    return scratch[2, found], missing_slot, absent, left


@inner
def try_categories(
    feature, cells, counts, seen, n_seen, lost, n_lost, least_size, total, n_rows, ridge, rules,
    room, best, left,
):  # fmt: skip
    """Try the best two groups of a feature; returns whether it wins, and the slot of absent ones.

    `rules` has the ridge of thresholds, `ridge` is that of the feature.
    The others are as in `divide_categories`.
    """
    own_rules = (ridge, rules[1], rules[2], rules[3])
    score, missing_slot, absent, word = divide_categories(
        cells, counts, seen, n_seen, lost, n_lost, least_size, total, n_rows, own_rules, room
    )
    if crown_groups(score, feature, missing_slot, ridge, total, rules[0], best):
        left[0], left[1] = word & LOWER, word >> UPPER
        return True, absent
    return False, absent


@kernel
def try_nominal(feature, cells, seen, total, categories, rules, room, best, left):
    """Try the groups of a feature by its sums; see `try_categories`.

    Returns whether they win, the slot of absent categories, how many occur and the word of missing
    values.
    """
    _, n_categories, least_size, ridges = categories
    n_known, no_counts = n_categories[feature], np.empty(0, np.int32)
    lost = cells[n_known] if cells.shape[0] > n_known else np.int64(0)
    if total[0] < least_size[feature] and lost == 0:
        return False, 0, 0, lost  # all categories would be one
    n_seen = list_words(cells, n_known, seen)
    wins, absent = try_categories(
        feature, cells, no_counts, seen, n_seen, lost, np.int64(0), least_size[feature], total,
        np.int64(0), ridges[feature], rules, room, best, left,
    )  # fmt: skip
    return wins, absent, n_seen, lost


@kernel
def search_hist(
    begin, end, place, hist, offset, n_values, is_tested, rank, n_drawn, shape, rules, score,
    winner, left_sums, categories, side, absent,
):  # fmt: skip
    """The best split of each node from its histogram hist[place], sums of which are words.

    `categories`: which features are nominal, how many categories they have, the least weight of a
    category and its ridge; None where none is. side[node] has the child of each code where a
    nominal feature wins, and absent[node] that of all others.
    """
    n_features, wide = n_values.shape[0], max(most_of(n_values), side.shape[1])
    seen, scratch = np.empty(wide, np.int64), np.empty((3, 2 * wide + 1))
    room = make_groups_room(side.shape[1])
    ridge, least = rules[3], max(rules[1], rules[2])
    left, total = np.empty(2, np.int64), np.empty(2, np.int64)
    best = np.empty(N_ENTRIES)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        cells = hist[place[node]]
        whole = np.int64(0)
        for code in range(offset[1]):
            whole += cells[code]
        total[0], total[1] = whole & LOWER, whole >> UPPER
        forget(best, left)
        missing_weight = np.int64(0)
        for turn in range(n_turns):
            feature = feature_at(turn, is_tested, rank, node, n_drawn, best[SCORE] > -np.inf)
            if feature < 0:
                continue
            own = cells[offset[feature] : offset[feature + 1]]
            if categories is not None and categories[0][feature]:
                own_rules = ridge, least, 1, False
                wins, elsewhere, n_seen, lost = try_nominal(
                    feature, own, seen, total, categories, own_rules, room, best, left
                )
                if wins:
                    missing_weight, absent[node] = lost & LOWER, elsewhere
                    side[node] = NO_CHILD
                    for i in range(n_seen):
                        side[node, seen[i]] = room[3][i]
                continue
            before = best[TRIMMED]
            lost = try_ordered(
                feature, own, n_values[feature], total, ridge, least, seen, scratch, best, left
            )
            if best[TRIMMED] > before:
                missing_weight = lost
        settle(node, best, left, total, missing_weight, shape, score, winner, left_sums)
        if categories is not None:
            feature = winner[node, 0]
            n_known = categories[1][feature]
            if categories[0][feature] and offset[feature + 1] - offset[feature] > n_known:
                side[node, n_known] = winner[node, 3]
