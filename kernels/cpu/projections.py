"""Random projections of the rows of a node, and the best split of each of them.

The draws, sums, steps and thresholds are those of `gputree.backends.projections`.
"""

import numpy as np

from gputree.kernels.cpu.formulas import SCALAR
from gputree.kernels.cpu.jit import inner, step
from gputree.kernels.cpu.one_feature import try_cells, try_words
from gputree.kernels.cpu.sampling import mix, share
from gputree.kernels.cpu.scoring import is_of_user
from gputree.kernels.cpu.winner import (
    CODE,
    N_ENTRIES,
    NEXT,
    SCORE,
    SIDE,
    TRIMMED,
    forget,
)
from gputree.kernels.projections import FIRST_DRAW, STEPS, THRESHOLD_DRAW

trim = SCALAR.trim

# What `measure_steps` finds: the smallest value of a node, and steps for a unit of values; or the
# threshold that was drawn.
LOW, PER_UNIT, DRAWN = 0, 1, 2


@inner
def make_projection_room(n_rows, most_terms, n_stored, codes):
    """Memory for the projections of one node after another; `codes` have the type of steps."""
    return (
        np.empty(n_rows), np.empty(n_rows, codes.dtype), np.arange(n_rows).astype(np.uint32),
        np.empty((2, most_terms), np.int64), np.empty((2, most_terms)), np.empty(N_ENTRIES),
        np.empty(n_stored, np.int64), np.empty((2, 3)),
    )  # fmt: skip


@step
def draw_terms(key, at_most, power, column, factor):
    """The columns of a projection, ascending, and their weights; returns how many.

    at_most[i] is the chance of at most i + 2 terms, `power` the weight of each column alone.
    """
    chance = share(mix(key, np.uint64(0)))
    n = 2
    while n - 2 < at_most.shape[0] and chance >= at_most[n - 2]:
        n += 1
    for t in range(n):
        n_choices = power.shape[0] - n + t + 1
        number = mix(key, np.uint64(t + 1))
        chosen = min(np.int64(share(number) * n_choices), n_choices - 1)
        for i in range(t):
            if column[i] == chosen:
                chosen = n_choices - 1
                break
        place = t
        while place > 0 and column[place - 1] > chosen:
            column[place] = column[place - 1]
            factor[place] = factor[place - 1]
            place -= 1
        column[place] = chosen
        factor[place] = power[chosen] if number & np.uint64(1) else -power[chosen]
    first = factor[0]
    for t in range(n):
        factor[t] /= first
    return n


@step
def add_up(source, at, n, column, factor, n_terms, value):
    """The projection of each row: source[column, at[i]] times the factors, term after term."""
    values, weight = source[column[0]], factor[0]
    for i in range(n):
        value[i] = values[at[i]] * weight
    for t in range(1, n_terms):
        values, weight = source[column[t]], factor[t]
        for i in range(n):
            value[i] += values[at[i]] * weight


@step
def measure_steps(value, n, key, is_random, measured):
    """Note where the steps of a node are; returns whether there are several values to divide."""
    low, high = np.inf, -np.inf
    for i in range(n):
        # Missing values compare as false.
        low = value[i] if value[i] < low else low
        high = value[i] if value[i] > high else high
    width = high - low
    if not (width > 0.0 and width < np.inf):
        return False
    measured[LOW] = low
    if is_random:
        measured[DRAWN] = low + share(mix(key, np.uint64(THRESHOLD_DRAW))) * width
        return True
    measured[PER_UNIT] = STEPS / width
    return measured[PER_UNIT] < np.inf


@step
def code_steps(value, n, is_random, measured, steps):
    """The step of each value; the number after the last step where one is missing."""
    if is_random:
        drawn = measured[DRAWN]
        for i in range(n):
            steps[i] = 2 if np.isnan(value[i]) else (1 if value[i] > drawn else 0)
        return
    low, per_unit = measured[LOW], measured[PER_UNIT]
    for i in range(n):
        place = (value[i] - low) * per_unit
        place = place if place < STEPS - 1.0 else (STEPS - 1.0 if place == place else STEPS)
        steps[i] = np.uint32(np.int32(place))


