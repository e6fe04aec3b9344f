"""Trees of whole rounds of boosting that a backend has made, where some nodes test categories."""

from dataclasses import replace

import numpy as np

from gputree.backends.whole import Boosted, Whole
from gputree.data.bins import Bins
from gputree.data.gradients import gradient_channels
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, TreeLayout
from gputree.growth.finish import Finish, finish_boosted, finish_steps
from gputree.runs import begins
from gputree.tree.tree import Tree

# What a tree tells of the tests of its nodes, where their lists of categories begin, and these.
TESTS = ("kind", "threshold", "missing_slot")
LIST_START, LISTS = "category_start", ("category", "category_slot")


def finish_rounds(found: Boosted, bins: Bins, how: Finish, exponent: int) -> list[Tree]:
    """The trees, as `finish_steps` makes them, but all at once."""
    trees = finish_boosted(found, bins, exponent)
    if found.categories is None:
        return trees
    joined = finish_steps(_joined(found, bins), found.step, found.worth, how)
    start, begin = getattr(joined, LIST_START), begins(found.n_nodes)
    # Lists come node after node: those of a tree end where the next tree's begin.
    n_listed = len(getattr(joined, LISTS[0]))
    first = np.append(np.where(start >= 0, start, n_listed), n_listed)
    first = np.minimum.accumulate(first[::-1])[::-1]
    finished = []
    for tree, node in zip(trees, begin.tolist(), strict=True):
        own = slice(node, node + tree.n_nodes)
        lists = slice(first[own.start], first[own.stop])
        arrays = {name: getattr(joined, name)[own] for name in TESTS}
        arrays[LIST_START] = np.where(start[own] >= 0, start[own] - first[own.start], -1)
        arrays |= {name: getattr(joined, name)[lists] for name in LISTS}
        finished.append(replace(tree, **arrays))
    return finished


def _joined(found: Boosted, bins: Bins) -> Grown:
    """All trees as one, whose nodes come tree after tree.

    Gains and weights are in units of each tree, so that these have to come from elsewhere.
    """
    n = len(found.feature)
    is_inner = found.first_child >= 0
    number = np.arange(n)
    child = found.first_child + np.repeat(begins(found.n_nodes), found.n_nodes)
    whole = Whole(
        is_inner=is_inner,
        first_child=np.where(is_inner, child, -1),
        feature=found.feature,
        code=found.code,
        next_code=np.full(n, -1),
        missing_slot=found.missing_slot,
        n_rows=found.n_rows,
        depth=np.zeros(n, np.int64),
        score=found.worth,
        sums=np.stack([found.weight, np.zeros_like(found.weight)], axis=1),
        rows=None,
        categories=found.categories,
    )
    channels = gradient_channels(0, 0, counts_rows=False, weighs=True)
    layout = TreeLayout(number, found.first_child, np.where(is_inner, 2, 0), number)
    return Grown(Draft.of(bins, channels, whole), layout, None, 0)
