"""Which values share a code: cuts of numeric features, categories of nominal ones.

Knows nothing of how cuts are found (`cuts` does) nor of arrays on devices.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gputree.data.table import Kind
from gputree.dtypes import FEATURE, HostArray, code_dtype

BEYOND = np.array([np.inf])  # what is beside the last code of a feature


def midpoint(below: HostArray, above: HostArray) -> HostArray:
    """A threshold t with below <= t < above, halfway where floating point allows.

    Halving before adding cannot overflow. Where the half lands on `above` (neighbouring floats),
    or outside (infinities), `below` itself separates the two.
    """
    with np.errstate(invalid="ignore"):
        half = below * 0.5 + above * 0.5
    middle = np.where((below <= half) & (half < above), half, below)
    return middle + 0.0  # -0.0 and 0.0 separate alike; keep one of them


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """The codes of one feature: values in order, then missing ones if training had any."""

    name: str
    kind: Kind
    categories: tuple[Any, ...] | None
    below: HostArray  # (cuts,) largest training value under each cut
    above: HostArray  # (cuts,) smallest training value over each cut
    has_missing: bool
    # Without categories that only rows without weight have: (codes,) the number of each, and how
    # many there are. None where every code counts.
    number: HostArray | None = None
    n_categories: int | None = None

    @cached_property
    def cut(self) -> HostArray:
        return midpoint(self.below, self.above)

    @property
    def n_values(self) -> int:
        """Codes that stand for values."""
        return len(self.below) + 1

    @property
    def n_codes(self) -> int:
        return self.n_values + self.has_missing


@dataclass(frozen=True, eq=False)
class Bins:
    """The codes of every feature; features lie one after another in a histogram."""

    features: tuple[FeatureBins, ...]

    @cached_property
    def n_codes(self) -> HostArray:
        return np.array([feature.n_codes for feature in self.features], np.int64)

    @cached_property
    def n_values(self) -> HostArray:
        return np.array([feature.n_values for feature in self.features], np.int64)

    @cached_property
    def n_categories(self) -> HostArray:
        """Codes that stand for values, without categories that only rows without weight have."""
        counted = [f.n_values if f.n_categories is None else f.n_categories for f in self.features]
        return np.array(counted, np.int64)

    @cached_property
    def number(self) -> HostArray:
        """The number of each code of a feature, by its bin in a histogram."""
        own = [np.arange(f.n_codes) if f.number is None else f.number for f in self.features]
        return np.concatenate(own)

    @cached_property
    def is_nominal(self) -> HostArray:
        """Which features hold categories without an order."""
        return np.array([feature.kind is Kind.NOMINAL for feature in self.features], bool)

    @cached_property
    def offset(self) -> HostArray:
        """Where each feature begins in a histogram, and at last where the histogram ends."""
        return np.concatenate([[0], np.cumsum(self.n_codes)])

    @cached_property
    def feature_of(self) -> HostArray:
        """The feature of each bin of a histogram."""
        return np.repeat(np.arange(len(self.features), dtype=FEATURE), self.n_codes)

    @property
    def width(self) -> int:
        """Places in the histogram of one node and channel."""
        return int(self.offset[-1])

    @property
    def code_bytes(self) -> int:
        """What the code of one cell takes."""
        return np.dtype(code_dtype(int(self.n_codes.max()))).itemsize

    @cached_property
    def _below(self) -> HostArray:
        return np.concatenate([part for f in self.features for part in (f.below, BEYOND)])

    @cached_property
    def _above(self) -> HostArray:
        return np.concatenate([part for f in self.features for part in (f.above, BEYOND)])

    @cached_property
    def _value_offset(self) -> HostArray:
        return np.concatenate([[0], np.cumsum(self.n_values)])

    @property
    def edges(self) -> tuple[HostArray, HostArray, HostArray]:
        """What `below` and `above` tell, feature by feature, and where each feature begins."""
        return self._below, self._above, self._value_offset

    def below(self, feature: HostArray, code: HostArray) -> HostArray:
        """The largest training value of each code; infinite for the last one of a feature."""
        return np.asarray(self._below[self._value_offset[feature] + code])

    def above(self, feature: HostArray, code: HostArray) -> HostArray:
        """The smallest training value of the code after each; infinite after the last one."""
        return np.asarray(self._above[self._value_offset[feature] + code])

    def threshold(
        self, feature: HostArray, code: HostArray, next_code: HostArray, is_at_value: bool = False
    ) -> HostArray:
        """The value halfway between the last code to the left and the next one in the node.

        With a code a value this is the midpoint of two neighbouring values of the node, as in the
        textbooks; at a value it is the largest one of the whole table that is not above that.
        `next_code` -1 says that every known value goes left.
        """
        start = self._value_offset[feature]
        below = self._below[start + code]
        above = self._above[start + np.maximum(next_code, 1) - 1]
        middle = midpoint(below, above)
        if is_at_value:
            for at in np.unique(feature).tolist():
                own = np.flatnonzero(feature == at)
                values = self.features[at].below
                middle[own] = values[np.searchsorted(values, middle[own], side="right") - 1]
        return np.where(next_code < 0, np.inf, middle)
