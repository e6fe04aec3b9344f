"""Splits of levels for the CPU backend: most by compiled code, other subsets as anywhere."""

import numpy as np

from gputree.backends.contract import LevelRules, LevelSplits
from gputree.backends.cpu_rate import shape_of
from gputree.backends.levels import CONCAVE, LevelTables, split_levels
from gputree.backends.workers import Workers
from gputree.data.target import Channels
from gputree.dtypes import SLOT, STAY
from gputree.kernels.cpu import multiway, ordered
from gputree.kernels.cpu.split import FORMULAS


def split(
    workers: Workers, tables: LevelTables, channels: Channels, rules: LevelRules
) -> LevelSplits:
    """The best splits of pairs of a node and a feature."""
    if rules.is_multiway:
        return _multiway(workers, tables, channels, rules)
    is_one_dimensional = channels.n_scored <= (2 if channels.is_classes else 1)
    is_exact = is_one_dimensional and rules.formula in CONCAVE
    if is_exact and rules.method in ("auto", "ordered"):
        return _ordered(workers, tables, channels, rules)
    return split_levels(tables, channels, rules)


def _multiway(
    workers: Workers, tables: LevelTables, channels: Channels, rules: LevelRules
) -> LevelSplits:
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
        (FORMULAS[rules.formula], rules.min_rows, max(1, rules.min_weight)),
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
    return LevelSplits(score, bits, np.zeros(n_pairs, bool), n_children, slot)


def _ordered(
    workers: Workers, tables: LevelTables, channels: Channels, rules: LevelRules
) -> LevelSplits:
    n_pairs = len(tables.n_codes)
    score, bits = np.empty(n_pairs), np.empty(n_pairs)
    slot = np.full(len(tables.cells), STAY, SLOT)
    workers.run(
        ordered.split,
        n_pairs,
        tables.cells.reshape(-1),
        tables.start,
        tables.n_codes,
        tables.n_codes if rules.missing == "category" else tables.n_values,
        rules.missing == "direction",
        shape_of(channels),
        (
            FORMULAS[rules.formula],
            rules.min_rows,
            max(1, rules.min_weight),
            rules.ridge,
            rules.min_category,
        ),
        np.array(channels.units),
        score,
        bits,
        slot,
        work=tables.cells.size,
    )
    is_exact = np.zeros(n_pairs, bool)
    return LevelSplits(score, bits, is_exact, np.full(n_pairs, 2), slot)
