"""From a draft in integers to the finished tree in the user's units."""

import numpy as np

from gputree.data.target import Channels, Target, exponent_of
from gputree.dtypes import TOTAL_BITS, HostArray
from gputree.formulas import HOST
from gputree.growth.builder import Grown
from gputree.growth.rules import mean_over, score_shift
from gputree.tree.tree import Split, Tree


def finish(grown: Grown, target: Target, leaf: HostArray, impurity: str | None) -> Tree:
    """The tree; `leaf` is the last node of each row, `impurity` the formula for class trees."""
    draft, layout = grown.draft, grown.layout
    node, channels = layout.node, draft.channels
    is_split = layout.first_child >= 0
    sums = draft.sums[node]
    whole = channels.weight_of(sums).astype(np.float64)
    gain = np.ldexp(draft.score[node] / whole, score_shift(channels)) / mean_over(channels)
    threshold = np.full(len(node), np.nan)
    inner = node[is_split]
    threshold[is_split] = draft.bins.threshold(
        draft.feature[inner], draft.code[inner], draft.next_code[inner]
    )
    if channels.is_classes:
        scored = np.moveaxis(sums[:, channels.scored], 1, 0).astype(np.float64)
        spread = getattr(HOST, str(impurity))(scored, whole, channels.n_scored)
        value = np.ldexp(scored.T, -channels.weight_shift)
    else:
        value = _means(channels, sums, whole)
        spread = _variance(target, grown, sums, whole, leaf)
    return Tree(
        kind=np.where(is_split, Split.THRESHOLD, Split.LEAF),
        feature=np.where(is_split, draft.feature[node], -1),
        threshold=threshold,
        missing_slot=np.where(is_split, draft.missing_slot[node], 0),
        first_child=layout.first_child,
        gain=np.where(is_split, gain, 0.0),
        impurity=spread,
        n_rows=channels.rows_of(sums),
        weight=np.ldexp(whole, -channels.weight_shift),
        value=value,
    )


def _means(channels: Channels, sums: HostArray, whole: HostArray) -> HostArray:
    """The mean of each output in each node."""
    mean = sums[:, channels.scored] / whole[:, None]
    return np.asarray(np.ldexp(mean, -np.array(channels.output_shift)) + np.array(channels.origin))


def _variance(
    target: Target, grown: Grown, sums: HostArray, whole: HostArray, leaf: HostArray
) -> HostArray:
    """The variance in each node, the mean over outputs.

    Squares are summed in the leaves; a node has the squares of its children and what its split
    gained, so nothing is ever subtracted. In the leaves, too, the sums are of integers.
    """
    draft, layout = grown.draft, grown.layout
    channels = draft.channels
    assert target.point is not None
    inside = leaf >= 0
    place = layout.place[leaf[inside]]
    unit = min(channels.output_shift)
    square = np.zeros(len(place))
    for output, (point, shift) in enumerate(zip(target.point, channels.point_shift, strict=True)):
        # The node's mean in the units of the targets, then their distance in those of the scores.
        own = sums[:, channels.scored.start + output] / whole
        mean = np.ldexp(own, shift - channels.output_shift[output])
        apart = np.ldexp(point[inside] - mean[place], unit - shift)
        square += apart * apart
    if target.weight is not None:
        square *= target.weight[inside]
    shift = TOTAL_BITS - 2 - exponent_of(len(place)) - exponent_of(square.max())
    cells = np.bincount(place, np.rint(np.ldexp(square, shift)), minlength=len(whole))
    spread = np.ldexp(cells, -shift)
    score = draft.score[layout.node]
    # Children have higher numbers than their parent and lie together with those of its level.
    for level in reversed(_levels(layout.first_child)):
        first = layout.first_child[level]
        spread[level] = spread[first] + spread[first + 1] + score[level]
    return np.asarray(np.ldexp(spread / (whole * channels.n_scored), -2 * unit))


def _levels(first_child: HostArray) -> list[HostArray]:
    """The inner nodes of each depth."""
    levels = []
    nodes = np.zeros(1, np.int64)
    while (inner := nodes[first_child[nodes] >= 0]).size:
        levels.append(inner)
        nodes = np.stack([first_child[inner], first_child[inner] + 1], axis=1).ravel()
    return levels
