"""Weights as whole numbers, and their division, so that no sum depends on its order."""

import numpy as np

from gputree.comm import ALONE, Comm, largest, total
from gputree.dtypes import SUM, TOTAL_BITS, HostArray
from gputree.runs import begins, owners, pieces, spread_out, within

PARTS_AT_ONCE = 2**20  # of which many may be 0


def exponent_of(x: float) -> int:
    """The smallest e with x < 2**e."""
    return int(np.frexp(x)[1])


def room_for_sums(n: int, most: float) -> int:
    """The largest shift at which so many numbers of such a magnitude add up below 2**53."""
    return TOTAL_BITS - 2 - exponent_of(n) - exponent_of(most)


def fine_weights(weight: HostArray, comm: Comm = ALONE) -> tuple[HostArray, int]:
    """Weights times 2**shift as integers, and the largest shift there is room for."""
    n = int(total(comm, np.count_nonzero(weight)))
    most = exponent_of(n) + exponent_of(float(largest(comm, weight.max(initial=0.0))))
    shift = TOTAL_BITS - 2 - most
    return np.rint(np.ldexp(weight, shift)).astype(SUM), shift


def divided(
    weight: HostArray, group: HostArray, known: HostArray, n_members: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Divide whole weights among the members of their groups, in proportion to what these have.

    `known` is what each member has, group by group, and `n_members` how many a group has; a group
    that is asked for has something. Which weight, member and part, for all parts that are not 0.
    """
    share = shares_of(known, n_members)
    some = pieces(n_members[group], PARTS_AT_ONCE) or [slice(0)]
    parts = [_divided(own.start or 0, weight[own], group[own], share, n_members) for own in some]
    item, member, part = (np.concatenate(each) for each in zip(*parts, strict=True))
    return item, member, part


def shares_of(known: HostArray, n_members: HostArray) -> HostArray:
    """Of what a group has, the share of its members up to each of them, group by group."""
    first = begins(n_members)
    before = np.repeat(begins(known)[first], n_members)
    whole = np.repeat(np.add.reduceat(known, first), n_members)
    return np.asarray((np.cumsum(known) - before) / np.maximum(whole, 1))


def _divided(
    first_item: int, weight: HostArray, group: HostArray, share: HostArray, n_members: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """The parts of some weights, numbered from the first of them on."""
    n_parts = n_members[group]
    item, number = owners(n_parts), within(n_parts)
    member = spread_out(begins(n_members)[group], n_parts)
    # Rounding what has been given so far, not each part, gives away exactly the whole.
    given = np.rint(weight[item].astype(np.float64) * share[member]).astype(SUM)
    part = given - np.where(number > 0, np.append(0, given[:-1]), 0)
    some = part > 0
    return first_item + item[some], member[some], part[some]
