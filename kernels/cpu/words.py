"""Sums of gradients and hessians, both in one 64-bit word, and the best splits by them.

The hessian is in the lower half of a word, the gradient in the upper one. Their magnitudes add up
to less than 2**31 over all rows of a table, so halves never meet: words are added and subtracted
like numbers. The winners are those of the general search.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel, step
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.split import (
    WORD_BITS,
    feature_at,
    fetch_codes,
    list_codes,
    settle,
)
from gputree.kernels.cpu.winner import (
    N_ENTRIES,
    SCORE,
    TRIMMED,
    best_candidate,
    crown,
    forget,
)

TOUCHED = 32  # rows that are asked for together

UPPER = 32
LOWER = (1 << UPPER) - 1


@kernel
def take(begin, end, row, word, taken):
    """The words of listed rows."""
    for i in range(begin, end):
        taken[i] = word[row[i]]


@kernel
def tally_all(begin, end, word, code, offset, cells):
    """Add the words of all rows of a table to the sums of some features.

    Four features at a time, or two: what a row needs is loaded once.
    """
    n = word.shape[0]
    feature = begin
    while feature + 4 <= end:
        cells0, cells1 = cells[offset[feature] :], cells[offset[feature + 1] :]
        cells2, cells3 = cells[offset[feature + 2] :], cells[offset[feature + 3] :]
        codes0, codes1, codes2, codes3 = (
            code[feature], code[feature + 1], code[feature + 2], code[feature + 3],
        )  # fmt: skip
        for i in range(n):
            amount = word[i]
            cells0[codes0[i]] += amount
            cells1[codes1[i]] += amount
            cells2[codes2[i]] += amount
            cells3[codes3[i]] += amount
        feature += 4
    while feature + 2 <= end:
        cells0, cells1 = cells[offset[feature] :], cells[offset[feature + 1] :]
        codes0, codes1 = code[feature], code[feature + 1]
        for i in range(n):
            amount = word[i]
            cells0[codes0[i]] += amount
            cells1[codes1[i]] += amount
        feature += 2
    if feature < end:
        cells0, codes0 = cells[offset[feature] :], code[feature]
        for i in range(n):
            cells0[codes0[i]] += word[i]


@kernel
def tally_lists(begin, end, first, row, word, code, offset, hist):
    """Add the words of some nodes to the sums of some features, one node after another.

    The rows of node k are row[first[k] : first[k + 1]], and their words lie beside them.
    """
    for node in range(first.shape[0] - 1):
        cells = hist[node]
        feature = begin
        while feature + 4 <= end:
            cells0, cells1 = cells[offset[feature] :], cells[offset[feature + 1] :]
            cells2, cells3 = cells[offset[feature + 2] :], cells[offset[feature + 3] :]
            codes0, codes1, codes2, codes3 = (
                code[feature], code[feature + 1], code[feature + 2], code[feature + 3],
            )  # fmt: skip
            for i in range(first[node], first[node + 1]):
                at, amount = row[i], word[i]
                cells0[codes0[at]] += amount
                cells1[codes1[at]] += amount
                cells2[codes2[at]] += amount
                cells3[codes3[at]] += amount
            feature += 4
        while feature + 2 <= end:
            cells0, cells1 = cells[offset[feature] :], cells[offset[feature + 1] :]
            codes0, codes1 = code[feature], code[feature + 1]
            for i in range(first[node], first[node + 1]):
                at, amount = row[i], word[i]
                cells0[codes0[at]] += amount
                cells1[codes1[at]] += amount
            feature += 2
        if feature < end:
            cells0, codes0 = cells[offset[feature] :], code[feature]
            for i in range(first[node], first[node + 1]):
                cells0[codes0[row[i]]] += word[i]


@kernel
def tally_mixed(begin, end, row, cell, word, code, offset, cells):
    """Add the words of listed rows to the sums of some features; cell[i] begins a row's node."""
    feature = begin
    while feature + 4 <= end:
        add_four(row, cell, word, code, feature, offset, cells)
        feature += 4
    while feature + 2 <= end:
        add_two(row, cell, word, code, feature, offset, cells)
        feature += 2
    if feature < end:
        codes, base = code[feature], np.uint64(offset[feature])
        for i in range(row.shape[0]):
            cells[base + np.uint64(codes[row[i]]) + np.uint64(cell[i])] += word[i]


