"""The best split of one node of a small boosted tree, from sums by code or straight from its rows.

A node of many rows has sums by code; fewer rows are searched as they are. Where hessians hide how
many rows a child has, and it has to have some, rows are counted beside the words.
"""

import numpy as np

from gputree.kernels.cpu import words
from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import inner, step
from gputree.kernels.cpu.sampling import draw
from gputree.kernels.cpu.split import list_codes, sort_first
from gputree.kernels.cpu.winner import (
    CODE,
    FEATURE,
    SCORE,
    SIDE,
    TRIMMED,
    crown,
    forget,
)
from gputree.kernels.cpu.word_categories import try_categories
from gputree.kernels.cpu.words import LOWER, choose

# Columns of `node`: what is known of a node of a growing tree.
FIRST_CHILD, BEGIN, N_ROWS, DEPTH, WEIGHT, GRADIENT, PLACE = range(7)
TESTED, AT_CODE, IS_LEFT, LOST, LEFT_WEIGHT, LEFT_GRADIENT = range(7, 13)  # of its best split
LISTED_AT, N_LISTED, ABSENT = range(13, 16)  # of its categories, where it tests some
N_COLUMNS = 16

penalty = SCALAR.penalty


# Sums.


@inner
def tally(row, word, code, offset, is_counted, cells, counts):
    """Sums of all features over some rows, and how many rows have each code if that is asked."""
    cells[:] = 0
    n = row.shape[0]
    if not is_counted:
        first = np.array([0, n])
        cells = cells.reshape((1, cells.shape[0]))
        words.tally_lists(0, code.shape[0], first, row, word, code, offset, cells)
        return
    counts[:] = 0
    for feature in range(code.shape[0]):
        codes = code[feature]
        own, number = cells[offset[feature] :], counts[offset[feature] :]
        for i in range(n):
            at = codes[row[i]]
            own[at] += word[i]
            number[at] += 1


@step
def take_away(cells, counts, is_counted, less, fewer):
    """The sums of a node without those of one of its children."""
    for i in range(cells.shape[0]):
        cells[i] -= less[i]
    if is_counted:
        for i in range(counts.shape[0]):
            counts[i] -= fewer[i]


# Splits.


@step
def try_codes(feature, cells, counts, n_values, total, n_rows, rules, prefix, scratch, best, left):
    """Try every split of a feature none of whose values is missing in the node.

    `counts` has the rows by code, where those are counted; `rules` are those of `rounds.grow`.
    """
    min_rows, is_counted = rules[2], rules[3]
    first, last = 0, n_values
    if is_counted:  # the codes between which both children have rows enough
        n = counts[0]
        while first < n_values - 1 and n < min_rows:
            first += 1
            n += counts[first]
        last, n = n_values - 1, counts[n_values - 1]
        while last > first and n < min_rows:
            last -= 1
            n += counts[last]
    running = np.int64(0)
    for code in range(last):
        running += cells[code]
        prefix[code] = running
    # A code without rows scores what the one before it does, so a winner has rows.
    i = choose(first, last, prefix, total, rules[0], rules[1], scratch, best)
    if i >= 0:
        crown(best, scratch[2, i], feature, i, -1, 0)
        left[0], left[1] = np.int64(scratch[0, i]), np.int64(scratch[1, i])


@step
def try_seen(
    feature, cells, counts, seen, n_seen, missing_code, total, n_rows, rules, prefix, which,
    scratch, best, left,
):  # fmt: skip
    """Try every split of a feature; the codes seen[:n_seen] of values occur in the node.

    Candidates come code by code, and for each with missing values right, then left.
    `counts` and `rules` are as in `try_codes`; missing_code is -1 where no value is missing.
    """
    min_rows, is_counted = rules[2], rules[3]
    lost, n_lost = np.int64(0), 0
    if missing_code >= 0:
        lost = cells[missing_code]
        n_lost = counts[missing_code] if is_counted else 0
    n_sides = 1 if lost == 0 else 2
    running, n, n_candidates = np.int64(0), 0, 0
    for i in range(n_seen):
        running += cells[seen[i]]
        if is_counted:
            n += counts[seen[i]]
        for side in range(n_sides):
            here = n + (n_lost if side == 1 else 0)
            if is_counted and (here < min_rows or n_rows - here < min_rows):
                continue
            prefix[n_candidates] = running + (lost if side == 1 else 0)
            which[n_candidates] = 2 * seen[i] + side
            n_candidates += 1
    i = choose(0, n_candidates, prefix, total, rules[0], rules[1], scratch, best)
    if i >= 0:
        crown(best, scratch[2, i], feature, which[i] >> 1, -1, which[i] & 1)
        left[0], left[1] = np.int64(scratch[0, i]), np.int64(scratch[1, i])


