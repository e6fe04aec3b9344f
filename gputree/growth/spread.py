"""How far the targets of a regression are spread in each node, from its rows."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gputree.comm import largest, total
from gputree.data.target import Channels, Target
from gputree.dtypes import HostArray
from gputree.formulas import HOST
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, TreeLayout
from gputree.growth.rules import mean_over, score_shift
from gputree.shares import room_for_sums

# What targets of the rows at some nodes are from the means of these, as `Backend.apart` tells.
Apart: TypeAlias = Callable[[HostArray, HostArray, HostArray], tuple[HostArray, int]]


def spread_of(
    target: Target,
    grown: Grown,
    sums: HostArray,
    whole: HostArray,
    leaf: HostArray | None,
    there: Apart | None = None,
) -> HostArray:
    """The variance in each node, or half the Poisson deviance of counts; the mean over outputs.

    Distances are summed where rows end; a node has these, those of its children and what lies
    between these and itself, so nothing is ever subtracted. The sums are of integers, made where
    the rows are if somebody does so `there`, and otherwise by the last node of each, `leaf`.
    """
    draft, layout = grown.draft, grown.layout
    channels = draft.channels
    unit = min(channels.output_shift)
    # The means of nodes in the units of the targets, and then both in those of the scores.
    own = sums[:, channels.scored].T / whole
    shift = np.array(channels.point_shift)[:, None]
    scale = np.ldexp(1.0, unit - shift)
    mean = np.ldexp(own, shift - np.array(channels.output_shift)[:, None]) * scale
    if there is None:
        assert leaf is not None
        apart, shift_of_sums = _apart_here(target, layout.number, leaf, mean, scale)
    else:
        node = np.flatnonzero(layout.number >= 0)
        number = layout.number[node]
        found, shift_of_sums = there(node, mean[:, number], scale[:, 0])
        apart = np.bincount(number, found, minlength=len(whole))
    spread = np.ldexp(apart, -shift_of_sums)
    between = _between(draft, layout, sums, whole)
    # Children have higher numbers than their parent and lie together with those of its level.
    for level in reversed(_inner_levels(layout)):
        first, n = layout.first_child[level], layout.n_children[level]
        below = np.zeros(len(level))
        for slot in range(int(n.max())):
            has_slot = slot < n
            below[has_slot] += spread[first[has_slot] + slot]
        spread[level] += below + between[level]
    return np.asarray(np.ldexp(spread / (whole * mean_over(channels)), score_shift(channels)))


def _apart_here(
    target: Target, number_of: HostArray, leaf: HostArray, mean: HostArray, scale: HostArray
) -> tuple[HostArray, int]:
    """The distances of targets from the means of their nodes, and by how many bits to shift them.

    `number_of` has the number of each node among those that have a mean.
    """
    assert target.point is not None
    inside = leaf >= 0
    number = number_of[leaf[inside]]
    distance = np.zeros(len(number))
    for point, own_scale, own_mean in zip(target.point, scale, mean, strict=True):
        distance += _distance(target.channels, point[inside] * own_scale, own_mean[number])
    if target.weight is not None:
        distance *= target.weight[inside]
    n, most = total(target.comm, len(number)), largest(target.comm, distance.max(initial=0.0))
    shift = room_for_sums(int(n), float(most))
    apart = np.bincount(number, np.rint(np.ldexp(distance, shift)), minlength=mean.shape[1])
    return total(target.comm, apart).astype(np.float64), shift


def _distance(channels: Channels, value: HostArray, mean: HostArray) -> HostArray:
    """How far values are from means: a square, or what a count tells against a mean, in bits."""
    distance = HOST.apart_counts if channels.is_counts else HOST.apart_values
    return np.asarray(distance(value, mean))


def _between(draft: Draft, layout: TreeLayout, sums: HostArray, whole: HostArray) -> HostArray:
    """The distances of the children's means from that of their node, in the units of scores."""
    score = draft.score[layout.node]
    channels = draft.channels
    weight = channels.weight_of(draft.sums[layout.node])
    inner = np.flatnonzero(layout.first_child >= 0)
    children = np.arange(1, len(layout.node))
    owner = np.repeat(inner, layout.n_children[inner])
    held = np.bincount(owner, weight[children], minlength=len(whole))
    by_score = held == weight
    by_score[inner] &= draft.has_threshold(layout.node[inner])
    if by_score[inner].all():
        return score
    # A score tells of the rows whose value is known; others have joined the children since.
    between = np.zeros(len(whole))
    for c, scale in enumerate(channels.units):
        own = sums[:, channels.scored.start + c] * scale
        mean = own / whole
        apart = _distance(channels, mean[children], mean[owner])
        np.add.at(between, owner, weight[children] * apart)
    return np.where(by_score, score, between)


def _inner_levels(layout: TreeLayout) -> list[HostArray]:
    """The inner nodes of each depth."""
    levels = []
    begin, end = 0, 1
    while (inner := begin + np.flatnonzero(layout.first_child[begin:end] >= 0)).size:
        levels.append(inner)
        begin, end = end, end + int(layout.n_children[inner].sum())
    return levels
