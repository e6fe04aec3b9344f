"""How far the targets of a regression are spread in each node, from its rows."""

import numpy as np

from gputree.comm import largest, total
from gputree.data.target import Channels, Target
from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.formulas import HOST
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, TreeLayout
from gputree.growth.rules import NATS, mean_over, score_shift
from gputree.shares import exponent_of


def spread_of(
    target: Target, grown: Grown, sums: HostArray, whole: HostArray, leaf: HostArray
) -> HostArray:
    """The variance in each node, or half the Poisson deviance of counts; the mean over outputs.

    Distances are summed where rows end; a node has these, those of its children and what lies
    between these and itself, so nothing is ever subtracted. The sums are of integers.
    """
    draft, layout = grown.draft, grown.layout
    channels = draft.channels
    assert target.point is not None
    inside = leaf >= 0
    number = layout.number[leaf[inside]]
    unit = min(channels.output_shift)
    distance = np.zeros(len(number))
    for output, (point, shift) in enumerate(zip(target.point, channels.point_shift, strict=True)):
        # The node's mean in the units of the targets, then their distance in those of the scores.
        own = sums[:, channels.scored.start + output] / whole
        mean = np.ldexp(own, shift - channels.output_shift[output])
        scale = np.ldexp(1.0, unit - shift)
        distance += _distance(channels, point[inside] * scale, (mean * scale)[number])
    if target.weight is not None:
        distance *= target.weight[inside]
    n, most = total(target.comm, len(number)), largest(target.comm, distance.max(initial=0.0))
    shift = TOTAL_BITS - 2 - exponent_of(int(n)) - exponent_of(float(most))
    apart = np.bincount(number, np.rint(np.ldexp(distance, shift)), minlength=len(whole))
    spread = np.ldexp(total(target.comm, apart).astype(np.float64), -shift)
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


def _distance(channels: Channels, value: HostArray, mean: HostArray) -> HostArray:
    """How far values are from means: a square, or what a count tells against a mean, in bits."""
    apart = value - mean
    if not channels.is_counts:
        return np.asarray(apart * apart)
    return np.asarray(np.maximum(HOST.told(value, mean, 1.0, 1.0) - apart / NATS, 0.0))


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
