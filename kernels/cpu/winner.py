"""The best split found so far, and what a candidate must do to take its place."""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import step

# A candidate whose score is below the best one's by more than this share cannot win, not even
# after both are trimmed; it is refused without a division.
CLEARLY_LESS = 1.0 - 2.0**-30

# Entries of `best`: the winner so far. Whole numbers are exact as float64.
TRIMMED, SCORE, FEATURE, CODE, NEXT, SIDE = 0, 1, 2, 3, 4, 5
N_ENTRIES = 6

apart, room, trim, penalty = SCALAR.apart, SCALAR.room, SCALAR.trim, SCALAR.penalty


@step
def forget(best, left):
    """No winner yet."""
    best[TRIMMED] = -np.inf
    best[SCORE] = -np.inf
    best[FEATURE] = 0
    best[CODE] = 0
    best[NEXT] = -1
    best[SIDE] = 0
    left[:] = 0


@step
def crown(best, score, feature, code, next_code, side):
    """Make a candidate the winner."""
    best[TRIMMED] = trim(score)
    best[SCORE] = score
    best[FEATURE] = feature
    best[CODE] = code
    best[NEXT] = next_code
    best[SIDE] = side


@step
def crown_groups(score, feature, missing_slot, ridge, total, ridge_of_others, best):
    """Make the best two groups of categories the winner if they are; returns whether they are.

    `ridge` is theirs and `total` has the weight and the gradient of the node.
    """
    if ridge != ridge_of_others:
        # Each ridge takes its own part of the gain; what is left compares.
        weight, gradient = np.float64(total[0]), np.float64(total[1])
        kept = penalty(gradient, weight, ridge_of_others) - penalty(gradient, weight, ridge)
        score = score + kept
    if not (score > -np.inf and trim(score) > best[TRIMMED]):
        return False
    crown(best, score, feature, 0, -1, 1 - missing_slot)
    return True


@step
def larger_child(part, whole):
    """The child with more of a node; child 1 if both are equal. Child 0 has `part`.

    Where no row of the node tells where missing values go, they go there.
    """
    return 1 if part <= whole - part else 0


@step
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
    return best_of(n, part, weight, least, best, scores)


@step
def best_of(n, part, weight, least, best, scores):
    """The candidate that beats `best` and leaves both children weight enough, or -1."""
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