@step
def try_sums(feature, cells, counts, n_values, total, n_rows, rules, room, best, left):
    """Try the splits of a feature by its sums in a node; returns the weight of missing values."""
    seen, prefix, which, scratch = room[0], room[1], room[2], room[3]
    lost = cells[n_values] if cells.shape[0] > n_values else np.int64(0)
    if lost == 0:
        try_codes(
            feature, cells, counts, n_values, total, n_rows, rules, prefix, scratch, best, left
        )
        return lost
    n_seen = words.list_words(cells, n_values, seen)
    try_seen(
        feature, cells, counts, seen, n_seen, n_values, total, n_rows, rules, prefix, which,
        scratch, best, left,
    )  # fmt: skip
    return lost & LOWER


@step
def sum_rows(row, word, n, codes, n_codes, near, bits, seen, cells):
    """List the codes of some rows, and add up words where there are several; returns how many."""
    for i in range(n):
        near[i] = codes[row[i]]
    n_seen = list_codes(near, n, n_codes, bits, seen)
    if n_seen > 1:
        for i in range(n):
            cells[near[i]] += word[i]
    return n_seen


@step
def try_rows(
    feature, row, word, n, codes, n_codes, n_values, total, rules, room, near, bits, cells, counts,
    best, left,
):  # fmt: skip
    """Try the splits of a feature by the rows of a node; returns the weight of missing values.

    The rows are row[:n], and word[:n] theirs; `counts` and `rules` are as in `try_codes`.
    """
    seen, prefix, which, scratch = room[0], room[1], room[2], room[3]
    is_counted = rules[3]
    n_seen = sum_rows(row, word, n, codes, n_codes, near, bits, seen, cells)
    if n_seen <= 1:
        return np.int64(0)
    if is_counted:
        for i in range(n):
            counts[near[i]] += 1
    has_lost = seen[n_seen - 1] >= n_values
    missing_code = n_values if has_lost else -1
    lost = cells[n_values] & LOWER if has_lost else np.int64(0)
    try_seen(
        feature, cells, counts, seen, n_seen - 1 if has_lost else n_seen, missing_code, total, n,
        rules, prefix, which, scratch, best, left,
    )  # fmt: skip
    for i in range(n_seen):
        cells[seen[i]] = 0
    if is_counted:
        for i in range(n_seen):
            counts[seen[i]] = 0
    return lost


@step
def try_nominal(
    own, feature, row, word, table, categories, rules, hist, numbers, desk, best, left, listed
):  # fmt: skip
    """Try the groups of a nominal feature of a node; returns the weight of missing values.

    If it wins, its categories are listed with their slots.
    `own` is the line of the node; the other arguments are those of `search`.
    """
    code, n_codes, offset = table[0], table[1], table[3]
    seen, near, bits, is_counted = desk[0][0], desk[1], desk[2], rules[3]
    n_categories = categories[1]
    sizes, ridges, groups_room = desk[7]
    n_known, least_size, n, place = n_categories[feature], sizes[feature], own[N_ROWS], own[PLACE]
    has_missing, size = n_codes[feature] > n_known, n if is_counted else own[WEIGHT]
    if size < least_size and not has_missing:
        return np.int64(0)  # all categories would be one
    cells, counts, n_seen = desk[3], desk[4], 0
    if place >= 0:
        cells = hist[place, offset[feature] : offset[feature + 1]]
        if is_counted:
            counts = numbers[place, offset[feature] : offset[feature + 1]]
        for category in range(n_known):
            if cells[category] != 0:
                seen[n_seen] = category
                n_seen += 1
    else:
        n_seen = sum_rows(row, word, n, code[feature], n_codes[feature], near, bits, seen, cells)
        for i in range(n if is_counted and n_seen > 1 else 0):
            counts[near[i]] += 1
        if n_seen <= 1:
            return np.int64(0)
    n_all = n_seen
    if place < 0 and seen[n_seen - 1] >= n_known:
        n_seen -= 1
    lost = cells[n_known] if has_missing else np.int64(0)
    n_lost = np.int64(counts[n_known]) if has_missing and is_counted else np.int64(0)
    wins, absent = try_categories(
        feature, cells, counts, seen, n_seen, lost, n_lost, least_size, own[WEIGHT:PLACE], n,
        ridges[feature], rules, groups_room, best, left,
    )  # fmt: skip
    if wins:
        own[N_LISTED], own[ABSENT] = n_seen, absent
        slot = groups_room[3]
        for i in range(n_seen):
            listed[i, 0], listed[i, 1] = seen[i], slot[i]
    if place < 0:
        for i in range(n_all):
            cells[seen[i]] = 0
            counts[seen[i]] = 0
    return lost & LOWER


