"""A whole tree, or what is below a node, grown by one call: no other code runs between nodes.

What comes out is what the builder makes of the same rows one frontier after another: formulas,
candidates, ties and draws are the same, and the order in which nodes are taken changes nothing.
Below `LOCAL_ROWS` rows the codes of a node are copied side by side, where all that follows finds
them in the cache.
"""

import numpy as np

from gputree.kernels.cpu.drawn import around, room_for, search_drawn, threshold_at
from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.groups import make_room
from gputree.kernels.cpu.grow_categories import (
    LISTED_ROWS,
    may_divide,
    set_sides,
    sum_categories,
    try_categories,
)
from gputree.kernels.cpu.histogram import fetch
from gputree.kernels.cpu.in_order import (
    EXACT_ROWS,
    FEATURES_A_DRAW,
    goes_in_order,
    list_rows,
    make_desk,
    make_lists,
    part_lists,
    put_in_order,
    take_listed,
    try_in_order,
)
from gputree.kernels.cpu.jit import inner, kernel, step
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.one_feature import try_cells, try_words
from gputree.kernels.cpu.projections import make_projection_room, threshold_of, try_projections
from gputree.kernels.cpu.sampling import draw, mix
from gputree.kernels.cpu.split import WORD_BITS, measure, sort_first
from gputree.kernels.cpu.winner import (
    CODE,
    FEATURE,
    N_ENTRIES,
    NEXT,
    SCORE,
    SIDE,
    TRIMMED,
    forget,
    larger_child,
)
from gputree.kernels.projections import STEPS

LOCAL_ROWS = 4096  # of 28 features, so many take a tenth of a megabyte
LOCAL_COLUMNS = 64  # up to here the values of projections are copied side by side, too
STAY = 65_535  # see `gputree.dtypes`

penalty = SCALAR.penalty

# Columns of `node`: what a tree keeps of its nodes, beside scores and sums.
FIRST_CHILD, TESTED, AT_CODE, ABOVE, MISSING_SLOT, BEGIN, N_ROWS, DEPTH = 0, 1, 2, 3, 4, 5, 6, 7
# Of a nominal feature: the first code that is listed with its slot, how many are, and the slot of
# all others.
LISTED_AT, N_LISTED, ABSENT = 8, 9, 10
# Of a projection: its first term, and how many there are; 0 where a single feature is tested.
TERMS_AT, N_TERMS = 11, 12
N_COLUMNS = 13


@inner
def enlarged(array, n):
    """A copy with room for `n` entries."""
    larger = np.zeros((n, array.shape[1]), array.dtype)
    for i in range(array.shape[0]):
        for column in range(array.shape[1]):
            larger[i, column] = array[i, column]
    return larger


@step
def has_span(first, n, row, point):
    """Whether the targets of some rows differ."""
    for output in range(point.shape[0]):
        for i in range(first + 1, first + n):
            if point[output, row[i]] != point[output, row[first]]:
                return True
    return False


@step
def sort_out(
    first, n, codes, at, split_code, missing_code, missing_left, side_of, row, other, word, spot
):  # fmt: skip
    """Rows of the left child before those of the right one, each in its order; returns how many.

    `side_of` is the child of each code, or empty where a threshold tells. Words and spots go with
    their rows; both may be empty. `other` is room for three columns.
    """
    n_left, n_right = 0, 0
    has_sides = side_of.shape[0] > 0
    has_words, has_spots = word.shape[0] > 0, spot.shape[0] > 0
    for i in range(n):
        code = codes[at[i]]
        goes_left = side_of[code] == 0 if has_sides else code <= split_code
        if code == missing_code:
            goes_left = missing_left
        here = first + i
        if goes_left:
            to = first + n_left
            row[to] = row[here]
            if has_words:
                word[to] = word[here]
            if has_spots:
                spot[to] = spot[here]
            n_left += 1
        else:
            other[n_right, 0] = row[here]
            if has_words:
                other[n_right, 1] = word[here]
            if has_spots:
                other[n_right, 2] = spot[here]
            n_right += 1
    for i in range(n_right):
        to = first + n_left + i
        row[to] = other[i, 0]
        if has_words:
            word[to] = other[i, 1]
        if has_spots:
            spot[to] = other[i, 2]
    return n_left


