"""The climbs that choose rules, as plainly as can be: each step counts all rules and rows anew."""

import numpy as np
from scipy.special import gammaln

LN2 = np.log(2.0)
LEAST_SAVED = 1e-6


def swaps(n_items):
    return gammaln(np.add(n_items, 1.0)) / LN2


def choices(rows, some):
    some = np.maximum(some, 0.0)
    others = np.maximum(rows - some, 0.0)
    return swaps(some + others) - swaps(some) - swaps(others)


def climbed(cover, bits, is_class, weight, start):
    """Bits and rules at the end of a climb among the rules for one class."""
    total, n_class = weight.sum(), weight[is_class].sum()

    def length(own, count, right, wrong):
        covered = right + wrong
        exceptions = choices(covered, wrong) + choices(total - covered, n_class - right)
        return 0.5 * (own - swaps(count)) + exceptions

    def sides(kept):
        is_covered = cover[kept].any(axis=0)
        return [(weight * (is_covered & side)).sum() for side in (is_class, ~is_class)]

    kept = np.full(len(bits), start)
    while True:
        now = float(length(bits[kept].sum(), kept.sum(), *sides(kept)))
        sign = np.where(kept, -1, 1)
        right, wrong = np.array([sides(toggled(kept, rule)) for rule in range(len(bits))]).T
        lengths = length(bits[kept].sum() + sign * bits, kept.sum() + sign, right, wrong)
        best = int(lengths.argmin())
        if lengths[best] > now - LEAST_SAVED:
            return now, kept
        kept = toggled(kept, best)


def shortest(cover, answer, number, weight, bits, n_classes, starts):
    """The rules of a list of the fewest bits, from the better of some starts."""
    total = weight.sum()

    def length(own, count, wrong):
        wrong = np.maximum(wrong, 0.0)
        exceptions = choices(np.asarray(total), wrong) + wrong * np.log2(max(n_classes - 1, 1))
        return 0.5 * (own - swaps(count)) + exceptions

    def wrong_of(kept, default):
        told = np.full(len(number), default)
        for rule in np.flatnonzero(kept)[::-1]:
            told[cover[rule]] = answer[rule]
        return weight[told != number].sum()

    def default_of(kept):
        is_open = ~cover[kept].any(axis=0)
        some = is_open if is_open.any() else ~is_open
        return int(np.bincount(number[some], weight[some]).argmax())

    def end_of(kept):
        default, shortest_yet = default_of(kept), np.inf
        while True:
            own, count = bits[kept].sum(), kept.sum()
            now = float(length(own, count, wrong_of(kept, default)))
            if now > shortest_yet - LEAST_SAVED:
                return now, kept
            sign = np.where(kept, -1, 1)
            wrong = np.array([wrong_of(toggled(kept, rule), default) for rule in range(len(bits))])
            lengths = length(own + sign * bits, count + sign, wrong)
            best = int(lengths.argmin())
            if lengths[best] <= now - LEAST_SAVED:
                kept = toggled(kept, best)
            else:
                shortest_yet, default = now, default_of(kept)

    return min((end_of(start.copy()) for start in starts), key=lambda end: end[0])[1]


def toggled(kept, rule):
    return kept ^ (np.arange(len(kept)) == rule)
