"""The best two groups of categories, from the sums of those that a node has.

The same as the `ordered`, `principal` and `exact` searches of `gputree.backends.categories`, one
pair of a node and a feature after another. What is divided are items: the categories that have rows
enough, and the pool of the others after them.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.multiway import branch_bits
from gputree.kernels.cpu.scoring import BETWEEN, is_of_user, two_way, two_way_of_user
from gputree.kernels.cpu.split import list_present, rows_at, weight_at
from gputree.kernels.cpu.winner import CLEARLY_LESS, larger_child

trim, larger = SCALAR.trim, SCALAR.larger
apart, room = SCALAR.apart, SCALAR.room

LOW_BITS = 9  # of the numbers of subsets that are looked at together
FEW = 32  # items that are put in order one by one
POWERS = 64  # steps towards the first principal component
UNSEEN = 65_535  # the slot of categories that a node has not, where these do not go with a pool


@inner
def make_room(n_categories, n_channels, n_scored):
    """Scratch memory for tables of up to `n_categories` categories: integers, sums and floats."""
    n_items = n_categories + 1
    numbers = np.zeros((3, n_items), np.int64)
    items = np.zeros(n_items * n_channels, np.int64)
    sums = np.zeros((5, n_channels), np.int64)
    apart_by = np.empty((n_items, n_scored))
    square = np.empty((n_scored + 4, n_scored))
    subsets = np.empty((2 + n_channels, 1 << min(max(n_categories - 1, 0), LOW_BITS)))
    return numbers, items, sums, np.empty(n_items), apart_by, square, subsets


@inner
def worth(left, total, total_real, shape, rules, unit, floor):
    """What a division is worth, -inf where a child would be too small."""
    is_classes, n_scored = shape[0], shape[1]
    formula, min_rows, min_weight, ridge = rules[:4]
    weight, n_rows = weight_at(total, 0, is_classes, n_scored), rows_at(total, 0, shape)
    part, rows = weight_at(left, 0, is_classes, n_scored), rows_at(left, 0, shape)
    if (
        part < min_weight
        or weight - part < min_weight
        or rows < min_rows
        or n_rows - rows < min_rows
    ):
        return -np.inf
    own, whole = np.float64(part) + ridge, np.float64(weight) + 2.0 * ridge
    first = 0 if is_classes else 1
    if is_of_user(formula):
        return two_way_of_user(formula, left, first, unit, total_real, own, whole, floor)
    return two_way(formula, left, first, unit, total_real, own, whole, floor)


@inner
def best_cut(items, order, n_items, total, total_real, shape, rules, unit, left):
    """Score and last item of the best cut of some items in order; `left` has what precedes them."""
    n_channels = shape[3]
    best, best_trimmed, best_at = -np.inf, -np.inf, -1
    for i in range(n_items):
        at = order[i] * n_channels
        for c in range(n_channels):
            left[c] += items[at + c]
        score = worth(left, total, total_real, shape, rules, unit, best * CLEARLY_LESS)
        if score > -np.inf and trim(score) > best_trimmed:
            best, best_trimmed, best_at = score, trim(score), i
    return best, best_trimmed, best_at


@inner
def sum_subsets(items, n_items, n_channels, low):
    """The sums of all subsets of items 1, 2, ..., by channel; item i is bit i - 1 of a subset."""
    for c in range(n_channels):
        sums = low[c]
        sums[0] = 0.0
        n = 1
        for item in range(1, n_items):
            own, more = np.float64(items[item * n_channels + c]), sums[n:]
            for subset in range(n):
                more[subset] = sums[subset] + own
            n *= 2


@inner
def distances(base, low, n, total_real, whole, shape, ridge, unit, part, score):
    """The scores of subsets by squared distances of means, and the weights of their children 0.

    All are worked out before any are compared, so that loops become vector code. A child without
    weight makes 0/0.
    """
    is_classes, n_scored = shape[0], shape[1]
    first = 0 if is_classes else 1
    for c in range(n_scored if is_classes else 1):
        sums, own = low[c], np.float64(base[c])
        for subset in range(n):
            part[subset] = own + sums[subset] + (part[subset] if c > 0 else 0.0)
    for c in range(n_scored):
        sums, own = low[first + c], np.float64(base[first + c])
        for subset in range(n):
            square = score[subset] if c > 0 else 0.0
            left = (own + sums[subset]) * unit[c]
            distance = apart(left, total_real[c], part[subset] + ridge, whole)
            score[subset] = square + distance * distance
    for subset in range(n):
        score[subset] = score[subset] / room(part[subset] + ridge, whole)


@inner
def best_subset(items, n_items, total, total_real, shape, rules, unit, base, left, subsets):
    """Score and members, bit by bit, of the best subset of items 1, 2, ... that join item 0.

    `base` has what child 0 has besides. Subsets come in the order of their numbers, the low bits
    of which are looked at together.
    """
    n_channels = shape[3]
    formula, ridge = rules[0], rules[3]
    whole = np.float64(weight_at(total, 0, shape[0], shape[1])) + 2.0 * ridge
    part, score, low = subsets[0], subsets[1], subsets[2:]
    n_low = min(n_items - 1, LOW_BITS)
    n = 1 << n_low
    sum_subsets(items, n_low + 1, n_channels, low)
    best, best_trimmed, best_set = -np.inf, -np.inf, -1
    for c in range(n_channels):
        base[c] += items[c]
    for high in range(1 << (n_items - 1 - n_low)):
        if high > 0:  # bits that were 0 and those below them change
            for bit in range(n_items - 1 - n_low):
                sign = ((high >> bit) & 1) - (((high - 1) >> bit) & 1)
                for c in range(n_channels):
                    base[c] += sign * items[(n_low + 1 + bit) * n_channels + c]
        if formula == BETWEEN:
            distances(base, low, n, total_real, whole, shape, ridge, unit, part, score)
        for subset in range(n):
            if formula == BETWEEN:
                floor = best * CLEARLY_LESS
                if score[subset] < floor or not trim(score[subset]) > best_trimmed:
                    continue
            for c in range(n_channels):
                left[c] = base[c] + np.int64(low[c, subset])
            own = worth(left, total, total_real, shape, rules, unit, -np.inf)
            if own > -np.inf and trim(own) > best_trimmed:
                best, best_trimmed, best_set = own, trim(own), (high << n_low) + subset
    return best, best_trimmed, best_set


@inner
def gather_items(cells, base, entry, n_seen, min_category, shape, category, items):
    """The categories that have rows enough, with their sums, and the pool of the others after them.

    Returns how many categories are listed, and whether there is a pool.
    """
    is_classes, n_scored, _, n_channels = shape
    n_listed = 0
    pool = n_seen * n_channels  # room that no category needs
    for c in range(n_channels):
        items[pool + c] = 0
    for i in range(n_seen):
        at = base + entry[i] * n_channels
        is_rare = min_category > 1 and rows_at(cells, at, shape) < min_category
        to = pool if is_rare else n_listed * n_channels
        for c in range(n_channels):
            items[to + c] = cells[at + c] + (items[to + c] if is_rare else 0)
        if not is_rare:
            category[n_listed] = i
            n_listed += 1
    has_pool = weight_at(items, pool, is_classes, n_scored) > 0
    if has_pool:
        for c in range(n_channels):
            items[n_listed * n_channels + c] = items[pool + c]
    return n_listed, has_pool


@inner
def component(items, n_items, known, shape, unit, key, apart_by, square):
    """The first principal component of class shares, or of means, at each item."""
    is_classes, n_scored, _, n_channels = shape
    first = 0 if is_classes else 1
    spread, direction, other, mean = square[:n_scored], square[-1], square[-2], square[-3]
    other[:] = 0.0
    whole = np.float64(max(1, weight_at(known, 0, is_classes, n_scored)))
    for c in range(n_scored):
        mean[c] = np.float64(known[first + c]) * unit[c] / whole
    for i in range(n_items):
        weight = np.float64(weight_at(items, i * n_channels, is_classes, n_scored))
        for a in range(n_scored):
            own = np.float64(items[i * n_channels + first + a]) * unit[a]
            apart_by[i, a] = own / weight - mean[a]
        for a in range(n_scored):
            for b in range(n_scored):
                term = weight * apart_by[i, a] * apart_by[i, b]
                spread[a, b] = term if i == 0 else spread[a, b] + term
    # From its longest row on, the matrix turns any vector towards the component.
    widest = 0
    for c in range(1, n_scored):
        if spread[c, c] > spread[widest, widest]:
            widest = c
    for c in range(n_scored):
        direction[c] = spread[widest, c]
    for _ in range(POWERS):
        largest = 0.0
        for c in range(n_scored):
            largest = larger(np.abs(direction[c]), largest)
        is_settled = True  # the same vector again: so it stays
        for c in range(n_scored):
            own = direction[c] / (largest if largest > 0.0 else 1.0)
            is_settled &= own == other[c]
            other[c] = own
        if is_settled:
            break
        for a in range(n_scored):
            direction[a] = in_turn(spread[a], other, n_scored)
    for i in range(n_items):
        key[i] = in_turn(apart_by[i], direction, n_scored)


@inner
def in_turn(a, b, n):
    """The sum of products, one after another."""
    result = a[0] * b[0]
    for i in range(1, n):
        result = result + a[i] * b[i]
    return result


@inner
def mean_keys(items, n_items, shape, ridge, key):
    """The share of the first class of each item, the largest first, or its mean."""
    is_classes, n_scored, _, n_channels = shape
    for i in range(n_items):
        at = i * n_channels
        own = -np.float64(items[at]) if is_classes else np.float64(items[at + 1])
        key[i] = own / (np.float64(weight_at(items, at, is_classes, n_scored)) + ridge)


@inner
def put_in_order(key, n_items, order):
    """The items by their keys, the earlier first on ties."""
    if n_items > FEW:
        ranked = np.argsort(key[:n_items], kind="mergesort")
        for i in range(n_items):
            order[i] = ranked[i]
        return
    for i in range(n_items):  # each is put where it belongs among those before it
        at = i
        while at > 0 and key[order[at - 1]] > key[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i


@inner
def divide_items(n_items, lost, shape, rules, unit, room_for, goes_right):
    """The best division of the items that lie in the room, with known and missing sums beside them.

    `lost` is the weight of missing values that take part. Returns the score, whether child 0 takes
    missing values, and whether a better division may have been missed; goes_right[i] tells of item
    i. Child 0 has the first item: a subset and its complement are one split.
    """
    numbers, items, sums, key, apart_by, square, subsets = room_for
    order, known, missing, total, left = numbers[0], sums[0], sums[1], sums[2], sums[3]
    is_classes, n_scored, _, n_channels = shape
    most_exact, is_principal, is_optimal = rules[4], rules[5], rules[6]
    total_real = square[n_scored]
    for c in range(n_channels):
        total[c] = known[c] + (missing[c] if lost > 0 else 0)
    is_exact = n_items <= most_exact
    if not is_exact:
        if is_principal:
            component(items, n_items, known, shape, unit, key, apart_by, square)
        else:
            mean_keys(items, n_items, shape, rules[3], key)
        put_in_order(key, n_items, order)
    first = 0 if is_classes else 1
    for c in range(n_scored):
        total_real[c] = np.float64(total[first + c]) * unit[c]
    best, best_trimmed, chosen, side = -np.inf, -np.inf, -1, 0
    for taken in range(2 if lost > 0 else 1):
        for c in range(n_channels):
            left[c] = missing[c] if taken else 0
        if is_exact:
            score, trimmed, number = best_subset(
                items, n_items, total, total_real, shape, rules, unit, left, sums[4], subsets
            )
        else:
            score, trimmed, number = best_cut(
                items, order, n_items, total, total_real, shape, rules, unit, left
            )
        if trimmed > best_trimmed:
            best, best_trimmed, chosen, side = score, trimmed, number, taken
    if is_exact:
        for i in range(n_items):
            goes_right[i] = 0 if i == 0 else 1 - ((chosen >> (i - 1)) & 1)
    else:
        for i in range(n_items):
            goes_right[order[i]] = 0 if i <= chosen else 1
    if goes_right[0] == 1 and best > -np.inf:
        for i in range(n_items):
            goes_right[i] = 1 - goes_right[i]
        side = 1 - side
    return best, side, not is_exact and not is_optimal


@inner
def divide_categories(cells, base, entry, n_seen, lost, min_category, shape, rules, unit, room_for):
    """The best two groups of categories; sums of the i-th begin at base + entry[i] * n_channels.

    The room has the missing sums, of weight `lost` where they take part. Returns the score, the
    slot of missing values, that of categories that the node has not, and whether a better division
    may have been missed. Row 2 of the room's numbers is the slots of the categories then; row 3 of
    its sums is the known part of child 0, row 0 that of both.
    """
    numbers, items, sums = room_for[0], room_for[1], room_for[2]
    category, slot, known, left = numbers[1], numbers[2], sums[0], sums[3]
    n_channels = shape[3]
    n_listed, has_pool = gather_items(
        cells, base, entry, n_seen, min_category, shape, category, items
    )
    n_items = n_listed + (1 if has_pool else 0)
    known[:] = 0
    for i in range(n_items):
        for c in range(n_channels):
            known[c] += items[i * n_channels + c]
    score, side, is_heuristic = -np.inf, 0, False
    goes_right = slot
    goes_right[:n_items] = 1
    if n_items + (1 if lost > 0 else 0) >= 2:
        score, side, is_heuristic = divide_items(
            n_items, lost, shape, rules, unit, room_for, goes_right
        )
    left[:] = 0
    for i in range(n_items):
        if goes_right[i] == 0:
            for c in range(n_channels):
                left[c] += items[i * n_channels + c]
    # Categories have the slots of their items. No category comes before its item, so that the last
    # goes first.
    absent = goes_right[n_listed] if has_pool else UNSEEN
    of_pool = absent
    item = n_listed - 1
    for i in range(n_seen - 1, -1, -1):
        if item >= 0 and category[item] == i:
            slot[i] = goes_right[item]
            item -= 1
        else:
            slot[i] = of_pool
    return score, 1 - side, absent, is_heuristic


@kernel
def split(
    begin, end, cells, start, n_codes, n_categories, learns_side, min_category, shape, rules, unit,
    score, bits, is_heuristic, slot,
):  # fmt: skip
    """Scores, bits and slots of pairs; the codes of pair `i` begin at start[i].

    bits[i] tells the branches apart. `learns_side` says whether missing values are given a side;
    is_heuristic[i] whether a better division may have been missed.
    """
    is_classes, n_scored, _, n_channels = shape
    most = most_of(n_categories)
    seen = np.empty(most, np.int64)
    room_for = make_room(most, n_channels, n_scored)
    slots, sums = room_for[0][2], room_for[2]
    known, missing, left = sums[0], sums[1], sums[3]
    for i in range(begin, end):
        base = start[i] * n_channels
        own = cells[base:]
        n_seen = list_present(own, n_categories[i], n_channels, is_classes, n_scored, seen)
        has_missing = n_codes[i] > n_categories[i]
        missing[:] = 0
        if has_missing:
            for c in range(n_channels):
                missing[c] = own[n_categories[i] * n_channels + c]
        lost = weight_at(missing, 0, is_classes, n_scored)
        score[i], missing_slot, absent, is_heuristic[i] = divide_categories(
            own, 0, seen, n_seen, lost if learns_side else 0, min_category, shape, rules, unit,
            room_for,
        )  # fmt: skip
        if absent != UNSEEN:
            slot[start[i] : start[i] + n_categories[i]] = absent
        for j in range(n_seen):
            slot[start[i] + seen[j]] = slots[j]
        if has_missing and learns_side:
            if lost == 0:
                missing_slot = larger_child(rows_at(left, 0, shape), rows_at(known, 0, shape))
            slot[start[i] + n_categories[i]] = missing_slot
        every = np.float64(weight_at(known, 0, is_classes, n_scored) + lost)
        part = np.float64(weight_at(left, 0, is_classes, n_scored))
        rest = np.float64(weight_at(known, 0, is_classes, n_scored)) - part
        bits[i] = (
            branch_bits(part, every) + branch_bits(rest, every)
            + branch_bits(np.float64(lost), every)
        )  # fmt: skip