@inner
def add_four(row, cell, word, code, feature, offset, cells):
    """Add for four features at once."""
    base0, base1 = np.uint64(offset[feature]), np.uint64(offset[feature + 1])
    base2, base3 = np.uint64(offset[feature + 2]), np.uint64(offset[feature + 3])
    codes0, codes1, codes2, codes3 = (
        code[feature], code[feature + 1], code[feature + 2], code[feature + 3],
    )  # fmt: skip
    for i in range(row.shape[0]):
        at = row[i]
        own = np.uint64(cell[i])
        amount = word[i]
        cells[base0 + np.uint64(codes0[at]) + own] += amount
        cells[base1 + np.uint64(codes1[at]) + own] += amount
        cells[base2 + np.uint64(codes2[at]) + own] += amount
        cells[base3 + np.uint64(codes3[at]) + own] += amount


@inner
def add_two(row, cell, word, code, feature, offset, cells):
    """Add for two features at once."""
    base0, base1 = np.uint64(offset[feature]), np.uint64(offset[feature + 1])
    codes0, codes1 = code[feature], code[feature + 1]
    for i in range(row.shape[0]):
        at = row[i]
        own = np.uint64(cell[i])
        amount = word[i]
        cells[base0 + np.uint64(codes0[at]) + own] += amount
        cells[base1 + np.uint64(codes1[at]) + own] += amount


@kernel
def tally_nodes(begin, end, n_blocks, block, start, n_rows, order, word, by_row, offset, hist):
    """hist[node, bin] for pairs of a node and a block of features, from codes by row.

    Rows lie far apart. They are touched a few at a time before they are added, so that memory
    answers for all of them at once.
    A block has `block` features; there are `n_blocks`.
    """
    touched = np.int64(0)
    for item in range(begin, end):
        node = item // n_blocks
        cells = hist[node]
        first = (item % n_blocks) * block
        last = min(first + block, by_row.shape[1])
        stop = start[node] + n_rows[node]
        for group in range(start[node], stop, TOUCHED):
            end_of_group = min(group + TOUCHED, stop)
            for i in range(group, end_of_group):
                touched += by_row[order[i], first] + word[order[i]]
            for i in range(group, end_of_group):
                row = order[i]
                amount = word[row]
                # Unsigned: a number that may be negative is tested each time.
                for feature in range(np.uint64(first), np.uint64(last)):
                    cells[np.uint64(offset[feature]) + np.uint64(by_row[row, feature])] += amount
    return touched


@kernel
def gather(begin, end, summed, feature, start, n_rows, order, word, code, hist, offset, at, found):
    """The words of pairs of a node and a feature, from histograms or straight from rows.

    summed[i] is the place of a pair's sums in `hist`, -1 where its rows are listed; found[at[i]:]
    gets what is found.
    """
    for i in range(begin, end):
        own = found[at[i] :]
        if summed[i] >= 0:
            cells = hist[summed[i]]
            for code_at in range(offset[feature[i]], offset[feature[i] + 1]):
                own[code_at - offset[feature[i]]] = cells[code_at]
        else:
            codes = code[feature[i]]
            for j in range(start[i], start[i] + n_rows[i]):
                own[codes[order[j]]] += word[order[j]]


@step
def list_words(cells, n_codes, seen):
    """The codes that have a weight, in order; returns how many."""
    n_seen = 0
    for code in range(n_codes):
        if cells[code] & LOWER > 0:
            seen[n_seen] = code
            n_seen += 1
    return n_seen


@step
def keep(left, curved, steep):
    """Remember the sums of the winner's left child."""
    left[0] = np.int64(curved)
    left[1] = np.int64(steep)


@step
def consider_codes(feature, cells, base, n_values, total, ridge, least, times, scratch, best, left):
    """Try every split of one feature of one node, none of whose values is missing.

    The sums begin at cells[base]. `least` is the least weight of a child; scores count `times`.
    """
    part, gradient, scores = scratch[0], scratch[1], scratch[2]
    running = np.int64(0)
    for code in range(n_values):
        running += cells[base + code]
        part[code] = running & LOWER
        gradient[code] = running >> UPPER
    # A code without rows scores what the one before it does, so a winner has rows.
    curved, steep = np.float64(total[0]), np.float64(total[1])
    i = best_candidate(n_values, part, gradient, curved, steep, ridge, least, times, best, scores)
    if i >= 0:
        above = i + 1
        while part[above] == part[i]:
            above += 1
        crown(best, scores[i], feature, i, above, 0)
        keep(left, part[i], gradient[i])


