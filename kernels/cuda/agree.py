"""How well thresholds tell the children of nodes apart: the cut of a feature that agrees most.

From the sums of three lists of a node: rows of either child, and those that have stayed, of which
nothing is asked but which codes they have.
"""

import numpy as np

from gputree.kernels.cuda.gpu import cuda, function, kernel

LISTS = 3
# What is known of a node and a feature.
AGREEMENT, CODE, NEXT, LOW_SLOT, OFFER_COLUMNS = 0, 1, 2, 3, 4
NO_CODE = -1


@function
def weight_and_rows(hist, at, n_weights, count_at):
    """Of a cell: its weight is in the first channels, its rows in one of its own, if there is."""
    weight = np.int64(0)
    for channel in range(n_weights):
        weight += hist[at + channel]
    return weight, np.int64(hist[at + count_at]) if count_at >= 0 else weight


@kernel
def agree(
    n_nodes, n_features, list_place, offset, n_values, least_rows, n_channels, n_weights, count_at,
    stride, hist, offer,
):  # fmt: skip
    """The best cut of each feature of each node, a thread each; without any, the agreement is 0.

    list_place[node * 3 + k] is the place of a list's sums, -1 for a list without rows. A cut has at
    least so many rows on each side, and agrees more than the larger child alone would; of several
    the lowest is taken.
    """
    pair = np.int64(cuda.grid(1))
    while pair < n_nodes * n_features:
        node, feature = pair // n_features, pair % n_features
        n_codes = n_values[feature]
        first = offset[feature] * n_channels
        left = list_place[node * LISTS] * stride + first
        right = list_place[node * LISTS + 1] * stride + first
        stayed = list_place[node * LISTS + 2] * stride + first
        has_left, has_right = list_place[node * LISTS] >= 0, list_place[node * LISTS + 1] >= 0
        has_stayed = list_place[node * LISTS + 2] >= 0
        known_left, known_right, n_known = np.int64(0), np.int64(0), np.int64(0)
        for code in range(n_codes):
            if has_left:
                weight, n = weight_and_rows(hist, left + code * n_channels, n_weights, count_at)
                known_left += weight
                n_known += n
            if has_right:
                weight, n = weight_and_rows(hist, right + code * n_channels, n_weights, count_at)
                known_right += weight
                n_known += n
        most, best, after, low_slot = max(known_left, known_right), NO_CODE, NO_CODE, 0
        is_found = False
        below_left, below_right, n_below = np.int64(0), np.int64(0), np.int64(0)
        for code in range(n_codes):
            n_here, n_staying = np.int64(0), np.int64(0)
            if has_left:
                weight, n = weight_and_rows(hist, left + code * n_channels, n_weights, count_at)
                below_left += weight
                n_here += n
            if has_right:
                weight, n = weight_and_rows(hist, right + code * n_channels, n_weights, count_at)
                below_right += weight
                n_here += n
            if has_stayed:
                _, n_staying = weight_and_rows(
                    hist, stayed + code * n_channels, n_weights, count_at
                )
            if is_found and after < 0 and n_here + n_staying > 0:
                after = code
            n_below += n_here
            alike = below_left + known_right - below_right
            turned = known_left - below_left + below_right
            is_cut = n_here > 0 and n_below >= least_rows and n_known - n_below >= least_rows
            if is_cut and max(alike, turned) > most:
                most, best, after, is_found = max(alike, turned), code, NO_CODE, True
                low_slot = 1 if turned > alike else 0
        at = pair * OFFER_COLUMNS
        offer[at + AGREEMENT] = most if is_found else 0
        offer[at + CODE] = best
        offer[at + NEXT] = after
        offer[at + LOW_SLOT] = low_slot
        pair += cuda.gridsize(1)
