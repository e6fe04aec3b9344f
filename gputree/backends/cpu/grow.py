"""Whole trees, for the CPU backend: a tree a thread, or one by all of them, in waves.

`grow_whole` chooses between them; `growth.choose_loop` asks it before it turns to frontiers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gputree.backends.contract import Result, Search
from gputree.backends.cpu import sweep as cpu_sweep
from gputree.backends.cpu.categories import is_compiled, way_of
from gputree.backends.cpu.distinct import NONE
from gputree.backends.cpu.rate import ordered, rules_of, shape_of
from gputree.backends.cpu.rows import CpuRows
from gputree.backends.cpu.workers import Workers
from gputree.backends.whole import CategoryLists, Combined, Limits, Whole, categories_by_feature
from gputree.data.bins import Bins
from gputree.data.target import Channels
from gputree.dtypes import FEATURE, SLOT, HostArray
from gputree.formulas import HOST
from gputree.kernels.cpu import grow
from gputree.kernels.cpu.scoring import BETWEEN, number_of
from gputree.kernels.cpu.two_classes import EXACT_WEIGHT
from gputree.kernels.cpu.words import UPPER
from gputree.runs import spread_out
from gputree.turns import Turns

LONE_ROWS = 16_384  # up to which a tree is grown soonest by one call of one thread
AHEAD_ROWS = 8_192  # of a tree of few leaves that is grown further, and then cut back to the best
ROWS_A_LEAF = 256  # where leaves have fewer rows, those are summed more quickly than searched,
MANY_LEAVES = 256  # and where there are so many leaves, that outweighs what is saved between waves
BY_MEANS = (0, False, True)  # the way that categories are put in order by their means: see way_of
NO_POINTS = np.empty((0, 0))


def grow_whole(
    workers: Workers,
    roots: Sequence[CpuRows],
    totals: HostArray,
    keys: HostArray,
    search: Search,
    limits: Limits,
    then: Callable[[int, Whole], Result],
) -> list[Result] | None:
    """What becomes of trees on rows at their roots; None where frontiers are quicker or needed."""
    n_rows = max(len(rows.order) for rows in roots)
    is_lone = len(roots) < max(2, workers.n_threads) and n_rows > LONE_ROWS
    goes_ahead = limits.max_leaves is not None and n_rows > AHEAD_ROWS
    if search.projections is not None and goes_ahead:
        return None
    if (is_lone or goes_ahead) and search.projections is None:
        n_places = _places_of_waves(roots, search, limits)
        if n_places is not None:
            own = roots[0], totals[0], keys[0], search, limits
            return [then(0, cpu_sweep.WaveTree(workers, *own, n_places).grown())]
        if goes_ahead or not _looks_at_little(search, roots[0].bins, workers.n_threads):
            return None
    if search.is_random and roots[0].bins.is_nominal.any():
        return None
    if not all(is_compiled(rules) for rules, _ in search.categories):
        return None
    return workers.map(
        lambda i: then(i, _grow(roots[i], totals[i], keys[i], search, limits)), range(len(roots))
    )


def _looks_at_little(search: Search, bins: Bins, n_threads: int) -> bool:
    """Whether nodes are searched so quickly that frontiers would take longer to be made.

    A draw of random splits needs no sums by code, and a few features need few.
    """
    return search.is_random or (n_threads == 1 and search.n_drawn < len(bins.features))


def _places_of_waves(roots: Sequence[CpuRows], search: Search, limits: Limits) -> int | None:
    """How many nodes of a tree that grows in waves have sums at once; None: it should not."""
    rows, n_leaves = roots[0], _most_leaves(limits)
    if len(roots) > 1 or search.is_random or not rows.is_packed or n_leaves is None:
        return None
    if not all(way_of(rows.target.channels, rules) == BY_MEANS for rules, _ in search.categories):
        return None
    if n_leaves > MANY_LEAVES and n_leaves * ROWS_A_LEAF > len(rows.order):
        return None
    # Leaf by leaf, nodes that are divided ahead of time, and then left out, have sums, too.
    n_places = n_leaves if limits.max_leaves is None else 2 * n_leaves
    return n_places if 8 * n_places * rows.bins.width <= limits.budget else None


def _most_leaves(limits: Limits) -> int | None:
    """How many leaves a tree has at most; None where there is no limit worth the name."""
    by_depth = None if limits.max_depth is None else 2 ** min(limits.max_depth, 20)
    known = [n for n in (by_depth, limits.max_leaves) if n is not None]
    return min(known) if known else None


def _numbers(limits: Limits, search: Search, channels: Channels) -> tuple[Any, ...]:
    """Limits as the kernel knows them."""
    return (
        limits.min_rows_split,
        -1 if limits.max_depth is None else limits.max_depth,
        limits.least_worth,
        limits.splits_without_gain,
        search.n_drawn,
        not channels.hides_rows,
    )


def _unpacked(sums: HostArray, n_rows: HostArray, channels: Channels) -> HostArray:
    """Sums by class from those of both classes and of the second, which words have."""
    sums = np.stack([sums[:, 0] - sums[:, 1], sums[:, 1]], axis=1)
    return np.concatenate([sums, n_rows[:, None]], axis=1) if channels.counts_rows else sums


def _grow(
    rows: CpuRows, totals: HostArray, key: np.uint64, search: Search, limits: Limits
) -> Whole:
    bins, channels = rows.bins, rows.target.channels
    row = rows.order.astype(np.uint32)
    word = _words(rows, totals, search)
    word = word[rows.order] if word.size else NONE
    is_pair = channels.is_classes and word.size > 0
    point = rows.target.point
    if is_pair:
        totals = np.array([totals[:2].sum(), totals[1]])
    categories = _categories(rows, search)
    node, score, sums, threshold, listed, column, weight = grow.grow(
        row,
        word,
        rows.label,
        rows.value,
        rows.weight,
        NO_POINTS if point is None else point,
        rows.code,
        bins.n_codes,
        bins.n_values,
        ordered(bins, search) & ~bins.is_nominal,
        categories,
        key,
        totals,
        shape_of(channels),
        rules_of(search),
        _numbers(limits, search, channels),
        np.array(channels.units),
        bins.edges if search.is_random else None,
        _projections(search),
    )
    n_rows = node[:, grow.N_ROWS]
    is_inner = node[:, grow.FIRST_CHILD] >= 0
    if limits.max_leaves is not None:
        is_inner = _best(node[:, grow.FIRST_CHILD], score, sums, limits, limits.max_leaves)
    if is_pair:
        sums = _unpacked(sums, n_rows, channels)
    heuristic = [] if categories is None else np.flatnonzero(categories[-1]).tolist()
    return Whole(
        categories=None if categories is None else _lists(node, listed, bins),
        heuristic=frozenset(heuristic),
        is_inner=is_inner,
        first_child=node[:, grow.FIRST_CHILD],
        feature=node[:, grow.TESTED].astype(FEATURE),
        code=node[:, grow.AT_CODE],
        next_code=node[:, grow.ABOVE],
        missing_slot=node[:, grow.MISSING_SLOT].astype(SLOT),
        n_rows=n_rows,
        depth=node[:, grow.DEPTH],
        score=score,
        sums=sums,
        rows=replace(
            rows,
            order=row.view(np.int32),
            start=node[:, grow.BEGIN],
            n_rows=np.where(node[:, grow.FIRST_CHILD] < 0, n_rows, 0),
        ),
        threshold=_thresholds(node, threshold, search),
        combined=_combined(node, column, weight, search),
    )


def _projections(search: Search) -> tuple[Any, ...] | None:
    """What nodes draw projections from as the kernel knows it; None where they draw none."""
    plan = search.projections
    if plan is None or len(plan.column) < 2:
        return None
    return plan.values, plan.at_most, plan.power, plan.n_tried, plan.term_cost, plan.column


def _thresholds(node: HostArray, threshold: HostArray, search: Search) -> HostArray | None:
    """Thresholds that lie elsewhere than midway between codes, NaN for all others."""
    if search.is_random or search.projections is None:
        return threshold if search.is_random else None
    return np.where(node[:, grow.N_TERMS] > 0, threshold, np.nan)


def _combined(
    node: HostArray, column: HostArray, weight: HostArray, search: Search
) -> Combined | None:
    """The combinations that nodes test, node by node."""
    plan = search.projections
    if plan is None:
        return None
    own = np.flatnonzero(node[:, grow.N_TERMS])
    n = node[own, grow.N_TERMS]
    at = spread_out(node[own, grow.TERMS_AT], n)
    return Combined(own, n, plan.column[column[at]], weight[at])


def _categories(rows: CpuRows, search: Search) -> tuple[Any, ...] | None:
    """How nominal features are split as kernels know it; None where there are none."""
    bins = rows.bins
    if not bins.is_nominal.any():
        return None
    by_feature = categories_by_feature(bins, search.categories)
    is_tested = ordered(bins, search) & bins.is_nominal
    way = way_of(rows.target.channels, search.categories[0][0])
    return is_tested, *by_feature, way, np.zeros(len(is_tested), np.bool_)


def _lists(node: HostArray, listed: HostArray, bins: Bins) -> CategoryLists:
    """The categories that nodes list, node by node."""
    own = np.flatnonzero((node[:, grow.FIRST_CHILD] >= 0) & bins.is_nominal[node[:, grow.TESTED]])
    n = node[own, grow.N_LISTED]
    at = spread_out(node[own, grow.LISTED_AT], n)
    return CategoryLists(own, n, node[own, grow.ABSENT].astype(SLOT), *listed[at].T)


def _best(
    first_child: HostArray, score: HostArray, sums: HostArray, limits: Limits, max_leaves: int
) -> HostArray:
    """Which nodes of a tree that has grown further are split, where the best one comes next."""
    inner = np.flatnonzero(first_child >= 0)
    worth = limits.worth(score[inner], sums[inner])
    worth_of = dict(zip(inner.tolist(), HOST.trim(worth).tolist(), strict=True))
    turns, child_of = Turns(max_leaves - 1), first_child.tolist()
    if inner.size:
        turns.meet(0, worth_of[0], -1)
    while wave := turns.next():
        for node in wave:
            turns.divide(node)
            for child in (child_of[node], child_of[node] + 1):
                if child in worth_of:
                    turns.meet(child, worth_of[child], node)
    return turns.had_turn(len(first_child))


def _words(rows: CpuRows, totals: HostArray, search: Search) -> HostArray:
    """Gradients and hessians, or the weights of the second of two classes and of both.

    Two classes by Gini are like one target of 0 and 1, where products are exact.
    """
    if rows.is_packed:
        return rows.word
    channels = rows.target.channels
    if channels.counts_rows and any(rules.min_category > 1 for rules, _ in search.categories):
        return NONE  # words do not tell how many rows a category has
    is_between = number_of(search.criterion) == BETWEEN
    is_pair = channels.is_classes and channels.n_scored == 2 and is_between
    counts_by_weight = not channels.counts_rows or search.min_rows <= 1
    if not (is_pair and counts_by_weight and totals[:2].sum() <= EXACT_WEIGHT):
        return NONE
    word = 1 + (rows.label.astype(np.int64) << UPPER)
    return word * rows.weight if rows.weight.size else word