@step
def search(
    own, key, row, word, table, columns, categories, n_drawn, rules, hist, numbers, desk, best,
    left, listed,
):  # fmt: skip
    """Find the best split of a node and note it; returns what it gains.

    `categories` is None where no feature is nominal, or which ones are and how many categories they
    have. The categories of the node are listed in `listed` where the best split is one of them.
    `own` is the line of the node and `key` that of its draws; `row` and `word` are those of the
    tree, `table` has codes, numbers of codes and values, and offsets. `numbers` has the rows by
    code where those are counted, `desk` is scratch memory.
    """
    code, n_codes, n_values, offset = table
    room, near, bits, cells, counts, number, turn, _ = desk
    n_features = n_values.shape[0]
    first, n, place = own[BEGIN], own[N_ROWS], own[PLACE]
    row, word = row[first:], word[first:]
    total = own[WEIGHT:PLACE]
    if n_drawn < n_features:
        draw(key, n_features, n_features, number, turn)
        sort_first(turn, n_drawn)
    forget(best, left)
    own[LOST] = 0
    for t in range(n_features):
        feature = t
        if n_drawn < n_features:
            if t >= n_drawn and best[SCORE] > -np.inf:
                break
            feature = turn[t]
        if not columns[feature]:
            continue
        before = best[TRIMMED]
        if categories is not None and categories[0][feature]:
            lost = try_nominal(
                own, feature, row, word, table, categories, rules, hist, numbers, desk, best, left,
                listed,
            )  # fmt: skip
            if best[TRIMMED] > before:
                own[LOST] = lost
            continue
        if place >= 0:
            begin, end = offset[feature], offset[feature + 1]
            counted = numbers[place, begin:end] if rules[3] else numbers[0]
            lost = try_sums(
                feature, hist[place, begin:end], counted, n_values[feature], total, n, rules, room,
                best, left,
            )  # fmt: skip
        else:
            lost = try_rows(
                feature, row, word, n, code[feature], n_codes[feature], n_values[feature], total,
                rules, room, near, bits, cells, counts, best, left,
            )  # fmt: skip
        if best[TRIMMED] > before:
            own[LOST] = lost
    own[TESTED], own[AT_CODE] = np.int64(best[FEATURE]), np.int64(best[CODE])
    own[IS_LEFT] = 1 if best[SIDE] == 1 else 0
    own[LEFT_WEIGHT], own[LEFT_GRADIENT] = left[0], left[1]
    gain = best[SCORE]
    if rules[0] > 0.0:
        gain = gain - penalty(np.float64(total[1]), np.float64(total[0]), rules[0])
    return gain


@inner
def sort_out(n, codes, split_code, missing_code, missing_left, row, word, other_row, other_word):
    """Rows of the left child before those of the right one; returns how many."""
    n_left, n_right = 0, 0
    for i in range(n):
        own, amount = row[i], word[i]
        code = codes[own]
        goes_left = missing_left if code == missing_code else code <= split_code
        row[n_left], word[n_left] = own, amount
        other_row[n_right], other_word[n_right] = own, amount
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        row[n_left + i], word[n_left + i] = other_row[i], other_word[i]
    return n_left


@inner
def sort_out_by_sides(n, codes, side_of, row, word, other_row, other_word):
    """The same where each code has its child, 0 or 1."""
    n_left, n_right = 0, 0
    for i in range(n):
        own, amount = row[i], word[i]
        goes_right = np.int64(side_of[codes[own]])
        row[n_left], word[n_left] = own, amount
        other_row[n_right], other_word[n_right] = own, amount
        n_left += 1 - goes_right
        n_right += goes_right
    for i in range(n_right):
        row[n_left + i], word[n_left + i] = other_row[i], other_word[i]
    return n_left
