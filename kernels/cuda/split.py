"""The best split of each node from its histogram.

`make_scan` gives a warp to every node and feature: its lanes take neighbouring codes, add them up
and score them. `make_choose` gives a warp to every node, which takes the best feature and adds up
what goes left. Both compare as all backends do: larger score (trimmed), then lower feature, then
lower code, then missing values to the right.
"""

import numpy as np
from numba import int64

from gputree.kernels.cuda.gpu import (
    WARP,
    bits_of,
    cuda,
    formulas,
    function,
    kernel,
    multiply,
    other_lane,
    scan,
    sync_warp,
    total,
)

BETWEEN, INFORMATION, CORRECTED = 0, 1, 2  # numbers of the formulas
FORMULAS = {"between": BETWEEN, "information": INFORMATION, "corrected": CORRECTED}

# What is known of a node's winner, then the sums of its left child: whole numbers, and the bits of
# a score.
SCORE, FEATURE, CODE, NEXT, SLOT, LEFT = 0, 1, 2, 3, 4, 5

NO_CODE = 2**31 - 1  # above every code: loses all ties


def make_scan(formula):
    """Score all candidates of a formula."""
    forms = formulas()
    trim, larger = forms.trim, forms.larger
    apart_step, room, told_step = forms.apart_step, forms.room, forms.told_step

    @function
    def better(trimmed, key, other_trimmed, other_key):
        """Whether the other candidate wins; keys are 2 * code + side."""
        return other_trimmed > trimmed or (other_trimmed == trimmed and other_key < key)

    @kernel
    def scan_features(
        n_nodes, n_features, hist, stride, offset, n_values, is_classes, n_scored, counts_rows,
        n_channels, unit, min_rows, min_weight, trimmed_of, score_of, key_of,
    ):  # fmt: skip
        lane = cuda.threadIdx.x % WARP
        warp = cuda.threadIdx.x // WARP
        n_warps = cuda.blockDim.x // WARP
        item = np.int64(cuda.blockIdx.x) * n_warps + warp
        # Warps beyond the last item repeat it, so that all warps call the primitives alike.
        item = min(item, n_nodes * n_features - 1)
        node, feature = item // n_features, item % n_features
        base = node * stride + offset[feature] * n_channels
        n_codes = offset[feature + 1] - offset[feature]
        n_known = n_values[feature]
        first = 0 if is_classes else 1
        board = cuda.shared.array(0, int64)
        carry = warp * 2 * n_channels  # what lies below the codes at hand, by channel
        whole_of = carry + n_channels  # the node's sums, by channel
        for c in range(n_channels):
            own = np.int64(0)
            code = lane
            while code < n_codes:
                own += hist[base + code * n_channels + c]
                code += WARP
            own = total(own)
            if lane == 0:
                board[whole_of + c] = own
                board[carry + c] = 0
        sync_warp()
        weight = np.int64(0)
        if is_classes:
            for c in range(n_scored):
                weight += board[whole_of + c]
        else:
            weight = board[whole_of]
        n_rows = board[whole_of + n_channels - 1] if counts_rows else weight
        missing = base + n_known * n_channels
        lost_weight, lost_rows = np.int64(0), np.int64(0)
        if n_codes > n_known:
            if is_classes:
                for c in range(n_scored):
                    lost_weight += hist[missing + c]
            else:
                lost_weight = np.int64(hist[missing])
            lost_rows = np.int64(hist[missing + n_channels - 1]) if counts_rows else lost_weight
        whole = np.float64(weight)
        best_trimmed, best_score, best_key = -np.inf, -np.inf, NO_CODE
        below_weight, below_rows = np.int64(0), np.int64(0)
        chunk = 0
        while chunk < n_known:
            code = chunk + lane
            at = base + code * n_channels
            own_weight, own_rows = np.int64(0), np.int64(0)
            if code < n_known:
                if is_classes:
                    for c in range(n_scored):
                        own_weight += hist[at + c]
                else:
                    own_weight = np.int64(hist[at])
                own_rows = np.int64(hist[at + n_channels - 1]) if counts_rows else own_weight
            part_weight = below_weight + scan(own_weight)
            part_rows = below_rows + scan(own_rows) if counts_rows else part_weight
            below_weight += total(own_weight)
            below_rows += total(own_rows) if counts_rows else np.int64(0)
            # Candidates with missing values to the right and, second, to the left.
            part0, part1 = np.float64(part_weight), np.float64(part_weight + lost_weight)
            x0, y0, x1, y1, most = 0.0, 0.0, 0.0, 0.0, 0.0
            for s in range(n_scored):
                c = first + s
                own = np.int64(hist[at + c]) if code < n_known else np.int64(0)
                running = board[carry + c] + scan(own)
                sync_warp()
                if lane == WARP - 1:
                    board[carry + c] = running
                sync_warp()
                lost = np.int64(hist[missing + c]) if lost_weight > 0 else np.int64(0)
                scale = unit[s]
                sums = multiply(np.float64(board[whole_of + c]), scale)
                left0 = multiply(np.float64(running), scale)
                left1 = multiply(np.float64(running + lost), scale)
                if formula == BETWEEN:
                    x0 = apart_step(x0, left0, sums, part0, whole)
                    x1 = apart_step(x1, left1, sums, part1, whole)
                elif formula == INFORMATION:
                    if 0 < part_weight < weight:
                        x0 = told_step(x0, left0, sums, part0, whole)
                    if 0 < part_weight + lost_weight < weight:
                        x1 = told_step(x1, left1, sums, part1, whole)
                else:
                    x0, y0 = larger(left0, x0), larger(sums - left0, y0)
                    x1, y1 = larger(left1, x1), larger(sums - left1, y1)
                    most = larger(sums, most)
            for side in range(2):
                is_left = side == 1
                if own_weight == 0 or (is_left and lost_weight == 0):
                    continue
                candidate_weight = part_weight + (lost_weight if is_left else np.int64(0))
                candidate_rows = part_rows + (lost_rows if is_left else np.int64(0))
                if candidate_rows < min_rows or n_rows - candidate_rows < min_rows:
                    continue
                if candidate_weight < min_weight or weight - candidate_weight < min_weight:
                    continue
                x, y = (x1, y1) if is_left else (x0, y0)
                if formula == BETWEEN:
                    score = x / room(part1 if is_left else part0, whole)
                elif formula == INFORMATION:
                    score = larger(x, 0.0)
                else:
                    score = x + y - most
                trimmed = trim(score)
                if trimmed > best_trimmed:
                    best_trimmed, best_score, best_key = trimmed, score, 2 * code + side
            chunk += WARP
        distance = 1
        while distance < WARP:
            trimmed = other_lane(best_trimmed, distance)
            score = other_lane(best_score, distance)
            key = other_lane(best_key, distance)
            if better(best_trimmed, best_key, trimmed, key):
                best_trimmed, best_score, best_key = trimmed, score, key
            distance *= 2
        if lane == 0:
            trimmed_of[item] = best_trimmed
            score_of[item] = best_score
            key_of[item] = best_key

    return scan_features


