"""Random choices that depend on who asks, never on when or where.

A counter-based generator: a 64-bit key is mixed, not advanced. The key of a node follows from the
seed and the path to the node, so frontiers, threads and partitions cannot change a draw.
"""

import numpy as np

from gputree.dtypes import HostArray
from gputree.kernels import array_code
from gputree.kernels.mixing import make_mix

WITH_REPLACEMENT, WITHOUT_REPLACEMENT = 1, 2  # purposes of draws; see `_purpose`

_mix = make_mix(array_code.as_it_is, np.uint64)


def mix(key: HostArray, draw: HostArray | np.uint64) -> HostArray:
    """A random 64-bit number for each pair of key and draw."""
    with np.errstate(over="ignore"):
        number: HostArray = _mix(key, draw)
    return number


def root_key(seed: int | HostArray, tree: int | HostArray = 0) -> HostArray:
    """The key of the root of a tree, (1,), or of each of several seeds or trees."""
    seeds = np.atleast_1d(np.asarray(seed, np.uint64))
    return mix(mix(seeds, np.uint64(0)), np.asarray(tree, np.uint64))


def child_keys(parent: HostArray, slot: HostArray | int) -> HostArray:
    """The keys of children, from those of their parents and the slot of each, or of all."""
    return mix(parent, np.uint64(slot))


def feature_ranks(key: HostArray, n_features: int) -> HostArray:
    """The place of each feature in each node's draw without replacement, (nodes, features)."""
    number = mix(~key[:, None], np.arange(n_features, dtype=np.uint64)[None, :])
    order = np.argsort(number, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n_features)[None, :], axis=1)
    return rank


def drawn_features(rank: HostArray, n_drawn: int, can_split: HostArray) -> HostArray:
    """Which features each node tries: those drawn, or the first in its draw that can be split."""
    n_features = can_split.shape[1]
    first = np.where(can_split, rank, n_features).min(axis=1, keepdims=True)
    return rank < np.maximum(n_drawn, first + 1)


def taken(seed: int, draw: int, numbers: HostArray, share: float) -> HostArray:
    """Which of some numbers are taken, each with a chance of `share`."""
    key, below = lot(seed, draw, share)
    return np.asarray(mix(key, numbers.astype(np.uint64)) < below)


def lot(seed: int, draw: int, share: float) -> HostArray:
    """The key of such a draw, and below what the random numbers are those of who is taken."""
    key = mix(mix(np.array([seed], np.uint64), np.uint64(1)), np.uint64(draw))
    return np.array([int(key[0]), min(int(share * 2.0**64), 2**64 - 1)], np.uint64)


def bits_of(answers: HostArray) -> HostArray:
    """The bits of numbers, (rows,) or (rows, outputs), as what keys are mixed with; by output."""
    value = np.atleast_2d(answers.T) + 0.0  # 0.0 and -0.0 are one number
    return np.ascontiguousarray(value, np.float64).view(np.uint64)


def with_answers(key: HostArray, answers: HostArray) -> HostArray:
    """The keys of rows by what they hold and by their answers as well."""
    for bits in bits_of(answers):
        key = mix(key, bits)
    return key


def shuffled(seed: int, n: int) -> HostArray:
    """The numbers below n in random order."""
    return np.argsort(numbers_to_shuffle(seed, np.arange(n)), kind="stable")


def numbers_to_shuffle(seed: int, place: HostArray) -> HostArray:
    """The random numbers of places, by which these are put in order."""
    key = mix(~np.array([seed], np.uint64), np.uint64(0))
    return mix(key, place.astype(np.uint64))


def drawn_by_group(seed: int, group: HostArray, n: int) -> HostArray:
    """Which rows are drawn, of every group its share of `n`; one row of each is always left.

    `group` has a whole number for each row. Fewer than `n` are drawn where groups of a single
    row, of which none can be drawn, have a share in it.
    """
    order = shuffled(seed, len(group))
    count = np.bincount(group)
    by_group = order[np.argsort(group[order], kind="stable")]
    place = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    is_drawn = np.zeros(len(group), bool)
    is_drawn[by_group] = place < np.repeat(divided(n, count), count)
    return is_drawn


def divided(n: int, count: HostArray) -> HostArray:
    """What each group has of `n` in proportion, less than its count; largest remainders first."""
    part, rest = np.divmod(count * n, count.sum())
    can_have_more = np.flatnonzero(part < count - 1)
    largest = can_have_more[np.argsort(-rest[can_have_more], kind="stable")]
    part[largest[: n - part.sum()]] += 1
    return part


def tree_seed(seed: int, tree: int) -> int:
    """The seed of one tree of an ensemble."""
    return int(root_key(seed, tree)[0])


def shares(key: HostArray) -> HostArray:
    """Random keys as numbers from 0 up to, but below, 1."""
    return np.ldexp((key >> np.uint64(11)).astype(np.float64), -53)


def draw_key(seed: int, tree: int, *, replaces: bool) -> HostArray:
    """What the draws of the rows of a tree of an ensemble follow from, (1,)."""
    purpose = WITH_REPLACEMENT if replaces else WITHOUT_REPLACEMENT
    return _purpose(tree_seed(seed, tree), purpose)


def drawn_with_replacement(seed: int, n: int, total: int, first: int = 0) -> HostArray:
    """Some numbers below `total`, each drawn from all; the first do not depend on `n`.

    Without those before the number `first` of them.
    """
    number = mix(_purpose(seed, WITH_REPLACEMENT), np.arange(first, n, dtype=np.uint64))
    # A share times a large total may be rounded up to the total.
    return np.minimum((shares(number) * total).astype(np.int64), total - 1)


def drawn_without_replacement(seed: int, n: int, total: int) -> HostArray:
    """Some different numbers below `total`, sorted."""
    number = numbers_without_replacement(seed, np.arange(total))
    return np.sort(np.argsort(number, kind="stable")[:n])


def numbers_without_replacement(seed: int, place: HostArray) -> HostArray:
    """The random numbers of places, of which the least are those that are drawn."""
    return mix(_purpose(seed, WITHOUT_REPLACEMENT), place.astype(np.uint64))


def drawn_columns(seed: int, n: int, total: int, *, replaces: bool) -> HostArray:
    """The columns that a tree is grown on, sorted."""
    other = int(_purpose(seed, 3)[0])
    if replaces:
        return np.sort(drawn_with_replacement(other, n, total))
    return drawn_without_replacement(other, n, total)


def permuted(seed: int, feature: int, repeat: int, n: int) -> HostArray:
    """The numbers below n in random order, another one for each feature and repeat."""
    key = mix(mix(_purpose(seed, 4), np.uint64(feature)), np.uint64(repeat))
    return np.argsort(mix(key, np.arange(n, dtype=np.uint64)), kind="stable")


def _purpose(seed: int, purpose: int) -> HostArray:
    """A key for one kind of draws of a tree; `shuffled` has number 0."""
    return mix(~np.array([seed], np.uint64), np.uint64(purpose))
