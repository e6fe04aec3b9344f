"""The quick search for the commonest case: Gini, two classes, rows that weigh 1, none missing.

The winners are those of the general search. What one class adds to the score, the other adds again:
up to `EXACT_WEIGHT` all products are whole numbers that float64 holds. So one class is enough, and
scores can be worked out for all candidates at once before any are compared.
"""

import numpy as np

from gputree.kernels.cpu.jit import inner
from gputree.kernels.cpu.winner import best_candidate, crown

EXACT_WEIGHT = 2**26  # the product of two counts up to here needs at most 52 bits

SECOND_CLASS = 16  # packed counts: all rows in the bits below, those of the second class above
ALL_ROWS = (1 << SECOND_CLASS) - 1


@inner
def consider_codes(feature, cells, base, n_codes, total, min_rows, scratch, best, left):
    """Try every split of one feature of one node; cells[base + 2 * code] begin its counts."""
    part, second, scores = scratch[0], scratch[1], scratch[2]
    rows_left, second_left = 0, 0
    for code in range(n_codes):
        second_left += cells[base + 2 * code + 1]
        rows_left += cells[base + 2 * code] + cells[base + 2 * code + 1]
        part[code] = rows_left
        second[code] = second_left
    weight = np.float64(total[0] + total[1])
    # A code without rows scores what the one before it does, so a winner has rows.
    i = best_candidate(
        n_codes, part, second, weight, np.float64(total[1]), 0.0, min_rows, 2.0, best, scores
    )
    if i >= 0:
        above = i + 1
        while part[above] == part[i]:
            above += 1
        crown(best, scores[i], feature, i, above, 0)
        left[0] = np.int64(part[i] - second[i])
        left[1] = np.int64(second[i])


@inner
def pack(n, label, packed):
    """What each of `n` rows adds to packed counts."""
    for i in range(n):
        packed[i] = 1 + (label[i] << SECOND_CLASS)


@inner
def count_packed(codes, n, packed, counts):
    """Add rows to the packed counts of their codes."""
    for i in range(n):
        counts[np.uint64(codes[i])] += packed[i]


@inner
def consider_rows(feature, counts, seen, n_seen, total, min_rows, scratch, best, left):
    """Try every split of one feature of a small node; counts[seen] are packed, and cleared."""
    part, second, scores = scratch[0], scratch[1], scratch[2]
    running = 0
    for i in range(n_seen):
        running += counts[seen[i]]
        counts[seen[i]] = 0
        part[i] = running & ALL_ROWS
        second[i] = running >> SECOND_CLASS
    weight = np.float64(total[0] + total[1])
    i = best_candidate(
        n_seen, part, second, weight, np.float64(total[1]), 0.0, min_rows, 2.0, best, scores
    )
    if i >= 0:
        crown(best, scores[i], feature, seen[i], seen[i + 1], 0)
        left[0] = np.int64(part[i] - second[i])
        left[1] = np.int64(second[i])
