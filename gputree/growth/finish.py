"""From a draft in integers to the finished tree in the user's units."""

from dataclasses import dataclass

import numpy as np

from gputree.data.table import Kind
from gputree.data.target import Channels, Target, exponent_of
from gputree.dtypes import SLOT, STAY, TOTAL_BITS, HostArray
from gputree.formulas import HOST
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, Layout
from gputree.growth.rules import mean_over, score_shift
from gputree.growth.surrogates import Surrogates
from gputree.runs import begins, first_largest, spread_out, within
from gputree.tree.tree import Split, Tree


@dataclass(frozen=True)
class Finish:
    """How the tree is put into the user's units."""

    impurity: str | None  # the formula of a node's impurity, for class trees
    is_multiway: bool = False
    missing: str = "direction"
    is_at_values: bool = False  # thresholds are values of the training rows, not midpoints
    # Thresholds lie next to the last code on the left, whatever codes the rows of the node have.
    # Rows that took no part in the tree then go by their codes where they go by their values.
    is_by_codes: bool = False


def finish(grown: Grown, target: Target, leaf: HostArray, how: Finish) -> Tree:
    """The tree; `leaf` is the last node of each row."""
    draft, layout, channels = grown.draft, grown.layout, grown.draft.channels
    sums = _lent(draft.sums[layout.node], layout, channels)
    whole = channels.weight_of(sums).astype(np.float64)
    gain = np.ldexp(draft.score[layout.node] / whole, score_shift(channels)) / mean_over(channels)
    if channels.is_classes:
        scored = np.moveaxis(sums[:, channels.scored], 1, 0).astype(np.float64)
        spread = getattr(HOST, str(how.impurity))(scored, whole, channels.n_scored)
        value = np.ldexp(scored.T, -channels.weight_shift)
    else:
        value = _means(channels, sums, whole)
        spread = _variance(target, grown, sums, whole, leaf)
    return _tree(grown, how, value, gain, spread)


def finish_steps(grown: Grown, step: HostArray, worth: HostArray, how: Finish) -> Tree:
    """A tree of a boosted model; `step` is what each of its nodes adds to a prediction.

    Its impurities are 0: a loss is not a property of nodes. `worth` is what each split gains.
    """
    weight = grown.draft.channels.weight_of(grown.draft.sums[grown.layout.node])
    shift = score_shift(grown.draft.channels)
    gain = np.ldexp(worth / weight.astype(np.float64), shift)
    return _tree(grown, how, step[:, None], gain, np.zeros(len(step)))


def _tree(grown: Grown, how: Finish, value: HostArray, gain: HostArray, spread: HostArray) -> Tree:
    draft, layout = grown.draft, grown.layout
    node, channels = layout.node, draft.channels
    is_split = layout.first_child >= 0
    weight = channels.weight_of(draft.sums[node]).astype(np.float64)
    kind = _kinds(draft, layout, how)
    threshold = np.full(len(node), np.nan)
    at = np.flatnonzero(kind == Split.THRESHOLD)
    feature, code, next_code = (
        getattr(draft, name)[node[at]] for name in ("feature", "code", "next_code")
    )
    if how.is_by_codes:
        next_code = np.where(code + 1 < draft.bins.n_values[feature], code + 1, -1)
    threshold[at] = draft.bins.threshold(feature, code, next_code, how.is_at_values)
    level_start, level_slot = _levels_of(draft, layout, kind)
    surrogates = _surrogates(draft, layout, len(level_slot), how)
    return Tree(
        kind=kind,
        feature=np.where(is_split, draft.feature[node], -1),
        threshold=threshold,
        missing_slot=_missing_slots(draft, layout, kind, how),
        first_child=layout.first_child,
        n_children=layout.n_children,
        level_start=level_start,
        gain=np.where(is_split, gain, 0.0),
        impurity=spread,
        n_rows=draft.n_rows(node),
        weight=np.ldexp(weight, -channels.weight_shift),
        value=value,
        level_slot=np.concatenate([level_slot, surrogates.pop("level_slot")]),
        **surrogates,
    )


def _lent(sums: HostArray, layout: Layout, channels: Channels) -> HostArray:
    """The sums of each node; an empty one has its parent's."""
    is_empty = channels.weight_of(sums) == 0
    if is_empty.any():
        parent = np.repeat(np.arange(len(layout.node)), layout.n_children)
        parent = np.concatenate([np.zeros(1, np.int64), parent])
        sums = np.where(is_empty[:, None], sums[parent], sums)
    return sums


def _kinds(draft: Draft, layout: Layout, how: Finish) -> HostArray:
    is_nominal = np.array([f.kind is Kind.NOMINAL for f in draft.bins.features] + [False])
    by_levels = Split.MULTIWAY if how.is_multiway else Split.SUBSET
    kind = np.where(is_nominal[draft.feature[layout.node]], by_levels, Split.THRESHOLD)
    return np.where(layout.first_child >= 0, kind, Split.LEAF)


def _missing_slots(draft: Draft, layout: Layout, kind: HostArray, how: Finish) -> HostArray:
    """The child that takes missing values; STAY where rows are divided or no child is larger."""
    slot = draft.missing_slot[layout.node].astype(np.int64)
    is_split = kind != Split.LEAF
    if how.missing == "fractional":
        slot[is_split] = STAY
    elif how.missing != "surrogate":
        # No row of the node told where missing values go: to the largest child then.
        at = np.flatnonzero(is_split & (slot == STAY))
        slot[at] = _largest_child(draft, layout.node[at])
    return np.where(is_split, slot, 0).astype(SLOT)


