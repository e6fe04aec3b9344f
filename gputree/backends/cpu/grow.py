"""Whole trees, for the CPU backend: a tree a thread, or one by all of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gputree.backends.contract import Search
from gputree.backends.cpu import sweep as cpu_sweep
from gputree.backends.cpu.categories import is_compiled, way_of
from gputree.backends.cpu.distinct import NONE
from gputree.backends.cpu.rate import ordered, shape_of
from gputree.backends.cpu.rows import CpuRows
from gputree.backends.cpu.workers import Workers
from gputree.backends.whole import CategoryLists, Limits, Whole
from gputree.data.bins import Bins
from gputree.dtypes import FEATURE, SLOT, HostArray
from gputree.formulas import HOST
from gputree.kernels.cpu import grow
from gputree.kernels.cpu.scoring import BETWEEN, number_of
from gputree.kernels.cpu.two_classes import EXACT_WEIGHT
from gputree.kernels.cpu.words import UPPER
from gputree.runs import spread_out
from gputree.turns import Turns

LONE_ROWS = 16_384  # of a tree that is grown by one thread while others rest
AHEAD_ROWS = 8_192  # of a tree of few leaves that is grown further, and then cut back to the best
NO_POINTS = np.empty((0, 0))


def grow_whole(
    workers: Workers,
    roots: Sequence[CpuRows],
    totals: HostArray,
    keys: HostArray,
    search: Search,
    limits: Limits,
) -> list[Whole] | None:
    """Trees on rows at their roots; None where frontiers are quicker, or have to do it."""
    n_rows = max(len(rows.order) for rows in roots)
    is_lone = len(roots) < workers.n_threads and n_rows > LONE_ROWS
    if is_lone or (limits.max_leaves is not None and n_rows > AHEAD_ROWS):
        if len(roots) > 1 or search.is_random:
            return None
        whole = cpu_sweep.grow(workers, roots[0], totals[0], keys[0], search, limits)
        return None if whole is None else [whole]
    if search.is_random and roots[0].bins.is_nominal.any():
        return None
    if not all(is_compiled(rules) for rules, _ in search.categories):
        return None
    return workers.map(
        lambda i: _grow(roots[i], totals[i], keys[i], search, limits), range(len(roots))
    )


def _grow(
    rows: CpuRows, totals: HostArray, key: np.uint64, search: Search, limits: Limits
) -> Whole:
    bins, channels = rows.bins, rows.target.channels
    row = rows.order.astype(np.uint32)
    word = _words(rows, totals, search)
    word = word[rows.order] if word.size else NONE
    is_pair = channels.is_classes and word.size > 0
    point = rows.target.point
    least = limits.min_score if limits.splits_without_gain else max(limits.min_score, 5e-324)
    if is_pair:
        totals = np.array([totals[:2].sum(), totals[1]])
    categories = _categories(rows, search)
    node, score, sums, threshold, listed = grow.grow(
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
        (number_of(search.criterion), search.min_rows, max(1, search.min_weight), search.ridge),
        (
            limits.min_rows_split,
            -1 if limits.max_depth is None else limits.max_depth,
            least,
            limits.splits_without_gain,
            search.n_drawn,
            not channels.hides_rows,
        ),
        np.array(channels.units),
        bins.edges if search.is_random else None,
    )
    n_rows = node[:, grow.N_ROWS]
    is_inner = node[:, grow.FIRST_CHILD] >= 0
    if limits.max_leaves is not None:
        is_inner = _best(node[:, grow.FIRST_CHILD], score, sums, search.ridge, limits.max_leaves)
    if is_pair:
        sums = np.stack([sums[:, 0] - sums[:, 1], sums[:, 1]], axis=1)
        if channels.counts_rows:
            sums = np.concatenate([sums, n_rows[:, None]], axis=1)
    return Whole(
        categories=None if categories is None else _lists(node, listed, bins),
        heuristic=frozenset()
        if categories is None
        else frozenset(np.flatnonzero(categories[-1]).tolist()),
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
        threshold=threshold if search.is_random else None,
    )


def _categories(rows: CpuRows, search: Search) -> tuple[Any, ...] | None:
    """How nominal features are split as kernels know it; None where there are none."""
    bins = rows.bins
    if not bins.is_nominal.any():
        return None
    n_categories, min_category = bins.n_values.copy(), np.ones(len(bins.features), np.int64)
    ridge = np.zeros(len(bins.features))
    for rules, is_alike in search.categories:
        if rules.missing == "category":
            n_categories[is_alike] = bins.n_codes[is_alike]
        min_category[is_alike], ridge[is_alike] = rules.min_category, rules.ridge
    is_tested = ordered(bins, search) & bins.is_nominal
    way = way_of(rows.target.channels, search.categories[0][0])
    return is_tested, n_categories, min_category, ridge, way, np.zeros(len(ridge), np.bool_)


def _lists(node: HostArray, listed: HostArray, bins: Bins) -> CategoryLists:
    """The categories that nodes list, node by node."""
    own = np.flatnonzero((node[:, grow.FIRST_CHILD] >= 0) & bins.is_nominal[node[:, grow.TESTED]])
    n = node[own, grow.N_LISTED]
    at = spread_out(node[own, grow.LISTED_AT], n)
    return CategoryLists(own, n, node[own, grow.ABSENT].astype(SLOT), *listed[at].T)


def _best(
    first_child: HostArray, score: HostArray, sums: HostArray, ridge: float, max_leaves: int
) -> HostArray:
    """Which nodes of a tree that has grown further are split, where the best one comes next."""
    inner = np.flatnonzero(first_child >= 0)
    worth = score[inner]
    if ridge > 0.0:
        weight, gradient = sums[inner, :2].astype(np.float64).T
        worth = worth - HOST.penalty(gradient, weight, ridge)
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
    is_inner = np.zeros(len(first_child), np.bool_)
    is_inner[np.array(turns.settled, np.int64)] = True
    return is_inner


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
