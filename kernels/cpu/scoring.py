"""The scores of all criteria, compiled for scalars.

A kernel names a criterion by its number. In the place of that, the address of what `user_score`
compiled names a criterion that a user made.
"""

import numpy as np

from gputree.kernels.cpu import user_score
from gputree.kernels.cpu.formulas import SCALAR, choose, inlined
from gputree.kernels.criteria import CRITERIA, GINI, SOURCES

larger = SCALAR.larger

_NUMBER = {criterion: SOURCES.index(criterion.formulas) for criterion in CRITERIA}
N_NUMBERS = len(SOURCES)  # what is not below them is an address
BETWEEN = _NUMBER[GINI]  # the squared distance of means, for which there are quicker searches


def number_of(criterion):
    """How kernels know a criterion; valid as long as the criterion lives."""
    return _NUMBER[criterion] if criterion.user is None else criterion.user.compiled.address


def _two_way(formulas):
    step, finish, falls_short = formulas.step, formulas.score, formulas.falls_short

    @inlined
    def score(sums, first, unit, total, part, whole, floor):
        x, y, z = 0.0, 0.0, 0.0
        for c in range(total.shape[0]):
            left = np.float64(sums[first + c]) * unit[c]
            x, y, z = step(x, y, z, left, total[c], part, whole)
        if falls_short(x, y, z, part, whole, floor):
            return -np.inf
        return finish(x, y, z, part, whole)

    return score


def _by_channel(term):
    @inlined
    def score(cells, base, stride, weights, n_branches, unit, total, whole):
        result = 0.0
        for c in range(total.shape[0]):
            terms = 0.0
            for branch in range(n_branches):
                if weights[branch] > 0.0:
                    sums = np.float64(cells[base + branch * stride + c]) * unit[c]
                    terms = terms + term(sums, total[c], weights[branch], whole)
            result = result + terms
        return larger(result, 0.0)

    return score


def _by_branch(step):
    @inlined
    def score(cells, base, stride, weights, n_branches, unit, total, whole):
        result, of_node = 0.0, 0.0
        for branch in range(n_branches):
            if weights[branch] > 0.0:
                of_branch = 0.0
                for c in range(total.shape[0]):
                    sums = np.float64(cells[base + branch * stride + c]) * unit[c]
                    of_branch = step(of_branch, sums)
                result = result + of_branch
        for c in range(total.shape[0]):
            of_node = step(of_node, total[c])
        return result - of_node

    return score


@inlined
def _refused(cells, base, stride, weights, n_branches, unit, total, whole):
    return -np.inf


def _many_way(criterion):
    branch = SCALAR.by_source[criterion.formulas].branch
    if not criterion.has_branches:
        return _refused
    return _by_branch(branch) if criterion.sums_by_branch else _by_channel(branch)


@inlined
def is_of_user(which):
    """Whether a criterion is named by an address."""
    return which >= N_NUMBERS


@inlined
def two_way_of_user(address, sums, first, unit, total, part, whole, floor):
    return user_score.two_way(address, sums, first, unit, total, part, whole)


_criterion_of = {number: criterion for criterion, number in _NUMBER.items()}
# What a split into two is worth, given the sums of child 0 from sums[first] on, channel by channel
# and times `unit`, the sums of the node, and both weights; -inf where it is below a floor for sure.
two_way = choose([_two_way(SCALAR.by_source[source]) for source in SOURCES])
_many_way_of_formulas = choose([_many_way(_criterion_of[number]) for number in range(len(SOURCES))])


@inlined
def many_way(which, cells, base, stride, weights, n_branches, unit, total, whole):
    """The same of many children of such weights; their sums are `stride` apart from cells[base]."""
    if is_of_user(which):
        return user_score.many_way(which, cells, base, stride, weights, n_branches, unit, total)
    return _many_way_of_formulas(
        which, cells, base, stride, weights, n_branches, unit, total, whole
    )
