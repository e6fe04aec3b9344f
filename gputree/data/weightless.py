"""Categories that only rows without weight have: no fit on the table counts them.

They keep their codes, because a later fit may give such a row a weight; but what depends on how
many categories a column has, or on the number of one of them, goes by the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.comm import ALONE, Comm, total
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Table
from gputree.dtypes import MISSING_CATEGORY, HostArray


class Weightless:
    """Which categories rows with and without weight have, chunk by chunk."""

    def __init__(
        self,
        categories: Sequence[tuple[Any, ...] | None],
        weight: HostArray | None,
        comm: Comm = ALONE,
    ) -> None:
        self._comm = comm
        has_none = weight is not None and total(comm, np.count_nonzero(weight == 0)) > 0
        self._has_weight = weight > 0 if weight is not None and has_none else None
        # (2, categories) for each column of categories: in rows without weight, and with.
        self._occurs = {
            at: np.zeros((2, len(own)), bool)
            for at, own in enumerate(categories)
            if own is not None and self._has_weight is not None
        }

    def look(self, table: Table, first: int = 0) -> None:
        """Take in some rows, from the first on."""
        if self._has_weight is None:
            return
        has_weight = self._has_weight[first : first + table.n_rows]
        for at, occurs in self._occurs.items():
            category = to_numpy(table.columns[at].values)
            is_known = category != MISSING_CATEGORY
            occurs[has_weight[is_known].astype(np.int64), category[is_known]] = True

    def numbered(self, bins: Bins) -> Bins:
        """The bins with the categories numbered that count."""
        features = list(bins.features)
        for at, occurs in self._occurs.items():
            without, with_weight = total(self._comm, occurs) > 0
            if (without & ~with_weight).any():
                features[at] = _numbered(features[at], ~without | with_weight)
        return Bins(tuple(features))


def _numbered(feature: FeatureBins, counts: HostArray) -> FeatureBins:
    number = np.cumsum(counts) - counts
    n_categories = int(np.count_nonzero(counts))
    rest = np.full(feature.n_codes - len(number), n_categories)
    return replace(feature, number=np.concatenate([number, rest]), n_categories=n_categories)
