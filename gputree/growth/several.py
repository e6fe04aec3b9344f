"""Trees of whole rounds of boosting that a backend has made, each as one that has grown by itself."""

from collections.abc import Iterator

import numpy as np

from gputree.backends.contract import Boosted, LevelLists, Whole
from gputree.data.bins import Bins
from gputree.data.slopes import slope_channels
from gputree.dtypes import HostArray
from gputree.growth.builder import Grown
from gputree.growth.draft import Draft, Layout
from gputree.runs import begins


def grown_rounds(found: Boosted, bins: Bins) -> Iterator[tuple[Grown, HostArray, HostArray]]:
    """Each tree, what its nodes add to a prediction, and what their splits gain."""
    assert found.levels is not None
    first = begins(found.n_nodes)
    end = first + found.n_nodes
    at = np.searchsorted(found.levels.node, np.append(first, end[-1:]))
    code_at = np.append(0, np.cumsum(found.levels.n))[at]
    for tree, (begin, stop) in enumerate(zip(first.tolist(), end.tolist(), strict=True)):
        lists = slice(at[tree], at[tree + 1])
        codes = slice(code_at[tree], code_at[tree + 1])
        levels = LevelLists(
            found.levels.node[lists] - begin,
            found.levels.n[lists],
            found.levels.absent[lists],
            found.levels.code[codes],
            found.levels.slot[codes],
        )
        own = slice(begin, stop)
        yield _grown(found, bins, tree, own, levels), found.step[own], found.worth[own]


def _grown(found: Boosted, bins: Bins, tree: int, own: slice, levels: LevelLists) -> Grown:
    """One of the trees; its rows have gone on already."""
    first_child, n_rows = found.first_child[own], found.n_rows[own]
    shifts = int(found.slope_shift[tree]), int(found.weight_shift[tree])
    # Rows are told, so that no channel has to count them.
    channels = slope_channels(*shifts, counts_rows=False, weighs=True)
    weight = found.weight[own]
    whole = Whole(
        is_inner=first_child >= 0,
        first_child=first_child,
        feature=found.feature[own],
        code=found.code[own],
        next_code=np.full(len(weight), -1),
        missing_slot=found.missing_slot[own],
        n_rows=n_rows,
        depth=np.zeros(len(weight), np.int64),
        score=found.worth[own],
        sums=np.stack([weight, np.zeros_like(weight)], axis=1),
        rows=None,
        levels=levels,
    )
    number = np.arange(len(weight))
    layout = Layout(number, first_child, np.where(first_child >= 0, 2, 0), number)
    return Grown(Draft.of(bins, channels, whole), layout, None, 0)
