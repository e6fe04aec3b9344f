"""The draws of `gputree.sampling`, compiled."""

import numpy as np

from gputree.kernels.cpu.jit import inner, kernel
from gputree.kernels.mixing import make_mix

mix = make_mix(kernel, np.uint64)

FEW_FEATURES = 64  # up to here each is put in its place among those before it; more are sorted


@kernel
def share(key):
    """A random key as a number from 0 up to, but below, 1, as `gputree.sampling.shares` has it."""
    return np.float64(key >> np.uint64(11)) * 2.0**-53


@inner
def _precedes(number, one, other):
    return number[one] < number[other] or (number[one] == number[other] and one < other)


@inner
def rank(number, n, turn):
    """Put the numbers of so many features in the order of their keys, by a heap.

    A sort of NumPy's would take numba a second to compile into every kernel that draws.
    """
    for i in range(n):
        turn[i] = i
    begin, end = n // 2, n
    while end > 1:
        if begin > 0:  # the heap is still being made
            begin -= 1
        else:
            end -= 1
            turn[0], turn[end] = turn[end], turn[0]
        above = begin
        while 2 * above + 1 < end:
            below = 2 * above + 1
            if below + 1 < end and _precedes(number, turn[below], turn[below + 1]):
                below += 1
            if not _precedes(number, turn[above], turn[below]):
                break
            turn[above], turn[below] = turn[below], turn[above]
            above = below


@kernel
def draw(key, n_features, n_drawn, number, turn):
    """The first `n_drawn` features of a node in the order of its draw."""
    for feature in range(n_features):
        number[feature] = mix(~key, np.uint64(feature))
    if n_drawn > FEW_FEATURES:
        rank(number, n_features, turn)
        return
    for feature in range(n_features):
        value = number[feature]
        j = min(feature, n_drawn)
        if j == n_drawn:
            if number[turn[j - 1]] <= value:
                continue
            j -= 1
        while j > 0 and number[turn[j - 1]] > value:
            turn[j] = turn[j - 1]
            j -= 1
        turn[j] = feature
