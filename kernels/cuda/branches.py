"""What a child for each category is worth: a block takes a pair of a node and a nominal feature."""

import numpy as np
from numba import int64

from gputree.kernels.cuda.categories import (
    BITS,
    BOARD,
    IS_HEURISTIC,
    RATED_COLUMNS,
    SCORE,
    make_branch_bits,
    rows_at,
)
from gputree.kernels.cuda.gpu import (
    bits_of,
    block_scan,
    cuda,
    float_of,
    formulas,
    function,
    kernel,
    multiply,
)
from gputree.kernels.cuda.split import weight_at


def make_terms(source, sums_by_branch):
    """What a child adds to the sum of a channel, or to that of all, and the score of these sums."""
    forms = formulas()
    larger, branch = forms.larger, forms.by_source[source].branch

    @function
    def of_all(hist, at, channel, n_scored, unit, total, part, whole):
        found = 0.0
        for c in range(n_scored):
            found = branch(found, multiply(np.float64(hist[at + c]), unit[c]))
        return found

    @function
    def of_channel(hist, at, channel, n_scored, unit, total, part, whole):
        own = multiply(np.float64(hist[at + channel]), unit[channel])
        return branch(own, multiply(np.float64(total), unit[channel]), part, whole)

    @function
    def score_of_all(board, sums_at, totals_at, n_scored, unit):
        of_node = 0.0
        for c in range(n_scored):
            of_node = branch(of_node, multiply(np.float64(board[totals_at + c]), unit[c]))
        return float_of(board[sums_at]) - of_node

    @function
    def score_of_channels(board, sums_at, totals_at, n_scored, unit):
        score = 0.0
        for c in range(n_scored):
            score = score + float_of(board[sums_at + c])
        return larger(score, 0.0)

    return (of_all, score_of_all) if sums_by_branch else (of_channel, score_of_channels)


def make_rate_branches(source, sums_by_branch):
    """Score a child for each category, by the formulas of `kernels.cpu.multiway`."""
    branch_bits = make_branch_bits()
    term, score_of = make_terms(source, sums_by_branch)

    @kernel
    def rate_branches(
        n_pairs, place, feature, hist, stride, offset, n_values, counts_missing, is_classes,
        n_scored, counts_rows, n_channels, unit, min_rows, min_weight, rated,
    ):  # fmt: skip
        """`rated` gets what is known of each pair.

        Sums over categories are made one after another: a thread makes those of a channel, and
        another one the bits.
        """
        thread, n_threads = np.int64(cuda.threadIdx.x), np.int64(cuda.blockDim.x)
        board = cuda.shared.array(0, int64)
        first = 0 if is_classes else 1
        pair = np.int64(cuda.blockIdx.x)
        while pair < n_pairs:
            own = np.int64(feature[pair])
            base = np.int64(place[pair]) * stride + offset[own] * n_channels
            n_codes = np.int64(offset[own + 1] - offset[own])
            n_categories = n_codes if counts_missing else np.int64(n_values[own])
            known, n_large, lost, code = np.int64(0), np.int64(0), np.int64(0), thread
            while code < n_categories:
                at = base + code * n_channels
                weight = weight_at(hist, at, is_classes, n_scored)
                n_rows = rows_at(hist, at, weight, counts_rows, n_channels)
                known += weight
                n_large += 1 if weight >= min_weight and n_rows >= min_rows else 0
                code += n_threads
            _, known = block_scan(known, board)
            _, n_large = block_scan(n_large, board)
            if n_codes > n_categories:
                lost = weight_at(hist, base + n_categories * n_channels, is_classes, n_scored)
            whole, every = np.float64(known), np.float64(known + lost)
            n_sums = 1 if sums_by_branch else n_scored
            sums_at, totals_at = np.int64(BOARD), np.int64(BOARD) + n_scored + 1
            c = thread
            while c < n_scored:
                total = np.int64(0)
                for code in range(n_categories):
                    total += hist[base + code * n_channels + first + c]
                board[totals_at + c] = total
                c += n_threads
            cuda.syncthreads()
            task = thread
            while task <= n_sums:
                found = 0.0
                for code in range(n_categories):
                    at = base + code * n_channels
                    part = np.float64(weight_at(hist, at, is_classes, n_scored))
                    if task == n_sums:
                        found = found + branch_bits(part, every)
                    elif part > 0.0:
                        total = board[totals_at + task]
                        found = found + term(
                            hist, at + first, task, n_scored, unit, total, part, whole
                        )
                board[sums_at + task] = bits_of(found)
                task += n_threads
            cuda.syncthreads()
            if thread == 0:
                score = score_of(board, sums_at, totals_at, n_scored, unit)
                told = float_of(board[sums_at + n_sums]) + branch_bits(np.float64(lost), every)
                out = pair * RATED_COLUMNS
                rated[out + SCORE] = bits_of(score if n_large >= 2 else -np.inf)
                rated[out + BITS] = bits_of(told)
                rated[out + IS_HEURISTIC] = 0
            cuda.syncthreads()
            pair += np.int64(cuda.gridDim.x)

    return rate_branches
