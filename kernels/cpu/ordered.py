"""The best two groups of levels, by the cuts of one order: for two classes, and for one output.

The same as the `ordered` search of `gputree.backends.levels`, one pair of a node and a feature
after another.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel
from gputree.kernels.cpu.multiway import branch_bits
from gputree.kernels.cpu.split import BETWEEN, INFORMATION, rows_at, weight_at

trim, room, apart_step = SCALAR.trim, SCALAR.room, SCALAR.apart_step
told_step, larger, apart = SCALAR.told_step, SCALAR.larger, SCALAR.apart


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
        else:
            result = apart(result, own, every, part, whole)
    if formula == BETWEEN:
        return result / room(part, whole)
    if formula == INFORMATION:
        return larger(result, 0.0)
    return result * result * 0.25 / room(part, whole)


@kernel
def best_cut(cells, base, order, n_present, extra, total, shape, rules, unit, left):
    """Score and place of the best cut of some levels, with `extra` sums in child 0."""
    is_classes, n_scored, _, n_channels = shape
    formula, min_rows, min_weight, ridge = rules
    weight, n_rows = weight_at(total, 0, is_classes, n_scored), rows_at(total, 0, shape)
    whole = np.float64(weight) + 2.0 * ridge
    best, best_trimmed, best_at = -np.inf, -np.inf, 0
    for c in range(n_channels):
        left[c] = extra[c]
    for i in range(n_present):
        at = base + order[i] * n_channels
        for c in range(n_channels):
            left[c] += cells[at + c]
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
def sort_levels(cells, base, n_levels, shape, ridge, order, key):
    """The levels that occur by their share of the first class, or by their mean; how many."""
    is_classes, n_scored, _, n_channels = shape
    n_present = 0
    for level in range(n_levels):
        at = base + level * n_channels
        weight = weight_at(cells, at, is_classes, n_scored)
        if weight == 0:
            continue
        own = -np.float64(cells[at]) if is_classes else np.float64(cells[at + 1])
        own = own / (np.float64(weight) + ridge)
        # Levels are few: each is put in its place among those before it.
        place = n_present
        while place > 0 and key[place - 1] > own:
            key[place], order[place] = key[place - 1], order[place - 1]
            place -= 1
        key[place], order[place] = own, level
        n_present += 1
    return n_present


@kernel
def split(
    begin, end, cells, start, n_codes, n_values, learns_side, shape, rules, unit, score, bits,
    slot,
):  # fmt: skip
    """Scores, bits and slots of pairs; the codes of pair `i` begin at start[i]."""
    is_classes, n_scored, _, n_channels = shape
    most = n_values.max()
    order, key = np.empty(most, np.int64), np.empty(most)
    sums = np.zeros((5, n_channels), np.int64)
    known, missing, total, left, nothing = sums[0], sums[1], sums[2], sums[3], sums[4]
    for i in range(begin, end):
        base = start[i] * n_channels
        n_present = sort_levels(cells, base, n_values[i], shape, rules[3], order, key)
        known[:] = 0
        missing[:] = 0
        for j in range(n_present):
            for c in range(n_channels):
                known[c] += cells[base + order[j] * n_channels + c]
        has_missing = n_codes[i] > n_values[i]
        if has_missing:
            for c in range(n_channels):
                missing[c] = cells[base + n_values[i] * n_channels + c]
        lost = weight_at(missing, 0, is_classes, n_scored)
        takes_part = learns_side and lost > 0
        for c in range(n_channels):
            total[c] = known[c] + (missing[c] if takes_part else 0)
        best, last, side = -np.inf, -1, 0
        if n_present + (1 if takes_part else 0) >= 2:
            best, trimmed, last = best_cut(
                cells, base, order, n_present, nothing, total, shape, rules, unit, left
            )
            if takes_part:
                other, other_trimmed, other_last = best_cut(
                    cells, base, order, n_present, missing, total, shape, rules, unit, left
                )
                if other_trimmed > trimmed:
                    best, last, side = other, other_last, 1
        if best == -np.inf:
            last = -1
        # A subset and its complement are one split; child 0 has the first level.
        first_level, first_place = most, 0
        for j in range(n_present):
            if order[j] < first_level:
                first_level, first_place = order[j], j
        swaps = 1 if best > -np.inf and first_place > last else 0
        side = side ^ swaps
        left[:] = 0
        for j in range(n_present):
            to = (0 if j <= last else 1) ^ swaps
            slot[start[i] + order[j]] = to
            if to == 0:
                for c in range(n_channels):
                    left[c] += cells[base + order[j] * n_channels + c]
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
