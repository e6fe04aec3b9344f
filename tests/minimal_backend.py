"""A backend that has the core of the contract and nothing else, in plain NumPy.

Codes are a matrix of integers, and every row knows its node. It is as slow as it looks; all that an
estimator can do follows from it by `gputree.backends.defaults`.
"""

from dataclasses import dataclass, replace

import numpy as np

from gputree.backends.defaults import Defaults
from gputree.backends.sums import Sums
from gputree.data.bins import Bins
from gputree.data.cuts import searched_codes
from gputree.data.number_line import bucket_of, fine_bucket_of
from gputree.data.target import Target
from gputree.dtypes import MISSING_CATEGORY, OUTSIDE


@dataclass(frozen=True)
class Rows:
    """Codes and statistics of all rows, and the node of each."""

    code: np.ndarray  # (features, rows)
    bins: Bins
    target: Target
    node: np.ndarray  # (rows,) OUTSIDE where a row takes no part


class MinimalBackend(Defaults):
    """Twelve verbs."""

    name = "minimal"
    device = "cpu"

    # Values to codes.

    def reserve(self, n_features, n_rows, most_codes, folder=None):
        return np.zeros((n_features, n_rows), np.int64)

    def hold(self, columns):
        return [self._numbers(column) for column in columns]

    def count_missing(self, values):
        return np.array([np.isnan(column).sum() for column in values])

    def sketch(self, values, weight, within=None):
        if within is None:
            return [self._weighed(bucket_of, *self._known(column, weight)) for column in values]
        found = []
        for column, coarse in zip(values, within, strict=True):
            known, own = self._known(column, weight)
            inside = np.isin(bucket_of(known), coarse)
            found.append(self._weighed(fine_bucket_of, known[inside], own[inside]))
        return found

    def refine(self, values, weight, wanted):
        found = []
        for column, buckets in zip(values, wanted, strict=True):
            known, own = self._known(column, weight)
            if buckets is not None:
                bucket = fine_bucket_of(known) if buckets.is_fine else bucket_of(known)
                inside = np.isin(bucket, buckets.number)
                known, own = known[inside], own[inside]
            found.append(self._weighed(np.float64, known, own))
        return found

    def encode(self, data, first_feature, values, bins, first_row=0):
        for at, (column, feature) in enumerate(zip(values, bins, strict=True)):
            code = searched_codes(column, feature)
            data[first_feature + at, first_row : first_row + len(column)] = code

    # Rows at nodes, and their sums.

    def begin(self, data, bins, target, n_each=None):
        node = np.zeros(target.n_rows, np.int64)
        if n_each is not None:
            node = np.repeat(np.arange(len(n_each)), n_each)
        elif target.weight is not None:
            node[target.weight == 0] = OUTSIDE
        return Rows(data, bins, target, node)

    def take_rows(self, data, row):
        return data[:, row]

    def tally(self, rows, nodes):
        channels, bins = rows.target.channels, rows.bins
        sums = np.zeros((len(nodes), channels.n, bins.width), np.int64)
        for place, node in enumerate(nodes.tolist()):
            row = np.flatnonzero(rows.node == node)
            at = rows.code[:, row] + bins.offset[:-1, None]
            for channel, number in enumerate(self._channels(rows.target, row)):
                np.add.at(sums[place, channel], at, np.broadcast_to(number, at.shape))
        return Sums(bins, channels, sums)

    def codes_of(self, rows, row, feature):
        return rows.code[feature, row]

    def disperse(self, rows, nodes, row, node):
        moved = np.where(np.isin(rows.node, nodes), OUTSIDE, rows.node)
        moved[row] = node
        return replace(rows, node=moved)

    def leaves(self, rows):
        return rows.node

    # Helpers.

    @staticmethod
    def _numbers(column):
        """Values, or numbers of categories; NaN where missing."""
        values = np.asarray(column.values)
        if column.categories is not None:
            return np.where(values == MISSING_CATEGORY, np.nan, values).astype(np.float64)
        return values

    @staticmethod
    def _channels(target, row):
        """What each row adds to each channel."""
        one = np.ones(len(row), np.int64)
        weight = one if target.weight is None else target.weight[row]
        if target.label is not None:
            for label in range(target.channels.n_scored):
                yield weight * (target.label[row] == label)
        else:
            yield weight
            yield from target.value[:, row]
        if target.channels.counts_rows:
            yield one

    @staticmethod
    def _known(column, weight):
        """The values that are not missing and have a weight, and their weights."""
        weight = np.ones(len(column), np.int64) if weight is None else weight
        inside = ~np.isnan(column) & (weight > 0)
        return column[inside], weight[inside]

    @staticmethod
    def _weighed(key, known, weight):
        """The keys of values, ascending, and how much weight each has."""
        found, at = np.unique(key(known), return_inverse=True)
        return found, np.bincount(at, weight, len(found)).astype(np.int64)
