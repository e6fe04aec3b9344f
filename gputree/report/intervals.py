"""Confidence intervals at 95 %, each with the name of its method.

Knows arrays; must not know models.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gputree.dtypes import HostArray

Z = 1.959963984540054  # of the normal distribution, both sides at 95 %
MOST_DRAWS = 1000  # of counts, which are few
MOST_ROW_DRAWS = 300
FEWEST_ROW_DRAWS = 100
MOST_WORK = 50_000_000  # rows that all draws of a bootstrap may look at together


@dataclass(frozen=True)
class Interval:
    """Where a figure is likely to lie."""

    value: float
    low: float
    high: float
    method: str


def wilson_bounds(hits: HostArray, n: HostArray) -> tuple[HostArray, HostArray]:
    """Wilson's bounds for shares `hits / n`; 0 and 1 where there are no rows."""
    n = np.asarray(n, float)
    safe = np.where(n > 0, n, 1.0)
    share = np.asarray(hits, float) / safe
    scale = 1.0 + Z * Z / safe
    middle = (share + Z * Z / (2.0 * safe)) / scale
    reach = Z * np.sqrt(share * (1.0 - share) / safe + Z * Z / (4.0 * safe * safe)) / scale
    # The ends are exact, whatever rounding says.
    low = np.where((n > 0) & (share > 0.0), np.clip(middle - reach, 0.0, 1.0), 0.0)
    high = np.where((n > 0) & (share < 1.0), np.clip(middle + reach, 0.0, 1.0), 1.0)
    return low, high


def wilson(hits: int, n: int) -> Interval:
    """The interval of a share."""
    low, high = wilson_bounds(np.array(hits), np.array(n))
    return Interval(hits / n, float(low), float(high), "Wilson")


def of_mean(values: HostArray) -> Interval:
    """The interval of the mean of one value per row, by the normal distribution."""
    mean = float(values.mean())
    reach = Z * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Interval(mean, mean - reach, mean + reach, "normal approximation")


def of_root_mean(squares: HostArray) -> Interval:
    """The interval of the root of a mean: the roots of the mean's bounds."""
    mean = of_mean(squares)
    low, high = (float(np.sqrt(max(bound, 0.0))) for bound in (mean.low, mean.high))
    return Interval(float(np.sqrt(mean.value)), low, high, "root of a normal approximation")


def delong(score: HostArray, is_positive: HostArray) -> Interval:
    """The area under a ROC curve with the variance of DeLong, DeLong and Clarke-Pearson (1988)."""
    positive, negative = score[is_positive], score[~is_positive]
    n, m = len(positive), len(negative)
    rank = mean_ranks(np.concatenate([positive, negative]))
    # The share of the other side that each row is ahead of; ties count a half.
    ahead = (rank[:n] - mean_ranks(positive)) / m
    behind = 1.0 - (rank[n:] - mean_ranks(negative)) / n
    area = float(ahead.mean())
    if min(n, m) < 2:
        return Interval(area, np.nan, np.nan, "too few rows for an interval")
    reach = Z * float(np.sqrt(ahead.var(ddof=1) / n + behind.var(ddof=1) / m))
    return Interval(area, max(area - reach, 0.0), min(area + reach, 1.0), "DeLong")


def mean_ranks(values: HostArray) -> HostArray:
    """Ranks from 1 on; equal values have the mean of theirs."""
    _, place, n = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(n) - (n - 1) / 2.0)[place])


def of_cells(count: HostArray, figure: Callable[[HostArray], float]) -> Interval:
    """Bootstrap of a figure of a table of counts: rows drawn anew only change the counts."""
    draws = np.random.default_rng(0)
    n = int(count.sum())
    drawn = draws.multinomial(n, count.ravel() / n, size=MOST_DRAWS)
    found = [figure(each.reshape(count.shape)) for each in drawn]
    return _between(figure(count), found)


def of_rows(n_rows: int, figure: Callable[[HostArray], float], cost: int = 1) -> Interval:
    """Bootstrap of a figure that takes how often each row counts; `cost` passes over the rows."""
    draws = np.random.default_rng(0)
    n_draws = int(np.clip(MOST_WORK // (n_rows * cost), FEWEST_ROW_DRAWS, MOST_ROW_DRAWS))
    found = [
        figure(np.bincount(draws.integers(n_rows, size=n_rows), minlength=n_rows).astype(float))
        for _ in range(n_draws)
    ]
    return _between(figure(np.ones(n_rows)), found)


def _between(value: float, found: list[float]) -> Interval:
    low, high = np.nanquantile(found, [0.025, 0.975]) if np.isfinite(found).any() else (np.nan,) * 2
    return Interval(value, float(low), float(high), f"bootstrap, {len(found):,} draws")
