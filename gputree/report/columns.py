"""What the columns of a table hold: kinds, missing values, little histograms.

Knows tables; must not know models.
"""

from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import HostArray
from gputree.report.plain import label, number, numbers

N_BARS = 24
MOST_CATEGORIES = 12  # with a bar of their own
MOST_COLUMNS = 200
FAR = 4.0  # a range so many times that of nearly all values hides them
LARGEST = float(np.finfo(np.float64).max) / 64


def table_summary(table: Table) -> dict[str, Any]:
    """The columns in their order, the first ones where there are many."""
    shown = table.columns[:MOST_COLUMNS]
    return {
        "rows": table.n_rows,
        "columns": table.n_features,
        "list": [column_summary(column) for column in shown],
    }


def column_summary(column: Column) -> dict[str, Any]:
    """A column in a few figures."""
    values = to_numpy(column.values)
    about: dict[str, Any] = {"name": label(column.name), "kind": column.kind.name.lower()}
    if column.kind is Kind.NUMERIC:
        return about | number_summary(values)
    n_categories = len(column.categories or ())
    known = values[(values >= 0) & (values < n_categories)]
    count = np.bincount(known, minlength=n_categories)
    return about | {
        "missing": int((values < 0).sum()),
        "unseen": int((values >= n_categories).sum()),
        "distinct": int((count > 0).sum()),
        "bars": category_bars(column.categories or (), count, column.kind is Kind.ORDINAL),
    }


def number_summary(values: HostArray) -> dict[str, Any]:
    """Numbers: where they lie."""
    values = np.asarray(values, np.float64)
    finite = values[np.isfinite(values)]
    about: dict[str, Any] = {
        "missing": int(np.isnan(values).sum()),
        "distinct": len(np.unique(finite)),
    }
    if not finite.size or not np.isfinite(float(finite.max()) - float(finite.min())):
        return about | {"bars": None}  # nothing to draw, or nothing that floats can scale
    low, middle, high = np.quantile(finite, [0.25, 0.5, 0.75])
    return about | {
        "least": number(finite.min()),
        "quartiles": numbers([low, middle, high], 4),
        "most": number(finite.max()),
        "mean": number(finite.mean(), 4),
        "bars": number_bars(finite),
    }


def number_bars(finite: HostArray, n_bars: int = N_BARS) -> dict[str, Any]:
    """Counts between equal steps; what lies far outside is counted in the bars at the ends."""
    low, high = bounds(finite)
    count = counts_between(finite, low, high, n_bars)
    return {"low": number(low), "high": number(high), "count": count.tolist()}


def bounds(finite: HostArray) -> tuple[float, float]:
    """Between which values to draw."""
    finite = np.clip(finite, -LARGEST, LARGEST)  # whose distances floats can hold
    low, high = float(finite.min()), float(finite.max())
    inner = np.quantile(finite, [0.01, 0.99])
    if high - low > FAR * (inner[1] - inner[0]) > 0:
        return float(inner[0]), float(inner[1])
    return low, high


def counts_between(values: HostArray, low: float, high: float, n_bars: int) -> HostArray:
    """How many values lie in each of some equal steps."""
    return np.bincount(steps_of(values, low, high, n_bars), minlength=n_bars)


def steps_of(values: HostArray, low: float, high: float, n_bars: int) -> HostArray:
    """The step of each value; those outside are in the first or last one."""
    # Halves: the distance of two finite numbers may be infinite.
    width = high / 2 - low / 2
    if width <= 0:
        return np.zeros(len(values), np.int64)
    place = np.clip((values / 2 - low / 2) / width, 0.0, 1.0)
    return np.minimum((place * n_bars).astype(np.int64), n_bars - 1)


def category_bars(
    categories: tuple[Any, ...], count: HostArray, is_ordered: bool
) -> dict[str, Any]:
    """Counts of the most frequent categories; ordered categories stay in order."""
    order = np.argsort(-count, kind="stable")[:MOST_CATEGORIES]
    if is_ordered:
        order = np.sort(order)
    return {
        "categories": [label(categories[at]) for at in order.tolist()],
        "count": count[order].tolist(),
        "others": int(count.sum() - count[order].sum()),
        "n_others": len(categories) - len(order),
    }
