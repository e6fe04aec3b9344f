"""The best split of each node, from its histogram or straight from its rows.

Both paths list the codes that occur in a node in ascending order and hand them to `consider`, so
they give the same answer. A node with few rows never touches the codes that do not occur.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel

BETWEEN, INFORMATION, CORRECTED = 0, 1, 2  # numbers of the formulas
FORMULAS = {"between": BETWEEN, "information": INFORMATION, "corrected": CORRECTED}

# A candidate whose score is below the best one's by more than this share cannot win, not even
# after both are trimmed; it is refused without a division.
CLEARLY_LESS = 1.0 - 2.0**-30

trim = SCALAR.trim
apart = SCALAR.apart
room = SCALAR.room
information = SCALAR.information
corrected = SCALAR.corrected

# Entries of `best`: the winner so far. Whole numbers are exact as float64.
TRIMMED, SCORE, FEATURE, CODE, NEXT, SIDE = 0, 1, 2, 3, 4, 5

FEW = 24  # so many codes are put in order faster by insertion than in any other way


@kernel
def weight_of(sums, is_classes, n_scored):
    """The weight of integer sums."""
    if not is_classes:
        return sums[0]
    weight = 0
    for c in range(n_scored):
        weight += sums[c]
    return weight


@kernel
def consider(feature, cells, seen, n_seen, missing_code, total, shape, rules, unit, work, best, left):
    """Try every split of one feature of one node; `best` and `left` keep the winner.

    cells (codes, channels) are the node's sums; seen[:n_seen] the codes of values that occur, in
    order; missing_code is -1 where no value is missing. shape is (is_classes, n_scored,
    counts_rows), rules (formula, min_rows, min_weight), work two rows of floats and one of sums.
    """
    is_classes, n_scored, counts_rows = shape
    formula, min_rows, min_weight = rules
    left_real, total_real, running = work
    n_channels = total.shape[0]
    first = 0 if is_classes else 1
    weight = weight_of(total, is_classes, n_scored)
    rows = total[n_channels - 1] if counts_rows else weight
    real_weight = np.float64(weight)
    for c in range(n_scored):
        total_real[c] = np.float64(total[first + c]) * unit[c]
    running[:] = 0
    n_sides = 1 if missing_code < 0 else 2
    for i in range(n_seen):
        running += cells[seen[i]]
        for side in range(n_sides):
            if side == 1:
                running += cells[missing_code]
            left_weight = weight_of(running, is_classes, n_scored)
            left_rows = running[n_channels - 1] if counts_rows else left_weight
            if (
                left_rows >= min_rows
                and rows - left_rows >= min_rows
                and left_weight >= min_weight
                and weight - left_weight >= min_weight
            ):
                for c in range(n_scored):
                    left_real[c] = np.float64(running[first + c]) * unit[c]
                part = np.float64(left_weight)
                if formula == BETWEEN:
                    square = apart(left_real, total_real, part, real_weight, n_scored)
                    divisor = room(part, real_weight)
                    if square < best[SCORE] * CLEARLY_LESS * divisor:
                        score = -np.inf
                    else:
                        score = square / divisor
                elif formula == INFORMATION:
                    score = information(left_real, total_real, part, real_weight, n_scored)
                else:
                    score = corrected(left_real, total_real, part, real_weight, n_scored)
                if score > -np.inf and trim(score) > best[TRIMMED]:
                    best[TRIMMED] = trim(score)
                    best[SCORE] = score
                    best[FEATURE] = feature
                    best[CODE] = seen[i]
                    best[NEXT] = seen[i + 1] if i + 1 < n_seen else -1
                    best[SIDE] = side
                    left[:] = running
            if side == 1:
                running -= cells[missing_code]


@kernel
def settle(node, best, left, total, missing, shape, score, winner, left_sums):
    """Write a node's winner; `missing` are its sums of the winning feature's missing values."""
    is_classes, n_scored, counts_rows = shape
    score[node] = best[SCORE]
    winner[node, 0] = np.int64(best[FEATURE])
    winner[node, 1] = np.int64(best[CODE])
    winner[node, 2] = np.int64(best[NEXT])
    left_sums[node] = left
    if weight_of(missing, is_classes, n_scored) > 0:
        winner[node, 3] = 1 - np.int64(best[SIDE])
        return
    last = total.shape[0] - 1
    whole = total[last] if counts_rows else weight_of(total, is_classes, n_scored)
    part = left[last] if counts_rows else weight_of(left, is_classes, n_scored)
    winner[node, 3] = 1 if part <= whole - part else 0


@kernel
def feature_at(turn, rank, node, n_drawn):
    """The feature to try at some turn, -1 to skip it.

    Drawn features are tried in their own order, so that ties go to the lower one; the others
    follow in the order of the draw.
    """
    n_features = rank.shape[1]
    if turn < n_features:
        return turn if rank[node, turn] < n_drawn else -1
    for feature in range(n_features):
        if rank[node, feature] == turn - n_features:
            return feature if turn - n_features >= n_drawn else -1
    return -1


@kernel
def search_hist(
    begin, end, hist, offset, n_values, rank, n_drawn, shape, rules, unit, score, winner, left_sums
):
    """The best split of each node from its histogram (places, channels)."""
    n_features = n_values.shape[0]
    n_channels = hist.shape[2]
    n_scored = shape[1]
    seen = np.empty(n_values.max(), np.int64)
    work = np.empty(n_scored), np.empty(n_scored), np.empty(n_channels, np.int64)
    left = np.zeros(n_channels, np.int64)
    total = np.empty(n_channels, np.int64)
    nothing = np.zeros(n_channels, np.int64)
    best = np.empty(6)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        total[:] = 0
        for place in range(offset[1]):
            total += hist[node, place]
        best[:] = -np.inf
        best[FEATURE] = 0
        best[CODE] = 0
        best[NEXT] = -1
        best[SIDE] = 0
        left[:] = 0
        for turn in range(n_turns):
            feature = turn
            if rank.shape[0] > 0:
                if turn >= n_features and best[SCORE] > -np.inf:
                    break
                feature = feature_at(turn, rank, node, n_drawn)
                if feature < 0:
                    continue
            cells = hist[node, offset[feature] : offset[feature + 1]]
            n_seen = 0
            for code in range(n_values[feature]):
                if weight_of(cells[code], shape[0], n_scored) > 0:
                    seen[n_seen] = code
                    n_seen += 1
            missing_code = -1
            if cells.shape[0] > n_values[feature]:
                if weight_of(cells[n_values[feature]], shape[0], n_scored) > 0:
                    missing_code = n_values[feature]
            consider(
                feature, cells, seen, n_seen, missing_code, total, shape, rules, unit, work, best,
                left,
            )
        feature = np.int64(best[FEATURE])
        missing = nothing
        if offset[feature + 1] - offset[feature] > n_values[feature]:
            missing = hist[node, offset[feature + 1] - 1].astype(np.int64)
        settle(node, best, left, total, missing, shape, score, winner, left_sums)


@kernel
def put_in_order(seen, n_seen, mark, n_codes):
    """Sort the codes that occur; `mark` tells which they are."""
    if n_seen <= FEW:
        for i in range(1, n_seen):
            code = seen[i]
            j = i - 1
            while j >= 0 and seen[j] > code:
                seen[j + 1] = seen[j]
                j -= 1
            seen[j + 1] = code
    elif n_codes <= 8 * n_seen:
        n = 0
        for code in range(n_codes):
            if mark[code]:
                seen[n] = code
                n += 1
    else:
        seen[:n_seen].sort()


@kernel
def add_row(sums, row, label, value, weight):
    """Add the channels of one row."""
    is_weighted = weight.shape[0] > 0
    amount = weight[row] if is_weighted else 1
    if label.shape[0] > 0:
        sums[label[row]] += amount
    else:
        sums[0] += amount
        for output in range(value.shape[0]):
            sums[1 + output] += value[output, row]
    if is_weighted:
        sums[sums.shape[0] - 1] += 1


@kernel
def search_rows(
    begin, end, start, n_rows, order, label, value, weight, code, n_codes, n_values, rank, n_drawn,
    shape, rules, unit, score, winner, left_sums,
):  # fmt: skip
    """The best split of each node straight from its rows."""
    n_features = n_values.shape[0]
    n_channels = left_sums.shape[1]
    n_scored = shape[1]
    most = n_codes.max()
    seen = np.empty(most, np.int64)
    mark = np.zeros(most, np.bool_)
    cells = np.zeros((most, n_channels), np.int64)
    work = np.empty(n_scored), np.empty(n_scored), np.empty(n_channels, np.int64)
    left = np.zeros(n_channels, np.int64)
    total = np.empty(n_channels, np.int64)
    missing = np.zeros(n_channels, np.int64)
    best = np.empty(6)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        first = start[node]
        last = first + n_rows[node]
        total[:] = 0
        for i in range(first, last):
            add_row(total, order[i], label, value, weight)
        best[:] = -np.inf
        best[FEATURE] = 0
        best[CODE] = 0
        best[NEXT] = -1
        best[SIDE] = 0
        left[:] = 0
        missing[:] = 0
        for turn in range(n_turns):
            feature = turn
            if rank.shape[0] > 0:
                if turn >= n_features and best[SCORE] > -np.inf:
                    break
                feature = feature_at(turn, rank, node, n_drawn)
                if feature < 0:
                    continue
            codes = code[feature]
            n_seen = 0
            for i in range(first, last):
                at = codes[order[i]]
                add_row(cells[at], order[i], label, value, weight)
                if not mark[at]:
                    mark[at] = True
                    seen[n_seen] = at
                    n_seen += 1
            put_in_order(seen, n_seen, mark, n_codes[feature])
            missing_code = -1
            n_known = n_seen
            if n_seen > 0 and seen[n_seen - 1] >= n_values[feature]:
                missing_code = seen[n_seen - 1]
                n_known -= 1
            before = best[TRIMMED]
            consider(
                feature, cells, seen, n_known, missing_code, total, shape, rules, unit, work, best,
                left,
            )
            if best[TRIMMED] > before:
                missing[:] = 0
                if missing_code >= 0:
                    missing += cells[missing_code]
            for i in range(n_seen):
                mark[seen[i]] = False
                cells[seen[i]] = 0
        settle(node, best, left, total, missing, shape, score, winner, left_sums)
