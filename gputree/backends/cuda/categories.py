"""Categories on the device: what dividing them is worth, and which ones nodes have seen.

What comes down depends on what nodes have: a few numbers of each pair of a node and a feature that
is rated, and the sums of the categories that winners have seen.
"""

from functools import cache
from typing import TypeAlias

import numpy as np

from gputree.backends.contract import CategoryRates, CategoryRules
from gputree.backends.cpu.categories import way_of
from gputree.backends.cuda.histogram import CudaHist
from gputree.backends.cuda.launch import Launches
from gputree.backends.seen import Seen, blank, has_code_for_missing
from gputree.data.target import Channels
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import branches, categories
from gputree.kernels.cuda import seen as seen_kernels
from gputree.kernels.cuda.gpu import WARP
from gputree.runs import begins, spread_out

# How many pairs of a node and a feature there are, which, and where their sums are.
Pairs: TypeAlias = tuple[int, Array, Array, Array, int, Array, Array]

SCRATCH_BYTES = 2**26  # of the items that blocks put in order
ITEM_BYTES = 12
MOST_BLOCKS = 2**16
MOST_EXACT = 12  # categories of which a block tries all divisions
MOST_SCORED = 32  # channels of which a block finds principal components
MOST_BRANCHED = 1000  # channels whose sums over categories a block keeps

make_rate_categories = cache(categories.make_rate_categories)
make_rate_branches = cache(branches.make_rate_branches)


def can_rate(channels: Channels, rules: CategoryRules) -> bool:
    """Whether there is a kernel for the rules.

    There are some for a child a category, and for two groups by an order or of a few categories.
    """
    if rules.criterion.user is not None:
        return False
    if rules.is_multiway:
        return rules.criterion.has_branches and channels.n_scored <= MOST_BRANCHED
    if rules.method == "greedy":
        return False
    most_exact, is_principal, _ = way_of(channels, rules)
    return most_exact <= MOST_EXACT and (not is_principal or channels.n_scored <= MOST_SCORED)


def rate(
    launches: Launches, hist: CudaHist, place: HostArray, feature: HostArray, rules: CategoryRules
) -> CategoryRates:
    """What the best divisions of pairs of a node and a feature are worth."""
    rated = launches.device.empty(len(place) * categories.RATED_COLUMNS, np.int64)
    pairs = _pairs(launches, hist, place, feature)
    if rules.is_multiway:
        _rate_branches(launches, hist, pairs, rules, rated)
    else:
        _rate_groups(launches, hist, pairs, int(hist.bins.n_codes[feature].max()), rules, rated)
    found = launches.device.download(rated)[: len(place) * categories.RATED_COLUMNS]
    found = found.reshape(-1, categories.RATED_COLUMNS)
    numbers = found[:, : categories.IS_HEURISTIC].copy().view(np.float64)
    return CategoryRates(
        score=numbers[:, categories.SCORE],
        bits=numbers[:, categories.BITS],
        is_heuristic=found[:, categories.IS_HEURISTIC] > 0,
    )


def _rate_branches(
    launches: Launches, hist: CudaHist, pairs: Pairs, rules: CategoryRules, rated: Array
) -> None:
    """Rate a child for each category."""
    channels, criterion = hist.channels, rules.criterion
    launches.device.launch(
        make_rate_branches(criterion.formulas, criterion.sums_by_branch),
        min(pairs[0], MOST_BLOCKS),
        WARP,
        *pairs,
        rules.missing == "category",
        channels.is_classes,
        channels.n_scored,
        channels.counts_rows,
        channels.n,
        hist.rows.tables.unit,
        rules.min_rows,
        max(1, rules.min_weight),
        rated,
        shared=8 * (categories.BOARD + 2 * channels.n_scored + 1),
    )


def _rate_groups(
    launches: Launches,
    hist: CudaHist,
    pairs: Pairs,
    most_codes: int,
    rules: CategoryRules,
    rated: Array,
) -> None:
    """Rate the best two groups of categories."""
    dev, channels = launches.device, hist.channels
    most = most_codes + 1
    n_blocks = min(pairs[0], max(1, SCRATCH_BYTES // (ITEM_BYTES * most)))
    way, n_scored = way_of(channels, rules), channels.n_scored
    only_by_means = way[:2] == (0, False)
    n_shared = categories.BOARD + categories.SUMS * channels.n
    if not only_by_means:
        n_shared += n_scored * (n_scored + categories.LINES)
    dev.launch(
        make_rate_categories(rules.criterion.formulas, only_by_means),
        n_blocks,
        launches.tuning.category_threads,
        *pairs,
        rules.missing == "category",
        rules.missing == "direction",
        rules.min_category,
        channels.is_classes,
        n_scored,
        channels.counts_rows,
        channels.n,
        hist.rows.tables.unit,
        rules.min_rows,
        max(1, rules.min_weight),
        float(rules.ridge),
        *way,
        most,
        dev.empty(n_blocks * most, np.float64),
        dev.empty(n_blocks * most, np.int32),
        rated,
        shared=8 * n_shared,
    )


def seen(launches: Launches, hist: CudaHist, place: HostArray, feature: HostArray) -> Seen:
    """The sums of pairs of a node and a feature by the codes that occur."""
    dev, bins, n_channels = launches.device, hist.bins, hist.channels.n
    if not len(place):
        return blank(bins, feature, np.empty(0, np.int64), n_channels)
    threads, n_blocks = launches.tuning.category_threads, min(len(place), MOST_BLOCKS)
    pairs = *_pairs(launches, hist, place, feature), n_channels
    counted = dev.empty(len(place), np.int32)
    dev.launch(seen_kernels.count_seen, n_blocks, threads, *pairs, counted)
    n_known = dev.download(counted)[: len(place)].astype(np.int64)
    has_missing = has_code_for_missing(bins, feature)
    n = n_known + has_missing
    width = 1 + n_channels
    entries = dev.empty(int(n.sum()) * width, np.int64)
    first = dev.upload(begins(n))
    dev.launch(seen_kernels.gather_seen, n_blocks, threads, *pairs, first, entries)
    listed = dev.download(entries)[: int(n.sum()) * width].reshape(-1, width)
    found = blank(bins, feature, n_known, n_channels)
    # The entry for all other values, if there is one, comes before that of missing ones.
    to, last = spread_out(begins(found.n), n_known), np.cumsum(found.n) - 1
    at = np.concatenate([spread_out(begins(n), n_known), (np.cumsum(n) - 1)[has_missing]])
    to = np.concatenate([to, last[has_missing]])
    found.code[to], found.cells[to] = listed[at, 0], listed[at, 1:]
    return found


def _pairs(launches: Launches, hist: CudaHist, place: HostArray, feature: HostArray) -> Pairs:
    """Pairs of a node and a feature, and where their sums are."""
    tables = hist.rows.tables
    node, own = launches.device.pack(place.astype(np.int32), feature.astype(np.int32))
    return len(place), node, own, hist.sums, hist.rows.stride, tables.offset, tables.n_values