@step
def consider_seen(
    feature, cells, base, seen, n_seen, lost, total, ridge, least, times, scratch, best, left
):  # fmt: skip
    """Try every split of one feature of one node; `lost` is the word of missing values, perhaps 0.

    The codes seen[:n_seen] of values occur. Candidates come code by code, and for each with missing
    values right, then left.
    `base`, `least` and `times` are as in `consider_codes`.
    """
    part, gradient, scores = scratch[0], scratch[1], scratch[2]
    n_sides = 1 if lost == 0 else 2
    running = np.int64(0)
    n = 0
    for i in range(n_seen):
        running += cells[base + seen[i]]
        for side in range(n_sides):
            with_lost = running + (lost if side == 1 else 0)
            part[n] = with_lost & LOWER
            gradient[n] = with_lost >> UPPER
            n += 1
    curved, steep = np.float64(total[0]), np.float64(total[1])
    i = best_candidate(n, part, gradient, curved, steep, ridge, least, times, best, scores)
    if i >= 0:
        at = i // n_sides
        above = seen[at + 1] if at + 1 < n_seen else -1
        crown(best, scores[i], feature, seen[at], above, i % n_sides)
        keep(left, part[i], gradient[i])


@step
def choose(first, last, prefix, total, ridge, least, scratch, best):
    """The candidate that beats `best`, or -1; prefix[first:last] are words of left children."""
    prefix, part, gradient = prefix[first:last], scratch[0, first:last], scratch[1, first:last]
    scores = scratch[2, first:last]
    for i in range(prefix.shape[0]):
        # Halves of words have 31 bits and a sign: so taken, they become floats by vector code.
        part[i] = np.int32(prefix[i])
        gradient[i] = np.int32(prefix[i] >> UPPER)
    n, weight, steep = prefix.shape[0], np.float64(total[0]), np.float64(total[1])
    found = best_candidate(n, part, gradient, weight, steep, ridge, least, 1.0, best, scores)
    return found + first if found >= 0 else -1


@step
def try_ordered(feature, cells, n_values, total, ridge, least, seen, scratch, best, left):
    """Try the thresholds of a feature by its sums; returns the weight of missing values."""
    lost = cells[n_values] if cells.shape[0] > n_values else np.int64(0)
    if lost == 0:
        consider_codes(feature, cells, 0, n_values, total, ridge, least, 1.0, scratch, best, left)
        return lost
    n_seen = list_words(cells, n_values, seen)
    consider_seen(
        feature, cells, 0, seen, n_seen, lost, total, ridge, least, 1.0, scratch, best, left
    )
    return lost & LOWER


@kernel
def search_rows(
    begin, end, most_rows, start, n_rows_of, order, word, code, by_row, spot, n_codes, n_values,
    is_ordered, rank, n_drawn, shape, rules, score, winner, left_sums,
):  # fmt: skip
    """The best split of each node, of at most `most_rows` rows, straight from its rows."""
    n_features = n_values.shape[0]
    most = most_of(n_codes)
    seen = np.empty(max(most, most_rows), np.int64)
    bits = np.zeros(most // WORD_BITS + 1, np.uint64)
    cells = np.zeros(most, np.int64)
    local = np.empty((n_features, most_rows), code.dtype)
    row = np.empty(most_rows, np.uint32)
    amount = np.empty(most_rows, np.int64)
    scratch = np.empty((3, 2 * max(most, most_rows)))
    least, ridge = max(rules[1], rules[2]), rules[3]
    left, total = np.empty(2, np.int64), np.empty(2, np.int64)
    best = np.empty(N_ENTRIES)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        n = n_rows_of[node]
        whole = np.int64(0)
        for i in range(n):
            row[i] = order[start[node] + i]
            amount[i] = word[row[i]]
            whole += amount[i]
        total[0], total[1] = whole & LOWER, whole >> UPPER
        fetch_codes(code, by_row, spot, n, row, local)
        forget(best, left)
        missing_weight = np.int64(0)
        for turn in range(n_turns):
            feature = feature_at(turn, is_ordered, rank, node, n_drawn, best[SCORE] > -np.inf)
            if feature < 0:
                continue
            codes = local[feature]
            n_seen = list_codes(codes, n, n_codes[feature], bits, seen)
            if n_seen <= 1:
                continue
            for i in range(n):
                cells[np.uint64(codes[i])] += amount[i]
            lost = np.int64(0)
            n_known = n_seen
            if seen[n_seen - 1] >= n_values[feature]:
                lost = cells[seen[n_seen - 1]]
                n_known -= 1
            before = best[TRIMMED]
            consider_seen(
                feature, cells, 0, seen, n_known, lost, total, ridge, least, 1.0, scratch, best,
                left,
            )  # fmt: skip
            if best[TRIMMED] > before:
                missing_weight = lost & LOWER
            for i in range(n_seen):
                cells[seen[i]] = 0
        settle(node, best, left, total, missing_weight, shape, score, winner, left_sums)
