"""The best split of each node from its histogram.

`make_scan` gives a warp to every node and feature: its lanes take neighbouring codes, add them up
and score them. `make_choose` gives a warp to every node, which takes the best feature and adds up
what goes left. Both compare as all backends do: larger score (trimmed), then lower feature, then
lower code, then missing values to the right. `make_rate` scans as if rows whose value is missing
were not there, and tells the best threshold of every feature.
"""

import numpy as np
from numba import int32, int64, uint32, uint64

from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    cuda,
    formulas,
    function,
    kernel,
    last_lane,
    multiply,
    other_lane,
    scan,
    sync_warp,
    total,
)

# What is known of a node's winner, then the sums of its left child: whole numbers, and the bits of
# a score.
SCORE, FEATURE, CODE, NEXT, SLOT, LEFT = 0, 1, 2, 3, 4, 5
# What is known of a feature's best threshold: as above.
RATE_SCORE, RATE_CODE, RATE_NEXT, RATE_LEFT, RATE_KNOWN, RATE_CUTS = 0, 1, 2, 3, 4, 5
RATE_COLUMNS = 6

NO_CODE = 2**31 - 1  # above every code: loses all ties


@function
def weight_at(sums, at, is_classes, n_scored):
    """The weight in the sums of one code or node, whose channels begin at a place."""
    if not is_classes:
        return np.int64(sums[at])
    weight = np.int64(0)
    c = uint32(0)
    while c < n_scored:
        weight += sums[at + c]
        c = uint32(c + 1)
    return weight


@function
def next_code(hist, base, n_channels, code, n_known, is_classes, n_scored, lane):
    """The smallest code above one that occurs in the node, NO_CODE where there is none."""
    following = np.int64(NO_CODE)
    k = np.int64(lane)
    while k < n_known:
        if k > code and k < following:
            own_weight = np.int64(0)
            if is_classes:
                for c in range(n_scored):
                    own_weight += hist[base + k * n_channels + c]
            else:
                own_weight = np.int64(hist[base + k * n_channels])
            if own_weight > 0:
                following = k
        k += WARP
    distance = 1
    while distance < WARP:
        following = min(following, other_lane(following, distance))
        distance *= 2
    return following


@function
def sum_codes(hist, base, n_codes, n_channels, lane, board, whole_of):
    """Write the sums of all codes to the board, by channel."""
    step = uint64(n_channels)
    c = uint32(0)
    while c < n_channels:
        own = np.int64(0)
        code = lane
        while code < n_codes:
            own += hist[base + uint64(code) * step + c]
            code = uint32(code + WARP)
        own = total(own)
        if lane == 0:
            board[whole_of + c] = own
        c = uint32(c + 1)
    sync_warp()


@function
def derive_codes(own, own_at, above, parent, hist, base, n, lane):
    """Write the sums of a feature: what a parent has less what its smaller child has, or the same.

    Those of the child begin at `own_at`, those of the parent at `parent`; at -1 there is none, and
    the node was summed itself.
    """
    i = np.int64(lane)
    while i < n:
        found = own[own_at + i]
        if parent >= 0:
            found = above[parent + i] - found
        hist[base + uint64(i)] = found
        i += WARP
    sync_warp()


@function
def better(trimmed, key, other_trimmed, other_key):
    """Whether the other candidate wins; the lower key where scores tie."""
    return other_trimmed > trimmed or (other_trimmed == trimmed and other_key < key)


@function
def least_of(weight, least_share, most_least_weight, min_weight):
    """The least weight of a child: a share of the weight between two bounds, rounded up."""
    least = multiply(np.float64(weight), least_share)
    if least > most_least_weight:
        least = np.float64(most_least_weight)
    whole = np.int64(least)
    if np.float64(whole) < least:
        whole += 1
    return max(whole, np.int64(min_weight))


@function
def sum_at(hist, at, c):
    """What a code adds to a channel, if its sums begin at a place."""
    return np.int64(hist[at + c])


def make_scores(source, own_of=sum_at):
    """Functions of one source: to add the channels up, and to make a score of them.

    `own_of` tells what a candidate adds to a channel.
    """
    own = formulas().by_source[source]
    step, score = own.step, own.score

    @function
    def add_channels(
        hist, at, is_known, part, whole, first, n_scored, unit, lane, board, carry, whole_of
    ):  # fmt: skip
        """What `score` needs of the codes at hand; what lies below them moves on to the next.

        `at` is where the sums of the lane's code begin, `part` the weight of child 0 and `whole`
        that of the node; `board` has, by channel, what lies below from `carry` on and all from
        `whole_of` on.
        """
        x, y, z = 0.0, 0.0, 0.0
        s = uint32(0)
        while s < n_scored:
            c = uint32(first + s)
            own = own_of(hist, at, c) if is_known else np.int64(0)
            running = board[carry + c] + scan(own)
            sync_warp()
            if lane == WARP - 1:
                board[carry + c] = running
            sync_warp()
            left = multiply(np.float64(running), unit[s])
            sums = multiply(np.float64(board[whole_of + c]), unit[s])
            if 0.0 < part < whole:  # otherwise a child is empty, and no score is asked for
                x, y, z = step(x, y, z, left, sums, part, whole)
            s = uint32(s + 1)
        return x, y, z

    return add_channels, score


