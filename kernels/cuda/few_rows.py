"""The best split of nodes of few rows, straight from the rows: no sums by code are made.

A block has a node, and each of its warps takes a feature after another: it sorts the rows by their
codes in shared memory, and its lanes add up and score neighbouring rows. The last row of a code is
a candidate. Only features that were drawn are tried, and others while none of those can be split.
What wins, and all that is told of it, is what `split` finds in a histogram.

Functions are given what belongs together: `table` has codes and the order of rows, `amounts` what
rows add to channels, `shape` that of the channels, `rules` those of `split.make_scan`, and `desk`
the shared memory of a warp.
"""

import numpy as np
from numba import int32, int64, uint32, uint64

from gputree.kernels.cuda import split
from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    cuda,
    float_of,
    formulas,
    function,
    kernel,
    last_lane,
    other_lane,
    scan,
    sync_warp,
    total,
)
from gputree.kernels.cuda.grow import N_ROWS, START, SUMS
from gputree.kernels.cuda.histogram import (
    CHANNEL,
    CHANNEL_STEP,
    LIMB_BITS,
    LIMB_COLUMNS,
    POWER,
)
from gputree.kernels.cuda.split import NO_CODE, better

# A key has the code of a row, whether the row has a weight, and its place among those of the node.
# So keys in order list the rows by code, and the last one of a code has a weight if any has.
PLACE_BITS = 15
MOST_ROWS = 1 << PLACE_BITS
HAS_WEIGHT, CODE_AT = MOST_ROWS, PLACE_BITS + 1
NO_ROW = 0xFFFFFFFF
# What a warp tells the others of its best candidate.
TRIMMED, SCORE, FEATURE, KEY, TOLD = 0, 1, 2, 3, 4


