"""From a draft in integers to the finished tree in the user's units."""

from dataclasses import dataclass

import numpy as np

from gputree.backends.whole import Boosted
from gputree.data.bins import Bins
from gputree.data.target import Channels, Target
from gputree.dtypes import CATEGORY, SLOT, STAY, HostArray
from gputree.formulas import HOST
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, TreeLayout
from gputree.growth.rules import mean_over, score_shift
from gputree.growth.spread import Apart, spread_of
from gputree.growth.surrogates import Surrogates
from gputree.kernels.criteria import Criterion
from gputree.runs import first_largest, spread_out
from gputree.tree.categories import Lists, joined, lists_of
from gputree.tree.directions import Directions
from gputree.tree.tree import Split, Tree

# What a tree says of the weight of a node is neither 0 nor infinite.
LEAST_SAID, MOST_SAID = 2.0**-1074, np.finfo(np.float64).max


@dataclass(frozen=True)
class Finish:
    """How the tree is put into the user's units."""

    criterion: Criterion | None  # what says how impure a node is, for class trees
    is_multiway: bool = False
    missing: str = "direction"
    is_at_values: bool = False  # thresholds are values of the training rows, not midpoints
    # Thresholds lie next to the last code on the left, whatever codes the rows of the node have.
    # Rows that took no part in the tree then go by their codes where they go by their values.
    is_by_codes: bool = False


def finish(
    grown: Grown, target: Target, leaf: HostArray | None, how: Finish, there: Apart | None = None
) -> Tree:
    """The tree; `leaf` is the last node of each row, unless rows are measured `there`."""
    draft, layout, channels = grown.draft, grown.layout, grown.draft.channels
    sums = _lent(draft.sums[layout.node], layout, channels)
    whole = channels.weight_of(sums).astype(np.float64)
    gain = np.ldexp(draft.score[layout.node] / whole, score_shift(channels)) / mean_over(channels)
    if channels.is_classes:
        scored = np.moveaxis(sums[:, channels.scored], 1, 0).astype(np.float64)
        spread = _impurities(how, scored, whole, channels)
        value = _shares_in_bounds(grown, sums, np.ldexp(scored.T, -channels.weight_shift))
    else:
        value = _means(grown, sums, whole)
        spread = spread_of(target, grown, sums, whole, leaf, there)
    return _tree(grown, how, value, gain, spread)


def _impurities(how: Finish, sums: HostArray, whole: HostArray, channels: Channels) -> HostArray:
    """How impure nodes are, from (classes, nodes) and (nodes,)."""
    assert how.criterion is not None
    user = how.criterion.user
    if user is None or user.impurity is None:
        formula = getattr(HOST, str(how.criterion.impurity))
        return np.asarray(formula(sums, whole, channels.n_scored))
    shares = np.ldexp(sums.T, -channels.weight_shift), np.ldexp(whole, -channels.weight_shift)
    impurity = user.of_nodes(*shares)
    is_wrong = ~(np.isfinite(impurity) & (impurity >= 0.0))
    if is_wrong.any():
        raise ValueError(
            f"{how.criterion!r} returned the impurity {impurity[is_wrong][0]} for a node; an "
            "impurity is a finite number and not negative"
        )
    return np.asarray(impurity)


def finish_steps(grown: Grown, step: HostArray, worth: HostArray, how: Finish) -> Tree:
    """A tree of a boosted model; `step` is what each node adds to a prediction, or to several.

    Its impurities are 0: a loss is not a property of nodes. `worth` is what each split gains.
    """
    weight = grown.draft.channels.weight_of(grown.draft.sums[grown.layout.node])
    gain = _finite_gains(worth, weight, score_shift(grown.draft.channels))
    return _tree(grown, how, step.reshape(len(step), -1), gain, np.zeros(len(step)))


