"""scikit-learn's names for what a tree holds, for programs that were written for its `tree_`."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from gputree.dtypes import STAY, HostArray
from gputree.tree.paths import path_matrix

if TYPE_CHECKING:
    from gputree.tree.tree import Tree

UNDEFINED = -2  # the feature and the threshold of a leaf


class FamiliarTree:
    """A tree as scikit-learn's trees show theirs; read-only.

    A leaf has the feature -2 and the threshold -2.0; its children are -1. `value` is (nodes, 1,
    classes) and holds the shares of the classes, or (nodes, outputs, 1) and holds means. Nodes are
    numbered breadth-first, not depth-first. Other names are those of `nodes_`.
    """

    def __init__(self, nodes: "Tree", n_features: int, n_classes: int | None) -> None:
        self.nodes = nodes
        self.n_features = n_features
        self.n_outputs = nodes.value.shape[1] if n_classes is None else 1
        self.n_classes = np.full(self.n_outputs, 1 if n_classes is None else n_classes)
        self._is_classes = n_classes is not None

    def __getattr__(self, name: str) -> Any:
        """What only trees of gputree have: `gain`, `depth`, `n_rows`, ..."""
        if name.startswith("__") or name == "nodes":  # asked for before there are any
            raise AttributeError(name)
        return getattr(self.nodes, name)

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return self.nodes.n_nodes

    @property
    def capacity(self) -> int:
        """The number of nodes that there is room for: none are to come."""
        return self.nodes.n_nodes

    @property
    def n_node_samples(self) -> HostArray:
        """Training rows that reached each node."""
        return self.nodes.n_rows

    @property
    def weighted_n_node_samples(self) -> HostArray:
        """The weight of the training rows that reached each node."""
        return self.nodes.weight

    @cached_property
    def feature(self) -> HostArray:
        """The column that each node tests; -2 at a leaf."""
        return _read_only(np.where(self._ends, UNDEFINED, self.nodes.feature.astype(np.int64)))

    @cached_property
    def threshold(self) -> HostArray:
        """What each node compares with: -2.0 at a leaf, NaN where categories are tested."""
        return _read_only(np.where(self._ends, float(UNDEFINED), self.nodes.threshold))

    @cached_property
    def value(self) -> HostArray:
        """The shares of the classes (nodes, 1, classes), or means (nodes, outputs, 1)."""
        if not self._is_classes:
            return self.nodes.value[:, :, None]
        return _read_only(self.nodes.class_shares[:, None, :])

    @cached_property
    def children_left(self) -> HostArray:
        """The child that takes values up to the threshold; -1 at a leaf."""
        self._check_pairs("children_left")
        return _read_only(self.nodes.first_child.astype(np.int64))

    @cached_property
    def children_right(self) -> HostArray:
        """The child that takes values above the threshold; -1 at a leaf."""
        self._check_pairs("children_right")
        return _read_only(np.where(self._ends, -1, self.children_left + 1))

    @cached_property
    def missing_go_to_left(self) -> HostArray:
        """Which nodes send rows whose tested value is missing to the left child."""
        self._check_pairs("missing_go_to_left")
        return _read_only(~self._ends & (self.nodes.missing_slot == 0))

    def apply(self, X: Any) -> HostArray:
        """The leaf that each row of an array of numbers reaches; NaN is a missing value.

        The method `apply` of estimators reads any table, and is quicker.
        """
        table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
        self._check_walk()
        nodes, node = self.nodes, np.zeros(len(table), np.int64)
        row = np.flatnonzero(~self._ends[node])
        while row.size:
            here = node[row]
            values = table[row, nodes.feature[here]]
            slot = np.where(values <= nodes.threshold[here], 0, 1)
            slot = np.where(np.isnan(values), nodes.missing_slot[here], slot)
            node[row] = nodes.first_child[here] + slot
            row = row[~self._ends[node[row]]]
        return node

    def predict(self, X: Any) -> HostArray:
        """The value of the leaf that each row of an array of numbers reaches."""
        value: HostArray = self.value[self.apply(X)]
        return value[:, :, 0] if self.n_outputs == 1 and not self._is_classes else value

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each row of an array of numbers passes, as a sparse matrix of ones."""
        return path_matrix(self.nodes, self.apply(X))

    def compute_feature_importances(self, normalize: bool = True) -> HostArray:
        """What the splits of each feature lower the impurity of all rows by, or its share."""
        if normalize:
            return self.nodes.importances(self.n_features)
        inner = ~self._ends
        share = self.nodes.weight[inner] / self.nodes.weight[0]
        gain = share * self.nodes.gain[inner]
        return np.bincount(self.nodes.feature[inner], gain, minlength=self.n_features)

    @cached_property
    def _ends(self) -> HostArray:
        return self.nodes.is_leaf

    def _check_pairs(self, name: str) -> None:
        if self.nodes.n_children.max() > 2:
            raise ValueError(
                f"tree_.{name}: nodes of this tree have more than two children; read first_child "
                "and n_children"
            )

    def _check_walk(self) -> None:
        if self.nodes.category_start.max() >= 0 or (self.nodes.missing_slot == STAY).any():
            raise ValueError(
                "tree_.apply walks trees of thresholds; this tree tests categories or divides "
                "rows with missing values: use apply of the estimator"
            )


def _read_only(array: HostArray) -> HostArray:
    array.setflags(write=False)
    return array
