"""The best split found so far, and what a candidate must do to take its place."""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import inner

# A candidate whose score is below the best one's by more than this share cannot win, not even
# after both are trimmed; it is refused without a division.
CLEARLY_LESS = 1.0 - 2.0**-30

# Entries of `best`: the winner so far. Whole numbers are exact as float64.
TRIMMED, SCORE, FEATURE, CODE, NEXT, SIDE = 0, 1, 2, 3, 4, 5
N_ENTRIES = 6

apart, room, trim = SCALAR.apart, SCALAR.room, SCALAR.trim


@inner
def forget(best, left):
    """No winner yet."""
    best[TRIMMED] = -np.inf
    best[SCORE] = -np.inf
    best[FEATURE] = 0
    best[CODE] = 0
    best[NEXT] = -1
    best[SIDE] = 0
    left[:] = 0


@inner
def crown(best, score, feature, code, next_code, side):
    """Make a candidate the winner."""
    best[TRIMMED] = trim(score)
    best[SCORE] = score
    best[FEATURE] = feature
    best[CODE] = code
    best[NEXT] = next_code
    best[SIDE] = side


@inner
def best_candidate(n, part, steep, weight, total, ridge, least, times, best, scores):
    """The candidate that beats `best`, or -1: the squared distance of means in one channel.

    part[i] is the weight of the left child and steep[i] its sum; `weight` and `total` are those of
    the node. Scores count so many `times`, and are worked out for all candidates before any are
    compared. A candidate that leaves a child without weight scores 0/0, which beats nothing.
    """
    whole = weight + 2.0 * ridge
    for i in range(n):
        own = part[i] + ridge
        distance = apart(steep[i], total, own, whole)
        scores[i] = times * (distance * distance / room(own, whole))
    winner = -1
    trimmed_best = best[TRIMMED]
    floor = best[SCORE] * CLEARLY_LESS
    for i in range(n):
        if scores[i] < floor or not trim(scores[i]) > trimmed_best:
            continue
        if part[i] >= least and weight - part[i] >= least:
            winner = i
            trimmed_best = trim(scores[i])
            floor = scores[i] * CLEARLY_LESS
    return winner