def finish_boosted(found: Boosted, bins: Bins, exponent: int) -> list[Tree]:
    """The trees of whole rounds, as `finish_steps` makes them, but all at once."""
    each = found.n_nodes
    is_split = found.first_child >= 0
    gain = _finite_gains(
        found.worth, found.weight, np.repeat(2 * (found.weight_shift - found.gradient_shift), each)
    )
    threshold = np.full(len(gain), np.nan)
    feature, code = found.feature[is_split], found.code[is_split]
    threshold[is_split] = bins.threshold(feature, code, _code_after(bins, feature, code))
    weight = np.ldexp(found.weight.astype(np.float64), -np.repeat(found.weight_shift, each))
    arrays = {
        "kind": np.where(is_split, Split.THRESHOLD, Split.LEAF),
        "feature": found.feature,
        "threshold": threshold,
        "missing_slot": found.missing_slot,
        "first_child": found.first_child,
        "gain": np.where(is_split, gain, 0.0),
        "impurity": np.zeros(len(gain)),
        "n_rows": found.n_rows,
        "weight": said_weight(weight, exponent),
        "value": found.step[:, None],
    }
    end = np.cumsum(each).tolist()
    parts = zip([0, *end[:-1]], end, strict=True)
    return [
        Tree(**{name: array[first:last] for name, array in arrays.items()}, directions=None)
        for first, last in parts
    ]


def said_weight(weight: HostArray, exponent: int) -> HostArray:
    """Weights of nodes times 2**exponent, as a tree tells them."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(weight, exponent), LEAST_SAID, MOST_SAID)


def _finite_gains(worth: HostArray, weight: HostArray, shift: int | HostArray) -> HostArray:
    """What splits gain by weight."""
    with np.errstate(over="ignore"):
        gain = np.ldexp(worth / weight.astype(np.float64), shift)
    return np.minimum(gain, np.finfo(np.float64).max)


def _code_after(bins: Bins, feature: HostArray, code: HostArray) -> HostArray:
    """The code after each, whatever codes the rows of a node have; -1 after the last."""
    return np.where(code + 1 < bins.n_values[feature], code + 1, -1)


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
        next_code = _code_after(draft.bins, feature, code)
    midway = draft.bins.threshold(feature, code, next_code, how.is_at_values)
    drawn = draft.threshold[node[at]]
    threshold[at] = np.where(np.isnan(drawn), midway, drawn)
    feature, directions = _tests(grown, is_split)
    surrogates, of_surrogates = _surrogates(draft, layout, how)
    start, category, slot = joined(_lists_of(draft, layout, kind), of_surrogates)
    return Tree(
        kind=kind,
        feature=feature,
        threshold=threshold,
        missing_slot=_missing_slots(draft, layout, kind, how),
        first_child=layout.first_child,
        n_children=layout.n_children,
        category_start=start[: len(node)],
        gain=np.where(is_split, gain, 0.0),
        impurity=spread,
        n_rows=draft.n_rows(node),
        weight=np.ldexp(weight, -channels.weight_shift),
        value=value,
        category=category,
        category_slot=slot,
        surrogate_category_start=start[len(node) :],
        directions=directions,
        **surrogates,
    )


def _tests(grown: Grown, is_split: HostArray) -> tuple[HostArray, Directions | None]:
    """The column that each node tests; combinations follow the columns of the table."""
    draft, node = grown.draft, grown.layout.node
    feature = np.where(is_split, draft.feature[node], -1)
    if grown.directions is None:
        return feature, None
    n_columns = len(draft.bins.features)
    at = [place for place in np.flatnonzero(is_split) if int(node[place]) in grown.directions]
    feature[at] = n_columns + np.arange(len(at))
    terms = [grown.directions[int(node[place])] for place in at]
    none = np.empty(0)
    return feature, Directions(
        n_columns,
        np.array([len(column) for column, _ in terms]),
        np.concatenate([none, *(column for column, _ in terms)]),
        np.concatenate([none, *(weight for _, weight in terms)]),
    )


def _lent(sums: HostArray, layout: TreeLayout, channels: Channels) -> HostArray:
    """The sums of each node; an empty one has its parent's."""
    is_empty = channels.weight_of(sums) == 0
    if is_empty.any():
        parent = np.repeat(np.arange(len(layout.node)), layout.n_children)
        parent = np.concatenate([np.zeros(1, np.int64), parent])
        sums = np.where(is_empty[:, None], sums[parent], sums)
    return sums