@function
def code_of(row, feature, table):
    """The code of a feature in a row."""
    _, words, row_words, code_bits = table
    per_word = uint32(32) // uint32(code_bits)
    word = words[uint64(row) * uint64(row_words) + uint64(uint32(feature) // per_word)]
    bits = uint32(uint32(uint32(feature) % per_word) * uint32(code_bits))
    return uint32(uint32(word >> bits) & uint32((uint32(1) << uint32(code_bits)) - uint32(1)))


@function
def label_of(amounts, row):
    """The class of a row, 0 where there are none."""
    label = amounts[0]
    return np.int64(label[min(uint64(row), uint64(label.shape[0] - 1))])


@function
def amount_of(amounts, row, c):
    """What a row adds to a channel."""
    _, limb, limbs, n_limbs, n_rows, has_ones, one_channel, one_step = amounts
    own_label, found = label_of(amounts, row), np.int64(0)
    k = uint32(0)
    while k < n_limbs:
        at = uint32(k * LIMB_COLUMNS)
        if limbs[at + CHANNEL] + limbs[at + CHANNEL_STEP] * own_label == c:
            amount = np.int64(limb[uint64(k) * uint64(n_rows) + uint64(row)])
            found += amount << np.int64(limbs[at + POWER] * LIMB_BITS)
        k = uint32(k + 1)
    if has_ones and one_channel + one_step * own_label == c:
        found += 1
    return found


@function
def weight_of(amounts, row):
    """The weight of a row: what it adds to the channel of its class, or else to the first one."""
    return amount_of(amounts, row, label_of(amounts, row))


@function
def row_at(begin, key, table):
    """The row of a key."""
    return table[0][begin + np.int64(key & uint32(MOST_ROWS - 1))]


@function
def sort_keys(n, desk):
    """Sort the keys of a warp, of which there is a power of two."""
    lane, first, keys = desk[0], desk[1], desk[2]
    size = uint32(2)
    while size <= n:
        apart = uint32(size // 2)
        while apart > 0:
            pair = uint32(lane)
            while pair < n // 2:
                low = uint32(2 * pair - (pair & uint32(apart - 1)))
                high = uint32(low + apart)
                one, other = keys[first + low], keys[first + high]
                if (one > other) == ((low & size) == 0):
                    keys[first + low], keys[first + high] = other, one
                pair = uint32(pair + WARP)
            sync_warp()
            apart = uint32(apart // 2)
        size = uint32(size * 2)


@function
def list_rows(begin, n, feature, n_known, table, amounts, desk):
    """Write the keys of the rows in order; returns how many rows have no value."""
    lane, first, keys = desk[0], desk[1], desk[2]
    size = uint32(1)
    while size < n:
        size = uint32(size * 2)
    n_lost = np.int64(0)
    i = uint32(lane)
    while i < size:
        key = uint32(NO_ROW)
        if i < n:
            row = table[0][begin + np.int64(i)]
            code = code_of(row, feature, table)
            key = uint32(uint32(code << uint32(CODE_AT)) | i)
            if weight_of(amounts, row) > 0:
                key = uint32(key | uint32(HAS_WEIGHT))
            if code >= n_known:
                n_lost += 1
        keys[first + i] = key
        i = uint32(i + WARP)
    sync_warp()
    sort_keys(size, desk)
    return uint32(total(n_lost))


@function
def sum_from(begin, i, n, c, table, amounts, desk):
    """What the listed rows from place `i` on add to a channel; to the weight where `c` is -1."""
    lane, first, keys = desk[0], desk[1], desk[2]
    own = np.int64(0)
    i = uint32(i + lane)
    while i < n:
        row = row_at(begin, keys[first + i], table)
        own += weight_of(amounts, row) if c < 0 else amount_of(amounts, row, c)
        i = uint32(i + WARP)
    return total(own)


def make_search(source):
    """Search by criteria of a source."""
    trim = formulas().trim
    add_channels, score = split.make_scores(source, amount_of)

    @function
    def best_of_feature(begin, n, feature, n_known, table, amounts, shape, rules, desk):
        """The best threshold of a feature, as `split.make_scan` has it; all lanes are told."""
        is_classes, n_scored, counts_rows, n_channels = shape
        unit, min_rows, min_weight, ridge = rules
        lane, first, keys, board, carry, whole_of = desk
        first_channel = uint32(0 if is_classes else 1)
        n_lost = list_rows(begin, n, feature, n_known, table, amounts, desk)
        n_listed = uint32(n - n_lost)
        lost_weight = sum_from(begin, n_listed, n, np.int64(-1), table, amounts, desk)
        weight = split.weight_at(board, whole_of, is_classes, n_scored)
        all_rows = board[whole_of + n_channels - 1] if counts_rows else weight
        whole = np.float64(weight) + (ridge + ridge)  # nothing is rounded that could be fused
        best_trimmed, best_score, best_key = -np.inf, -np.inf, int32(NO_CODE)
        side, n_sides = uint32(0), uint32(2 if lost_weight > 0 else 1)
        while side < n_sides:
            # Missing values lie to the left of all codes, or none does.
            n_below = uint32(n_lost if side > 0 else 0)
            below_weight = lost_weight if side > 0 else np.int64(0)
            c = uint32(0)
            while c < n_channels:
                own = sum_from(begin, uint32(n - n_below), n, np.int64(c), table, amounts, desk)
                if lane == 0:
                    board[carry + c] = own
                c = uint32(c + 1)
            sync_warp()
            chunk = uint32(0)
            while chunk < n_listed:
                i = uint32(chunk + lane)
                key = keys[first + min(i, uint32(n_listed - 1))]
                row, code = row_at(begin, key, table), uint32(key >> uint32(CODE_AT))
                is_last = i < n_listed
                if i + 1 < n_listed:
                    is_last = uint32(keys[first + i + 1] >> uint32(CODE_AT)) != code
                own_weight = np.int64(0)
                if i < n_listed:
                    own_weight = weight_of(amounts, row)
                part_weight = below_weight + scan(own_weight)
                below_weight = last_lane(part_weight)
                part_rows = np.int64(n_below + i + 1) if counts_rows else part_weight
                part = np.float64(part_weight) + ridge
                x, y, z = add_channels(
                    amounts, row, i < n_listed, part, whole, first_channel, n_scored, unit, lane,
                    board, carry, whole_of,
                )  # fmt: skip
                has_rows = part_rows >= min_rows and all_rows - part_rows >= min_rows
                has_weight = part_weight >= min_weight and weight - part_weight >= min_weight
                if is_last and (key & uint32(HAS_WEIGHT)) != 0 and has_rows and has_weight:
                    found = score(x, y, z, part, whole)
                    trimmed, own_key = trim(found), int32(2 * code + side)
                    if better(best_trimmed, best_key, trimmed, own_key):
                        best_trimmed, best_score, best_key = trimmed, found, own_key
                chunk = uint32(chunk + WARP)
            side = uint32(side + 1)
        distance = 1
        while distance < WARP:
            trimmed = other_lane(best_trimmed, distance)
            found = other_lane(best_score, distance)
            own_key = other_lane(best_key, distance)
            if better(best_trimmed, best_key, trimmed, own_key):
                best_trimmed, best_score, best_key = trimmed, found, own_key
            distance *= 2
        return best_trimmed, best_score, best_key

    @function
    def note_winner(
        out, feature, key, is_found, begin, n, n_known, table, amounts, shape, desk, winner
    ):  # fmt: skip
        """Write what `split.make_choose` tells of a winner, but for its score; one warp."""
        is_classes, _, counts_rows, n_channels = shape
        lane, _, _, board, _, whole_of = desk
        code, side = np.int64(key // 2), np.int64(key % 2)
        part_rows, whole_rows = np.int64(0), np.int64(0)
        c = uint32(0)
        while c < n_channels:
            left = np.int64(0)
            i = uint32(lane)
            while i < n and is_found:
                row = table[0][begin + np.int64(i)]
                own_code = np.int64(code_of(row, feature, table))
                if own_code <= code if own_code < n_known else side == 1:
                    left += amount_of(amounts, row, c)
                i = uint32(i + WARP)
            left = total(left)
            if c == n_channels - 1 if counts_rows else is_classes or c == 0:
                part_rows += left
                whole_rows += board[whole_of + c]
            if lane == 0:
                winner[out + split.LEFT + c] = left
            c = uint32(c + 1)
        lost, following = np.int64(0), np.int64(NO_CODE)
        i = uint32(lane)
        while i < n and is_found:
            row = table[0][begin + np.int64(i)]
            own_code, weight = np.int64(code_of(row, feature, table)), weight_of(amounts, row)
            if own_code >= n_known:
                lost += weight
            elif own_code > code and weight > 0:
                following = min(following, own_code)
            i = uint32(i + WARP)
        lost = total(lost)
        distance = 1
        while distance < WARP:
            following = min(following, other_lane(following, distance))
            distance *= 2
        if lane == 0:
            winner[out + split.FEATURE] = feature
            winner[out + split.CODE] = code if is_found else 0
            winner[out + split.NEXT] = following if following < NO_CODE else -1
            if lost > 0:
                winner[out + split.SLOT] = 1 - side
            else:
                winner[out + split.SLOT] = 1 if part_rows <= whole_rows - part_rows else 0

    @kernel
    def search_features(
        few, n_summed, nodes, most_rows, n_features, turn, n_drawn, n_values, order, words,
        row_words, code_bits, label, limb, limbs, n_limbs, n_rows, has_ones, one_channel, one_step,
        is_classes, n_scored, counts_rows, n_channels, unit, min_rows, min_weight, ridge, winner,
    ):  # fmt: skip
        """The best split of some nodes of at most `most_rows` rows, a power of two; a block each.

        `winner` gets it in the line after those of `n_summed` other nodes and of the blocks before.
        turn[block, k] is the feature that comes k-th in the node's draw; empty where all are tried.
        """
        warp, n_warps = uint32(cuda.threadIdx.x // WARP), uint32(cuda.blockDim.x // WARP)
        lane, block = uint32(cuda.threadIdx.x % WARP), np.int64(cuda.blockIdx.x)
        # By channel: what lies below the rows at hand of each warp, and the node's sums. Then what
        # each warp has found, and the keys of each.
        board, keys = cuda.shared.array(0, int64), cuda.shared.array(0, uint32)
        carry, whole_of = uint32(warp * n_channels), uint32(n_warps * n_channels)
        told = uint32(whole_of + n_channels)
        first = uint32(2 * uint32(told + n_warps * TOLD) + uint32(warp * most_rows))
        table = order, words, row_words, code_bits
        amounts = label, limb, limbs, n_limbs, n_rows, has_ones, one_channel, one_step
        shape = is_classes, n_scored, counts_rows, n_channels
        rules = unit, min_rows, min_weight, ridge
        desk = lane, first, keys, board, carry, whole_of
        at = np.int64(few[block]) * (SUMS + n_channels)
        begin, n = np.int64(nodes[at + START]), uint32(nodes[at + N_ROWS])
        c = uint32(cuda.threadIdx.x)
        while c < n_channels:
            board[whole_of + c] = nodes[at + SUMS + c]
            c = uint32(c + cuda.blockDim.x)
        cuda.syncthreads()
        base, is_found, feature, key = np.int64(0), False, np.int64(0), np.int64(NO_CODE)
        score_bits = bits_of(-np.inf)
        while base < n_features and not is_found:
            # Those that were drawn; then as many as there are warps, in the order of the draw.
            end = min(np.int64(n_drawn) if base == 0 else base + n_warps, np.int64(n_features))
            best_trimmed, best_score, best_key = -np.inf, -np.inf, int32(NO_CODE)
            best, place = np.int64(0), base + np.int64(warp)
            while place < end:
                own = place
                if turn.shape[0] > 1:
                    own = np.int64(turn[block * n_features + place])
                if n_values[own] > 0:
                    trimmed, found, own_key = best_of_feature(
                        begin, n, own, n_values[own], table, amounts, shape, rules, desk
                    )
                    if trimmed > best_trimmed or (trimmed == best_trimmed and own < best):
                        best_trimmed, best_score, best_key, best = trimmed, found, own_key, own
                place += np.int64(n_warps)
            if lane == 0:
                line = uint32(told + warp * TOLD)
                board[line + TRIMMED], board[line + SCORE] = (
                    bits_of(best_trimmed),
                    bits_of(best_score),
                )
                board[line + FEATURE], board[line + KEY] = best, best_key
            cuda.syncthreads()
            winning = -np.inf
            other = uint32(0)
            while other < n_warps:
                line = uint32(told + other * TOLD)
                trimmed, own = float_of(board[line + TRIMMED]), board[line + FEATURE]
                wins = trimmed > winning or (trimmed == winning and own < feature)
                if trimmed > -np.inf and (wins if base == 0 else not is_found):
                    winning, feature, is_found = trimmed, own, True
                    key, score_bits = board[line + KEY], board[line + SCORE]
                other = uint32(other + 1)
            cuda.syncthreads()
            base = end
        if warp == 0:
            out = (n_summed + block) * (split.LEFT + n_channels)
            note_winner(
                out, feature, key, is_found, begin, n, n_values[feature], table, amounts, shape,
                desk, winner,
            )  # fmt: skip
            if lane == 0:
                winner[out + split.SCORE] = score_bits

    return search_features
