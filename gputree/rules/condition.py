"""What a rule asks of one column, and how it is put into words.

A missing value meets no condition but `is missing`. A category that was not seen at fit counts as a
missing value, or, where it is sent to the larger child of a tree, meets no condition at all.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import MISSING_CATEGORY, HostArray
from gputree.tree.describe import label_text, list_text, number_text


class Sign(IntEnum):
    """How a condition compares."""

    ABOVE = 0  # value > threshold
    UP_TO = 1  # value <= threshold; an infinite threshold asks for a known value
    AMONG = 2  # the category is one of some
    MISSING = 3


@dataclass(frozen=True)
class Condition:
    """One test of one column. Values of ordered categories are the numbers of their categories."""

    feature: int
    sign: Sign
    threshold: float = 0.0
    categories: tuple[int, ...] = ()  # ascending

    def met(self, values: HostArray) -> HostArray:
        """Which values of the column meet the condition."""
        is_number = values.dtype.kind == "f"
        if self.sign == Sign.MISSING:
            return np.isnan(values) if is_number else np.asarray(values == MISSING_CATEGORY)
        if self.sign == Sign.AMONG:
            return self._among(values)
        threshold = _in_dtype(self.threshold, values.dtype) if is_number else self.threshold
        met = values > threshold if self.sign == Sign.ABOVE else values <= threshold
        return np.asarray(met if is_number else met & (values != MISSING_CATEGORY))

    def _among(self, values: HostArray) -> HostArray:
        # The last place is that of missing values, the one before of categories that nobody knows.
        last = max(int(values.max(initial=0)), self.categories[-1])
        is_listed = np.zeros(last + 2, bool)
        is_listed[list(self.categories)] = True
        return np.asarray(is_listed[values])

    def text(self, schema: Schema, name: str, decimals: int) -> str:
        """The condition in words, by the name of its column."""
        return f"{label_text(name)} {self._outcome(schema, decimals)}"

    def _outcome(self, schema: Schema, decimals: int) -> str:
        known = schema.categories[self.feature]
        if self.sign == Sign.MISSING:
            return "is missing"
        if self.sign == Sign.AMONG:
            assert known is not None
            named = [label_text(known[category]) for category in self.categories]
            return f"= {named[0]}" if len(named) == 1 else f"in {{{list_text(named)}}}"
        if self.threshold == math.inf:
            return "is known"
        sign = ">" if self.sign == Sign.ABOVE else "<="
        if known is None:
            return f"{sign} {number_text(self.threshold, decimals)}"
        return f"{sign} {label_text(known[math.floor(self.threshold)])}"


def _in_dtype(threshold: float, dtype: Any) -> Any:
    """The largest number of a dtype up to the threshold, which parts its numbers alike.

    Comparing numbers in their own dtype takes half the time of casting them.
    """
    with np.errstate(over="ignore"):
        near = dtype.type(threshold)
    return np.nextafter(near, dtype.type(-np.inf)) if float(near) > threshold else near
