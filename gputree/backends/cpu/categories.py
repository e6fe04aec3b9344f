"""Splits of categories for the CPU backend: most by compiled code, other subsets as anywhere."""

import numpy as np

from gputree.backends.categories import CategoryTables, is_one_dimensional, split_categories
from gputree.backends.contract import CategoryRules, CategorySplits
from gputree.backends.cpu.rate import rules_of, shape_of
from gputree.backends.cpu.workers import Workers
from gputree.data.target import Channels
from gputree.dtypes import MAX_BINS, SLOT, STAY
from gputree.kernels.cpu import groups, multiway


def split(
    workers: Workers, tables: CategoryTables, channels: Channels, rules: CategoryRules
) -> CategorySplits:
    """The best splits of pairs of a node and a feature."""
    if rules.is_multiway:
        return _multiway(workers, tables, channels, rules)
    if is_compiled(rules):
        return _groups(workers, tables, channels, rules)
    return split_categories(tables, channels, rules)


def is_compiled(rules: CategoryRules) -> bool:
    """Whether there is compiled code that divides categories into two groups as the rules ask."""
    return not rules.is_multiway and rules.method != "greedy"


def way_of(channels: Channels, rules: CategoryRules) -> tuple[int, bool, bool]:
    """The search for groups as kernels know it.

    Up to how many categories all divisions are tried, whether the others are put in order by the
    principal component, and whether no division is better than the best cut of that order.
    """
    is_optimal = is_one_dimensional(channels) and rules.criterion.is_concave
    is_principal = not is_one_dimensional(channels) or rules.method == "principal"
    if rules.method == "exact":
        most_exact = MAX_BINS + 1
    elif rules.method != "auto" or is_optimal:
        most_exact = 0
    else:
        most_exact = rules.most_exact
    return most_exact, is_principal, is_optimal and not is_principal


def _multiway(
    workers: Workers, tables: CategoryTables, channels: Channels, rules: CategoryRules
) -> CategorySplits:
    n_pairs = len(tables.n_codes)
    n_values = tables.n_codes if rules.missing == "category" else tables.n_values
    start = tables.start
    score, bits = np.empty(n_pairs), np.empty(n_pairs)
    n_children, largest = np.empty(n_pairs, np.int64), np.zeros(n_pairs, np.int64)
    slot = np.full(len(tables.cells), STAY, SLOT)
    workers.run(
        multiway.split,
        n_pairs,
        tables.cells.reshape(-1),
        start,
        tables.n_codes,
        n_values,
        shape_of(channels),
        rules_of(rules)[:3],
        np.array(channels.units),
        score,
        bits,
        n_children,
        slot,
        largest,
        work=tables.cells.size,
    )
    if rules.missing == "direction":
        has_missing = np.flatnonzero(tables.n_codes > n_values)
        slot[(start + tables.n_codes - 1)[has_missing]] = largest[has_missing]
    return CategorySplits(score, bits, np.zeros(n_pairs, bool), n_children, tables.n_codes, slot)


def _groups(
    workers: Workers, tables: CategoryTables, channels: Channels, rules: CategoryRules
) -> CategorySplits:
    n_pairs = len(tables.n_codes)
    score, bits = np.empty(n_pairs), np.empty(n_pairs)
    is_heuristic = np.empty(n_pairs, np.bool_)
    slot = np.full(len(tables.cells), STAY, SLOT)
    workers.run(
        groups.split,
        n_pairs,
        tables.cells.reshape(-1),
        tables.start,
        tables.n_codes,
        tables.n_codes if rules.missing == "category" else tables.n_values,
        rules.missing == "direction",
        rules.min_category,
        shape_of(channels),
        (*rules_of(rules), *way_of(channels, rules)),
        np.array(channels.units),
        score,
        bits,
        is_heuristic,
        slot,
        work=tables.cells.size,
    )
    return CategorySplits(score, bits, is_heuristic, np.full(n_pairs, 2), tables.n_codes, slot)