def make_choose():
    """Take the best feature of each node, and add up what goes left."""

    @function
    def better(is_drawn, trimmed, order, feature, other_drawn, other_trimmed, other_order, other):
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
        lane = cuda.threadIdx.x % WARP
        warp = cuda.threadIdx.x // WARP
        node = np.int64(cuda.blockIdx.x) * (cuda.blockDim.x // WARP) + warp
        node = min(node, n_nodes - 1)  # warps beyond the last node repeat it
        has_rank = rank.shape[0] > 1
        best, best_drawn, best_order = 0, 1, 0
        best_trimmed, best_score, best_key = -np.inf, -np.inf, NO_CODE
        feature = lane
        while feature < n_features:
            item = node * n_features + feature
            order = np.int64(rank[item]) if has_rank else np.int64(0)
            is_drawn = 1 if order < n_drawn else 0
            trimmed = trimmed_of[item]
            if better(
                best_drawn, best_trimmed, best_order, best, is_drawn, trimmed, order, feature
            ):
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
            if better(best_drawn, best_trimmed, best_order, best, drawn, trimmed, order, other):
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
            if lane == 0:
                winner[out + LEFT + c] = left
        lost = total(lost)
        # The next code that occurs in the node.
        following = np.int64(NO_CODE)
        k = lane
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
        if lane == 0:
            winner[out + SCORE] = bits_of(best_score)
            winner[out + FEATURE] = best
            winner[out + CODE] = code if is_found else 0
            winner[out + NEXT] = following if is_found and following < NO_CODE else -1
            if lost > 0:
                winner[out + SLOT] = 1 - side
            else:
                winner[out + SLOT] = 1 if part_rows <= whole_rows - part_rows else 0

    return choose_features
