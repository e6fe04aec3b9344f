"""The best split of each node, from its histogram or straight from its rows.

Both paths list the codes that occur in a node in ascending order and hand them to `consider`, so
they give the same answer. A node with few rows never touches the codes that do not occur.
"""

import numpy as np
from numba import njit

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.histogram import add_rows, fetch
from gputree.kernels.cpu.jit import inner, kernel, step
from gputree.kernels.cpu.memory import most_of
from gputree.kernels.cpu.scoring import BETWEEN, is_of_user, two_way, two_way_of_user
from gputree.kernels.cpu.two_classes import (
    EXACT_WEIGHT,
    consider_codes,
    consider_rows,
    count_packed,
    pack,
)
from gputree.kernels.cpu.winner import (
    CLEARLY_LESS,
    CODE,
    FEATURE,
    N_ENTRIES,
    NEXT,
    SCORE,
    SIDE,
    TRIMMED,
    crown,
    forget,
    larger_child,
)

trim = SCALAR.trim

WORD_BITS = 64
NARROW_WORDS = 16  # up to 1024 codes are listed from a bit set; more are sorted

# A de Bruijn sequence: multiplied by a power of two, its top 6 bits tell which one.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
BIT_NUMBER = np.zeros(WORD_BITS, np.int64)
for _bit in range(WORD_BITS):
    BIT_NUMBER[((int(DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit


@step
def weight_at(cells, at, is_classes, n_scored):
    """The weight of the sums whose first channel is `cells[at]`."""
    if not is_classes:
        return np.int64(cells[at])
    weight = np.int64(0)
    for c in range(n_scored):
        weight += cells[at + c]
    return weight


@step
def rows_at(cells, at, shape):
    """The row count of the sums whose first channel is `cells[at]`."""
    is_classes, n_scored, counts_rows, n_channels = shape
    if counts_rows:
        return np.int64(cells[at + n_channels - 1])
    return weight_at(cells, at, is_classes, n_scored)


def _make_consider(two_way_score, **options):
    """The search of one feature by a score; see `consider`."""

    @njit(
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        **options,
    )
    def considered(
        feature, cells, base, seen, n_seen, missing_code, running, total_real, weight, n_rows,
        shape, rules, unit, best, left,
    ):  # fmt: skip
        """See `consider`."""
        is_classes, n_scored, counts_rows, n_channels = shape
        formula, min_rows, min_weight, ridge = rules
        first = 0 if is_classes else 1
        whole = np.float64(weight) + 2.0 * ridge
        n_sides = 1 if missing_code < 0 else 2
        floor = best[SCORE] * CLEARLY_LESS
        trimmed_best = best[TRIMMED]
        n_admissible = 0
        for c in range(n_channels):
            running[c] = 0
        for i in range(n_seen):
            at = base + seen[i] * n_channels
            for side in range(n_sides):
                # With side 1 the missing rows join the left child; they leave again below.
                part_weight = np.int64(0)
                for c in range(n_channels):
                    running[c] += cells[at + c]
                    if is_classes and c < n_scored:
                        part_weight += running[c]
                if not is_classes:
                    part_weight = running[0]
                part_rows = running[n_channels - 1] if counts_rows else part_weight
                at = base + missing_code * n_channels
                if (
                    part_rows < min_rows
                    or n_rows - part_rows < min_rows
                    or part_weight < min_weight
                    or weight - part_weight < min_weight
                ):
                    continue
                n_admissible += 1
                part = np.float64(part_weight) + ridge
                score = two_way_score(formula, running, first, unit, total_real, part, whole, floor)
                if score == -np.inf:
                    continue
                trimmed = trim(score)
                if trimmed > trimmed_best:
                    trimmed_best = trimmed
                    floor = score * CLEARLY_LESS
                    above = seen[i + 1] if i + 1 < n_seen else -1
                    crown(best, score, feature, seen[i], above, side)
                    for c in range(n_channels):
                        left[c] = running[c]
            if n_sides == 2:
                at = base + missing_code * n_channels
                for c in range(n_channels):
                    running[c] -= cells[at + c]
        return n_admissible

    return considered


# A call by address in a loop would keep the compiler from moving anything out of it, so criteria of
# users have a loop of their own.
_consider = _make_consider(two_way, _nrt=False)
_consider_of_user = _make_consider(two_way_of_user)


@step
def consider(
    feature, cells, base, seen, n_seen, missing_code, running, total_real, weight, n_rows, shape,
    rules, unit, best, left,
):  # fmt: skip
    """Try every split of one feature of one node; `best` and `left` keep the winner.

    The sums of code `k` begin at cells[base + k * n_channels]; seen[:n_seen] are the codes of
    values that occur, in order; missing_code is -1 where no value of the node is missing. `weight`
    and `n_rows` are the node's, `total_real` its scored sums. Returns how many splits are
    admissible.
    """
    given = (
        feature, cells, base, seen, n_seen, missing_code, running, total_real, weight, n_rows,
        shape, rules, unit, best, left,
    )  # fmt: skip
    if is_of_user(rules[0]):
        return _consider_of_user(*given)
    return _consider(*given)


@step
def measure(total, shape, unit, total_real):
    """Weight and rows of a node; its scored sums go to `total_real`."""
    is_classes, n_scored = shape[0], shape[1]
    first = 0 if is_classes else 1
    for c in range(n_scored):
        total_real[c] = np.float64(total[first + c]) * unit[c]
    return weight_at(total, 0, is_classes, n_scored), rows_at(total, 0, shape)


@step
def are_two_classes(shape, rules, weight):
    """Whether the quick search gives what the general one does."""
    is_classes, n_scored, counts_rows, _ = shape
    is_pair = is_classes and n_scored == 2 and not counts_rows
    return is_pair and rules[0] == BETWEEN and weight <= EXACT_WEIGHT


@step
def settle(node, best, left, total, missing_weight, shape, score, winner, left_sums):
    """Write a node's winner; `missing_weight` is that of the winning feature in the node."""
    score[node] = best[SCORE]
    winner[node, 0] = np.int64(best[FEATURE])
    winner[node, 1] = np.int64(best[CODE])
    winner[node, 2] = np.int64(best[NEXT])
    for c in range(shape[3]):
        left_sums[node, c] = left[c]
    if missing_weight > 0:
        winner[node, 3] = 1 - np.int64(best[SIDE])
    else:
        winner[node, 3] = larger_child(rows_at(left, 0, shape), rows_at(total, 0, shape))


@step
def feature_at(turn, is_ordered, rank, node, n_drawn, is_found):
    """The feature to try at some turn, -1 to skip it; `rank` is empty where all are tried.

    Drawn features are tried in their own order, so that ties go to the lower one; the others
    follow in the order of the draw, until one can be split. A feature that is not ordered has no
    thresholds, so it cannot.
    """
    if rank.shape[0] == 0:
        return turn if is_ordered[turn] else -1
    n_features = rank.shape[1]
    if turn < n_features:
        return turn if is_ordered[turn] and rank[node, turn] < n_drawn else -1
    if is_found or turn - n_features < n_drawn:
        return -1
    for feature in range(n_features):
        if rank[node, feature] == turn - n_features:
            return feature if is_ordered[feature] else -1
    return -1


@kernel
def list_present(cells, n_values, n_channels, is_classes, n_scored, seen):
    """The codes of values that have a weight, in order; returns how many."""
    n_seen = 0
    for code in range(n_values):
        if weight_at(cells, code * n_channels, is_classes, n_scored) > 0:
            seen[n_seen] = code
            n_seen += 1
    return n_seen


@kernel
def search_hist(
    begin, end, place, hist, offset, n_values, is_ordered, rank, n_drawn, shape, rules, unit, score,
    winner, left_sums,
):  # fmt: skip
    """The best split of each node from its histogram hist[place], (bins * channels,)."""
    is_classes, n_scored, _, n_channels = shape
    n_features = n_values.shape[0]
    seen = np.empty(most_of(n_values), np.int64)
    scratch = np.empty((3, most_of(n_values)))
    least = max(rules[1], rules[2])
    total_real = np.empty(n_scored)
    running, left, total = (
        np.empty(n_channels, np.int64), np.empty(n_channels, np.int64),
        np.empty(n_channels, np.int64),
    )  # fmt: skip
    best = np.empty(N_ENTRIES)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        cells = hist[place[node]]
        total[:] = 0
        for code in range(offset[1]):
            for c in range(n_channels):
                total[c] += cells[code * n_channels + c]
        weight, n_rows = measure(total, shape, unit, total_real)
        is_pair = are_two_classes(shape, rules, weight)
        forget(best, left)
        missing_weight = np.int64(0)
        for turn in range(n_turns):
            feature = feature_at(turn, is_ordered, rank, node, n_drawn, best[SCORE] > -np.inf)
            if feature < 0:
                continue
            base = offset[feature] * n_channels
            missing_code = -1
            lost = np.int64(0)
            if offset[feature + 1] - offset[feature] > n_values[feature]:
                at = base + n_values[feature] * n_channels
                lost = weight_at(cells, at, is_classes, n_scored)
                if lost > 0:
                    missing_code = n_values[feature]
            before = best[TRIMMED]
            if is_pair and missing_code < 0:
                consider_codes(
                    feature, cells, base, n_values[feature], total, least, scratch, best, left
                )
            else:
                n_seen = list_present(
                    cells[base:], n_values[feature], n_channels, is_classes, n_scored, seen
                )
                consider(
                    feature, cells, base, seen, n_seen, missing_code, running, total_real, weight,
                    n_rows, shape, rules, unit, best, left,
                )  # fmt: skip
            if best[TRIMMED] > before:
                missing_weight = lost
        settle(node, best, left, total, missing_weight, shape, score, winner, left_sums)


@inner
def sort_first(numbers, n):
    """Sort some numbers, which asks for memory."""
    numbers[:n].sort()


@step
def list_codes(codes, n, n_codes, words, seen):
    """The different codes of some rows in ascending order; returns how many there are."""
    n_words = (n_codes + WORD_BITS - 1) // WORD_BITS
    if n_words > NARROW_WORDS:
        for i in range(n):
            seen[i] = codes[i]
        sort_first(seen, n)
        n_seen = 0
        for i in range(n):
            if i == 0 or seen[i] != seen[n_seen - 1]:
                seen[n_seen] = seen[i]
                n_seen += 1
        return n_seen
    for i in range(n):
        code = np.uint64(codes[i])
        words[code >> np.uint64(6)] |= np.uint64(1) << (code & np.uint64(63))
    n_seen = 0
    for w in range(n_words):
        word = words[w]
        words[w] = 0
        while word:
            lowest = word & (~word + np.uint64(1))
            seen[n_seen] = w * WORD_BITS + BIT_NUMBER[(lowest * DE_BRUIJN) >> np.uint64(58)]
            n_seen += 1
            word ^= lowest
    return n_seen


@step
def clear(cells, seen, n_seen, n_channels):
    """Undo what one feature wrote."""
    for i in range(n_seen):
        at = seen[i] * n_channels
        for c in range(n_channels):
            cells[at + c] = 0


@step
def fetch_codes(code, by_row, spot, n, row, local):
    """The codes of some rows, put side by side for each feature; by row where so laid out."""
    if spot.shape[0] == 0:
        for feature in range(code.shape[0]):
            for i in range(n):
                local[feature, i] = code[feature, row[i]]
        return
    for i in range(n):
        at = spot[row[i]]
        for feature in range(by_row.shape[1]):
            local[feature, i] = by_row[at, feature]


@kernel
def make_rows_room(most, most_rows, n_channels, code, value):
    """Scratch memory to search nodes of up to `most_rows` rows, of features of up to `most` codes.

    Codes that occur and a bit for each, sums by code, codes side by side, rows, what they add to
    which channel, and their numbers within the node.
    """
    return (
        np.empty(max(most, most_rows), np.int64),
        np.zeros(most // WORD_BITS + 1, np.uint64),
        np.zeros(most * n_channels, np.int64),
        np.empty((code.shape[0], most_rows), code.dtype),
        np.empty(most_rows, np.uint32),
        np.zeros(most_rows, np.uint32),
        np.ones(most_rows, np.int64),
        np.empty((value.shape[0], most_rows), np.int64),
        np.arange(most_rows).astype(np.uint32),
    )


@kernel
def search_rows(
    begin, end, most_rows, start, n_rows_of, order, label, value, weight_of, code, by_row, spot,
    n_codes, n_values, is_ordered, rank, n_drawn, shape, rules, unit, score, winner, left_sums,
):  # fmt: skip
    """The best split of each node, of at most `most_rows` rows, straight from its rows.

    The codes of row r are code[:, r] and, where they are laid out, by_row[spot[r]].
    """
    is_classes, n_scored, _, n_channels = shape
    is_weighted = weight_of.shape[0] > 0
    n_features = n_values.shape[0]
    most = most_of(n_codes)
    seen, words, cells, local, row, channel, amount, values, every_row = make_rows_room(
        most, most_rows, n_channels, code, value
    )
    one_code = np.zeros(most_rows, np.uint8)
    counts = np.zeros(most, np.int32)
    packed = np.empty(most_rows, np.int32)
    scratch = np.empty((3, max(most, most_rows)))
    least = max(rules[1], rules[2])
    total_real = np.empty(n_scored)
    running, left, total = (
        np.empty(n_channels, np.int64), np.empty(n_channels, np.int64),
        np.empty(n_channels, np.int64),
    )  # fmt: skip
    best = np.empty(N_ENTRIES)
    n_turns = n_features if rank.shape[0] == 0 else 2 * n_features
    for node in range(begin, end):
        n = n_rows_of[node]
        fetch(start[node], n, order, label, value, weight_of, row, channel, amount, values)
        fetch_codes(code, by_row, spot, n, row, local)
        total[:] = 0
        add_rows(total, 0, one_code, n, every_row, channel, amount, values, is_weighted, n_channels)
        weight, n_rows = measure(total, shape, unit, total_real)
        is_pair = are_two_classes(shape, rules, weight)
        if is_pair:
            pack(n, channel, packed)
        forget(best, left)
        missing_weight = np.int64(0)
        for turn in range(n_turns):
            feature = feature_at(turn, is_ordered, rank, node, n_drawn, best[SCORE] > -np.inf)
            if feature < 0:
                continue
            codes = local[feature]
            n_seen = list_codes(codes, n, n_codes[feature], words, seen)
            if n_seen <= 1:
                continue
            before = best[TRIMMED]
            if is_pair and seen[n_seen - 1] < n_values[feature]:
                count_packed(codes, n, packed, counts)
                consider_rows(feature, counts, seen, n_seen, total, least, scratch, best, left)
                if best[TRIMMED] > before:
                    missing_weight = np.int64(0)
                continue
            add_rows(
                cells, 0, codes, n, every_row, channel, amount, values, is_weighted, n_channels
            )
            missing_code = -1
            lost = np.int64(0)
            n_known = n_seen
            if seen[n_seen - 1] >= n_values[feature]:
                missing_code = seen[n_seen - 1]
                lost = weight_at(cells, missing_code * n_channels, is_classes, n_scored)
                n_known -= 1
            consider(
                feature, cells, 0, seen, n_known, missing_code, running, total_real, weight, n_rows,
                shape, rules, unit, best, left,
            )  # fmt: skip
            if best[TRIMMED] > before:
                missing_weight = lost
            clear(cells, seen, n_seen, n_channels)
        settle(node, best, left, total, missing_weight, shape, score, winner, left_sums)