def _largest_child(draft: Draft, node: HostArray) -> HostArray:
    """The slot of the heaviest child of each node, the first of several."""
    n = draft.n_children[node]
    children = spread_out(draft.first_child[node], n)
    return first_largest(draft.channels.weight_of(draft.sums[children]), n)


def _levels_of(draft: Draft, layout: Layout, kind: HostArray) -> tuple[HostArray, HostArray]:
    """Where the levels of each node begin, and their children.

    After its levels a node tells where one goes that nobody has seen.
    """
    at = np.flatnonzero((kind == Split.SUBSET) | (kind == Split.MULTIWAY))
    start = np.full(len(kind), -1, np.int64)
    if not at.size:
        return start, np.empty(0, SLOT)
    node = layout.node[at]
    feature = draft.feature[node]
    n_codes, n_values = draft.bins.n_codes[feature], draft.bins.n_values[feature]
    table = draft.slots(node)
    start[at] = begins(n_values + 1)
    code = within(n_codes)
    slots = np.empty(int((n_values + 1).sum()), SLOT)
    is_level = code < np.repeat(n_values, n_codes)
    slots[(np.repeat(start[at], n_codes) + code)[is_level]] = table[is_level]
    slots[start[at] + n_values] = _largest_child(draft, node)
    return start, slots


def _surrogates(draft: Draft, layout: Layout, begin: int, how: Finish) -> dict[str, HostArray]:
    """The surrogates of the tree's nodes, in the order of these."""
    found = Surrogates.joined(draft.surrogates) if draft.surrogates else None
    is_inner = np.zeros(draft.n_nodes, bool)
    is_inner[layout.node[layout.first_child >= 0]] = True
    place = np.full(draft.n_nodes, -1, np.int64)
    place[layout.node] = np.arange(len(layout.node))
    if found is None:
        at, node, feature = (np.empty(0, np.int64) for _ in range(3))
    else:
        at = np.flatnonzero(is_inner[found.node])
        at = at[np.argsort(place[found.node[at]], kind="stable")]
        node, feature = place[found.node[at]], found.feature[at]
    is_nominal = np.array([f.kind is Kind.NOMINAL for f in draft.bins.features])[feature]
    threshold, level_start = np.full(len(at), np.nan), np.full(len(at), -1, np.int64)
    parts: list[HostArray] = []
    if found is not None:
        numeric = np.flatnonzero(~is_nominal)
        threshold[numeric] = draft.bins.threshold(
            feature[numeric],
            found.code[at[numeric]],
            found.next_code[at[numeric]],
            how.is_at_values,
        )
        for i in np.flatnonzero(is_nominal).tolist():
            level_start[i] = begin + sum(map(len, parts))
            n_values = int(draft.bins.n_values[feature[i]])
            parts.append(np.append(found.slot[at[i], :n_values], SLOT(STAY)))
    return {
        "n_surrogates": np.bincount(node, minlength=len(layout.node)),
        "surrogate_feature": feature,
        "surrogate_threshold": threshold,
        "surrogate_slot": np.empty(0) if found is None else found.low_slot[at],
        "surrogate_level_start": level_start,
        "surrogate_agreement": np.empty(0) if found is None else found.agreement[at],
        "level_slot": np.concatenate([np.empty(0, SLOT), *parts]),
    }


def _means(channels: Channels, sums: HostArray, whole: HostArray) -> HostArray:
    """The mean of each output in each node."""
    mean = sums[:, channels.scored] / whole[:, None]
    return np.asarray(np.ldexp(mean, -np.array(channels.output_shift)) + np.array(channels.origin))


def _variance(
    target: Target, grown: Grown, sums: HostArray, whole: HostArray, leaf: HostArray
) -> HostArray:
    """The variance in each node, the mean over outputs.

    Squares are summed where rows end; a node has these, the squares of its children and what lies
    between these and itself, so nothing is ever subtracted. The sums are of integers.
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
    between = _between(draft, layout, sums, whole)
    # Children have higher numbers than their parent and lie together with those of its level.
    for level in reversed(_inner_levels(layout)):
        first, n = layout.first_child[level], layout.n_children[level]
        below = np.zeros(len(level))
        for slot in range(int(n.max())):
            has_slot = slot < n
            below[has_slot] += spread[first[has_slot] + slot]
        spread[level] += below + between[level]
    return np.asarray(np.ldexp(spread / (whole * channels.n_scored), -2 * unit))


def _between(draft: Draft, layout: Layout, sums: HostArray, whole: HostArray) -> HostArray:
    """The squares of the children's means around that of their node, in the units of scores."""
    score = draft.score[layout.node]
    channels = draft.channels
    weight = channels.weight_of(draft.sums[layout.node])
    inner = np.flatnonzero(layout.first_child >= 0)
    children = np.arange(1, len(layout.node))
    owner = np.repeat(inner, layout.n_children[inner])
    held = np.bincount(owner, weight[children], minlength=len(whole))
    by_score = held == weight
    by_score[inner] &= draft.table_at[layout.node[inner]] < 0
    if by_score[inner].all():
        return score
    # A score tells of the rows whose value is known; others have joined the children since.
    between = np.zeros(len(whole))
    for c, scale in enumerate(channels.units):
        own = sums[:, channels.scored.start + c] * scale
        apart = own[children] / whole[children] - own[owner] / whole[owner]
        np.add.at(between, owner, weight[children] * (apart * apart))
    return np.where(by_score, score, between)


def _inner_levels(layout: Layout) -> list[HostArray]:
    """The inner nodes of each depth."""
    levels = []
    begin, end = 0, 1
    while (inner := begin + np.flatnonzero(layout.first_child[begin:end] >= 0)).size:
        levels.append(inner)
        begin, end = end, end + int(layout.n_children[inner].sum())
    return levels
