"""The draws of `gputree.sampling`, compiled."""

import numpy as np

from gputree.kernels.cpu.jit import kernel
from gputree.kernels.mixing import make_mix

mix = make_mix(kernel, np.uint64)

FEW_FEATURES = 64  # up to here each is put in its place among those before it; more are sorted


@kernel
def share(key):
    """A random key as a number from 0 up to, but below, 1, as `gputree.sampling.shares` has it."""
    return np.float64(key >> np.uint64(11)) * 2.0**-53


@kernel
def draw(key, n_features, n_drawn, number, turn):
    """The first `n_drawn` features of a node in the order of its draw."""
    for feature in range(n_features):
        number[feature] = mix(~key, np.uint64(feature))
    if n_drawn > FEW_FEATURES:
        ranked = np.argsort(number[:n_features], kind="mergesort")
        for i in range(n_features):
            turn[i] = ranked[i]
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
