"""The best split found so far, and what a candidate must do to take its place."""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import kernel

# A candidate whose score is below the best one's by more than this share cannot win, not even
# after both are trimmed; it is refused without a division.
CLEARLY_LESS = 1.0 - 2.0**-30

# Entries of `best`: the winner so far. Whole numbers are exact as float64.
TRIMMED, SCORE, FEATURE, CODE, NEXT, SIDE = 0, 1, 2, 3, 4, 5
N_ENTRIES = 6

trim = SCALAR.trim


@kernel
def forget(best, left):
    """No winner yet."""
    best[TRIMMED] = -np.inf
    best[SCORE] = -np.inf
    best[FEATURE] = 0
    best[CODE] = 0
    best[NEXT] = -1
    best[SIDE] = 0
    left[:] = 0


@kernel
def crown(best, score, feature, code, next_code, side):
    """Make a candidate the winner."""
    best[TRIMMED] = trim(score)
    best[SCORE] = score
    best[FEATURE] = feature
    best[CODE] = code
    best[NEXT] = next_code
    best[SIDE] = side
