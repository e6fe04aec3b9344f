"""The squared distance of means, by rows in the order of their codes.

Rows with one value each, or with a class each that weigh 1, need no sums by code: what is left of a
candidate grows row by row. With classes so do the sums of products that a score is made of, however
many classes there are. These are whole numbers that float64 holds, up to `EXACT_ROWS`, so winners
and scores are those of the general search.

Below a node of few rows, each feature has a list of the rows in the order of its codes. A split
parts the lists, so that nothing is put in order again.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel, step
from gputree.kernels.cpu.scoring import BETWEEN
from gputree.kernels.cpu.winner import best_candidate, best_of, crown

EXACT_ROWS = 2**13  # n**4 / 4, which no score is a larger quotient of, fits into 53 bits
FEW_ROWS = 24  # that are sorted; more are chained up by their codes
FEATURES_A_DRAW = 4  # at most, where lists are kept: each is parted, whether it is searched or not

room = SCALAR.room


@step
def goes_in_order(shape, rules, is_weighted):
    """Whether nodes may be searched so."""
    is_classes, n_scored, counts_rows, _ = shape
    is_plain = rules[0] == BETWEEN and rules[3] == 0.0
    if is_weighted or counts_rows:  # what is summed tells how many rows a child has: at least one
        return is_plain and not is_classes and n_scored == 1 and rules[1] <= 1
    return is_plain and (is_classes or n_scored == 1)


@kernel
def make_desk(n_rows, n_codes):
    """Room for the search of a node."""
    n = max(n_rows, n_codes)
    return (
        np.empty(n_rows, np.int64), np.empty(n + 1, np.int64), np.zeros(n_codes, np.uint32),
        np.empty(n + 1, np.uint32), np.empty(n), np.empty(n), np.empty(n),
        np.empty(n_rows, np.uint32),
    )  # fmt: skip


@kernel
def make_lists(n_features, n_rows, n_outputs, is_weighted):
    """Room for the list of each feature, what rows have, and the rows of right children."""
    return (
        np.empty((n_features, n_rows), np.uint16), np.empty(n_rows, np.uint32),
        np.empty((max(1, n_outputs), n_rows), np.int64),
        np.empty(n_rows if is_weighted else 0, np.int64),
        np.empty(n_rows, np.uint8), np.empty(n_rows, np.uint16),
    )  # fmt: skip


@step
def list_rows(codes, n, n_codes, head, listed):
    """The rows in the order of their codes; `head` is 0 for every code, and is so again."""
    for i in range(n):
        head[np.uint64(codes[i])] += 1
    begin = np.uint32(0)
    for code in range(n_codes):
        n_own = head[code]
        head[code] = begin
        begin += n_own
    for i in range(n):
        code = np.uint64(codes[i])
        listed[head[code]] = i
        head[code] += 1
    for code in range(n_codes):
        head[code] = 0


@step
def part_lists(lists, begin, n, n_left, spot):
    """Rows of the left child before those of the right one, in the list of every feature.

    spot[:n] are the rows of both, the left ones first.
    """
    listed, _, _, _, goes_left, other = lists
    for i in range(n):
        goes_left[spot[i]] = i < n_left
    for feature in range(listed.shape[0]):
        left, right = np.uint64(begin), np.uint64(0)
        for i in range(begin, begin + n):
            row = listed[feature, np.uint64(i)]
            is_left = np.uint64(goes_left[row])
            listed[feature, left] = row
            other[right] = row
            left += is_left
            right += np.uint64(1) - is_left
        for i in range(n - n_left):
            listed[feature, left + np.uint64(i)] = other[i]


@step
def take_listed(codes, listed, n, desk):
    """What `put_in_order` finds, of rows that are listed in the order of their codes."""
    row, seen, _, end = desk[:4]
    n_seen = 0
    code = np.int64(codes[listed[0]])
    for i in range(n):
        row[i] = listed[i]
        seen[n_seen], end[n_seen] = code, i + 1
        after = np.int64(codes[listed[np.uint64(min(i + 1, n - 1))]])
        n_seen += i + 1 == n or after != code
        code = after
    return n_seen


@step
def put_in_order(codes, at, n, n_codes, desk):
    """List the rows by their codes, the codes that occur, and how many rows have at most each."""
    row, seen, head, end = desk[:4]
    n_seen = 0
    if n <= FEW_ROWS:
        for i in range(n):
            own = np.int64(codes[at[i]]) << 32 | i
            place = i
            while place > 0 and row[place - 1] > own:
                row[place] = row[place - 1]
                place -= 1
            row[place] = own
        for i in range(n):
            seen[n_seen], end[n_seen] = row[i] >> 32, i + 1
            n_seen += i + 1 == n or row[i + 1] >> 32 != seen[n_seen]
            row[i] &= 0xFFFFFFFF
        return n_seen
    link = desk[7]
    for i in range(n):  # the first row of a code is head[code] - 1, the next one link[that] - 1
        code = np.uint64(codes[at[i]])
        link[i] = head[code]
        head[code] = i + 1
    n = 0
    for code in range(n_codes):
        i = head[code]
        if i == 0:
            continue
        head[code] = 0
        while i > 0:
            row[n] = i - 1
            n += 1
            i = link[row[n - 1]]
        seen[n_seen], end[n_seen] = code, n
        n_seen += 1
    return n_seen


@step
def try_in_order(
    feature, n_seen, n, label, value, amount, n_values, total, weight, is_classes, least, running,
    desk, best, left,
):  # fmt: skip
    """Try the splits of one feature; False where values are missing, and nothing is tried.

    The desk has the rows in order. `amount` has the weights of rows, or is empty where each is 1.
    """
    row, seen, _, end, part, steep, scores = desk[:7]
    if seen[n_seen - 1] >= n_values:
        return False
    if n_seen <= 1:
        return True
    whole, first = np.float64(weight), 0
    if is_classes:
        squares, products, of_node = np.int64(0), np.int64(0), np.int64(0)
        for c in range(total.shape[0]):
            running[c] = 0
            of_node += total[c] * total[c]
        for k in range(n_seen):
            last = np.int64(end[k])
            for i in range(first, last):
                own = label[row[i]]
                squares += 2 * running[own] + 1
                products += total[own]
                running[own] += 1
            distance = n * (n * squares - 2 * last * products) + last * last * of_node
            part[k] = np.float64(last)
            scores[k] = distance / room(part[k], whole)
            first = last
        winner = best_of(n_seen, part, whole, least, best, scores)
    else:
        sum_left, weight_left = np.int64(0), np.int64(0)
        for k in range(n_seen):
            last = np.int64(end[k])
            for i in range(first, last):
                sum_left += value[row[i]]
            if amount.shape[0] > 0:
                for i in range(first, last):
                    weight_left += amount[row[i]]
            else:
                weight_left = last
            part[k], steep[k] = weight_left, sum_left
            first = last
        winner = best_candidate(
            n_seen, part, steep, whole, np.float64(total[1]), 0.0, least, 1.0, best, scores
        )
    if winner >= 0:
        crown(best, scores[winner], feature, seen[winner], seen[winner + 1], 0)
        left[:] = 0
        if is_classes:
            for i in range(np.int64(end[winner])):
                left[label[row[i]]] += 1
        else:
            left[left.shape[0] - 1] = end[winner]  # rows, where they are counted
            left[0], left[1] = np.int64(part[winner]), np.int64(steep[winner])
    return True