def make_scan(source):
    """Score all candidates by criteria of a source."""
    trim = formulas().trim
    add_channels, score = make_scores(source)

    @kernel
    def scan_features(
        n_nodes, n_features, hist, stride, offset, n_values, is_classes, n_scored, counts_rows,
        n_channels, derives, own, own_place, above, above_place, unit, min_rows, min_weight,
        ridge, trimmed_of, score_of, key_of,
    ):  # fmt: skip
        """The best threshold of each pair of a node and a feature, a warp each.

        If it `derives`, sums of a node follow from those of its family, as in `histogram.derive`,
        and are written first.
        """
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        own_item = uint32(uint32(cuda.blockIdx.x) * uint32(cuda.blockDim.x // WARP) + warp)
        # Warps beyond the last item go along with it, so that all call the primitives alike.
        item = min(own_item, uint32(n_nodes * n_features - 1))
        node, feature = uint32(item // uint32(n_features)), uint32(item % uint32(n_features))
        step = uint64(n_channels)
        base = uint64(node) * uint64(stride) + uint64(offset[feature]) * step
        n_codes, n_known = uint32(offset[feature + 1] - offset[feature]), uint32(n_values[feature])
        missing = base + uint64(n_known) * step
        first, last = uint32(0 if is_classes else 1), uint32(n_channels - 1)
        board = cuda.shared.array(0, int64)
        carry = uint32(warp * 2 * n_channels)  # what lies below the codes at hand, by channel
        whole_of = uint32(carry + n_channels)  # the node's sums, by channel
        if derives:
            feature_at = np.int64(base) - np.int64(node) * stride
            own_at = np.int64(own_place[node]) * stride + feature_at
            parent = np.int64(above_place[node])
            if parent >= 0:
                parent = parent * stride + feature_at
            derive_codes(own, own_at, above, parent, hist, base, n_codes * n_channels, lane)
        sum_codes(hist, base, n_codes, n_channels, lane, board, whole_of)
        weight = weight_at(board, whole_of, is_classes, n_scored)
        n_rows = board[whole_of + last] if counts_rows else weight
        lost_weight, lost_rows = np.int64(0), np.int64(0)
        if n_codes > n_known:
            lost_weight = weight_at(hist, missing, is_classes, n_scored)
            lost_rows = np.int64(hist[missing + last]) if counts_rows else lost_weight
        whole = np.float64(weight) + (ridge + ridge)  # nothing is rounded that could be fused
        best_trimmed, best_score, best_key = -np.inf, -np.inf, int32(NO_CODE)
        # Candidates with missing values to the right and, where there are any, to the left: then
        # they lie below all codes. A key is 2 * code + side.
        side, n_sides = uint32(0), uint32(2 if lost_weight > 0 else 1)
        while side < n_sides:
            below_weight = lost_weight if side > 0 else np.int64(0)
            below_rows = lost_rows if side > 0 else np.int64(0)
            sync_warp()
            c = lane
            while c < n_channels:
                board[carry + c] = np.int64(hist[missing + c]) if side > 0 else np.int64(0)
                c = uint32(c + WARP)
            sync_warp()
            chunk = uint32(0)
            while chunk < n_known:
                code = uint32(chunk + lane)
                is_known = code < n_known
                at = base + uint64(code) * step
                own_weight = np.int64(0)
                if is_known:
                    own_weight = weight_at(hist, at, is_classes, n_scored)
                part_weight = below_weight + scan(own_weight)
                below_weight = last_lane(part_weight)
                part_rows = part_weight
                if counts_rows:
                    own_rows = np.int64(hist[at + last]) if is_known else np.int64(0)
                    part_rows = below_rows + scan(own_rows)
                    below_rows = last_lane(part_rows)
                part = np.float64(part_weight) + ridge
                x, y, z = add_channels(
                    hist, at, is_known, part, whole, first, n_scored, unit, lane, board, carry,
                    whole_of,
                )  # fmt: skip
                has_rows = part_rows >= min_rows and n_rows - part_rows >= min_rows
                has_weight = part_weight >= min_weight and weight - part_weight >= min_weight
                if own_weight > 0 and has_rows and has_weight:
                    found = score(x, y, z, part, whole)
                    trimmed, key = trim(found), int32(2 * code + side)
                    if better(best_trimmed, best_key, trimmed, key):
                        best_trimmed, best_score, best_key = trimmed, found, key
                chunk = uint32(chunk + WARP)
            side = uint32(side + 1)
        distance = 1
        while distance < WARP:
            trimmed = other_lane(best_trimmed, distance)
            found = other_lane(best_score, distance)
            key = other_lane(best_key, distance)
            if better(best_trimmed, best_key, trimmed, key):
                best_trimmed, best_score, best_key = trimmed, found, key
            distance *= 2
        if lane == 0 and item == own_item:
            trimmed_of[item] = best_trimmed
            score_of[item] = best_score
            key_of[item] = best_key

    return scan_features


def make_rate(source):
    """Score the thresholds among known values by criteria of a source."""
    trim = formulas().trim
    add_channels, score = make_scores(source)

    @kernel
    def rate_features(
        n_nodes, n_features, hist, stride, offset, n_values, is_classes, n_scored, counts_rows,
        n_channels, unit, min_rows, min_weight, least_share, most_least_weight, rate,
    ):  # fmt: skip
        """The best threshold of each pair among known values; `rate` gets what `Rates` has."""
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        own_item = uint32(uint32(cuda.blockIdx.x) * uint32(cuda.blockDim.x // WARP) + warp)
        # Warps beyond the last item go along with it, so that all call the primitives alike.
        item = min(own_item, uint32(n_nodes * n_features - 1))
        node, feature = uint32(item // uint32(n_features)), uint32(item % uint32(n_features))
        step, n_known = uint64(n_channels), uint32(n_values[feature])
        base = uint64(node) * uint64(stride) + uint64(offset[feature]) * step
        first, last = uint32(0 if is_classes else 1), uint32(n_channels - 1)
        board = cuda.shared.array(0, int64)
        carry = uint32(warp * 2 * n_channels)  # what lies below the codes at hand, by channel
        whole_of = uint32(carry + n_channels)  # sums of the known values, by channel
        c = lane
        while c < n_channels:
            board[carry + c] = np.int64(0)
            c = uint32(c + WARP)
        sum_codes(hist, base, n_known, n_channels, lane, board, whole_of)
        weight = weight_at(board, whole_of, is_classes, n_scored)
        n_rows = board[whole_of + last] if counts_rows else weight
        least = least_of(weight, least_share, most_least_weight, min_weight)
        whole = np.float64(weight)
        best_trimmed, best_score, best_code = -np.inf, -np.inf, int32(NO_CODE)
        best_part, n_cuts = np.int64(0), np.int64(0)
        below_weight, below_rows = np.int64(0), np.int64(0)
        chunk = uint32(0)
        while chunk < n_known:
            code = uint32(chunk + lane)
            is_known = code < n_known
            at = base + uint64(code) * step
            own_weight = np.int64(0)
            if is_known:
                own_weight = weight_at(hist, at, is_classes, n_scored)
            part_weight = below_weight + scan(own_weight)
            below_weight = last_lane(part_weight)
            part_rows = part_weight
            if counts_rows:
                own_rows = np.int64(hist[at + last]) if is_known else np.int64(0)
                part_rows = below_rows + scan(own_rows)
                below_rows = last_lane(part_rows)
            part = np.float64(part_weight)
            x, y, z = add_channels(
                hist, at, is_known, part, whole, first, n_scored, unit, lane, board, carry, whole_of
            )
            has_rows = part_rows >= min_rows and n_rows - part_rows >= min_rows
            has_weight = part_weight >= least and weight - part_weight >= least
            if own_weight > 0 and has_rows and has_weight:
                n_cuts += 1
                found = score(x, y, z, part, whole)
                trimmed = trim(found)
                if better(best_trimmed, best_code, trimmed, int32(code)):
                    best_trimmed, best_score, best_code = trimmed, found, int32(code)
                    best_part = part_weight
            chunk = uint32(chunk + WARP)
        distance = 1
        while distance < WARP:
            trimmed = other_lane(best_trimmed, distance)
            found = other_lane(best_score, distance)
            other_code = other_lane(best_code, distance)
            other_part = other_lane(best_part, distance)
            if better(best_trimmed, best_code, trimmed, other_code):
                best_trimmed, best_score, best_code = trimmed, found, other_code
                best_part = other_part
            distance *= 2
        n_cuts = total(n_cuts)
        begin = np.int64(base)
        following = next_code(
            hist, begin, n_channels, best_code, n_known, is_classes, n_scored, lane
        )
        if lane == 0 and item == own_item:
            out = uint64(item) * uint64(RATE_COLUMNS)
            rate[out + RATE_SCORE] = bits_of(best_score)
            rate[out + RATE_CODE] = best_code if n_cuts > 0 else 0
            rate[out + RATE_NEXT] = following if following < NO_CODE else -1
            rate[out + RATE_LEFT] = best_part
            rate[out + RATE_KNOWN] = weight
            rate[out + RATE_CUTS] = n_cuts

    return rate_features


def make_choose():
    """Take the best feature of each node, and add up what goes left."""

    @function
    def wins(is_drawn, trimmed, order, feature, other_drawn, other_trimmed, other_order, other):
        """Whether the other feature wins: any that was drawn, else the first in the draw."""
        if other_trimmed == -np.inf or trimmed == -np.inf:
            return other_trimmed > trimmed
        if other_drawn != is_drawn:
            return other_drawn > is_drawn
        if not is_drawn:
            return other_order < order
        return other_trimmed > trimmed or (other_trimmed == trimmed and other < feature)

    @kernel
    def choose_features(
        n_nodes, n_features, hist, stride, offset, n_values, rank, n_drawn, is_classes, n_scored,
        counts_rows, n_channels, trimmed_of, score_of, key_of, winner,
    ):  # fmt: skip
        """The best feature of each node, a warp each; `winner` gets what `Splits` has.

        rank[node, feature] is the feature's turn in the node's draw, empty where all are tried.
        """
        lane = cuda.threadIdx.x % WARP
        warp = cuda.threadIdx.x // WARP
        own_node = np.int64(cuda.blockIdx.x) * (cuda.blockDim.x // WARP) + warp
        node = min(own_node, n_nodes - 1)  # warps beyond the last node go along with it
        has_rank = rank.shape[0] > 1
        best, best_drawn, best_order = 0, 1, 0
        best_trimmed, best_score, best_key = -np.inf, -np.inf, NO_CODE
        feature = lane
        while feature < n_features:
            item = node * n_features + feature
            order = np.int64(rank[item]) if has_rank else np.int64(0)
            is_drawn = 1 if order < n_drawn else 0
            trimmed = trimmed_of[item]
            if wins(best_drawn, best_trimmed, best_order, best, is_drawn, trimmed, order, feature):
                best, best_drawn, best_order = feature, is_drawn, order
                best_trimmed, best_score, best_key = trimmed, score_of[item], key_of[item]
            feature += WARP
        distance = 1
        while distance < WARP:
            other = other_lane(best, distance)
            drawn = other_lane(best_drawn, distance)
            order = other_lane(best_order, distance)
            trimmed = other_lane(best_trimmed, distance)
            score = other_lane(best_score, distance)
            key = other_lane(best_key, distance)
            if wins(best_drawn, best_trimmed, best_order, best, drawn, trimmed, order, other):
                best, best_drawn, best_order = other, drawn, order
                best_trimmed, best_score, best_key = trimmed, score, key
            distance *= 2
        out = node * (LEFT + n_channels)
        base = node * stride + offset[best] * n_channels
        n_known = n_values[best]
        n_codes = offset[best + 1] - offset[best]
        is_found = best_trimmed > -np.inf
        code = best_key // 2 if is_found else -1
        side = best_key % 2
        part_rows, whole_rows, lost = np.int64(0), np.int64(0), np.int64(0)
        for c in range(n_channels):
            counts = c == n_channels - 1 if counts_rows else is_classes or c == 0
            weighs = c < n_scored if is_classes else c == 0
            left, every = np.int64(0), np.int64(0)
            k = lane
            while k < n_codes:
                own = np.int64(hist[base + k * n_channels + c])
                every += own
                if is_found and (k <= code or (k == n_known and side == 1)):
                    left += own
                if is_found and weighs and k == n_known:
                    lost += own
                k += WARP
            left, every = total(left), total(every)
            if counts:
                part_rows += left
                whole_rows += every
            if lane == 0 and node == own_node:
                winner[out + LEFT + c] = left
        lost = total(lost)
        following = next_code(hist, base, n_channels, code, n_known, is_classes, n_scored, lane)
        if lane == 0 and node == own_node:
            winner[out + SCORE] = bits_of(best_score)
            winner[out + FEATURE] = best
            winner[out + CODE] = code if is_found else 0
            winner[out + NEXT] = following if is_found and following < NO_CODE else -1
            if lost > 0:
                winner[out + SLOT] = 1 - side
            else:
                winner[out + SLOT] = 1 if part_rows <= whole_rows - part_rows else 0

    return choose_features
