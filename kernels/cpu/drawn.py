"""One random split of a feature of a node, as `gputree.growth.random_splits` draws it.

No sums by code are needed: the rows tell the span of the codes, a value is drawn from it, and the
rows below that are summed. Most nodes are small, so one call looks at all features of a node, and
slices and calls a feature are few.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner, step
from gputree.kernels.cpu.sampling import mix, share
from gputree.kernels.cpu.scoring import BETWEEN
from gputree.kernels.cpu.split import consider
from gputree.kernels.cpu.winner import CODE, SIDE, TRIMMED, best_candidate, crown
from gputree.kernels.cpu.words import LOWER, UPPER

TOP_BIT = np.uint64(63)

# Columns of `split`.
FEATURE, CUT, N_LOST, LOST_LEFT = 0, 1, 2, 3


@step
def cut_between(part, below, above, start, low, high):
    """A value between two codes, `part` of the way, and the largest code that is not above it.

    Without a finite value between them, a code is taken so far on the way.
    """
    value = below[start + low] * (1.0 - part) + above[start + high - 1] * part
    if not np.isfinite(value):
        cut = low + np.int64(np.floor(part * np.float64(high - low)))
        return value, min(cut, high - 1)
    # A search without a branch, as the side of a middle is anyone's guess.
    cut, n = low, high - low
    while n > 1:
        half = n >> 1
        cut += half * np.int64(below[np.uint64(start + cut + half)] <= value)
        n -= half
    return value, cut


@inner
def room_for(n_features, n_channels, n_rows, code):
    """Room for what is drawn in a node: splits, values, sums, floats for scores, and codes."""
    return (
        np.empty((n_features, 4), np.int64),
        np.empty(n_features),
        np.zeros((n_features, max(2, n_channels)), np.int64),
        np.empty((3, n_features)),
        np.zeros(1, np.int64),
        np.empty(n_rows, code.dtype),
    )


@step
def span_of(codes, n, n_values):
    """The least and the largest known code, -1 where there is none, and how many are not known."""
    low, high = codes[0], codes[0]
    for i in range(n):
        low, high = min(low, codes[i]), max(high, codes[i])
    if high < n_values:
        return np.int64(low), np.int64(high), 0
    highest, n_lost = np.int64(-1), 0
    for i in range(n):
        is_lost = codes[i] >= n_values
        highest = max(highest, np.int64(-1) if is_lost else np.int64(codes[i]))
        n_lost += is_lost
    return np.int64(low), highest, n_lost


@step
def draw_cut(feature, key, edges, codes, n, n_values, split, value, k):
    """Draw the split of one feature: split[k] has feature, cut, missing values, and their side.

    The rows have codes[:n]. Returns whether there is one. The value is NaN where known values are
    not divided.
    """
    low, high, n_lost = span_of(codes, n, n_values)
    if high < 0 or (low == high and n_lost == 0):
        return False
    below, above, start = edges
    own_key = mix(~key, np.uint64(start.shape[0] - 1 + feature))
    split[k, FEATURE], split[k, CUT] = feature, low
    split[k, N_LOST], split[k, LOST_LEFT] = n_lost, 0
    value[k] = np.nan
    if low < high:
        value[k], split[k, CUT] = cut_between(
            share(own_key), below, above, start[feature], low, high
        )
        if n_lost > 0:
            split[k, LOST_LEFT] = mix(~own_key, np.uint64(0)) >> TOP_BIT == 0
    return True


@step
def sum_words(codes, word, first, n, cut, lost_code, sums, k):
    """Weight and second sum of the rows up to a code, and of those with the missing code.

    Without a branch, as the side of a row is anyone's guess.
    """
    total = np.int64(0)
    for i in range(n):
        total += word[first + i] * np.int64((codes[i] <= cut) | (codes[i] == lost_code))
    sums[k, 0], sums[k, 1] = total & LOWER, total >> UPPER


@step
def sum_one(codes, values, n, cut, lost_code, sums, k):
    """The same of rows that count 1 and have one value."""
    n_rows, total = np.int64(0), np.int64(0)
    for i in range(n):
        is_in = np.int64((codes[i] <= cut) | (codes[i] == lost_code))
        n_rows += is_in
        total += values[0, i] * is_in
    sums[k, 0], sums[k, 1] = n_rows, total


@step
def sum_cells(codes, n, cut, lost_code, channel, amount, values, is_weighted, sums):
    """The sums of all channels of the same rows."""
    sums[:] = 0
    n_outputs = values.shape[0]
    for i in range(n):
        if codes[i] <= cut or codes[i] == lost_code:
            sums[np.uint64(channel[i])] += amount[i]
            for output in range(n_outputs):
                sums[np.uint64(1 + output)] += values[output, i]
            if is_weighted:
                sums[sums.shape[0] - 1] += 1


@step
def search_drawn(
    key, turn, n_drawn, is_ordered, edges, table, at, first, n, n_values, word, channel, amount,
    values, is_weighted, own, total_real, weight, n_rows, shape, rules, unit, times, room, running,
    best, left,
):  # fmt: skip
    """The best of the splits that a node's key draws, one a feature; more only while none can be.

    `turn` has the features in the order of the node's draw, which also decides ties. Returns how
    many values of the winner are missing, and the value that was drawn.
    The rows are at[first:][:n], by their numbers in `table`. `edges` has the cuts of all features;
    `own` are the sums of the node, `weight` and `n_rows` the weight and the rows; scores count
    `times`.
    """
    split, value, sums, real, one, codes = room
    formula, min_rows, min_weight, _ = rules
    is_packed = word.shape[0] > 0
    # Weight and one sum a child: the splits of all features are scored together.
    has_pairs = is_packed or (formula == BETWEEN and values.shape[0] == 1 and not is_weighted)
    whole, total = np.float64(weight), 0.0
    if has_pairs:
        total = np.float64(own[1]) if is_packed else total_real[0]
    scale = 1.0 if is_packed else unit[0]
    winner = -1
    begin = 0
    while begin < turn.shape[0] and winner < 0:
        end = n_drawn if begin == 0 else begin + 1
        n_found = 0
        for t in range(begin, end):
            feature = turn[t]
            if not is_ordered[feature]:
                continue
            for i in range(n):
                codes[i] = table[feature, at[i]]
            if not draw_cut(
                feature, key, edges, codes, n, n_values[feature], split, value, n_found
            ):
                continue
            cut = split[n_found, CUT]
            lost_code = n_values[feature] if split[n_found, LOST_LEFT] else -1
            if is_packed:
                sum_words(codes, word, first, n, cut, lost_code, sums, n_found)
            elif has_pairs:
                sum_one(codes, values, n, cut, lost_code, sums, n_found)
            else:
                sum_cells(
                    codes, n, cut, lost_code, channel, amount, values, is_weighted, sums[n_found]
                )  # fmt: skip
            n_found += 1
        if has_pairs:
            for i in range(n_found):
                real[0, i], real[1, i] = np.float64(sums[i, 0]), np.float64(sums[i, 1]) * scale
            winner = best_candidate(
                n_found, real[0], real[1], whole, total, 0.0, max(min_rows, min_weight), times,
                best, real[2],
            )  # fmt: skip
            if winner >= 0:
                crown(best, real[2, winner], split[winner, FEATURE], 0, -1, 0)
                for c in range(left.shape[0]):
                    left[c] = sums[winner, c]
        else:
            for i in range(n_found):
                before = best[TRIMMED]
                consider(
                    split[i, FEATURE], sums[i], 0, one, 1, -1, running, total_real, weight, n_rows,
                    shape, rules, unit, best, left,
                )  # fmt: skip
                if best[TRIMMED] > before:
                    winner = i
        begin = end
    if winner < 0:
        return np.int64(0), np.nan
    best[CODE], best[SIDE] = split[winner, CUT], split[winner, LOST_LEFT]
    return split[winner, N_LOST], value[winner]


@step
def around(codes, at, n, cut, n_values):
    """The codes of the node on both sides of a cut; the higher one is -1 where there is none."""
    lower, higher = np.int64(-1), np.int64(n_values)
    for i in range(n):
        code = np.int64(codes[at[i]])
        if code <= cut:
            lower = max(lower, code)
        else:
            higher = min(higher, code)
    return lower, higher if higher < n_values else np.int64(-1)


@step
def threshold_at(value, feature, edges, lower, higher):
    """The value drawn, if it divides the two codes; otherwise NaN, for what lies midway."""
    below, above, start = edges
    first = start[feature]
    if higher >= 0 and below[first + lower] <= value and value < above[first + higher - 1]:
        return value + 0.0  # -0.0 and 0.0 separate alike; keep one of them
    return np.nan
