"""The best two groups of levels, by the cuts of one order: for two classes, and for one output.

The same as the `ordered` search of `gputree.backends.levels`, one pair of a node and a feature
after another. What is put in order are items: the levels that have rows enough, and the pool of the
others.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel
from gputree.kernels.cpu.multiway import branch_bits
from gputree.kernels.cpu.split import BETWEEN, DEVIANCE, INFORMATION, rows_at, weight_at

trim, room, apart_step = SCALAR.trim, SCALAR.room, SCALAR.apart_step
told_step, larger, apart = SCALAR.told_step, SCALAR.larger, SCALAR.apart
counts_step, counts_score = SCALAR.counts_step, SCALAR.counts_score

FEW = 32  # items that are put in order one by one


@kernel
def score_of(left, total, part, whole, shape, formula, unit):
    """What a cut is worth; `left` and `total` are sums of child 0 and of the node."""
    is_classes, n_scored = shape[0], shape[1]
    first = 0 if is_classes else 1
    result = 0.0
    for c in range(n_scored):
        own = np.float64(left[first + c]) * unit[c]
        every = np.float64(total[first + c]) * unit[c]
        if formula == BETWEEN:
            result = apart_step(result, own, every, part, whole)
        elif formula == INFORMATION:
            result = told_step(result, own, every, part, whole)
        elif formula == DEVIANCE:
            result = counts_step(result, own, every, part, whole)
        else:
            result = apart(result, own, every, part, whole)
    if formula == BETWEEN:
        return result / room(part, whole)
    if formula == INFORMATION:
        return larger(result, 0.0)
    if formula == DEVIANCE:
        return counts_score(result)
    return result * result * 0.25 / room(part, whole)


@kernel
def best_cut(items, order, n_items, extra, total, shape, rules, unit, left):
    """Score and place of the best cut of some items, with `extra` sums in child 0."""
    is_classes, n_scored, _, n_channels = shape
    formula, min_rows, min_weight, ridge = rules[:4]
    weight, n_rows = weight_at(total, 0, is_classes, n_scored), rows_at(total, 0, shape)
    whole = np.float64(weight) + 2.0 * ridge
    best, best_trimmed, best_at = -np.inf, -np.inf, 0
    for c in range(n_channels):
        left[c] = extra[c]
    for i in range(n_items):
        at = order[i] * n_channels
        for c in range(n_channels):
            left[c] += items[at + c]
        part, rows = weight_at(left, 0, is_classes, n_scored), rows_at(left, 0, shape)
        if (
            part < min_weight
            or weight - part < min_weight
            or rows < min_rows
            or n_rows - rows < min_rows
        ):
            continue
        score = score_of(left, total, np.float64(part) + ridge, whole, shape, formula, unit)
        trimmed = trim(score)
        if trimmed > best_trimmed:
            best, best_trimmed, best_at = score, trimmed, i
    return best, best_trimmed, best_at


@kernel
def list_items(cells, base, n_levels, min_category, shape, level, items):
    """The levels that have rows enough, with their sums, and the pool of the others after them.

    Returns how many levels are listed, and whether there is a pool.
    """
    is_classes, n_scored, _, n_channels = shape
    n_listed = 0
    pool = n_levels * n_channels  # room that no level needs
    for c in range(n_channels):
        items[pool + c] = 0
    for number in range(n_levels):
        at = base + number * n_channels
        if weight_at(cells, at, is_classes, n_scored) == 0:
            continue
        is_rare = rows_at(cells, at, shape) < min_category
        to = pool if is_rare else n_listed * n_channels
        for c in range(n_channels):
            items[to + c] = cells[at + c] + (items[to + c] if is_rare else 0)
        if not is_rare:
            level[n_listed] = number
            n_listed += 1
    has_pool = weight_at(items, pool, is_classes, n_scored) > 0
    if has_pool:
        for c in range(n_channels):
            items[n_listed * n_channels + c] = items[pool + c]
    return n_listed, has_pool


@kernel
def sort_items(items, n_items, shape, ridge, order, key):
    """The items by their share of the first class, or by their mean; the earlier first on ties."""
    is_classes, n_scored, _, n_channels = shape
    for i in range(n_items):
        at = i * n_channels
        own = -np.float64(items[at]) if is_classes else np.float64(items[at + 1])
        own = own / (np.float64(weight_at(items, at, is_classes, n_scored)) + ridge)
        if n_items > FEW:
            key[i] = own
            continue
        # Items are few: each is put in its place among those before it.
        place = i
        while place > 0 and key[place - 1] > own:
            key[place], order[place] = key[place - 1], order[place - 1]
            place -= 1
        key[place], order[place] = own, i
    if n_items > FEW:
        order[:n_items] = np.argsort(key[:n_items], kind="mergesort")


@kernel
def split(
    begin, end, cells, start, n_codes, n_values, learns_side, shape, rules, unit, score, bits,
    slot,
):  # fmt: skip
    """Scores, bits and slots of pairs; the codes of pair `i` begin at start[i]."""
    is_classes, n_scored, _, n_channels = shape
    ridge, min_category = rules[3], rules[4]
    most = n_values.max()
    level, order, key = np.empty(most, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1)
    items = np.zeros((most + 1) * n_channels, np.int64)
    sums = np.zeros((5, n_channels), np.int64)
    known, missing, total, left, nothing = sums[0], sums[1], sums[2], sums[3], sums[4]
    for i in range(begin, end):
        base = start[i] * n_channels
        n_listed, has_pool = list_items(cells, base, n_values[i], min_category, shape, level, items)
        n_items = n_listed + (1 if has_pool else 0)
        sort_items(items, n_items, shape, ridge, order, key)
        known[:] = 0
        missing[:] = 0
        for j in range(n_items):
            for c in range(n_channels):
                known[c] += items[j * n_channels + c]
        has_missing = n_codes[i] > n_values[i]
        if has_missing:
            for c in range(n_channels):
                missing[c] = cells[base + n_values[i] * n_channels + c]
        lost = weight_at(missing, 0, is_classes, n_scored)
        takes_part = learns_side and lost > 0
        for c in range(n_channels):
            total[c] = known[c] + (missing[c] if takes_part else 0)
        best, last, side = -np.inf, -1, 0
        if n_items + (1 if takes_part else 0) >= 2:
            best, trimmed, last = best_cut(
                items, order, n_items, nothing, total, shape, rules, unit, left
            )
            if takes_part:
                other, other_trimmed, other_last = best_cut(
                    items, order, n_items, missing, total, shape, rules, unit, left
                )
                if other_trimmed > trimmed:
                    best, last, side = other, other_last, 1
        if best == -np.inf:
            last = -1
        # A subset and its complement are one split; child 0 has the first item.
        first_place = 0
        for j in range(n_items):
            if order[j] == 0:
                first_place = j
        swaps = 1 if best > -np.inf and first_place > last else 0
        side = side ^ swaps
        left[:] = 0
        for j in range(n_items):
            to = (0 if j <= last else 1) ^ swaps
            if to == 0:
                for c in range(n_channels):
                    left[c] += items[order[j] * n_channels + c]
            if order[j] == n_listed:  # what is not listed goes with the pool
                slot[start[i] : start[i] + n_values[i]] = to
        for j in range(n_items):
            if order[j] < n_listed:
                slot[start[i] + level[order[j]]] = (0 if j <= last else 1) ^ swaps
        score[i] = best
        if has_missing and learns_side:
            n_left = rows_at(left, 0, shape)
            is_larger = 1 if n_left <= rows_at(known, 0, shape) - n_left else 0
            slot[start[i] + n_values[i]] = is_larger if lost == 0 else 1 - side
        every = np.float64(weight_at(known, 0, is_classes, n_scored) + lost)
        part = np.float64(weight_at(left, 0, is_classes, n_scored))
        rest = np.float64(weight_at(known, 0, is_classes, n_scored)) - part
        bits[i] = (
            branch_bits(part, every) + branch_bits(rest, every)
            + branch_bits(np.float64(lost), every)
        )  # fmt: skip
