"""The nodes that rows pass on their way to a leaf."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from gputree.dtypes import HostArray

if TYPE_CHECKING:
    from gputree.tree.tree import Tree


def path_matrix(tree: "Tree", node: HostArray) -> csr_matrix:
    """The nodes above each row's node, with it, as a sparse (rows, nodes) matrix of ones."""
    parent, steps = tree.parent, []
    row = np.arange(len(node))
    shape = (len(node), tree.n_nodes)
    while row.size:
        steps.append((row, node))
        node = parent[node]
        row, node = row[node >= 0], node[node >= 0]
    rows, nodes = (np.concatenate(part) for part in zip(*steps, strict=True))
    return csr_matrix((np.ones(len(rows), np.int64), (rows, nodes)), shape=shape)
