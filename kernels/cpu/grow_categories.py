"""What a tree that is grown whole does with nominal features: a node costs what it has seen."""

import numpy as np

from gputree.kernels.cpu import words
from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.groups import divide_categories
from gputree.kernels.cpu.histogram import add_rows
from gputree.kernels.cpu.jit import inner
from gputree.kernels.cpu.split import clear, list_codes, list_present, weight_at
from gputree.kernels.cpu.winner import TRIMMED, crown

trim, penalty = SCALAR.trim, SCALAR.penalty

LISTED_ROWS = 512  # up to here codes that occur are listed, instead of looking at all


@inner
def sum_categories(
    codes, at, n, n_codes, word, channel, amount, values, is_weighted, shape, near, every, bits,
    cells, seen,
):  # fmt: skip
    """Add up the rows of a node by code; returns how many codes occur, which are listed."""
    is_classes, n_scored, _, n_channels = shape
    is_packed = word.shape[0] > 0
    if n <= LISTED_ROWS:
        for i in range(n):
            near[i] = codes[at[i]]
        n_seen = list_codes(near, n, n_codes, bits, seen)
        if n_seen <= 1:
            return n_seen
        if is_packed:
            for i in range(n):
                cells[np.uint64(near[i])] += word[i]
        else:
            add_rows(cells, 0, near, n, every, channel, amount, values, is_weighted, n_channels)
        return n_seen
    if not is_packed:
        add_rows(cells, 0, codes, n, at, channel, amount, values, is_weighted, n_channels)
        return list_present(cells, n_codes, n_channels, is_classes, n_scored, seen)
    for i in range(n):
        cells[np.uint64(codes[at[i]])] += word[i]
    n_seen = 0
    for code in range(n_codes):
        if cells[code] & words.LOWER > 0:
            seen[n_seen] = code
            n_seen += 1
    return n_seen


@inner
def may_divide(feature, n, n_codes, by_rows, categories):
    """Whether a feature is nominal, and a node of `n` rows may have a category with rows enough.

    Without one, nothing but missing values can be told from the others.
    """
    is_nominal, n_categories, min_category = categories[0], categories[1], categories[2]
    is_large = not by_rows or n >= min_category[feature]
    return is_nominal[feature] and (is_large or n_codes[feature] > n_categories[feature])


@inner
def unpack(cells, seen, n_seen, is_classes, sums):
    """The words of codes as two channels: both classes, or weight and sum."""
    for i in range(n_seen):
        lower, upper = cells[seen[i]] & words.LOWER, cells[seen[i]] >> words.UPPER
        sums[2 * i] = lower - upper if is_classes else lower
        sums[2 * i + 1] = upper


@inner
def try_categories(
    feature, categories, own, cells, seen, n_seen, is_packed, shape, rules, unit, spare,
    best, left,
):  # fmt: skip
    """Try the best two groups of the categories of a node; returns the weight of missing values.

    `spare`: scratch memory, the winner's categories with their slots, how many these are and where
    categories go that the node has not.
    """
    _, n_categories, min_category, ridges, way, is_heuristic = categories
    room_for, sums, numbers, won, of_won = spare
    is_classes, n_scored, _, n_channels = shape
    table, place, own_shape = cells, seen, shape
    if is_packed:
        own_shape = (is_classes, n_scored, False, 2)
        unpack(cells, seen, n_seen, is_classes, sums)
        table, place = sums, numbers
    width = own_shape[3]
    missing, known_left = room_for[2][1], room_for[2][3]
    lost, n_known = np.int64(0), n_seen
    missing[:] = 0
    if n_seen > 0 and seen[n_seen - 1] >= n_categories[feature]:
        n_known -= 1
        for c in range(width):
            missing[c] = table[place[n_known] * width + c]
        lost = weight_at(missing, 0, is_classes, n_scored)
    ridge = ridges[feature]
    own_rules = (rules[0], rules[1], rules[2], ridge, way[0], way[1], way[2])
    score, missing_slot, absent, is_doubtful = divide_categories(
        table, 0, place, n_known, lost, min_category[feature], own_shape, own_rules, unit, room_for
    )
    is_heuristic[feature] |= is_doubtful
    if ridge != rules[3]:
        # Each ridge takes its own part of the gain; what is left compares.
        weight, gradient = np.float64(own[0]), np.float64(own[1])
        score = score + (penalty(gradient, weight, rules[3]) - penalty(gradient, weight, ridge))
    if score > -np.inf and trim(score) > best[TRIMMED]:
        crown(best, score, feature, 0, -1, 1 - missing_slot)
        slot = room_for[0][2]
        for i in range(n_known):
            won[i, 0], won[i, 1] = seen[i], slot[i]
        of_won[0], of_won[1] = n_known, absent
        for c in range(width):
            left[c] = known_left[c] + (missing[c] if missing_slot == 0 else 0)
        if is_packed and is_classes:
            left[0] += left[1]
    if is_packed:
        for i in range(n_seen):
            cells[seen[i]] = 0
    else:
        clear(cells, seen, n_seen, n_channels)
    return lost


@inner
def set_sides(won, n_won, side_of):
    """The slots of the categories that a node has."""
    for i in range(n_won):
        side_of[won[i, 0]] = won[i, 1]