@step
def is_divided_by_class(own, left, shape, rules, is_packed):
    """Whether each child has one class: no other split of the node is worth more.

    Of the criterion of a user nobody knows.
    """
    is_classes, n_scored, _, _ = shape
    if not is_classes or is_of_user(rules[0]):
        return False
    if is_packed:  # the weight of both classes, and that of the second
        rest = own[0] - left[0], own[1] - left[1]
        return (left[1] == 0 or left[1] == left[0]) and (rest[1] == 0 or rest[1] == rest[0])
    n_left, n_right = 0, 0
    for c in range(n_scored):
        n_left += 1 if left[c] > 0 else 0
        n_right += 1 if left[c] < own[c] else 0
    return n_left <= 1 and n_right <= 1


@step
def try_projections(
    key, plan, is_random, source, at, n, word, channel, amount, values, is_weighted, own,
    total_real, weight, n_rows, shape, rules, unit, least, times, spare, room, best, left,
):  # fmt: skip
    """Try the projections of a node against its best split so far.

    The rows are at[:n] of `source`, (columns, rows). Returns how many terms the best projection
    has, 0 where none is better, and the weight of rows where it is missing. Its columns and factors
    are then the second ones of `room`, and the steps of all rows are there, too.
    """
    at_most, power, n_projections, term_cost = plan
    near, every, bits, cells, seen, scratch, running = spare
    value, steps, identity, columns, factors, own_best, own_left, measured = room
    n_steps = 2 if is_random else STEPS
    is_packed = word.shape[0] > 0
    n_won, lost_won = 0, np.int64(0)
    if best[SCORE] > -np.inf and is_divided_by_class(own, left, shape, rules, is_packed):
        return n_won, lost_won
    for number in range(n_projections):
        own_key = mix(key, np.uint64(FIRST_DRAW + number))
        n_terms = draw_terms(own_key, at_most, power, columns[0], factors[0])
        add_up(source, at, n, columns[0], factors[0], n_terms, value)
        if not measure_steps(value, n, own_key, is_random, measured[0]):
            continue
        code_steps(value, n, is_random, measured[0], steps)
        forget(own_best, own_left)
        if is_packed:
            lost = try_words(
                0, steps, identity, word, n, n_steps + 1, n_steps, own, rules[3], least, times,
                near, bits, cells, seen, scratch, own_best, own_left,
            )  # fmt: skip
        else:
            lost = try_cells(
                0, steps, identity, n, channel, amount, values, is_weighted, n_steps + 1, n_steps,
                total_real, weight, n_rows, shape, rules, unit, near, every, bits, cells, seen,
                running, own_best, own_left,
            )  # fmt: skip
        if own_best[SCORE] == -np.inf:
            continue
        worth = trim(own_best[SCORE] / (1.0 + term_cost * (n_terms - 1)))
        if worth > best[TRIMMED]:
            best[TRIMMED], best[SCORE] = worth, own_best[SCORE]
            best[CODE], best[NEXT], best[SIDE] = own_best[CODE], own_best[NEXT], own_best[SIDE]
            for c in range(left.shape[0]):
                left[c] = own_left[c]
            n_won, lost_won = n_terms, lost
            for t in range(n_terms):
                columns[1, t], factors[1, t] = columns[0, t], factors[0, t]
            for i in range(measured.shape[1]):
                measured[1, i] = measured[0, i]
    if n_won > 0:
        add_up(source, at, n, columns[1], factors[1], n_won, value)
        code_steps(value, n, is_random, measured[1], steps)
    return n_won, lost_won


@step
def threshold_of(n, last, is_random, room):
    """What divides the values of the best projection whose steps are up to `last` from others."""
    value, steps, _, _, _, _, _, measured = room
    if is_random and last == 0:
        return measured[1, DRAWN] + 0.0  # -0.0 and 0.0 separate alike
    below, above = -np.inf, np.inf
    for i in range(n):
        if steps[i] <= last:
            below = value[i] if value[i] > below else below
        else:
            above = value[i] if value[i] < above else above
    if above == np.inf:
        return np.inf
    middle = below * 0.5 + above * 0.5
    return (middle if below <= middle and middle < above else below) + 0.0