@kernel
def grow(
    row, word, label, value, weight, point, code, n_codes, n_values, is_ordered, categories, key,
    total, shape, rules, limits, unit, edges, projections,
):  # fmt: skip
    """Grow a tree on `row`, the numbers of its rows, which are sorted out on the way.

    `word` has the words of these rows, or is empty; then label, value and weight are those of all
    rows of the table. `categories` is None where there are no nominal features, or which ones are,
    the number of their categories, the least rows of a category, its ridge, the way to search, and
    room to note where a better split may have been missed. `limits`: the least rows of a node that
    is split, the largest depth, the least score, whether nodes are split without gain, how many
    features are drawn, and whether the larger child is that of more rows, or of more weight.
    `edges` are None where the best split is searched; where one of each feature is drawn, what
    `Bins.edges` tells. `projections` are None, or the values of the columns that nodes may combine,
    (columns, rows), how likely each number of terms is, the weights of columns, how many
    projections a node tries, and what a further term costs. Returns columns, scores and sums of
    nodes, thresholds where they are drawn or those of projections (NaN says that one lies midway),
    codes of categories with their slots, and columns and weights of projections.
    """
    min_split, max_depth, least_score, splits_freely, n_drawn, by_rows = limits
    is_classes, n_scored, _, n_channels = shape
    is_packed = word.shape[0] > 0
    is_weighted = weight.shape[0] > 0
    n_stored = 2 if is_packed else n_channels
    n_features = n_values.shape[0]
    n_all = row.shape[0]
    most = most_of(n_codes)
    widest = most if projections is None else max(most, STEPS + 1)
    least = max(rules[1], rules[2])
    times = 2.0 if is_classes else 1.0  # what one of two classes adds, the other adds again

    # What has been found: room is doubled where it does not suffice.
    node = np.zeros((64, N_COLUMNS), np.int64)
    score, threshold = np.zeros((64, 1)), np.zeros((64, 1))
    sums = np.zeros((64, n_stored), np.int64)
    keys = np.zeros((64, 1), np.uint64)
    todo = np.zeros((64, 1), np.int64)

    # What one node needs.
    wide = max(widest, LISTED_ROWS)
    seen, near = np.empty(wide, np.int64), np.empty(LISTED_ROWS, code.dtype)
    bits = np.zeros(widest // WORD_BITS + 1, np.uint64)
    cells = np.zeros(widest * (1 if is_packed else n_channels), np.int64)
    scratch = np.empty((3, 2 * wide + 1))
    n_local = min(n_all, LOCAL_ROWS)
    local, spot = np.empty((n_features, n_local), code.dtype), np.zeros(n_all, np.uint32)
    no_spot = spot[:0]
    n_fetched = 0 if is_packed else n_all
    fetched, channel = np.empty(n_fetched, np.uint32), np.zeros(n_fetched, np.uint32)
    amount = np.ones(n_fetched, np.int64)
    values = np.empty((value.shape[0], n_fetched), np.int64)
    only_value = values[0] if values.shape[0] > 0 else amount
    every = np.arange(LISTED_ROWS).astype(np.uint32)
    number, turn = np.empty(n_features, np.uint64), np.arange(n_features)
    other = np.empty((n_all, 3), np.int64)
    total_real = np.empty(n_scored)
    running, left = np.empty(n_stored, np.int64), np.empty(n_stored, np.int64)
    best = np.empty(N_ENTRIES)
    listed, n_listed = np.zeros((64, 2), np.int32), 0
    side_of = np.zeros(most, np.uint8)
    no_sides = side_of[:0]
    if categories is not None:
        width = 2 if is_packed else n_channels
        spare = (
            make_room(most, width, n_scored), np.empty(2 * most, np.int64), np.arange(most),
            np.empty((most, 2), np.int64), np.zeros(2, np.int64),
        )  # fmt: skip
    is_in_order = not is_packed and edges is None and goes_in_order(shape, rules, is_weighted)
    # To put rows in order pays where they all weigh 1, and where it is done once for many nodes.
    n_in_order = (EXACT_ROWS if is_classes else n_all) if is_in_order and not is_weighted else 0
    has_lists = is_in_order and most <= LOCAL_ROWS and FEATURES_A_DRAW * n_drawn >= n_features
    desk = make_desk(min(max(n_in_order, n_local if has_lists else 0), n_all), most)
    lists = make_lists(
        n_features if has_lists else 0, n_local if has_lists else 0, value.shape[0], is_weighted
    )
    by_code, label_of, value_of, amount_of = lists[:4]
    no_amounts = amount[:0]
    # The two ways to part two rows that weigh 1 are worth the same.
    is_alike = is_in_order and not is_weighted and categories is None
    draws = edges is not None
    drawn_room = room_for(n_features if draws else 0, n_channels, n_all if draws else 0, code)
    local_first, local_last = -1, -1  # the rows whose codes are in `local`
    n_terms, n_all_terms = 0, 0
    terms, factors = np.empty((64, 1), np.int64), np.empty((64, 1))
    if projections is not None:
        source, plan = projections[0], projections[1:5]
        is_copied = source.shape[0] <= LOCAL_COLUMNS
        local_source = np.empty((source.shape[0] if is_copied else 0, n_local))
        most_terms = plan[0].shape[0] + 2
        room = make_projection_room(n_all, most_terms, n_stored, code)

    n_nodes, n_todo = 1, 1
    node[0, FIRST_CHILD], node[0, TESTED], node[0, N_ROWS] = -1, -1, n_all
    score[0, 0] = -np.inf
    for c in range(n_stored):
        sums[0, c] = total[c]
    keys[0, 0] = key
    while n_todo > 0:
        n_todo -= 1
        here = todo[n_todo, 0]
        first, n = node[here, BEGIN], node[here, N_ROWS]
        own = sums[here]
        n_kinds = 2
        node_weight, node_rows = own[0], n
        if is_packed:
            if is_classes:
                n_kinds = (1 if own[1] > 0 else 0) + (1 if own[1] < own[0] else 0)
        else:
            node_weight, node_rows = measure(own, shape, unit, total_real)
            if is_classes:
                n_kinds = 0
                for c in range(n_scored):
                    n_kinds += 1 if own[c] > 0 else 0
        is_split = (
            n >= max(min_split, 2 * rules[1]) and node_weight >= 2 * rules[2] and n_kinds > 1
            and (max_depth < 0 or node[here, DEPTH] < max_depth)
        )  # fmt: skip
        is_local = n <= n_local
        table, at = (local, spot[first:]) if is_local else (code, row[first:])
        lost_weight, value_drawn = np.int64(0), np.nan
        if is_split:
            if is_local and not (local_first <= first and first + n <= local_last):
                for i in range(n):
                    spot[first + i] = i
                for feature in range(n_features):
                    codes = code[feature]
                    for i in range(n):
                        local[feature, i] = codes[row[first + i]]
                    if has_lists:
                        list_rows(local[feature], n, n_codes[feature], desk[2], by_code[feature])
                if has_lists:
                    fetch(
                        first, n, row, label, value, weight, fetched, label_of, amount_of, value_of
                    )
                if projections is not None and is_copied:
                    for column in range(source.shape[0]):
                        for i in range(n):
                            local_source[column, i] = source[column, row[first + i]]
                local_first, local_last = first, first + n
            if not is_packed:
                fetch(first, n, row, label, value, weight, fetched, channel, amount, values)
            if edges is not None:
                draw(keys[here, 0], n_features, n_features, number, turn)
            elif n_drawn < n_features:
                draw(keys[here, 0], n_features, n_drawn, number, turn)
                sort_first(turn, n_drawn)
            forget(best, left)
            if edges is not None:
                lost_weight, value_drawn = search_drawn(
                    keys[here, 0], turn, n_drawn, is_ordered, edges, table, at, first, n, n_values,
                    word, channel, amount, values, is_weighted, own, total_real, node_weight,
                    node_rows, shape, rules, unit, times, drawn_room, running, best, left,
                )  # fmt: skip
            n_searched = n_features if edges is None else 0
            for t in range(n_searched):
                if n == 2 and is_alike and best[SCORE] > -np.inf:
                    break
                feature = t
                if n_drawn < n_features:
                    if t >= n_drawn and best[SCORE] > -np.inf:
                        break
                    if t == n_drawn:
                        draw(keys[here, 0], n_features, n_features, number, turn)
                    feature = turn[t]
                before = best[TRIMMED]
                lost = np.int64(0)
                if not is_ordered[feature]:
                    if categories is not None and may_divide(
                        feature, n, n_codes, by_rows, categories
                    ):
                        n_seen = sum_categories(
                            table[feature], at, n, n_codes[feature], word[first:], channel, amount,
                            values, is_weighted, shape, near, every, bits, cells, seen,
                        )  # fmt: skip
                        if n_seen > 0:
                            lost = try_categories(
                                feature, categories, own, cells, seen, n_seen, is_packed, shape,
                                rules, unit, spare, best, left,
                            )  # fmt: skip
                elif is_packed:
                    lost = try_words(
                        feature, table[feature], at, word[first:], n, n_codes[feature],
                        n_values[feature], own, rules[3], least, times, near, bits, cells, seen,
                        scratch, best, left,
                    )  # fmt: skip
                else:
                    is_tried = False
                    if has_lists and is_local:
                        codes = local[feature]
                        begin = first - local_first
                        n_seen = take_listed(codes, by_code[feature, begin:], n, desk)
                        is_tried = try_in_order(
                            feature, n_seen, n, label_of, value_of[0], amount_of,
                            n_values[feature], own, node_weight, is_classes, least, running, desk,
                            best, left,
                        )  # fmt: skip
                    elif n <= n_in_order:
                        n_seen = put_in_order(table[feature], at, n, n_codes[feature], desk)
                        is_tried = try_in_order(
                            feature, n_seen, n, channel, only_value, no_amounts,
                            n_values[feature], own, node_weight, is_classes, least, running, desk,
                            best, left,
                        )  # fmt: skip
                    if not is_tried:
                        lost = try_cells(
                            feature, table[feature], at, n, channel, amount, values, is_weighted,
                            n_codes[feature], n_values[feature], total_real, node_weight,
                            node_rows, shape, rules, unit, near, every, bits, cells, seen, running,
                            best, left,
                        )  # fmt: skip
                if best[TRIMMED] > before:
                    lost_weight = lost
            if projections is not None:
                own_source, own_at = (
                    (local_source, at) if is_local and is_copied else (source, row[first:])
                )
                n_terms, lost = try_projections(
                    keys[here, 0], plan, edges is not None, own_source, own_at, n, word[first:],
                    channel, amount, values, is_weighted, own, total_real, node_weight, node_rows,
                    shape, rules, unit, least, times,
                    (near, every, bits, cells, seen, scratch, running), room, best, left,
                )  # fmt: skip
                if n_terms > 0:
                    lost_weight = lost
            gain = best[SCORE]
            score[here, 0] = gain
            if rules[3] > 0.0:
                gain = gain - penalty(np.float64(own[1]), np.float64(own[0]), rules[3])
            is_split = gain > -np.inf and gain >= least_score
            if is_split and not is_classes and splits_freely and (gain == 0.0 or is_weighted):
                is_split = has_span(first, n, row, point)
        if not is_split:
            continue
        feature = np.int64(best[FEATURE])
        n_known = n_values[feature]
        sides = no_sides
        if categories is not None and categories[0][feature]:
            n_known = categories[1][feature]
            set_sides(spare[3], spare[4][0], side_of)
            sides = side_of
        missing_code = n_known if n_codes[feature] > n_known else -1
        codes, codes_at = table[feature], at
        if projections is not None and n_terms > 0:
            codes, codes_at, sides = room[1], room[2], no_sides
            missing_code = 2 if edges is not None else STEPS
            threshold[here, 0] = threshold_of(n, np.int64(best[CODE]), edges is not None, room)
        missing_left = best[SIDE] == 1
        n_left = sort_out(
            first, n, codes, codes_at, np.int64(best[CODE]), missing_code, missing_left, sides, row,
            other, word, spot if is_local else no_spot,
        )  # fmt: skip
        if has_lists and is_local and max(n_left, n - n_left) >= max(min_split, 2 * rules[1]):
            part_lists(lists, first - local_first, n, n_left, spot[first:])
        slot = 0 if missing_left else 1
        if lost_weight == 0:
            slot = larger_child(n_left, n) if by_rows else larger_child(left[0], own[0])
        if edges is not None and n_terms == 0:
            lower, higher = around(table[feature], at, n, np.int64(best[CODE]), n_values[feature])
            best[CODE], best[NEXT] = lower, higher
            threshold[here, 0] = threshold_at(value_drawn, feature, edges, lower, higher)
            if lost_weight == 0:
                slot = STAY
        if n_nodes + 2 > node.shape[0]:
            # A tree has fewer than two nodes for each of its rows.
            n_room = max(n_nodes + 2, min(2 * node.shape[0], 2 * n_all))
            node, score, sums = (
                enlarged(node, n_room), enlarged(score, n_room), enlarged(sums, n_room),
            )  # fmt: skip
            keys, todo = enlarged(keys, n_room), enlarged(todo, n_room)
            threshold = enlarged(threshold, n_room)
        node[here, FIRST_CHILD], node[here, TESTED] = n_nodes, feature
        node[here, AT_CODE], node[here, ABOVE] = np.int64(best[CODE]), np.int64(best[NEXT])
        node[here, MISSING_SLOT] = slot
        if projections is not None and n_terms > 0:
            # The rest is as if the node tested the first of these columns.
            node[here, TESTED] = projections[-1][room[3][1, 0]]
            node[here, AT_CODE], node[here, ABOVE] = 0, 0
            node[here, TERMS_AT], node[here, N_TERMS] = n_all_terms, n_terms
            if n_all_terms + n_terms > terms.shape[0]:
                n_room = 2 * (n_all_terms + n_terms)
                terms, factors = enlarged(terms, n_room), enlarged(factors, n_room)
            for t in range(n_terms):
                terms[n_all_terms, 0], factors[n_all_terms, 0] = room[3][1, t], room[4][1, t]
                n_all_terms += 1
        if categories is not None and n_terms == 0 and categories[0][feature]:
            won, of_won = spare[3], spare[4]
            if missing_code >= 0:
                won[of_won[0], 0], won[of_won[0], 1] = missing_code, slot
                of_won[0] += 1
            while n_listed + of_won[0] > listed.shape[0]:
                listed = enlarged(listed, 2 * listed.shape[0])
            for i in range(of_won[0]):
                listed[n_listed + i] = won[i]
            node[here, LISTED_AT], node[here, N_LISTED] = n_listed, of_won[0]
            node[here, ABSENT] = of_won[1]
            n_listed += of_won[0]
        for side in range(2):
            child = n_nodes + side
            node[child, FIRST_CHILD], node[child, TESTED] = -1, -1
            node[child, N_ROWS] = n_left if side == 0 else n - n_left
            node[child, DEPTH] = node[here, DEPTH] + 1
            score[child, 0] = -np.inf
            node[child, BEGIN] = first if side == 0 else first + n_left
            keys[child, 0] = mix(keys[here, 0], np.uint64(side))
            for c in range(n_stored):
                sums[child, c] = left[c] if side == 0 else sums[here, c] - left[c]
            todo[n_todo + 1 - side, 0] = child  # the left one is taken next
        n_nodes += 2
        n_todo += 2
    return (
        node[:n_nodes], score[:n_nodes, 0], sums[:n_nodes], threshold[:n_nodes, 0],
        listed[:n_listed], terms[:n_all_terms, 0], factors[:n_all_terms, 0],
    )  # fmt: skip
