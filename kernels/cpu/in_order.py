"""The squared distance of means, by rows in the order of their codes.

Rows that all weigh 1, with one value or a class each, need no sums by code: what is left of a
candidate grows row by row. With classes so do the sums of products that a score is made of, however
many classes there are. These are whole numbers that float64 holds, up to `EXACT_ROWS`, so winners
and scores are those of the general search.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel, step
from gputree.kernels.cpu.scoring import BETWEEN
from gputree.kernels.cpu.winner import best_candidate, best_of, crown

EXACT_ROWS = 2**13  # n**4 / 4, which no score is a larger quotient of, fits into 53 bits
FEW_ROWS = 24  # that are sorted; more are chained up by their codes

room = SCALAR.room


@step
def goes_in_order(shape, rules, is_weighted):
    """Whether nodes may be searched so."""
    is_classes, n_scored, counts_rows, _ = shape
    is_plain = rules[0] == BETWEEN and rules[3] == 0.0 and not is_weighted and not counts_rows
    return is_plain and (is_classes or n_scored == 1)


@kernel
def make_desk(n_rows, n_codes):
    """Room for the search of a node."""
    n = max(n_rows, n_codes)
    return (
        np.empty(n_rows, np.int64), np.empty(n + 1, np.int64), np.zeros(n_codes, np.uint32),
        np.empty(n_rows, np.uint32), np.empty(n), np.empty(n), np.empty(n),
    )  # fmt: skip


@step
def put_in_order(codes, at, n, n_codes, desk):
    """List the rows by their codes, the codes that occur, and how many rows have at most each."""
    row, seen, head, link, part = desk[:5]
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
            seen[n_seen] = row[i] >> 32
            part[n_seen] = i + 1
            n_seen += i + 1 == n or row[i + 1] >> 32 != seen[n_seen]
            row[i] &= 0xFFFFFFFF
        return n_seen
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
        seen[n_seen], part[n_seen] = code, n
        n_seen += 1
    return n_seen


@step
def search_in_order(
    feature, codes, at, n, label, value, n_codes, n_values, total, is_classes, least, running, desk,
    best, left,
):  # fmt: skip
    """Try the splits of one feature; False where values are missing, and nothing is tried."""
    row, seen, _, _, part, steep, scores = desk
    n_seen = put_in_order(codes, at, n, n_codes, desk)
    if seen[n_seen - 1] >= n_values:
        return False
    if n_seen <= 1:
        return True
    whole, first = np.float64(n), 0
    if is_classes:
        squares, products, of_node = np.int64(0), np.int64(0), np.int64(0)
        for c in range(total.shape[0]):
            running[c] = 0
            of_node += total[c] * total[c]
        for k in range(n_seen):
            last = np.int64(part[k])
            for i in range(first, last):
                own = label[row[i]]
                squares += 2 * running[own] + 1
                products += total[own]
                running[own] += 1
            distance = n * (n * squares - 2 * last * products) + last * last * of_node
            scores[k] = distance / room(part[k], whole)
            first = last
        winner = best_of(n_seen, part, whole, least, best, scores)
    else:
        sum_left = np.int64(0)
        for k in range(n_seen):
            last = np.int64(part[k])
            for i in range(first, last):
                sum_left += value[row[i]]
            steep[k] = sum_left
            first = last
        winner = best_candidate(
            n_seen, part, steep, whole, np.float64(total[1]), 0.0, least, 1.0, best, scores
        )
    if winner >= 0:
        crown(best, scores[winner], feature, seen[winner], seen[winner + 1], 0)
        left[:] = 0
        for i in range(np.int64(part[winner])):
            if is_classes:
                left[label[row[i]]] += 1
            else:
                left[0] += 1
                left[1] += value[row[i]]
    return True