def _kinds(draft: Draft, layout: TreeLayout, how: Finish) -> HostArray:
    is_nominal = np.append(draft.bins.is_nominal, False)
    by_categories = Split.MULTIWAY if how.is_multiway else Split.SUBSET
    kind = np.where(is_nominal[draft.feature[layout.node]], by_categories, Split.THRESHOLD)
    return np.where(layout.first_child >= 0, kind, Split.LEAF)


def _missing_slots(draft: Draft, layout: TreeLayout, kind: HostArray, how: Finish) -> HostArray:
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


def _lists_of(draft: Draft, layout: TreeLayout, kind: HostArray) -> Lists:
    """Where nodes send categories; one that nobody has seen goes to the largest child."""
    at = np.flatnonzero((kind == Split.SUBSET) | (kind == Split.MULTIWAY))
    start = np.full(len(kind), -1, np.int64)
    if not at.size:
        return start, np.empty(0, CATEGORY), np.empty(0, SLOT)
    node = layout.node[at]
    told = draft.lists(node)
    start[at], category, slot = lists_of(
        draft.bins.n_values[draft.feature[node]],
        _largest_child(draft, node),
        told.n,
        told.absent.astype(np.int64),
        told.code,
        told.slot,
    )
    return start, category, slot


def _surrogates(
    draft: Draft, layout: TreeLayout, how: Finish
) -> tuple[dict[str, HostArray], Lists]:
    """The surrogates of the tree's nodes, in the order of these, and their lists of categories."""
    if not draft.surrogates:
        return {}, (np.empty(0, np.int64), np.empty(0, CATEGORY), np.empty(0, SLOT))
    found = Surrogates.joined(draft.surrogates)
    is_inner = np.zeros(draft.n_nodes, bool)
    is_inner[layout.node[layout.first_child >= 0]] = True
    number = np.full(draft.n_nodes, -1, np.int64)
    number[layout.node] = np.arange(len(layout.node))
    at = np.flatnonzero(is_inner[found.node])
    at = at[np.argsort(number[found.node[at]], kind="stable")]
    node, feature = number[found.node[at]], found.feature[at]
    is_nominal = draft.bins.is_nominal[feature]
    threshold = np.full(len(at), np.nan)
    numeric = np.flatnonzero(~is_nominal)
    threshold[numeric] = draft.bins.threshold(
        feature[numeric],
        found.code[at[numeric]],
        found.next_code[at[numeric]],
        how.is_at_values,
    )
    lists = found.category_start[at], found.category, found.slot
    arrays = {
        "n_surrogates": np.bincount(node, minlength=len(layout.node)),
        "surrogate_feature": feature,
        "surrogate_threshold": threshold,
        "surrogate_slot": found.low_slot[at],
        "surrogate_agreement": found.agreement[at],
    }
    return arrays, lists


def _shares_in_bounds(grown: Grown, sums: HostArray, value: HostArray) -> HostArray:
    """The weights of two classes with the shares that constraints leave to each node."""
    if grown.constraints is None:
        return value
    share = grown.constraints.values(grown.layout.node, sums)
    is_out = share != value[:, 1] / value.sum(axis=1)
    # Shares that are equal must stay so to the last bit, whatever the weights of their nodes.
    return np.where(is_out[:, None], np.column_stack([1.0 - share, share]), value)


def _means(grown: Grown, sums: HostArray, whole: HostArray) -> HostArray:
    """The mean of each output in each node, within the bounds of constraints."""
    channels = grown.draft.channels
    mean = sums[:, channels.scored] / whole[:, None]
    if grown.constraints is not None:
        mean[:, 0] = grown.constraints.values(grown.layout.node, sums)
    return np.asarray(np.ldexp(mean, -np.array(channels.output_shift)) + np.array(channels.origin))
