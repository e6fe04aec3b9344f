"""scikit-learn's names for what a tree holds, for programs that were written for its `tree_`."""

from typing import Any

import numpy as np

from gputree.dtypes import STAY, HostArray


class FamiliarNames:
    """What a tree holds under the names that scikit-learn's trees have for it; read-only.

    Nodes are numbered breadth-first, not depth-first. A leaf has the feature -1 and the threshold
    NaN; its children are -1, as in scikit-learn.
    """

    feature: HostArray
    threshold: HostArray
    missing_slot: HostArray
    first_child: HostArray
    n_children: HostArray
    n_rows: HostArray
    weight: HostArray
    value: HostArray
    level_start: HostArray

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def n_node_samples(self) -> HostArray:
        """Training rows that reached each node."""
        return self.n_rows

    @property
    def weighted_n_node_samples(self) -> HostArray:
        """The weight of the training rows that reached each node."""
        return self.weight

    @property
    def children_left(self) -> HostArray:
        """The child that takes values up to the threshold; -1 at a leaf."""
        self._check_pairs("children_left")
        return self.first_child

    @property
    def children_right(self) -> HostArray:
        """The child that takes values above the threshold; -1 at a leaf."""
        self._check_pairs("children_right")
        return np.where(self._ends, -1, self.first_child + 1)

    @property
    def missing_go_to_left(self) -> HostArray:
        """Which nodes send rows whose tested value is missing to the left child."""
        self._check_pairs("missing_go_to_left")
        return np.asarray(~self._ends & (self.missing_slot == 0))

    def apply(self, X: Any) -> HostArray:
        """The leaf that each row of an array of numbers reaches; NaN is a missing value.

        The method `apply` of estimators reads any table, and is quicker.
        """
        table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
        self._check_walk()
        node = np.zeros(len(table), np.int64)
        row = np.flatnonzero(~self._ends[node])
        while row.size:
            here = node[row]
            values = table[row, self.feature[here]]
            slot = np.where(values <= self.threshold[here], 0, 1)
            slot = np.where(np.isnan(values), self.missing_slot[here], slot)
            node[row] = self.first_child[here] + slot
            row = row[~self._ends[node[row]]]
        return node

    @property
    def _ends(self) -> HostArray:
        return np.asarray(self.n_children == 0)

    def _check_pairs(self, name: str) -> None:
        if self.n_children.max() > 2:
            raise ValueError(
                f"tree_.{name}: nodes of this tree have more than two children; read first_child "
                "and n_children"
            )

    def _check_walk(self) -> None:
        if self.level_start.max() >= 0 or (self.missing_slot == STAY).any():
            raise ValueError(
                "tree_.apply walks trees of thresholds; this tree tests categories, or divides "
                "rows with missing values: use apply of the estimator"
            )
